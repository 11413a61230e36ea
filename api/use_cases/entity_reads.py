"""One entity as a caller may see it: what routes answer with, and what pages show."""

from collections.abc import Mapping
from typing import Any

import msgspec

from api.callers.permissions import Access, Action, Permission
from api.services import Services
from api.use_cases.list_parameters import named_in, parse_fields
from api.use_cases.measured import Measured, id_of, measured_fields, refuse_joins, with_member
from api.use_cases.members import member_fields, members_of, reference_of
from domain.errors import NotFound
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS, sole_kinds_below
from domain.reading import history
from projections.entities.list_port import Include
from projections.entities.port import EntityTooLarge, SortedReadModel
from projections.entities.single_entities import EntityAnswer, read_one
from projections.wiring.stores import Stores

_Found = tuple[EntityAnswer, dict[str, bytes | None]]
"""An entity, and kind below it -> the reference to the one entity of the kind, if it is there."""


class EntityForm(msgspec.Struct, frozen=True):
    """The part that reads of single entities of a kind share which ask for the same fields."""

    access: Access
    include: Include
    fields: tuple[str, ...]
    """The optional fields to show that the lists hold."""
    measured: Mapping[str, Measured]
    """Field to show -> its reader; they are newer than the lists."""
    members: tuple[str, ...]
    """The fields to show that list entities which refer to the one."""
    below: tuple[str, ...]
    """The kinds of which the one entity below is named, where it is there."""
    described: bool
    """True if what the last version has changed is asked for."""

    @property
    def takes_long(self) -> bool:
        """True if the answer needs history, measurements or a list."""
        return bool(self.described or self.measured or self.members)


def entity_form(kind: EntityKind, access: Access, given: Mapping[str, Any]) -> EntityForm:
    """The form of a read with the parameters `fields` and `include` of a single read.

    Raises InvalidInput and FieldWithheld for fields.
    """
    named = named_in(given["fields"])
    withheld = access.withheld(Action.VIEW, kind.name)
    measured = measured_fields(kind, named)
    fields = parse_fields(kind, given["fields"], withheld, strict=bool(access.statuses))
    if "joins" in measured:
        refuse_joins(access, Action.VIEW)
    return EntityForm(
        access,
        given["include"],
        tuple(field for field in fields if field not in measured),
        measured,
        tuple(member_fields(kind, named, access)),
        tuple(
            name
            for name in sole_kinds_below(kind.name)
            if not {name, "*"}.isdisjoint(named) and access.may(Permission(Action.VIEW, name))
        ),
        "changeDescription" in named,
    )


def read_entity(
    services: Services, kind: EntityKind, form: EntityForm, most_bytes: int | None, **which: str
) -> tuple[bytes, dict[str, Any]]:
    """The JSON of an entity without what is withheld, and the headers and condition of an answer.

    `which` is `entity_id` or `fqn`. Raises NotFound, and EntityTooLarge for what may have more than
    `most_bytes` or takes long.
    """
    if most_bytes is not None and form.takes_long:
        raise EntityTooLarge
    stores, access, below = services.stores, form.access, form.below

    def find(entities: SortedReadModel) -> _Found:
        entity = read_one(
            entities,
            kind,
            fields=form.fields,
            include=form.include,
            most_bytes=most_bytes,
            **which,
        )
        return entity, {other: _reference_below(entities, other, entity) for other in below}

    entity, added = stores.entities.read(find)
    withheld = access.withheld(Action.VIEW, kind.name)
    body = entity.body if withheld is None else withheld.cut(entity.body)
    for other, reference in added.items():
        if reference is not None:
            body = with_member(body, other, reference)
    for field, shown in form.measured.items():
        if (value := shown(services, access, id_of(entity))) is not None:
            body = with_member(body, field, value)
    for field in form.members:
        body = with_member(body, field, members_of(services, kind, field, entity))
    if form.described and withheld is None:
        body = _with_change(stores, kind, body)
    body = access.statuses.shown(kind, body)
    # What refers to an entity comes and goes without an event of it, as measurements do.
    conditional = not (below or form.measured or form.members)
    tag = etag(entity.version, entity.last_event, withheld.digest if withheld else None)
    headers = {"ETag": tag, "X-Catalog-Position": str(entity.position)}
    return body, {"headers": headers, "conditional": conditional}


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
    return with_member(body, "changeDescription", msgspec.json.encode(description))


def etag(version: str, last_event: str, withheld: str | None = None) -> str:
    """The entity tag of a state: its decimal version, and the digest of its `last_event`.

    The version begins it, for people; what tells states apart is the digest. A digest of what is
    withheld from the caller follows, if there is anything: who may see more one day must not be
    told that what was shown before is all.
    """
    return f'W/"{"-".join(filter(None, (version, last_event, withheld)))}"'


def _reference_below(
    entities: SortedReadModel, kind_name: str, above: EntityAnswer
) -> bytes | None:
    """A reference to the one live entity of a kind below another one, if it is there."""
    kind = KINDS[kind_name]
    name = reference_of(kind, above.body).fully_qualified_name
    try:
        below = read_one(entities, kind, fqn=kind.qualified_name(name, ""))
    except NotFound:
        return None
    return msgspec.json.encode(reference_of(kind, below.body))
