"""Entities as they were: at a position of the log, or as of a time."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec

from api.answers.read_positions import MAX_POSITION
from api.callers.permissions import Access, Action
from api.declaring.declared_query import Parameters, query
from api.declaring.signatures import AnyRequest
from api.services import Services
from api.use_cases.entity_reads import etag
from api.use_cases.list_parameters import named_in, parse_fields
from api.use_cases.measured import measured_fields, with_member
from domain.aggregate.entity import Entity
from domain.aggregate.lifecycle import format_version
from domain.errors import InvalidInput, NotFound, about, shown
from domain.event_store.entity_reads import whole_streams
from domain.kinds.bodies.components import Reference
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS, sole_kinds_below
from domain.machine import clock
from domain.openmetadata import document
from domain.reading import changes, history
from domain.reading.moments import time_at
from projections.entities import cursors
from projections.entities.lineage import Node
from projections.entities.list_port import Include, PastOfList
from projections.entities.port import SortedReadModel
from projections.entities.single_entities import folded_fields, with_fields
from projections.entities.stored_entity import split_fields
from projections.search.language import dates

HEADER = "X-Catalog-At"
"""Header of an answer about the past: the position that it is of."""
NOW = "now"
_DIGITS = rf"[0-9]{{1,{len(str(MAX_POSITION))}}}"
_is_position = re.compile(_DIGITS).fullmatch
PAST: Parameters = {
    "at": query(
        str,
        "Position of the log up to which events count, or `now`: what lists show at the moment.",
        schema={"type": "string", "pattern": rf"^(now|{_DIGITS})$"},
    ),
    "as_of": query(
        str,
        "Time up to which events count: `2026-11-01T12:00:00Z`, `2026-11-01` for the beginning of"
        " the day, or milliseconds since 1970.",
        schema={"type": "string", "minLength": 1},
    ),
}
"""The parameters of a read of the past."""
_POINT = {
    "type": "string",
    "pattern": rf"^(now|{_DIGITS}|[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(T.*)?)$",
}
BETWEEN: Parameters = {
    "from_": query(
        str,
        "A position of the log, `now`, or a time as `2026-11-01T12:00:00Z`.",
        ...,
        schema=_POINT,
    ),
    "to": query(str, "As `from`, and not before it.", NOW, schema=_POINT),
}
"""The parameters of a comparison of two points of the log."""


class PointOfEntity(msgspec.Struct):
    """An entity at a position of the log."""

    position: int
    version: msgspec.Raw
    """The decimal version that the entity had."""


class EntityDiff(msgspec.Struct, kw_only=True, rename="camel"):
    """The difference between two states of an entity."""

    from_: PointOfEntity = msgspec.field(name="from")
    to: PointOfEntity
    change_description: changes.ChangeDescription


async def position_asked(
    services: Services,
    request: AnyRequest,
    at: str | None,
    as_of: str | None,
    *,
    searched: bool = False,
) -> int:
    """The position that a read of a kind's entities is of, once this host has applied it.

    A search, which needs its index to have applied the position too, says so by `searched`. Raises
    InvalidInput, BeforeHorizon, and what `ReadPositions.reach` raises.
    """
    position = await _position_asked(services, request, at, as_of, searched=searched)
    if at != NOW:
        await refuse_before_horizon(services, request, position)
    return position


async def refuse_before_horizon(services: Services, request: AnyRequest, position: int) -> None:
    """Raise BeforeHorizon for a position before the horizon: the past there is not kept."""
    await services.light_read(request, partial(_refuse_before_horizon, services, position))


def _refuse_before_horizon(services: Services, position: int) -> None:
    services.stores.entities.read(lambda entities: entities.horizon()).refuse(position)


async def _position_asked(
    services: Services,
    request: AnyRequest,
    at: str | None,
    as_of: str | None,
    *,
    searched: bool = False,
) -> int:
    """The result of `position_asked`, which may lie before the horizon."""
    if at is not None and as_of is not None:
        raise InvalidInput("at and asOf both say which past is meant: give one of them")
    if at is None:
        assert as_of is not None
        with about("asOf"):
            moment = dates.span(as_of).first
        position = await _position_as_of(services, request, moment, f"asOf: {shown(as_of)}")
        if searched:
            await services.positions.reach(position, request.user.name, searched=True)
        return position
    if at == NOW:
        return await services.light_read(request, partial(_shown_now, services, searched=searched))
    if not _is_position(at):
        raise InvalidInput(
            f"at must be {NOW}, or a position from 0 to {MAX_POSITION}, got {shown(at)}: a time is"
            " given as asOf"
        )
    return await _reached(services, request, at, searched=searched)


def _shown_now(services: Services, *, searched: bool) -> int:
    """The position up to which this host shows everything; in searches too, if `searched`."""
    listed = services.stores.entities.checkpoint()
    return min(listed, services.stores.engine.checkpoint()) if searched else listed


async def position_of_list(
    services: Services,
    request: AnyRequest,
    at: str | None,
    as_of: str | None,
    cursor: str | None,
    *,
    searched: bool = False,
) -> int:
    """The result of `position_asked` for a list, where a pinned cursor may name the position.

    Raises InvalidInput for a cursor of another position. It does not check that the cursor is one
    of this list, nor that the position is after the horizon (`past_of` does).
    """
    pinned = cursors.position_of(cursor) if cursor else None
    if as_of is None and at in (None, NOW):
        # Whether a cursor without a position is one of this list shows when the list is read.
        at = NOW if pinned is None else str(pinned)
    position = await _position_asked(services, request, at, as_of, searched=searched)
    if pinned not in (None, position):
        given = "asOf" if at is None else "at"
        raise InvalidInput(
            f"{given} means position {position}, and the cursor is of position {pinned}: give the"
            " cursor alone"
        )
    return position


def past_of(services: Services, position: int) -> PastOfList:
    """The past of lists at a position; blocks. Raises BeforeHorizon."""
    _refuse_before_horizon(services, position)
    log = services.stores.log

    def fold(entity_id: str, position: int) -> tuple[bytes, bytes]:
        fields = folded_fields(whole_streams(log, [entity_id], upto=position))
        assert fields is not None
        return fields

    return PastOfList(position, time_at(log, position), fold)


async def positions_between(
    services: Services, request: AnyRequest, from_: str, to: str
) -> tuple[int, int]:
    """The positions for the two points of the log that a comparison is of; see `position_asked`.

    Raises InvalidInput too where the second is before the first, and BeforeHorizon.
    """
    before = await position_of_point(services, request, "from", from_)
    after = await position_of_point(services, request, "to", to)
    if after < before:
        raise InvalidInput(f"from is position {before}, which is after the end, position {after}")
    await refuse_before_horizon(services, request, before)
    return before, after


async def position_of_point(services: Services, request: AnyRequest, name: str, point: str) -> int:
    """The position for a point of the log, given as parameter `name`; see `position_asked`."""
    if point == NOW:
        return await services.light_read(request, services.stores.entities.checkpoint)
    if _is_position(point):
        return await _reached(services, request, point)
    if (moment := dates.moment(point)) is None:
        raise InvalidInput(
            f"{name} must be a position from 0 to {MAX_POSITION}, `{NOW}`, or a time as 2026-11-01"
            f" or 2026-11-01T12:00:00Z, got {shown(point)}"
        )
    return await _position_as_of(services, request, moment, f"{name}: {shown(point)}")


async def _reached(
    services: Services, request: AnyRequest, position: str, *, searched: bool = False
) -> int:
    await services.positions.reach(int(position), request.user.name, searched=searched)
    return int(position)


async def _position_as_of(
    services: Services, request: AnyRequest, moment: int, written: str
) -> int:
    if moment > clock.now():
        raise InvalidInput(f"{written} is yet to come")

    def find(entities: SortedReadModel) -> int:
        # What is applied after the checkpoint was read may be later than the moment.
        checkpoint, first_after = entities.checkpoint(), entities.first_after(moment)
        return checkpoint if first_after is None else first_after - 1

    return await services.light_read(request, partial(services.stores.entities.read, find))


def read_past_entity(
    services: Services,
    kind: EntityKind,
    access: Access,
    given: Mapping[str, Any],
    position: int,
    **which: str,
) -> tuple[bytes, dict[str, Any]]:
    """The JSON of an entity as it was at a position, and what an answer has beside it.

    `given` and `which` are as of `read_entity`; a qualified name is the entity's of now.
    Permissions withhold the same fields as now. Raises NotFound, Purged, InvalidInput and
    FieldWithheld for fields.
    """
    log = services.stores.log
    withheld = access.withheld(Action.VIEW, kind.name)
    named, include = named_in(given["fields"]), given["include"]
    fields = parse_fields(kind, given["fields"], withheld, strict=bool(access.statuses))
    refuse_fields_without_past(kind, fields_without_past(kind, given["fields"]))
    entity_id = which.get("entity_id") or _id_of_name(services, kind, which["fqn"])
    entity, last = history.as_of(log, kind, entity_id, position)
    if include is (Include.DELETED, Include.NON_DELETED)[entity.deleted]:
        state = "soft-deleted" if entity.deleted else "not soft-deleted"
        raise NotFound(f"{kind.name} instance for {entity_id} was {state} at position {position}")
    core, optional = map(document.encode, split_fields(entity))
    now = time_at(services.stores.log, position)
    body = with_fields(kind, core, optional, fields, large=kind.shown_alone, now=now)
    if withheld is not None:
        body = withheld.cut(body)
    elif "changeDescription" in named:
        description = history.last_change(log, entity)
        if description is not None:
            body = with_member(body, "changeDescription", msgspec.json.encode(description))
    version, digest = format_version(entity.version), withheld.digest if withheld else None
    headers = {
        HEADER: str(position),
        "X-Catalog-Position": str(last),
        "ETag": etag(version, entity.last_event, digest),
    }
    return access.statuses.shown(kind, body), {"headers": headers, "conditional": True}


def fields_without_past(kind: EntityKind, text: str | None) -> tuple[str, ...]:
    """The fields named in a comma-separated list that are measured, or made of other entities."""
    named = named_in(text)
    kept_apart = {*measured_fields(kind, named), *kind.members, *sole_kinds_below(kind.name)}
    return tuple(sorted(kept_apart.difference(kind.optional).intersection(named)))


def refuse_fields_without_past(kind: EntityKind, fields: tuple[str, ...]) -> None:
    """Raise InvalidInput if there are any such fields."""
    if fields:
        kept = ", ".join(kind.optional)
        raise InvalidInput(f"fields: the past of {', '.join(fields)} is not kept, but of {kept}")


def difference(
    services: Services, kind: EntityKind, access: Access, entity_id: str, before: int, after: int
) -> bytes:
    """The JSON of an EntityDiff of an entity between two positions.

    Withheld fields are left out. Raises NotFound and Purged.
    """
    old, new = (
        history.as_of(services.stores.log, kind, entity_id, position)[0]
        for position in (before, after)
    )
    withheld = access.withheld(Action.VIEW, kind.name)
    cut: Callable[[bytes], bytes] | None = withheld.cut if withheld else None
    ends = (
        PointOfEntity(position, msgspec.Raw(format_version(entity.version).encode()))
        for position, entity in ((before, old), (after, new))
    )
    diff = EntityDiff(
        from_=next(ends), to=next(ends), change_description=changes.describe(old, new, cut)
    )
    return access.statuses.shown(kind, msgspec.json.encode(diff))


def _id_of_name(services: Services, kind: EntityKind, fqn: str) -> str:
    claim = services.stores.log.claim(kind.name, fqn)
    if claim is None:
        raise NotFound(
            f"{kind.name} instance for {fqn} not found: names are looked up in the present, and"
            " what is purged by now has no past"
        )
    return claim.id


def live_of_then(services: Services, kind: EntityKind, entity_id: str, position: int) -> Entity:
    """An entity that was not soft-deleted at a position, as it was.

    Blocks. Raises NotFound, and Purged.
    """
    entity, _ = history.as_of(services.stores.log, kind, entity_id, position)
    if entity.deleted:
        raise NotFound(
            f"{kind.name} instance for {entity_id} was soft-deleted at position {position}"
        )
    return entity


def node_of_then(services: Services, which: Reference, position: int) -> Node:
    """The reference to an entity as it was at a position, by its id or its name of now.

    Raises NotFound, where it was soft-deleted then too, and Purged.
    """
    kind = KINDS[which.type or ""]
    entity_id = which.id or _id_of_name(services, kind, which.fully_qualified_name or "")
    entity = live_of_then(services, kind, entity_id, position)
    return Node(kind.name, entity.id, entity.name, entity.fqn)
