"""Looks at a checkpoint that other processes move, while anybody waits for it."""

import threading
import time
from collections.abc import Callable

from domain.errors import StoreUnavailable

POLL_SECONDS = 0.01
"""How often the checkpoint is looked at."""
_KNOWN_SECONDS = 1.0
"""How long what was seen is taken to be so: after a failover a checkpoint may have gone back."""


class CheckpointPoller:
    """A thread that asks for a checkpoint, so that an event loop need not wait for the answer."""

    def __init__(self, checkpoint: Callable[[], int]) -> None:
        """`checkpoint` asks for it, which may take a while, and raises StoreUnavailable."""
        self._checkpoint = checkpoint
        self._anyone_waits: Callable[[], bool] = lambda: False
        self._announce: Callable[[], None] = lambda: None
        self._position = 0
        self._seen_at = 0.0
        self._failed: StoreUnavailable | None = None
        self._wake = threading.Event()
        self._stopping = False
        self._thread: threading.Thread | None = None

    def start(self, anyone_waits: Callable[[], bool], announce: Callable[[], None]) -> None:
        """Begin to look, when `look` is called and as long as `anyone_waits`.

        `announce` is called after a look that was asked for, and whenever the checkpoint has moved
        or cannot be read.
        """
        self._anyone_waits, self._announce = anyone_waits, announce
        self._thread = threading.Thread(target=self._run, name="checkpoint-poller")
        self._thread.start()

    def position(self) -> int:
        """The checkpoint when it was looked at last, 0 when that is long ago.

        Raises StoreUnavailable when the look has failed.
        """
        if self._failed is not None:
            raise self._failed
        return self._position if time.monotonic() - self._seen_at < _KNOWN_SECONDS else 0

    def look(self) -> None:
        """Have the checkpoint looked at now; any thread may ask for that."""
        self._failed = None
        self._wake.set()

    def close(self) -> None:
        """End the thread."""
        self._stopping = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while True:
            asked = self._wake.wait(POLL_SECONDS if self._anyone_waits() else None)
            if self._stopping:
                return
            self._wake.clear()
            try:
                position = self._checkpoint()
            except StoreUnavailable as error:
                self._failed = error
                self._announce()
                continue
            moved, self._position = position != self._position, position
            self._seen_at = time.monotonic()
            if asked or moved:
                self._announce()
