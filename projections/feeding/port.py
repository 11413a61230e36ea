"""The port of a projection for those that feed it: states from the log in, one commit out."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Protocol

import msgspec

from domain.aggregate.entity import Entity
from domain.errors import StoreUnavailable
from domain.event_store.entity_reads import RecordedEvent


class Folded(msgspec.Struct, frozen=True, gc=False):
    """The state of an entity after an event of the log; a purged entity is to be removed."""

    entity: Entity
    position: int
    """Position of the event."""
    replaced: tuple["Folded", ...] = ()
    """The states that the same batch led to before this one, the oldest first."""
    before: "Folded | None" = None
    """The state before the batch; None unless the projection notes each state, or at a creation."""

    @property
    def steps(self) -> Iterator[tuple["Folded", "Folded"]]:
        """Each state that the batch replaced, and the one that replaced it, in log order.

        The state before the batch comes first, where there is one and it is known.
        """
        known = () if self.before is None else (self.before,)
        return pairwise((*known, *self.replaced, self))


class Damaged(StoreUnavailable):
    """A read model that is not as it was written, or was built from another log: build it anew."""


class Overtaken(StoreUnavailable):
    """Another process has taken the place of the one that is writing; nothing was written."""


class Superseded(StoreUnavailable):
    """Another generation has taken the place of the one that was read: reading again may help."""


Checkpoint = tuple[int, str]
"""A position of the log, and the fingerprint of the log there; 0 and "" before the first commit."""


def moved_on(what: str, after: Checkpoint) -> Overtaken:
    """The error of a commit to a read model that does not stand at `after` any more.

    `what` names the read model.
    """
    return Overtaken(
        f"another process feeds the {what}: it is not as it was at position {after[0]}, which was"
        " to be gone on from"
    )


Progress = Callable[[int, int], None]
"""Function called with the number of entities done and of all; an error of it ends the work."""


Note = Callable[[Entity | None, Entity], None]
"""Function called with an entity before an event (None at its creation) and after the event."""


NumberOf = Callable[[str | None], int | None]
"""Gives the number of all changes of a read model, or of the last one that concerned a kind.

None stands for an unknown number, as while such a change is being made.
"""


class ReadModel(Protocol):
    """The store of a projection, as the generations of every projection need it."""

    def checkpoint(self) -> int:
        """Position of the last event whose effects are committed; 0 before the first commit."""

    def checkpoint_and_fingerprint(self) -> Checkpoint:
        """The checkpoint and the fingerprint of the log there; 0 and "" before the first commit."""

    def revision(self) -> Hashable:
        """Return a value that differs before reads see another commit, without waiting for any.

        A read that begins afterwards sees the commit of the revision or a newer one.
        """

    def count(self) -> int:
        """Return the number of entities of the read model, soft-deleted ones included."""

    def close(self) -> None:
        """Release files and connections; nothing may use the read model afterwards."""


class Projection(Protocol):
    """Writes the states of entities to a read model."""

    name: str

    def checkpoint_and_fingerprint(self) -> Checkpoint:
        """The checkpoint and the fingerprint of the log there; 0 and "" before the first commit."""

    def begin(self, batch: Sequence[RecordedEvent]) -> Note | None:
        """Begin a batch: returns a function to be called for each of its events before `apply`.

        Returns None where the last states are enough. `apply` may be called for the first events of
        the batch only; notes of a batch that is not applied are forgotten.
        """

    def apply(
        self, entities: Mapping[str, Folded], position: int, fingerprint: str, *, after: Checkpoint
    ) -> None:
        """Commit these states by id, with the checkpoint and the fingerprint of the log there.

        Batches of any size give the same read model: each state has with it those that the same
        batch replaced. The batch goes on from `after`: the commit itself compares `after` with the
        checkpoint and fingerprint of the read model, so that no process takes back what another
        process has committed. Raises StoreUnavailable when the two differ, or when nothing could be
        committed for another reason.
        """
