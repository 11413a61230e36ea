"""The log for auditors: a page at a time as JSON, or streamed as NDJSON."""

import time
from collections.abc import Generator, Iterable
from functools import partial
from typing import Any, Literal
from uuid import UUID

import msgspec
from anyio import to_thread
from litestar.handlers import HTTPRouteHandler

from api.answers.responses import LOOP_BYTES, NDJSON
from api.callers.permissions import Access, Action, Permission
from api.declaring.declared_query import Parameters, query
from api.declaring.operation import Operation
from api.declaring.signatures import AnyRequest
from api.errors import Forbidden
from api.services import Services
from domain.errors import InvalidInput
from domain.events import EVENT_TYPES
from domain.kinds.registry import ALL_KINDS, KINDS
from domain.openmetadata.status_names import OWN, StatusNames
from domain.reading.audit import AuditEvent, AuditQuery, AuditTrail, LogSpan
from projections.search.language import dates

DEFAULT_LIMIT, MAX_LIMIT, MAX_STREAMED = 100, 1_000, 1_000_000
MAX_POSITION = 2**53 - 1
"""The greatest position: no log reaches it, and a float, as many JSON readers use, is exact."""
BOUND, STREAM_BOUND = 50_000, 1_000_000
"""The most events that one request looks at, for JSON and for NDJSON."""
PAGE_SECONDS, PAGE_BYTES = 0.25, 1024 * 1024
"""A JSON page ends before its limit after this time, or with this many bytes of events.

Going on costs as much as another request, and lets other callers have their turns between.
"""

AUDITING = Permission(Action.AUDIT)
Order = Literal["asc", "desc"]


class AuditPaging(msgspec.Struct, kw_only=True):
    """The place up to which the log was read."""

    after: int | msgspec.UnsetType = msgspec.UNSET
    """In log order: the position reached, to be given as `after`. Everything up to here was looked
    at; the end is reached when it equals `head`."""
    before: int | msgspec.UnsetType = msgspec.UNSET
    """Newest first: the position reached, to be given as `before`. Everything from here on was
    looked at; the beginning is reached when it is 1."""
    head: int
    """Newest position of the log."""


class AuditPage(msgspec.Struct):
    """Events in the order asked for."""

    data: list[AuditEvent]
    paging: AuditPaging


def audit_routes(services: Services) -> list[HTTPRouteHandler]:
    """The route of the audit endpoint."""
    log = services.stores.log

    async def events(
        request: AnyRequest,
        after: int | None,
        before: int | None,
        order: Order,
        limit: int | None,
        entity: UUID | None,
        lineage_of: UUID | None,
        **texts: str | None,
    ) -> Any:
        query = audit_query(
            request.auth,
            request.user.name,
            entity_id=None if entity is None else str(entity),
            edges_of=None if lineage_of is None else str(lineage_of),
            **texts,
        )
        streamed = NDJSON in request.headers.get("accept", "").lower()
        if not streamed and limit is not None and limit > MAX_LIMIT:
            raise InvalidInput(
                f"limit must be 1 to {MAX_LIMIT}, got '{limit}';"
                f" with Accept: {NDJSON} it may be up to {MAX_STREAMED}"
            )
        head = await to_thread.run_sync(log.head)
        span = audit_span(after, before, order, head)
        trail, names = AuditTrail(log), request.auth.statuses
        if streamed:
            chunks = audit_lines(trail, query, span, head, limit or MAX_STREAMED, names)
            return services.stream(request, chunks, media_type=NDJSON)
        page = partial(audit_page, trail, query, span, head, limit or DEFAULT_LIMIT, names)
        return services.large(request, await services.heavy_read(request, page))

    return [
        Operation(
            "listAuditEvents",
            "Read the log",
            "In log order, or newest first with `order=desc`. In log order, `paging.after` is the"
            " position reached: give it as `after` until it equals `paging.head`. Newest first it"
            " is `paging.before`: give it as `before` until it is 1. One request looks at no more"
            f" than {BOUND:,} events ({STREAM_BOUND:,} as NDJSON), and as JSON for no longer than"
            f" about {PAGE_SECONDS} s and {PAGE_BYTES:,} bytes of events, so a page may be short,"
            " or empty, before the end. Events of one `entity` are found at once; other filters"
            " look through the log. As NDJSON (`Accept: application/x-ndjson`) there is a line for"
            " each event, and a last one with `paging`; without it the answer was cut off.",
            answer=AuditPage,
            errors=(400, 503),
            lines="AuditLine",
        ).at("GET", "/v1/audit/events", AUDITING, events, _PARAMETERS, unsupported={})
    ]


def audit_query(
    access: Access,
    caller: str,
    *,
    kind: str | None,
    since: str | None,
    until: str | None,
    **others: str | None,
) -> AuditQuery:
    """Return the query that a caller asks for; `others` are fields of AuditQuery.

    `since` and `until` are times as a search takes them. Raises InvalidInput and Forbidden.
    """
    return AuditQuery(
        kinds=_kinds(access, caller, kind),
        end_kinds=auditable(access, KINDS) & access.kinds(Action.VIEW),
        since=_time("since", since),
        until=_time("until", until),
        **others,
    )


def audit_span(after: int | None, before: int | None, order: Order, head: int) -> LogSpan:
    """The part of the log to look at; raises InvalidInput for a position in the wrong order."""
    if order == "asc":
        if before is not None:
            raise InvalidInput("before goes with order=desc; in log order, go on with after")
        if after is not None and after > head:
            raise InvalidInput(f"after must be at most {head}, the head of the log, got '{after}'")
        return LogSpan(after=after or 0, upto=head)
    if after is not None:
        raise InvalidInput("after goes with order=asc; newest first, go on with before")
    if before is not None and before > head + 1:
        raise InvalidInput(
            f"before must be at most {head + 1}, one beyond the head of the log, got '{before}'"
        )
    upto = head if before is None else before - 1
    return LogSpan(after=0, upto=upto, newest_first=True)


_TIME = {
    "anyOf": [
        {"type": "string", "format": "date"},
        {"type": "string", "format": "date-time"},
        {"type": "string", "pattern": "^[0-9]{11,15}$"},
    ]
}
_PARAMETERS: Parameters = {
    "order": query(Order, "In log order, or newest first (`desc`).", "asc"),
    "after": query(
        int,
        "In log order: the position after which to begin; 0 by default.",
        ge=0,
        le=MAX_POSITION,
    ),
    "before": query(
        int,
        "Newest first: the position before which to begin; the end by default.",
        ge=1,
        le=MAX_POSITION,
    ),
    "kind": query(str, "Only events of entities of this kind.", schema={"enum": list(ALL_KINDS)}),
    "entity": query(UUID, "Only events of this entity, also of one that was purged."),
    "lineage_of": query(
        UUID,
        "Only events of edges of the lineage that begin or end at this entity, also of edges that"
        " were removed.",
    ),
    "fqn": query(str, "Only events of entities of this qualified name, purged ones included."),
    "event_type": query(Literal.__getitem__(tuple(EVENT_TYPES)), "Only events of this type."),
    "actor": query(str, "Only what this subject caused."),
    "request_id": query(str, "Only what the request of this id caused."),
    "since": query(
        str, "Only from this time on: an ISO 8601 date or time, or milliseconds.", schema=_TIME
    ),
    "until": query(str, "Only before this time.", schema=_TIME),
    "limit": query(
        int,
        f"The most events to give: {DEFAULT_LIMIT} by default and at most {MAX_LIMIT} as JSON,"
        f" {MAX_STREAMED} by default and at most as NDJSON.",
        ge=1,
        le=MAX_STREAMED,
    ),
}


def _kinds(access: Access, caller: str, kind: str | None) -> frozenset[str]:
    """The kinds asked for that the caller may audit."""
    if kind is not None and kind not in ALL_KINDS:
        raise InvalidInput(f"kind must be one of {', '.join(ALL_KINDS)}, got {kind[:64]!r}")
    allowed = auditable(access, ALL_KINDS if kind is None else (kind,))
    if not allowed:
        raise Forbidden(
            f"{caller!r} has no permission to audit {kind or 'any kind'}"
            " (of which no field may be withheld, as events hold all of them)"
        )
    return allowed


def auditable(access: Access, kinds: Iterable[str]) -> frozenset[str]:
    """Those of these kinds that a caller may audit and of which it may see all fields.

    Events hold any field.
    """
    audited = access.kinds(Action.AUDIT)
    return frozenset(
        kind for kind in kinds if kind in audited and access.withheld(Action.AUDIT, kind) is None
    )


def _time(name: str, text: str | None) -> int | None:
    """The first millisecond since 1970 of a time, which is written as in a search."""
    if text is None:
        return None
    try:
        return dates.span(text).first
    except InvalidInput:
        raise InvalidInput(
            f"{name} must be an ISO 8601 date or time such as 2026-01-31 or 2026-01-31T12:00:00Z,"
            f" or milliseconds since 1970, got {text[:64]!r}"
        ) from None


def audit_page(
    trail: AuditTrail,
    query: AuditQuery,
    span: LogSpan,
    head: int,
    limit: int,
    names: StatusNames = OWN,
) -> bytes:
    """The JSON of an AuditPage; `names` are the caller's of the statuses of contracts."""
    events, reached = page_events(trail, query, span, limit, names)
    data = b",".join([encoded for _, encoded in events])
    return b'{"data":[%b],"paging":%b}' % (data, msgspec.json.encode(_paging(span, reached, head)))


def page_events(
    trail: AuditTrail, query: AuditQuery, span: LogSpan, limit: int, names: StatusNames = OWN
) -> tuple[list[tuple[AuditEvent, bytes]], int]:
    """The events of a page, each with its JSON, and the position reached.

    They have up to `PAGE_BYTES` as JSON, or end with the batch that ends the page's time.
    """
    deadline = time.monotonic() + PAGE_SECONDS
    shown: list[tuple[AuditEvent, bytes]] = []
    size, reached = 0, _beginning(span)
    for events, reached in trail.read(query, span, limit=limit, bound=BOUND):
        for event in events:
            named = _named(event, names)
            encoded = msgspec.json.encode(named)
            shown.append((named, encoded))
            size += len(encoded)
            if size >= PAGE_BYTES:
                reached = event.position
                break
        if size >= PAGE_BYTES or time.monotonic() >= deadline:
            break
    return shown, reached


def audit_lines(
    trail: AuditTrail,
    query: AuditQuery,
    span: LogSpan,
    head: int,
    limit: int,
    names: StatusNames = OWN,
) -> Generator[bytes]:
    """Yield a line for each event, then one with the paging: without it the answer was cut off."""
    lines = bytearray()
    reached = _beginning(span)
    for events, position in trail.read(query, span, limit=limit, bound=STREAM_BOUND):
        reached = position
        for event in events:
            lines += msgspec.json.encode(_named(event, names)) + b"\n"
            if len(lines) >= LOOP_BYTES:
                yield bytes(lines)
                lines.clear()
        # An empty chunk, where nothing matched, gives other callers their turn.
        yield bytes(lines)
        lines.clear()
    yield msgspec.json.encode({"paging": _paging(span, reached, head)}) + b"\n"


def _named(event: AuditEvent, names: StatusNames) -> AuditEvent:
    """The event with the caller's names of statuses."""
    kind = ALL_KINDS[event.kind]
    if not names or not kind.statuses:
        return event
    return msgspec.structs.replace(
        event,
        body=event.body and names.shown_body(kind, event.body),
        patch=event.patch and names.shown_patch(kind, event.patch),
        status=event.status and names.name(event.status),
    )


def _beginning(span: LogSpan) -> int:
    """The position that a request starts from, before it looks at any event."""
    return span.upto + 1 if span.newest_first else span.after


def _paging(span: LogSpan, reached: int, head: int) -> AuditPaging:
    if span.newest_first:
        return AuditPaging(before=reached, head=head)
    return AuditPaging(after=reached, head=head)
