"""Writes the answers of one turn of the event loop together."""

import asyncio
import time

MOST_BYTES = 131_072
"""Bytes of answers that are held before they are written."""
MOST_SECONDS = 0.0005
"""Time after which the next answer of a turn has all of them written."""


class Outbox:
    """Answers that wait for the end of a turn of the event loop.

    Each answer wakes its client, and often a proxy on the same machine that waits for all of them.
    To wake another processor takes a tenth of the time of a page of a list; one that is awake takes
    the other answers as they come.
    """

    def __init__(self) -> None:
        self._answers: list[tuple[asyncio.WriteTransport, bytes]] = []
        self._bytes = 0
        self._since = 0.0

    def add(
        self, loop: asyncio.AbstractEventLoop, transport: asyncio.WriteTransport, answer: bytes
    ) -> None:
        """Hold an answer until the turn of the loop ends, or the bounds of this module are met."""
        now = time.perf_counter()
        if not self._answers:
            self._since = now
            loop.call_soon(self.write)
        self._answers.append((transport, answer))
        self._bytes += len(answer)
        if self._bytes >= MOST_BYTES or now - self._since >= MOST_SECONDS:
            self.write()

    def write(self) -> None:
        """Write what is held, but for connections that were lost meanwhile."""
        answers, self._answers, self._bytes = self._answers, [], 0
        for transport, answer in answers:
            if not transport.is_closing():
                transport.write(answer)
