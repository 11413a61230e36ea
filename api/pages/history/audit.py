"""The log as a stream that people search, follow, and open to what each event changed."""

from collections.abc import Generator, Mapping
from functools import cached_property, partial
from typing import Annotated, Any
from uuid import UUID

import msgspec
from anyio import to_thread
from litestar.handlers import HTTPRouteHandler
from litestar.params import PathParameter
from litestar.response.base import ASGIResponse
from msgspec import Raw

from api.declaring.declared_query import Parameters, query
from api.pages.frame.documents import formatted, words
from api.pages.frame.moments import DATE, Moment, date_values, moment_asked
from api.pages.frame.rendering import HEADERS, HTML, AnyRequest, Renderer, html
from api.pages.frame.routing import page
from api.routes.system.audit import (
    AUDITING,
    MAX_POSITION,
    audit_query,
    audit_span,
    auditable,
    page_events,
)
from api.services import Services
from domain.errors import InvalidInput, NotFound, cut
from domain.event_store.port import EventStore
from domain.events import EVENT_TYPES
from domain.kinds.registry import ALL_KINDS, KINDS
from domain.reading.audit import AuditEvent, AuditQuery, AuditTrail, LogSpan

_CHARACTERS = 600
"""Most characters of each value that the stream shows."""
_NOTHING = Raw(b"null")
VERBS: Mapping[str, str] = {
    "entity.created": "created",
    "entity.changed": "changed",
    "entity.status-changed": "set the status of",
    "entity.soft-deleted": "deleted",
    "entity.restored": "restored",
    "entity.renamed": "renamed",
    "contract.judged": "judged",
    "contract.breaking": "found to break",
    "entity.purged": "purged",
}
"""Type of event -> verb for the action on the entity."""


class ShownEvent(AuditEvent, frozen=True, dict=True):
    """An event of the log as a template shows it."""

    @property
    def verb(self) -> str:
        """The action on the entity."""
        return VERBS[self.event_type]

    @property
    def has_page(self) -> bool:
        """True of an entity that a page shows, be it deleted."""
        return self.kind in KINDS and self.event_type != "entity.purged"

    @cached_property
    def changes(self) -> list[tuple[str, str, Any]]:
        """The changes of the entity: the operation, the path, and the value, if any.

        Of a creation they are its keys, without an operation.
        """
        if self.body is not None:
            return [("", f"/{key}", value) for key, value in self.body.items()]
        return [(each["op"], each["path"], each.get("value")) for each in self.patch or ()]

    @property
    def about(self) -> str:
        """The new status, or the keys that were changed."""
        if self.status or self.body is not None:
            return f"to {self.status}" if self.status else ""
        paths = (path.split("/") for _, path, _ in self.changes if "/" in path)
        return ", ".join(dict.fromkeys(words(path[1]) for path in paths))

    def beginning(self, most: int) -> list[tuple[str, str, str | None]]:
        """The first changes: the operation, the path, and the beginning of the value, if any."""
        return [
            (operation, path, None if value in (None, _NOTHING) else _shown(value))
            for operation, path, value in self.changes[:most]
        ]


def _shown(value: Any) -> str:
    return cut(formatted(value, _CHARACTERS + 1), _CHARACTERS)


_ADDRESS = "/audit"
PAGE_SIZE = 50
EVENT_CHARACTERS = 500_000
"""Most characters of an event's changes on its page."""
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
_RARE = (*_IDS, "requestId")
"""Filters that the form shows when it is opened further."""
_OPENED: Parameters = {
    "position": (
        Annotated[int, PathParameter(ge=1, le=MAX_POSITION, description="Its place.")],
        ...,
    ),
    **DATE,
}


_POSITION = partial(query, int, ge=0, le=MAX_POSITION)
# A form sends what is left empty as well, so each is a text here, and may be empty.
_PARAMETERS: Parameters = {
    **{name: query(str, label, "") for name, (_, label, _) in _FILTERS.items()},
    "before": _POSITION("Events before this position, newest first."),
    "after": _POSITION("Events after this position: the first of them, newest first."),
    "follow": query(bool, "Have new events come in.", False),
    **DATE,
}


def audit_pages(services: Services, renderer: Renderer) -> list[HTTPRouteHandler]:
    """The stream of the log, and the page of each event in it."""

    async def show(
        request: AnyRequest,
        at: str | None,
        as_of: str | None,
        before: int | None,
        after: int | None,
        follow: bool,
        **given: str,
    ) -> ASGIResponse:
        moment = await moment_asked(services, request, at, as_of)
        if follow and moment is not None:
            raise InvalidInput("follow is of the present alone: nothing comes in at a date")
        kept = {name: text.strip() for name, text in given.items() if text.strip()}
        values = await _stream(services, request, kept, before, after, moment)
        render = partial(
            renderer.page,
            request,
            "audit.html",
            **values,
            turned=before is not None or after is not None,
            filters=_FILTERS,
            choices={
                "kind": [
                    (each, words(each)) for each in sorted(auditable(request.auth, ALL_KINDS))
                ],
                "eventType": [(name, VERBS[name]) for name in EVENT_TYPES],
            },
            rare=_RARE,
            kept=kept,
            # What comes after an event is few as a rule.
            early=after is None and len(values["events"]) < PAGE_SIZE,
            follow=follow,
            **date_values(_ADDRESS, request, moment),
        )
        body = await services.heavy_read(request, render)
        return html(body, status=400 if values["problem"] else 200)

    async def show_event(
        request: AnyRequest, at: str | None, as_of: str | None, position: int
    ) -> ASGIResponse:
        moment = await moment_asked(services, request, at, as_of)
        query = audit_query(request.auth, request.user.name, **_asked({}))

        def chunks() -> Generator[bytes]:
            event = _event_at(services.stores.log, query, position, moment)
            shown = event.patch if event.body is None else event.body
            text = None if shown is None else formatted(shown, EVENT_CHARACTERS + 1)
            yield from renderer.chunks(
                request,
                "event.html",
                event=event,
                text=None if text is None else text[:EVENT_CHARACTERS],
                goes_on=text is not None and len(text) > EVENT_CHARACTERS,
                **date_values(f"{_ADDRESS}/{position}", request, moment),
            )

        return services.stream(request, chunks(), headers=HEADERS, media_type=HTML)

    return [
        page(_ADDRESS, AUDITING, show, _PARAMETERS),
        page(f"{_ADDRESS}/{{position:int}}", AUDITING, show_event, _OPENED),
    ]


async def _stream(
    services: Services,
    request: AnyRequest,
    kept: Mapping[str, str],
    before: int | None,
    after: int | None,
    moment: Moment | None,
) -> dict[str, Any]:
    """The events of a page, newest first, and the places from which others go on.

    As of a moment the log ends there. Filters that mean nothing are the `problem`.
    """
    log = services.stores.log
    try:
        query = audit_query(request.auth, request.user.name, **_asked(kept))
        head = moment.position if moment else await to_thread.run_sync(log.head)
        span = audit_span(after, before, "desc" if after is None else "asc", head)
    except InvalidInput as error:
        return {"events": [], "problem": error.message, "newest": None, "oldest": None}

    read = partial(_events, log, query, span, PAGE_SIZE)
    events, reached = await services.heavy_read(request, read)
    newest, oldest = (
        (head if before is None else None, reached) if after is None else (reached, after + 1)
    )
    return {
        "events": events if after is None else events[::-1],
        "head": head,
        "problem": None,
        # After the end of the past nothing comes.
        "newest": None if moment and newest == head else newest,
        "oldest": oldest if oldest > 1 else None,
    }


def _events(
    log: EventStore, query: AuditQuery, span: LogSpan, most: int
) -> tuple[list[ShownEvent], int]:
    """The events of a page as the API returns them, and the position reached. Blocks."""
    events, reached = page_events(AuditTrail(log), query, span, most)
    return [ShownEvent(**msgspec.structs.asdict(each)) for each, _ in events], reached


def _event_at(
    log: EventStore, query: AuditQuery, position: int, moment: Moment | None
) -> ShownEvent:
    """The event at a position as the API returns it.

    Blocks. Raises NotFound where there is none that the caller may see, or was none at a moment.
    """
    head = moment.position if moment else log.head()
    if position > head:
        raise NotFound(f"the log ends at position {head}")
    span = audit_span(position - 1, None, "asc", min(position, head))
    events, _ = _events(log, query, span, 1)
    if not events or events[0].position != position:
        raise NotFound(f"no event at position {position} that you may see")
    return events[0]


def _asked(kept: Mapping[str, str]) -> dict[str, Any]:
    """The arguments of `audit_query` for the filters of a page; raises InvalidInput."""
    asked: dict[str, Any] = {field: kept.get(name) for name, (field, _, _) in _FILTERS.items()}
    for name in _IDS:
        try:
            asked[_FILTERS[name][0]] = str(UUID(kept[name])) if name in kept else None
        except ValueError:
            raise InvalidInput(f"{_FILTERS[name][1]}: {kept[name][:64]!r} is not an id") from None
    if "eventType" in kept and kept["eventType"] not in EVENT_TYPES:
        raise InvalidInput(f"{kept['eventType'][:64]!r} is not a type of event")
    return asked
