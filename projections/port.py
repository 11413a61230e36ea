"""What every projection is to the projectors: states folded from the log in, one commit out."""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from domain.entity import Entity


class Folded(msgspec.Struct, frozen=True, gc=False):
    """An entity as the log has it at the end of a batch; `entity.purged` means: remove it."""

    entity: Entity
    position: int
    """Position of the entity's last event."""


class Projection(Protocol):
    """A read model that can be thrown away and built again from the log."""

    name: str

    def checkpoint(self) -> int:
        """The last position committed, 0 when nothing was."""

    def apply(self, entities: Mapping[str, Folded], position: int) -> None:
        """Make these states true and the checkpoint `position`, in one commit.

        Applying the same states twice gives what applying them once gives. Raises
        StoreUnavailable when the store cannot be written now and trying again may help; any
        other exception means that the projection must stop.
        """

    def reset(self) -> None:
        """Forget everything; the checkpoint becomes 0."""
