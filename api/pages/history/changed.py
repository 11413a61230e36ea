"""The page of what changed in a part of the catalog since a day."""

from collections.abc import Generator, Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any

from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse
from msgspec import UNSET

from api.callers.permissions import Action
from api.declaring.declared_query import Parameters, query
from api.pages.entities.entity_routes import OF_ONE, EntityPages, EntityRequest, may_view
from api.pages.frame.addresses import with_query
from api.pages.frame.moments import DATE
from api.pages.frame.rendering import HEADERS, HTML, AnyRequest, Renderer
from api.pages.frame.routing import hidden_fields, page
from api.pages.history.history import CHANGES_SHOWN, line_of
from api.paths.entity_pages import entity_address
from api.routes.system.audit import auditable
from api.services import Services
from api.use_cases import asked_differences as asked
from api.use_cases.differences import Comparison, Key, in_turns
from api.use_cases.past import NOW
from domain.errors import NotFound
from domain.event_store.port import EventStore
from domain.kinds.registry import kinds_below
from domain.reading import changes
from domain.reading.between import ends_of, root_of
from projections.search.language import dates

PAGE_SIZE = 25
"""Entities of one page."""
_PARAMETERS: Parameters = {
    "from_": query(str, "The day since when, or another point of the log.", ""),
    "after": query(str, "The cursor of the page."),
    **DATE,
}


def changed_pages(services: Services, renderer: Renderer) -> list[HTTPRouteHandler]:
    """The page of what changed in an entity and below it, or of what is in a domain."""
    log, pages = services.stores.log, EntityPages(services, renderer)

    async def show(
        request: AnyRequest, at: str | None, as_of: str | None, from_: str, after: str | None
    ) -> ASGIResponse:
        about = await pages.asked_as_of(request, at, as_of)
        to = str(about.moment.position) if about.moment else NOW
        listing = "\0".join((about.kind.name, about.name, from_, to))
        place = None
        if from_:
            place = await asked.place_asked(services, request, from_, to, after, listing)

        def chunks() -> Generator[bytes]:
            entity, _ = about.decoded(None)
            head = {
                "kind": about.kind.name,
                "entity": entity,
                "day": _day(from_),
                **pages.date_values(about, "changed"),
            }
            if place is None:
                yield renderer.page(request, "changed.html", **head, points=None)
                return
            comparison = _comparison(about, log, entity["id"], *place)
            yield from comparison.in_turns(log)
            rows = _rows(comparison)
            yield from in_turns(_fill_in(log, comparison, rows))
            address = entity_address(about.kind.name, entity["fullyQualifiedName"], "changed")
            address = about.dated(with_query(address, {"from": from_}))
            cursor = asked.encode_cursor(comparison, listing)
            yield renderer.page(
                request,
                "changed.html",
                **head,
                points=place[:2],
                counts=[
                    (word, comparison.totals[word])
                    for word in ("created", "changed", "deleted", "restored", "purged")
                    if comparison.totals[word]
                ],
                groups=[*_groups(comparison, rows)],
                hidden_fields=hidden_fields(about.access, Action.VIEW, _kinds_about(about)),
                first=address if after else None,
                next=None if cursor is UNSET else with_query(address, {"after": cursor}),
            )

        return services.stream(request, chunks(), headers=HEADERS, media_type=HTML)

    return [page(f"/changed{OF_ONE}", may_view, show, _PARAMETERS)]


def _day(point: str) -> str:
    """The day of a point of the log that is a time; empty for a position."""
    day = point.partition("T")[0]
    return day if dates.is_day(day) else ""


def _kinds_about(at: EntityRequest) -> frozenset[str]:
    """The kinds that the page of an entity is about."""
    viewed = asked.kinds_viewed(at.access)
    is_domain = at.kind.name == asked.DOMAIN
    return viewed if is_domain else viewed & {at.kind.name, *kinds_below(at.kind.name)}


def _comparison(
    at: EntityRequest,
    log: EventStore,
    entity_id: str,
    before: int,
    after: int,
    start: Key | None,
) -> Comparison:
    """The comparison of what is in a domain, or of any other entity with all that is below it."""
    roots = None
    if at.kind.name == asked.DOMAIN:
        kinds = asked.kinds_with_domains(at.access)
    else:
        claim = log.claim_by_id(entity_id)
        if claim is None:
            raise NotFound(f"{at.kind.name} instance for {at.name} not found")
        roots = [root_of(log, claim, before, after)]
        kinds = _kinds_about(at)
    return Comparison(
        before=before,
        after=after,
        kinds=kinds,
        audited=auditable(at.access, kinds),
        withheld=asked.withheld_of(at.access, kinds),
        roots=roots,
        domain=entity_id if roots is None else None,
        limit=PAGE_SIZE,
        start=start,
    )


def _rows(comparison: Comparison) -> list[dict[str, Any]]:
    """The entities of a page; the fields that differ are still to be filled in."""
    return [
        {
            "kind": each.entity.type,
            "change": each.change,
            "id": each.entity.id,
            "fqn": each.entity.fully_qualified_name,
            "versions": [
                bytes(version).decode() for version in (each.from_, each.to) if version is not UNSET
            ],
            "fields": [],
            "more": 0,
        }
        for each in comparison.differing
    ]


def _fill_in(
    log: EventStore, comparison: Comparison, rows: Iterable[dict[str, Any]]
) -> Iterator[None]:
    """Fill in which fields of changed entities differ; yields after each part of the work."""
    changed = {row["id"]: row for row in rows if row["change"] == "changed"}
    for ends in ends_of(log, [*changed], comparison.before, comparison.after):
        if ends is not None and ends.before is not None:
            row, withheld = changed[ends.after.id], comparison.withheld.get(ends.after.kind)
            cut = withheld.cut if withheld else None
            for each in changes.state_differences(ends.before, ends.after, cut):
                if len(row["fields"]) < CHANGES_SHOWN:
                    row["fields"].append(line_of(each.name, each))
                else:
                    row["more"] += 1
        yield


def _groups(comparison: Comparison, rows: list[dict[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The entities of a page in groups by kind, each with the number of all that differ."""
    for kind, group in groupby(rows, itemgetter("kind")):
        total = sum(number for (of, _), number in comparison.counts.items() if of == kind)
        yield {"kind": kind, "total": total, "rows": [*group]}
