"""The rules of what is attached to another entity, such as a contract to a table."""

import re
from collections.abc import Callable, Collection, Sequence

import msgspec

from domain.aggregate.entity import Entity
from domain.errors import InvalidInput
from domain.events import Body
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import ALL_KINDS


class _Named(msgspec.Struct):
    name: str


class _Reference(msgspec.Struct):
    type: str


_columns = msgspec.json.Decoder(list[_Named])
_reference = msgspec.json.Decoder(_Reference)


def named_columns(kind: EntityKind, body: Body, before: Entity | None) -> Sequence[str]:
    """The columns that a new schema names, which must be there; of an unchanged one none.

    A schema that is left as it is may name columns that are gone by now: what has become wrong
    without its doing keeps nobody from changing something else.
    """
    if kind.agreement is None or (key := kind.agreement.describes) not in body:
        return ()
    if before is not None and before.body.get(key) == body[key]:
        return ()
    return [column.name for column in _columns.decode(body[key])]


class HeldColumns(msgspec.Struct, frozen=True):
    """The columns that an entity has."""

    kind: str
    names: frozenset[str] | None
    """None for a kind that has no columns."""

    @classmethod
    def of(cls, entity: Entity) -> "HeldColumns":
        """The columns of an entity in its present state."""
        key = ALL_KINDS[entity.kind].columns
        if key is None:
            return cls(entity.kind, None)
        columns = _columns.decode(entity.body[key]) if key in entity.body else ()
        return cls(entity.kind, frozenset(column.name for column in columns))

    def check(self, named: Sequence[str]) -> None:
        """Raise InvalidInput naming the columns of a contract that the entity does not have."""
        missing = [name for name in named if self.names is not None and name not in self.names]
        if missing:
            raise InvalidInput(
                "Schema validation failed. The following fields specified in the data contract do"
                f" not exist in the {self.kind}: {', '.join(missing)}"
            )


def check_sole(
    kind: EntityKind,
    body: Body,
    parent_id: str | None,
    having_live: Callable[[str, Collection[str]], Collection[str]],
) -> None:
    """Raise InvalidInput when an entity has something live of an attached kind already.

    `body` is of what is to be attached; `having_live` is that of the log, or stands for it.
    """
    if kind.agreement is None or parent_id is None:
        return
    if having_live(kind.name, [parent_id]):
        title = re.sub("([A-Z])", r" \1", kind.name).lower()
        entity = _reference.decode(body[kind.agreement.about])
        raise InvalidInput(
            f"A {title} already exists for entity '{entity.type}' with ID {parent_id}"
        )
