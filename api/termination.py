"""Ends a process at SIGTERM or SIGINT, from its first moment on and whatever it is doing."""

import signal
from types import FrameType


class Termination:
    """Turns the first SIGTERM or SIGINT into SystemExit(0) in the main thread.

    So everything that is open is closed on the way out, by its own `with` and `finally`. Later
    signals do nothing, so that they cannot interrupt the closing.
    """

    def __init__(self) -> None:
        self._requested = False

    def install(self) -> None:
        """Begin to listen; to be called in the main thread, before anything takes long."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)

    def check(self) -> None:
        """Raise SystemExit(0) if a signal has come.

        To be called before a wait without an end: Python throws away what a signal raises in a
        callback of the garbage collector or of the import system.
        """
        if self._requested:
            raise SystemExit(0)

    def _end(self, number: int, frame: FrameType | None) -> None:
        if not self._requested:
            self._requested = True
            raise SystemExit(0)
