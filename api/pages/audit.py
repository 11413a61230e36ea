"""The log as a stream that people search, follow, and open to what each event changed."""

from collections.abc import Generator, Mapping
from functools import partial
from typing import Annotated, Any
from uuid import UUID

import msgspec
from anyio import to_thread
from litestar.handlers import HTTPRouteHandler
from litestar.params import PathParameter
from litestar.response.base import ASGIResponse

from api.pages.addresses import with_query
from api.pages.rendering import HEADERS, HTML, AnyRequest, Renderer, html, words
from api.pages.routing import page
from api.responses import Heavy
from api.routes.audit import (
    AUDITING,
    MAX_POSITION,
    audit_page,
    audit_query,
    audit_span,
    auditable,
)
from api.routes.declared_query import Parameters, QueryParameter
from api.services import Services
from domain.audit import AuditTrail
from domain.errors import InvalidInput, NotFound
from domain.events import EVENT_TYPES
from domain.registry import ALL_KINDS, KINDS

PAGE_SIZE = 50
_CHANGES, _CHARACTERS = 12, 600
"""How many changes of an event the stream shows, and how many characters of each value."""
_FILTERS: Mapping[str, tuple[str, str, str]] = {
    "kind": ("kind", "Kind", ""),
    "eventType": ("event_type", "What", ""),
    "fqn": ("fqn", "Qualified name", "shop.sales.public.orders"),
    "actor": ("actor", "Who", "annabel"),
    "since": ("since", "From", "2026-01-31"),
    "until": ("until", "Before", "2026-02-01T12:00"),
    "entity": ("entity_id", "Id of the entity", ""),
    "lineageOf": ("edges_of", "Lineage of the id", ""),
    "requestId": ("request_id", "Id of the request", ""),
}
"""Parameter of `/v1/audit/events` -> what AuditQuery calls it, its label, and an example."""
_IDS = ("entity", "lineageOf")
_VERBS: Mapping[str, str] = {
    "entity.created": "created",
    "entity.changed": "changed",
    "entity.status-changed": "set the status of",
    "entity.soft-deleted": "deleted",
    "entity.restored": "restored",
    "entity.purged": "purged",
}
_OPENED: Parameters = {
    "position": (
        Annotated[int, PathParameter(ge=1, le=MAX_POSITION, description="Its place.")],
        ...,
    )
}


def _position(description: str) -> tuple[Any, None]:
    bounds = QueryParameter(ge=0, le=MAX_POSITION, description=description)
    return Annotated[int | None, bounds], None


# A form sends what is left empty as well, so each is a text here, and may be empty.
_PARAMETERS: Parameters = {
    **{
        name: (Annotated[str, QueryParameter(description=label)], "")
        for name, (_, label, _) in _FILTERS.items()
    },
    "before": _position("Events before this position, newest first."),
    "after": _position("Events after this position: the first of them, newest first."),
    "follow": (Annotated[bool, QueryParameter(description="Have new events come in.")], False),
}


def audit_pages(services: Services, renderer: Renderer) -> list[HTTPRouteHandler]:
    """The stream of the log, and the page of each event in it."""
    log = services.stores.log

    async def show(
        request: AnyRequest,
        before: int | None,
        after: int | None,
        follow: bool,
        **given: str,
    ) -> ASGIResponse:
        kept = {name: text.strip() for name, text in given.items() if text.strip()}
        values: dict[str, Any] = {"events": [], "paging": None}
        problem, status = None, 200
        try:
            values = await read(request, kept, before, after)
        except InvalidInput as error:
            problem, status = error.message, 400
        address = partial(with_query, "/audit")
        following = {"follow": "true"} if follow else {}
        newest = values.get("newest")
        render = partial(
            renderer.page,
            request,
            "audit.html",
            **values,
            problem=problem,
            filters=_fields(request, kept),
            narrowed=bool(kept),
            more_filters=any(name in kept for name in ("entity", "lineageOf", "requestId")),
            follow=follow,
            toggle=address(kept if follow else {**kept, "follow": "true"}),
            newer=address({**kept, **following, "after": str(newest)})
            if newest is not None
            else None,
            older=address({**kept, "before": str(values["oldest"])})
            if values.get("oldest")
            else None,
            first=address(kept) if before is not None or after is not None else None,
        )
        body = await services.heavy_read(request, render)
        return html(body, status=status)

    async def read(
        request: AnyRequest, kept: Mapping[str, str], before: int | None, after: int | None
    ) -> dict[str, Any]:
        """The events of a page, newest first, and the places from which others go on."""
        caller: str = request.user.name
        query = audit_query(request.auth, caller, **_asked(kept))
        head = await to_thread.run_sync(log.head)
        span = audit_span(after, before, "desc" if after is None else "asc", head)
        work = partial(audit_page, AuditTrail(log), query, span, head, PAGE_SIZE)
        found = msgspec.json.decode(await services.heavy_read(request, work))
        events = [_event(each) for each in found["data"]]
        if after is not None:
            events.reverse()
            reached = found["paging"]["after"]
            return {"events": events, "head": head, "newest": reached, "oldest": after + 1}
        reached = found["paging"]["before"]
        return {
            "events": events,
            "head": head,
            "newest": head if before is None else None,
            "oldest": reached if reached > 1 else None,
        }

    async def show_event(request: AnyRequest, position: int) -> ASGIResponse:
        caller: str = request.user.name
        query = audit_query(request.auth, caller, **_asked({}))
        head = await to_thread.run_sync(log.head)

        def chunks() -> Generator[bytes]:
            if position > head:
                raise NotFound(f"the log ends at position {head}")
            span = audit_span(position - 1, None, "asc", min(position, head))
            found = msgspec.json.decode(audit_page(AuditTrail(log), query, span, head, 1))
            if not found["data"] or found["data"][0]["position"] != position:
                raise NotFound(f"no event at position {position} that you may see")
            event = found["data"][0]
            shown = event.get("body", event.get("patch"))
            text = None if shown is None else _formatted(shown)
            yield from renderer.chunks(request, "event.html", event=_event(event), text=text)

        return Heavy(chunks(), caller, services.heavy_reads, services.streams, dict(HEADERS), HTML)

    return [
        page("/audit", AUDITING, show, _PARAMETERS),
        page("/audit/{position:int}", AUDITING, show_event, _OPENED),
    ]


def _asked(kept: Mapping[str, str]) -> dict[str, Any]:
    """What `audit_query` is to be given for the filters of a page; raises InvalidInput."""
    asked: dict[str, Any] = {field: kept.get(name) for name, (field, _, _) in _FILTERS.items()}
    for name in _IDS:
        try:
            asked[_FILTERS[name][0]] = str(UUID(kept[name])) if name in kept else None
        except ValueError:
            raise InvalidInput(f"{_FILTERS[name][1]}: {kept[name][:64]!r} is no id") from None
    if "eventType" in kept and kept["eventType"] not in EVENT_TYPES:
        raise InvalidInput(f"{kept['eventType'][:64]!r} is no type of event")
    return asked


def _fields(request: AnyRequest, kept: Mapping[str, str]) -> list[dict[str, Any]]:
    """The fields of the form that narrows, with what is chosen in them."""
    choices = {
        "kind": [(kind, words(kind)) for kind in sorted(auditable(request.auth, ALL_KINDS))],
        "eventType": [(name, _VERBS[name]) for name in EVENT_TYPES],
    }
    return [
        {
            "name": name,
            "label": label,
            "example": example,
            "value": kept.get(name, ""),
            "choices": choices.get(name),
            "rare": name in (*_IDS, "requestId"),
        }
        for name, (_, label, example) in _FILTERS.items()
    ]


def _event(event: Mapping[str, Any]) -> dict[str, Any]:
    """An event as the stream shows it: what was done, and the first of what it changed."""
    if "body" in event:
        changes = [("", f"/{key}", value) for key, value in event["body"].items()]
    else:
        changes = [(each["op"], each["path"], each.get("value")) for each in event.get("patch", ())]
    touched = dict.fromkeys(words(path.split("/")[1]) for _, path, _ in changes if "/" in path)
    status = event.get("status")
    return {
        "position": event["position"],
        "entity": event["entityId"],
        "kind": event["kind"],
        "is_shown": event["kind"] in KINDS,
        "fqn": event["fullyQualifiedName"],
        "type": event["eventType"],
        "verb": _VERBS[event["eventType"]],
        "version": event["version"],
        "actor": event["actor"],
        "time": event["time"],
        "request": event["requestId"],
        "about": f"to {status}" if status else "" if "body" in event else ", ".join(touched),
        "changes": [
            (sort, path, _cut(_formatted(value)) if value is not None else None)
            for sort, path, value in changes[:_CHANGES]
        ],
        "more": max(len(changes) - _CHANGES, 0),
    }


def _formatted(value: Any) -> str:
    return (
        value
        if isinstance(value, str)
        else msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    )


def _cut(text: str) -> str:
    return text if len(text) <= _CHARACTERS else f"{text[:_CHARACTERS]}…"
