"""The log for auditors: a page at a time as JSON, or streamed as NDJSON."""

from collections.abc import Generator
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any

import msgspec
from anyio import to_thread
from litestar import Request
from litestar.handlers import HTTPRouteHandler
from litestar.params import QueryParameter

from api.errors import Forbidden
from api.permissions import Access, Action, Permission
from api.request_log import has_left
from api.responses import NDJSON, Finished, Heavy
from api.routes.signatures import REQUEST, Parameters, route
from api.services import Services
from domain.audit import AuditEvent, AuditQuery, AuditTrail
from domain.errors import InvalidInput
from domain.registry import KINDS

DEFAULT_LIMIT, MAX_LIMIT, MAX_STREAMED = 100, 1_000, 1_000_000
MAX_POSITION = 2**53 - 1
"""Beyond what any log reaches; JSON's readers, which count in floats, know all numbers below."""
BOUND, STREAM_BOUND = 50_000, 1_000_000
"""Events that one request looks at, at most, as JSON and as NDJSON."""

AUDITING = Permission(Action.AUDIT)


class AuditPaging(msgspec.Struct):
    """How far the log was read."""

    after: int
    """Position reached: give it as `after` to go on. Everything up to here was looked at."""
    head: int
    """Newest position of the log; the end is reached when `after` equals it."""


class AuditPage(msgspec.Struct):
    """Events in log order."""

    data: list[AuditEvent]
    paging: AuditPaging


def audit_routes(services: Services) -> list[HTTPRouteHandler]:
    """The audit endpoint."""
    log, heavy_reads = services.stores.log, services.heavy_reads

    async def events(
        request: Request[Any, Any, Any],
        after: int,
        kind: str | None,
        actor: str | None,
        since: str | None,
        until: str | None,
        limit: int | None,
    ) -> Any:
        query = AuditQuery(
            kinds=_kinds(request, kind),
            actor=actor,
            since=_time("since", since),
            until=_time("until", until),
        )
        caller: str = request.user.name
        streamed = NDJSON in request.headers.get("accept", "").lower()
        if not streamed and limit is not None and limit > MAX_LIMIT:
            raise InvalidInput(
                f"limit must be 1 to {MAX_LIMIT}, got '{limit}';"
                f" with Accept: {NDJSON} it may be up to {MAX_STREAMED}"
            )
        head = await to_thread.run_sync(log.head)
        if after > head:
            raise InvalidInput(f"after must be at most {head}, the head of the log, got '{after}'")
        trail = AuditTrail(log)
        if streamed:
            chunks = _lines(trail, query, after, head, limit or MAX_STREAMED)
            return Heavy(chunks, caller, heavy_reads, services.streams, media_type=NDJSON)
        page = partial(_page, trail, query, after, head, limit or DEFAULT_LIMIT)
        left = partial(has_left, request.receive)
        return Finished(await heavy_reads.run(caller, page, left))

    return [route("GET", "/v1/audit/events", AUDITING, events, _PARAMETERS)]


def _about(description: str) -> Any:
    return Annotated[str | None, QueryParameter(description=description)]


_PARAMETERS: Parameters = {
    **REQUEST,
    "after": (
        Annotated[
            int,
            QueryParameter(ge=0, le=MAX_POSITION, description="Position after which to begin."),
        ],
        0,
    ),
    "kind": (_about("Only events of entities of this kind."), None),
    "actor": (_about("Only what this subject caused."), None),
    "since": (_about("Only from this time on: an ISO 8601 date or time, or milliseconds."), None),
    "until": (_about("Only before this time."), None),
    "limit": (
        Annotated[
            int | None,
            QueryParameter(
                ge=1,
                le=MAX_STREAMED,
                description=f"The most events to give: {DEFAULT_LIMIT} by default and at most"
                f" {MAX_LIMIT} as JSON, {MAX_STREAMED} by default and at most as NDJSON.",
            ),
        ],
        None,
    ),
}


def _kinds(request: Request[Any, Any, Any], kind: str | None) -> frozenset[str]:
    """The kinds asked for that the caller may audit."""
    if kind is not None and kind not in KINDS:
        raise InvalidInput(f"kind must be one of {', '.join(KINDS)}, got {kind[:64]!r}")
    asked = KINDS if kind is None else (kind,)
    allowed = frozenset(name for name in asked if _may_audit(request.auth, name))
    if not allowed:
        raise Forbidden(f"{request.user.name!r} has no permission to audit {kind}")
    return allowed


def _may_audit(access: Access, kind: str) -> bool:
    """Only whole kinds: events hold old and new values of any field."""
    return kind in access.kinds(Action.AUDIT) and access.withheld(Action.AUDIT, kind) is None


def _time(name: str, text: str | None) -> int | None:
    """Milliseconds since the epoch; a time without a zone is in UTC."""
    if text is None:
        return None
    if text.isascii() and text.isdigit() and 10 < len(text) < 16:
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            f"{name} must be an ISO 8601 date or time such as 2026-01-31 or 2026-01-31T12:00:00Z,"
            f" or milliseconds since 1970, got {text[:64]!r}"
        ) from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def _page(trail: AuditTrail, query: AuditQuery, after: int, head: int, limit: int) -> bytes:
    data: list[AuditEvent] = []
    for found, position in trail.read(query, after=after, upto=head, limit=limit, bound=BOUND):
        data += found
        after = position
    return msgspec.json.encode(AuditPage(data, AuditPaging(after, head)))


def _lines(
    trail: AuditTrail, query: AuditQuery, after: int, head: int, limit: int
) -> Generator[bytes]:
    """A line for each event, and one with the paging last, which says that nothing is missing."""
    lines = bytearray()
    batches = trail.read(query, after=after, upto=head, limit=limit, bound=STREAM_BOUND)
    for found, position in batches:
        after = position
        for event in found:
            lines += msgspec.json.encode(event) + b"\n"
        if lines:
            yield bytes(lines)
            lines.clear()
    yield msgspec.json.encode({"paging": AuditPaging(after, head)}) + b"\n"
