"""The page of activity: changes by day and kind, and contracts by status."""

import time
from collections.abc import Mapping
from typing import Any, Literal

from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from api.callers.permissions import Access, Action
from api.declaring.declared_query import Parameters, query
from api.pages.frame import plots
from api.pages.frame.documents import words
from api.pages.frame.rendering import AnyRequest, Renderer, day, html
from api.pages.frame.routing import page
from api.routes.system.audit import AUDITING, auditable
from api.services import Services
from domain.edges import EDGE
from domain.kinds.registry import ALL_KINDS, KINDS
from domain.reading.activity import CONTRACT, DAY, Activity, ActivityCounts

COUNT_SECONDS = 0.25
"""Longest time for which one request for the page counts events of the log."""
_DAYS: Any = Literal["30", "90", "365"]
_PARAMETERS: Parameters = {"days": query(_DAYS, "How many days are shown.", "90")}


def activity_pages(services: Services, renderer: Renderer) -> list[HTTPRouteHandler]:
    """The page of both plots."""
    activity = Activity(services.stores.log)

    async def show(request: AnyRequest, days: str) -> ASGIResponse:
        def work() -> bytes:
            counts = activity.count(COUNT_SECONDS)
            today = time.time_ns() // 1_000_000 // DAY
            shown = range(today - int(days) + 1, today + 1)
            return renderer.page(
                request,
                "activity.html",
                days=days,
                counted=counts.position,
                head=counts.head,
                changes=_changes(counts, shown, _countable(request.auth)),
                contracts=_contracts(counts, shown)
                if CONTRACT in auditable(request.auth, KINDS)
                else None,
                too_many=counts.statuses is None,
            )

        return html(await services.heavy_read(request, work))

    return [page("/activity", AUDITING, show, _PARAMETERS)]


def _countable(access: Access) -> frozenset[str]:
    """The kinds whose events the caller may all see; edges only for callers who see all ends."""
    kinds = auditable(access, ALL_KINDS)
    sees_all = kinds >= set(KINDS) and access.kinds(Action.VIEW) >= set(KINDS)
    return kinds if sees_all else kinds - {EDGE}


def _changes(counts: ActivityCounts, days: range, kinds: frozenset[str]) -> dict[str, Any]:
    """The bars of the changes of each day."""
    by_day = [
        {words(kind): n for kind, n in counts.changes.get(each, {}).items() if kind in kinds}
        for each in days
    ]
    return plots.stacked_bars([day(each * DAY) for each in days], by_day)


def _contracts(counts: ActivityCounts, days: range) -> dict[str, Any]:
    """The bars of the contracts that there were at the end of each day."""
    known = counts.statuses or {}
    before = [each for each in known if each < days.start]
    current: Mapping[str, int] = known[max(before)] if before else {}
    by_day = []
    for each in days:
        current = known.get(each, current)
        by_day.append(current)
    return plots.stacked_bars([day(each * DAY) for each in days], by_day)
