"""The page of activity: changes by day and kind, contracts by status, and coverage."""

from collections import Counter
from functools import partial
from typing import Any, Literal

from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from api.callers.permissions import Access, Action
from api.declaring.declared_query import Parameters, query
from api.pages.frame import plots
from api.pages.frame.documents import words
from api.pages.frame.moments import DATE, Moment, date_values, moment_asked
from api.pages.frame.rendering import AnyRequest, Renderer, day, html
from api.pages.frame.routing import page
from api.routes.system.audit import AUDITING, auditable
from api.services import Services
from domain.edges import EDGE
from domain.kinds.registry import ALL_KINDS, CONTRACT, KINDS
from domain.machine import clock
from domain.reading.moments import DAY
from projections.entities.daily_counts import EVENTS, DailyFigures
from projections.entities.port import SortedReadModel
from projections.entities.replaced_states import ANY_STATUS
from projections.entities.stored_entity import COVERED

_DAYS: Any = Literal["30", "90", "365"]
_ADDRESS = "/activity"
_PARAMETERS: Parameters = {"days": query(_DAYS, "How many days are shown.", "90"), **DATE}


def activity_pages(services: Services, renderer: Renderer) -> list[HTTPRouteHandler]:
    """The page of all plots."""

    async def show(
        request: AnyRequest, at: str | None, as_of: str | None, days: str
    ) -> ASGIResponse:
        moment = await moment_asked(services, request, at, as_of)

        def work() -> bytes:
            last = _last_day(moment)
            shown = range(last - int(days) + 1, last + 1)
            kinds = auditable(request.auth, KINDS)
            figures = services.stores.entities.read(partial(_figures, shown, kinds))
            return renderer.page(
                request,
                "activity.html",
                days=days,
                changes=_changes(figures, shown, _countable(request.auth)),
                contracts=_contracts(figures, shown) if CONTRACT.name in kinds else None,
                coverage={key: _coverage(figures, shown, kinds, key) for key in COVERED},
                last=day(last * DAY),
                **date_values(_ADDRESS, request, moment),
            )

        return html(await services.heavy_read(request, work))

    return [page(_ADDRESS, AUDITING, show, _PARAMETERS)]


def _last_day(moment: Moment | None) -> int:
    """The last day that is shown: today, or the last that was over at a moment.

    Figures are kept of whole days only, so they say nothing about a part of a day.
    """
    if moment is None:
        return clock.now() // DAY
    return max((moment.time or 0) // DAY - 1, 0)


def _figures(days: range, kinds: frozenset[str], entities: SortedReadModel) -> DailyFigures:
    """The figures of these days for all events, totals and coverage of some kinds."""
    series = [(kind, ANY_STATUS) for kind in sorted(kinds)]
    series += [(CONTRACT.name, status) for status in CONTRACT.statuses]
    return entities.daily_figures(days, series)


def _countable(access: Access) -> frozenset[str]:
    """The kinds whose events the caller may all see; edges only for callers who see all ends."""
    kinds = auditable(access, ALL_KINDS)
    sees_all = kinds >= set(KINDS) and access.kinds(Action.VIEW) >= set(KINDS)
    return kinds if sees_all else kinds - {EDGE}


def _changes(figures: DailyFigures, days: range, kinds: frozenset[str]) -> dict[str, Any]:
    """The bars of the changes of each day."""
    by_day: dict[int, dict[str, int]] = {each: {} for each in days}
    for each, kind, what, n in figures.counts:
        if what == EVENTS and kind in kinds and each in by_day:
            by_day[each][words(kind)] = n
    return plots.stacked_bars(_names(days), [*by_day.values()])


def _contracts(figures: DailyFigures, days: range) -> dict[str, Any]:
    """The bars of the contracts that there were at the end of each day."""
    by_day: dict[int, dict[str, int]] = {each: {} for each in days}
    for kind, status, each, n in figures.totals:
        if kind == CONTRACT.name and status != ANY_STATUS:
            by_day[each][status] = n
    return plots.stacked_bars(_names(days), [*by_day.values()])


def _coverage(
    figures: DailyFigures, days: range, kinds: frozenset[str], key: str
) -> dict[str, Any]:
    """The bars of the entities on which a key has content, and of the others that may have it."""
    kinds = frozenset(kind for kind in kinds if key in KINDS[kind].keys)
    changes: Counter[int] = Counter()
    for each, kind, what, n in figures.counts:
        if what == key and kind in kinds:
            changes[each] += n
    totals: Counter[int] = Counter()
    for kind, status, each, n in figures.totals:
        if kind in kinds and status == ANY_STATUS:
            totals[each] += n
    by_day = []
    covered = changes[days.start - 1]
    for each in days:
        covered += changes[each]
        by_day.append({"with": covered, "without": totals[each] - covered})
    return plots.stacked_bars(_names(days), by_day, ("with", "without"))


def _names(days: range) -> list[str]:
    return [day(each * DAY) for each in days]
