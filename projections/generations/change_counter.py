"""Tells readers of a process that nothing has changed, where that process makes all changes."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from projections.feeding.port import Checkpoint, Folded, Note, Projection


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


class CountedProjection:
    """A projection whose commits are counted."""

    def __init__(self, projection: Projection, changes: ChangeCounter) -> None:
        self.name = projection.name
        self._projection = projection
        self._changes = changes

    def checkpoint_and_fingerprint(self) -> Checkpoint:
        """The checkpoint and the fingerprint of the log there; see the port."""
        return self._projection.checkpoint_and_fingerprint()

    def begin(self) -> Note | None:
        """Begins a batch; see the port."""
        return self._projection.begin()

    def apply(
        self, entities: Mapping[str, Folded], position: int, fingerprint: str, *, after: Checkpoint
    ) -> None:
        """Commits states; see the port."""
        with self._changes.changing():
            self._projection.apply(entities, position, fingerprint, after=after)
