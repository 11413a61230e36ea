"""One entity as a caller may see it: what routes answer with, and what pages show."""

from collections.abc import Mapping
from typing import Any

import msgspec

from api.callers.permissions import Access, Action
from api.services import Services
from api.use_cases.entities_below import asked_below, reference_below, with_below
from api.use_cases.measured import id_of, with_member
from api.use_cases.requested_fields import asks_for_change, parse_fields
from api.use_cases.shown_joins import asks_for_joins, joins_of, refuse_joins
from domain.kinds.entity_kind import EntityKind
from domain.reading import history
from projections.entities.port import EntityTooLarge, SortedReadModel
from projections.entities.single_entities import EntityAnswer, read_one
from projections.visibility.withholding import Withheld
from projections.wiring.stores import Stores


def read_entity(
    services: Services,
    kind: EntityKind,
    access: Access,
    given: Mapping[str, Any],
    most_bytes: int | None,
    **which: str,
) -> tuple[bytes, dict[str, Any]]:
    """The JSON of an entity without what is withheld, and the headers and condition of an answer.

    `given` are the parameters `fields` and `include` of a single read; `which` is `entity_id` or
    `fqn`. Raises NotFound, InvalidInput and FieldWithheld for fields, and EntityTooLarge for what
    may have more than `most_bytes` or takes long.
    """
    stores = services.stores
    withheld = access.withheld(Action.VIEW, kind.name)
    fields = parse_fields(kind, given["fields"], withheld)
    include, described = given["include"], asks_for_change(given["fields"])
    joined = asks_for_joins(kind, given["fields"])
    if joined:
        refuse_joins(access, Action.VIEW)
    if (described or joined) and most_bytes is not None:
        # The history or the measurements are read for it, however long that takes.
        raise EntityTooLarge
    below = asked_below(kind, given["fields"], access)

    def find(
        entities: SortedReadModel,
    ) -> tuple[EntityAnswer, dict[str, msgspec.Raw | None]]:
        entity = read_one(
            entities, kind, fields=fields, include=include, most_bytes=most_bytes, **which
        )
        return entity, {other: reference_below(entities, other, entity) for other in below}

    entity, added = stores.entities.read(find)
    body = entity.body if withheld is None else withheld.cut(entity.body)
    body = with_below(body, added)
    if joined:
        body = with_member(body, "joins", joins_of(services, id_of(entity)))
    if described and withheld is None:
        body = _with_change(stores, kind, body)
    # What is below an entity comes and goes without an event of it, as joins do.
    conditional = not below and not joined
    return body, {"headers": _headers(entity, withheld), "conditional": conditional}


class _Versioned(msgspec.Struct):
    id: str
    version: msgspec.Raw


def _with_change(stores: Stores, kind: EntityKind, body: bytes) -> bytes:
    """The JSON of an entity with what its version has changed, if anything."""
    shown = msgspec.json.decode(body, type=_Versioned)
    version = bytes(shown.version).decode()
    description = history.version(stores.log, kind, shown.id, version).description
    if description is None:
        return body
    return b'%b,"changeDescription":%b}' % (body[:-1], msgspec.json.encode(description))


def _headers(entity: EntityAnswer, withheld: Withheld | None) -> dict[str, str]:
    tag = etag(entity.version, entity.last_event, withheld.digest if withheld else None)
    return {"ETag": tag, "X-Catalog-Position": str(entity.position)}


def etag(version: str, last_event: str, withheld: str | None = None) -> str:
    """The entity tag of a state: its decimal version, and the digest of its `last_event`.

    The version begins it, for people; what tells states apart is the digest. A digest of what is
    withheld from the caller follows, if there is anything: who may see more one day must not be
    told that what was shown before is all.
    """
    return f'W/"{"-".join(filter(None, (version, last_event, withheld)))}"'
