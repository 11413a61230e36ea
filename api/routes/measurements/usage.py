"""How often entities are used: counted by day, shown with the sums of weeks and months."""

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any

import msgspec
from litestar.handlers import HTTPRouteHandler
from litestar.params import PathParameter

from api.answers.bodies import read_body
from api.answers.responses import Finished
from api.callers.permissions import Action, Permission
from api.declaring.declared_query import Parameters, QueryParameter
from api.declaring.signatures import ENTITY_ID, FQN, id_in_path, name_in_path, route
from api.services import Services
from api.use_cases.measured import (
    AnyRequest,
    change,
    find,
    id_of,
    now,
    read,
    report,
    visible,
    write,
)
from domain.errors import InvalidInput
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS
from domain.measurements.reports import RANK, USAGE, DailyUse, Point, UsageRanks, moment_of
from domain.measurements.usage import summaries
from projections.entities.single_entities import EntityAnswer

MOST_DAYS = 30
_COUNTED = 2 * MOST_DAYS
"""Days whose counts are read: the first day shown sums up a month."""
_SHOWN = ("id", "name", "fullyQualifiedName", "displayName")
_PERIOD: Parameters = {
    "days": (
        Annotated[
            int, QueryParameter(ge=1, le=MOST_DAYS, description="Days that end with `date`.")
        ],
        1,
    ),
    "upto": (
        Annotated[
            date | None,
            QueryParameter(name="date", description="The last day, today by default (UTC)."),
        ],
        None,
    ),
}


_DAY: Parameters = {
    "day": (Annotated[date, PathParameter(description="The day to rank the use of.")], ...)
}


def used_kinds() -> list[EntityKind]:
    """The kinds whose use is counted: those that have a summary of it."""
    return [kind for kind in KINDS.values() if "usageSummary" in kind.keys]


def usage_routes(services: Services) -> list[HTTPRouteHandler]:
    """The routes of the use of entities, by id and by name."""
    return [handler for kind in used_kinds() for handler in _of_kind(kind, services)]


def _of_kind(kind: EntityKind, services: Services) -> list[HTTPRouteHandler]:
    async def report_by_id(request: AnyRequest, entity_id: str) -> Finished:
        return await reported(request, id_in_path(entity_id))

    async def report_by_name(request: AnyRequest, fqn: str) -> Finished:
        return await reported(request, name_in_path(request))

    async def by_id(request: AnyRequest, entity_id: str, **period: Any) -> Finished:
        return await shown(request, id_in_path(entity_id), **period)

    async def by_name(request: AnyRequest, fqn: str, **period: Any) -> Finished:
        return await shown(request, name_in_path(request), **period)

    async def reported(request: AnyRequest, which: str) -> Finished:
        def points(body: bytes) -> Iterable[Point]:
            return report(body, DailyUse).points(kind.name)

        def answer(entity: EntityAnswer, body: bytes) -> bytes:
            return usage(request, entity, report(body, DailyUse).date, 1)

        return await write(services, request, kind, which, points, answer)

    async def shown(request: AnyRequest, which: str, days: int, upto: date | None) -> Finished:
        def work() -> bytes:
            last = upto or datetime.now(UTC).date()
            return usage(request, find(services, kind, which), last, days)

        return await read(services, request, work)

    def usage(request: AnyRequest, entity: EntityAnswer, last: date, days: int) -> bytes:
        whole = msgspec.json.decode(visible(request.auth, Action.VIEW, kind, entity))
        reference = {"type": kind.name, **{key: whole[key] for key in _SHOWN if key in whole}}
        if not request.auth.may(viewing):
            # Who may report, and no more, learns nothing of what others reported.
            return msgspec.json.encode({"entity": reference, "usage": []})
        used, ranked = (points(id_of(entity), series, last) for series in (USAGE, RANK))
        counts = {day: msgspec.json.decode(body, type=DailyUse).count for day, body in used}
        ranks = {day: msgspec.json.decode(body, type=UsageRanks) for day, body in ranked}
        shown = summaries(counts, last, days, ranks)
        return msgspec.json.encode({"entity": reference, "usage": shown})

    def points(entity_id: str, series: str, last: date) -> Iterator[tuple[date, bytes]]:
        """The days that have a point of a series, as far as sums of the last days need them."""
        found = services.measurements.page(
            entity_id,
            series,
            None,
            since=moment_of(last - timedelta(days=min(_COUNTED, (last - date.min).days))),
            until=moment_of(last),
            before=None,
            limit=_COUNTED,
            most_bytes=_COUNTED * 1_000,
        )
        for at, body in found.points:
            yield datetime.fromtimestamp(at / 1_000, UTC).date(), body

    async def rank(request: AnyRequest, day: date) -> Finished:
        if await read_body(request):
            raise InvalidInput("a ranking takes no body: its day and kind stand in the path")

        def work() -> bytes:
            services.measurements.rank_usage(kind.name, moment_of(day), now())
            return b""

        await change(services, request, work)
        # OpenMetadata's answer says no more.
        return Finished(b"", status_code=201)

    viewing, editing = Permission(Action.VIEW, kind.name), Permission(Action.EDIT, kind.name)
    item, named = (
        f"/v1/usage/{kind.name}/{{entity_id:str}}",
        f"/v1/usage/{kind.name}/name/{{fqn:path}}",
    )
    ranking = f"/v1/usage/compute.percentile/{kind.name}/{{day:str}}"
    one, by_fqn = ENTITY_ID, FQN
    return [
        *(route(method, item, editing, report_by_id, one) for method in ("PUT", "POST")),
        *(route(method, named, editing, report_by_name, by_fqn) for method in ("PUT", "POST")),
        route("POST", ranking, editing, rank, _DAY),
        route("GET", item, viewing, by_id, {**one, **_PERIOD}),
        route("GET", named, viewing, by_name, {**by_fqn, **_PERIOD}),
    ]
