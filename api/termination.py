"""Ends a process at SIGTERM or SIGINT, from its first moment on and whatever it is doing."""

import os
import signal
from types import FrameType

LATEST_SECONDS = 8.0
"""How long a process may take to close what is open; the supervisor waits for longer."""


class Termination:
    """Remembers that SIGTERM or SIGINT came; the process ends at its next `check`.

    No work is interrupted half way. A process that has not ended 8 s after the signal ends at once,
    as by a crash but with exit code 0: the next start goes on from there.
    """

    def __init__(self) -> None:
        self._requested = False

    def install(self) -> None:
        """Begin to listen; to be called in the main thread, before anything takes long."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._request)
        signal.signal(signal.SIGALRM, self._leave)

    def check(self) -> None:
        """Raise SystemExit(0) if a signal has come."""
        if self._requested:
            raise SystemExit(0)

    def _request(self, number: int, frame: FrameType | None) -> None:
        if not self._requested:
            self._requested = True
            signal.setitimer(signal.ITIMER_REAL, LATEST_SECONDS)

    def _leave(self, number: int, frame: FrameType | None) -> None:
        os._exit(os.EX_OK)
