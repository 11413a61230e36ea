"""Fields that name the entities which refer to one: cases of a suite, users of a team."""

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from api.callers.permissions import Access, Action, Permission
from api.services import Services
from api.use_cases.measured import id_of
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS
from projections.entities.list_port import ListRequest
from projections.entities.single_entities import EntityAnswer

MOST_MEMBERS = 10_000
"""The most entities that such a field names; the list of their kind has all of them."""
_PART_BYTES = 256 * 1024


class Named(msgspec.Struct, rename="camel", omit_defaults=True):
    """The fields of a reference to an entity."""

    id: str
    name: str
    fully_qualified_name: str
    display_name: str | None = None
    type: str | None = None


_decode = msgspec.json.Decoder(Named).decode


def reference_of(kind: EntityKind, body: bytes) -> Named:
    """The reference to the entity of a kind with this JSON."""
    reference = _decode(body)
    reference.type = kind.name
    return reference


def member_fields(kind: EntityKind, named: Iterable[str], access: Access) -> list[str]:
    """The fields among `named` that list the entities which refer to one; `*` stands for none.

    A field of a kind that the caller may not view is left out. Raises FieldWithheld where a key
    that refers is withheld from the caller.
    """
    asked = []
    for field in dict.fromkeys(named):
        members = kind.members.get(field)
        if members is not None and access.may(Permission(Action.VIEW, members.kind)):
            if withheld := access.withheld(Action.VIEW, members.kind):
                other = KINDS[members.kind]
                for key in (other.filters[members.parameter], *other.also_in):
                    withheld.refuse_field(key, field)
            asked.append(field)
    return asked


def members_of(
    services: Services,
    kind: EntityKind,
    field: str,
    entity: EntityAnswer,
    most: int = MOST_MEMBERS,
) -> bytes:
    """The JSON of a list of references to what refers to an entity, the first `most` by name.

    They have no display name, as references that are recorded have none.
    """
    members = kind.members[field]
    other = KINDS[members.kind]
    by_id = members.parameter in other.lists.by_id
    value = id_of(entity) if by_id else _decode(entity.body).fully_qualified_name
    request = ListRequest(kind=other, limit=most, filters={members.parameter: value})
    with services.stores.entities.use() as entities, entities.read_list(request, None) as reader:
        # One that keeps its connection reads entities of any size.
        reader.hand_over()
        references = [
            replace(reference_of(other, core), display_name=None)
            for part in reader.parts(_PART_BYTES)
            for _, _, core, *_ in part
        ]
    return msgspec.json.encode(references)
