"""References to the one entity of a kind below another one, such as the test suite of a table."""

from collections.abc import Mapping

import msgspec

from api.callers.permissions import Access, Action, Permission
from domain.errors import NotFound
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS, sole_kinds_below
from projections.entities.port import SortedReadModel
from projections.entities.single_entities import EntityAnswer, read_one


class _Named(msgspec.Struct, rename="camel", omit_defaults=True):
    """What a reference says of an entity."""

    id: str
    name: str
    fully_qualified_name: str
    display_name: str | None = None
    type: str | None = None


def asked_below(kind: EntityKind, fields: str | None, access: Access) -> list[str]:
    """The kinds that `fields` names of which an entity has one below it, and shows a reference to.

    Only kinds that the caller may view.
    """
    below = sole_kinds_below(kind.name)
    if not below or fields is None:
        return []
    asked = {name.strip() for name in fields.split(",")}
    return [
        name
        for name in below
        if not asked.isdisjoint((name, "*")) and access.may(Permission(Action.VIEW, name))
    ]


def reference_below(
    entities: SortedReadModel, kind_name: str, above: EntityAnswer
) -> msgspec.Raw | None:
    """A reference to the one live entity of a kind below another one, if it is there."""
    kind = KINDS[kind_name]
    name = msgspec.json.decode(above.body, type=_Named).fully_qualified_name
    try:
        found = read_one(entities, kind, fqn=kind.qualified_name(name, ""))
    except NotFound:
        return None
    reference = msgspec.json.decode(found.body, type=_Named)
    reference.type = kind.name
    return msgspec.Raw(msgspec.json.encode(reference))


def with_below(body: bytes, references: Mapping[str, msgspec.Raw | None]) -> bytes:
    """The JSON of an entity with references as members at its end, as far as there are any."""
    there = {name: each for name, each in references.items() if each is not None}
    if not there:
        return body
    return b"%b,%b" % (body.rstrip()[:-1], msgspec.json.encode(there)[1:])
