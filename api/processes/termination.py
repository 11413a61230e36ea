"""Ends a process at SIGTERM or SIGINT, from its first moment on and whatever it is doing.

The commands ignore SIGHUP, SIGUSR1 and SIGUSR2, which other programs are sent to reopen their logs:
theirs go to standard error, and so there is nothing to reopen.
"""

import atexit
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

LATEST_SECONDS = 8.0
"""Longest time in which a process closes its stores; the supervisor waits for longer."""


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
        self._had_terminal = _has_terminal()
        signal.signal(signal.SIGHUP, self._hang_up)
        atexit.register(_ignore_signals)

    def check(self) -> None:
        """Raise SystemExit(0) if a signal has come."""
        if self._requested:
            raise SystemExit(0)

    def _request(self, number: int, frame: FrameType | None) -> None:
        if not self._requested:
            self._requested = True
            signal.setitimer(signal.ITIMER_REAL, LATEST_SECONDS)

    def _hang_up(self, number: int, frame: FrameType | None) -> None:
        """End when the terminal was closed; programs that rotate log files send the same signal."""
        if self._had_terminal and not _has_terminal():
            os.kill(os.getpid(), signal.SIGTERM)

    def _leave(self, number: int, frame: FrameType | None) -> None:
        os._exit(os.EX_OK)


def _ignore_signals() -> None:
    """Have no signal change the exit code of a process whose stores are closed.

    When Python takes its modules down, it gives signals with a handler of ours back to the system,
    where each of them kills. Ignored signals stay ignored.
    """
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def _has_terminal() -> bool:
    """True if this process belongs to a terminal."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True


class Interruption:
    """Has Ctrl-C end work where nothing is half done; in effect for as long as its `with` block.

    By default Python raises KeyboardInterrupt between any two instructions: inside of locks, whose
    owners then wait for ever, and in destructors, where it is printed and forgotten. Here it is
    raised while the work waits in `interruptible`. A second Ctrl-C ends the work anywhere.
    """

    def __init__(self) -> None:
        self._requested = self._interruptible = False

    def __enter__(self) -> "Interruption":
        self._before = signal.signal(signal.SIGINT, self._request)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Raise KeyboardInterrupt when Ctrl-C came before this block, or comes within it."""
        self._interruptible = True
        try:
            if self._requested:
                raise KeyboardInterrupt
            yield
        finally:
            self._interruptible = False

    def _request(self, number: int, frame: FrameType | None) -> None:
        if self._interruptible or self._requested:
            raise KeyboardInterrupt
        self._requested = True
