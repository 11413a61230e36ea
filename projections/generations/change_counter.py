"""Tells readers of a process that nothing has changed, where that process makes all changes."""

from collections.abc import Iterator
from contextlib import contextmanager


class ChangeCounter:
    """Counts the commits and switches of one read model, which one thread makes.

    Only the process that holds the ProjectorLock knows all of them. While the number stays the
    same, earlier reads are still true; reading the files would take much longer to prove that.
    """

    def __init__(self) -> None:
        self._begun = self._ended = 0

    def number(self) -> int | None:
        """The number of changes so far; None while another one is being made."""
        ended = self._ended
        return ended if ended == self._begun else None

    @contextmanager
    def changing(self) -> Iterator[None]:
        """A block in which readers may begin to see something else."""
        self._begun += 1
        try:
            yield
        finally:
            self._ended += 1
