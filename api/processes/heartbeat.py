"""Signs of life that a process gives to the one that supervises it, through a pipe.

The event loop of a worker gives them itself; with uvicorn's `supervisors.Multiprocess` a thread
would, which goes on when the loop hangs.
"""

import os
import threading
import time
from contextlib import suppress

INTERVAL_SECONDS = 0.1
"""How often a process gives a sign of life."""


class Heart:
    """The writing end of the pipe, in the supervised process."""

    def __init__(self, descriptor: int) -> None:
        """`descriptor` is the inherited writing end."""
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor

    def beat(self) -> None:
        """Give a sign of life; never waits for the supervisor, and raises nothing."""
        with suppress(BlockingIOError, BrokenPipeError):
            os.write(self._descriptor, b".")

    def beat_by_thread(self) -> None:
        """Give signs of life from a thread, for as long as the process can run Python at all."""

        def beat() -> None:
            while True:
                self.beat()
                time.sleep(INTERVAL_SECONDS)

        threading.Thread(target=beat, name="heartbeat", daemon=True).start()


class Pulse:
    """The reading end of the pipe, in the supervisor; `heart_descriptor` is the child's end."""

    def __init__(self) -> None:
        self._descriptor, self.heart_descriptor = os.pipe()
        os.set_blocking(self._descriptor, False)

    def release_heart(self) -> None:
        """Close the writing end in this process, once the child has inherited it."""
        os.close(self.heart_descriptor)

    def was_felt(self) -> bool:
        """Whether there was a sign of life since the last call."""
        try:
            return os.read(self._descriptor, 65_536) != b""
        except BlockingIOError:
            return False

    def close(self) -> None:
        """Close the reading end."""
        os.close(self._descriptor)
