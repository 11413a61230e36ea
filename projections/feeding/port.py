"""What every projection is to those that feed it: states from the log in, one commit out."""

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from domain.entity import Entity
from domain.errors import StoreUnavailable


class Folded(msgspec.Struct, frozen=True, gc=False):
    """An entity as the log has it at the end of a batch; `entity.purged` means: remove it."""

    entity: Entity
    position: int
    """Position of the entity's last event."""


class Damaged(StoreUnavailable):
    """A read model is not as it was written, or not of this log; only building it anew helps."""


Progress = Callable[[int, int], None]
"""Told how many entities of how many are done; what it raises ends the work."""


class ReadModel(Protocol):
    """What a projection keeps, as far as its generations are concerned."""

    def checkpoint(self) -> int:
        """The last position committed, 0 when nothing was."""

    def anchor(self) -> tuple[int, str]:
        """The checkpoint and its mark (see `marks`; empty at 0), of one commit."""

    def count(self) -> int:
        """How many entities it holds, soft-deleted ones included."""

    def close(self) -> None:
        """Release files."""


class Projection(Protocol):
    """Writes states of entities to a read model."""

    name: str

    def anchor(self) -> tuple[int, str]:
        """The last position committed and its mark; 0 and nothing when nothing was."""

    def apply(self, entities: Mapping[str, Folded], position: int, fingerprint: str) -> None:
        """Make these states true and the checkpoint `position` with its mark, in one commit.

        Only the last state of each entity in a batch is passed, so that batches of any size
        lead to the same rows. Raises StoreUnavailable when nothing was committed.
        """
