"""Counts of the use of entities: by day, shown with the sums of weeks and months."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import msgspec
from litestar.handlers import HTTPRouteHandler

from api.answers.bodies import read_body
from api.answers.responses import Finished
from api.callers.permissions import Action, Permission
from api.declaring.declared_query import Parameters, in_path, query
from api.declaring.operation import Operation, Report
from api.declaring.signatures import AnyRequest, id_in_path, name_in_path
from api.routes.measurements.reports import STORED
from api.services import Services
from api.use_cases.measured import find, id_of, reading, report, reporting, today, visible
from domain.errors import InvalidInput
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS
from domain.machine import clock
from domain.measurements.port import PageRequest
from domain.measurements.reports import RANK, USAGE, DailyUse, UsageRanks, moment_of
from domain.measurements.usage import summaries
from projections.entities.single_entities import EntityAnswer

MOST_DAYS = 30
_COUNTED = 2 * MOST_DAYS
"""Days whose counts are read: the first day shown sums up a month."""
_SHOWN = ("id", "name", "fullyQualifiedName", "displayName")
_PERIOD: Parameters = {
    "days": query(int, "Days that end with `date`.", 1, ge=1, le=MOST_DAYS),
    "upto": query(date, "The last day, today by default (UTC).", name="date"),
}


def usage_routes(services: Services) -> list[HTTPRouteHandler]:
    """The routes of the use of the kinds that have a summary of it, by id and by name."""
    used = (kind for kind in KINDS.values() if "usageSummary" in kind.keys)
    return [handler for kind in used for handler in _of_kind(kind, services)]


def _of_kind(kind: EntityKind, services: Services) -> list[HTTPRouteHandler]:
    def wanted(request: AnyRequest, entity_id: str | None = None, fqn: str = "") -> str:
        return name_in_path(request.scope) if entity_id is None else id_in_path(entity_id)

    def reported(request: AnyRequest, body: bytes, **where: str) -> bytes:
        which, given = wanted(request, **where), report(body, DailyUse)
        entity = find(services, kind, which)
        services.measurements.write(id_of(entity), given.points(kind.name), clock.now())
        return usage(request, entity, given.date, 1)

    def shown(request: AnyRequest, days: int, upto: date | None, **where: str) -> bytes:
        entity = find(services, kind, wanted(request, **where))
        return usage(request, entity, upto or today(), days)

    def usage(request: AnyRequest, entity: EntityAnswer, last: date, days: int) -> bytes:
        whole = msgspec.json.decode(visible(request.auth, Action.VIEW, kind, entity))
        reference = {"type": kind.name, **{key: whole[key] for key in _SHOWN if key in whole}}
        if not request.auth.may(viewing):
            # A caller who may only report learns nothing of what others reported.
            return msgspec.json.encode({"entity": reference, "usage": []})
        used, ranked = (points(id_of(entity), series, last) for series in (USAGE, RANK))
        counts = {day: msgspec.json.decode(body, type=DailyUse).count for day, body in used}
        ranks = {day: msgspec.json.decode(body, type=UsageRanks) for day, body in ranked}
        shown = summaries(counts, last, days, ranks)
        return msgspec.json.encode({"entity": reference, "usage": shown})

    def points(entity_id: str, series: str, last: date) -> Iterator[tuple[date, bytes]]:
        """The days that have a point of a series, as far as sums of the last days need them."""
        wanted = PageRequest(
            entity_id=entity_id,
            series=series,
            since=moment_of(last - timedelta(days=min(_COUNTED, (last - date.min).days))),
            until=moment_of(last),
            limit=_COUNTED,
            most_bytes=_COUNTED * 1_000,
        )
        for at, body in services.measurements.page(wanted).points:
            yield datetime.fromtimestamp(at / 1_000, UTC).date(), body

    async def rank(request: AnyRequest, day: date) -> Finished:
        if await read_body(request):
            raise InvalidInput("a ranking takes no body: its day and kind stand in the path")

        rank_all = services.measurements.rank_usage
        await services.measure(request, lambda: rank_all(kind.name, moment_of(day), clock.now()))
        # OpenMetadata's answer has no body either.
        return Finished(b"", status_code=201)

    viewing, editing = Permission(Action.VIEW, kind.name), Permission(Action.EDIT, kind.name)
    name, path = kind.body.__name__, f"/v1/usage/{kind.name}"
    reports = [
        Report(
            f"{verb}{name}Usage",
            f"Report the use of a {kind.name} on a day",
            STORED,
            answer="EntityUsage",
            body=DailyUse,
        ).by_id_and_name(method, path, editing, reporting(services, reported), by_name="")
        for method, verb in (("PUT", "createOrUpdate"), ("POST", "report"))
    ]
    show = Operation(f"get{name}Usage", f"Get the use of a {kind.name}", answer="EntityUsage")
    ranking = Operation(
        f"rank{name}Usage",
        f"Rank the use of each {kind.name} on a day",
        "Among those that were used on that day: the percentage that was used less, on the day and"
        " in the 7 and 30 days that end with it. `percentileRank` of the use shows it.",
        answer=None,
        statuses=(201,),
        errors=(400, 408, 413, 503),
    )
    ranks = f"/v1/usage/compute.percentile/{kind.name}/{{day:str}}"
    return [
        *(handler for together in zip(*reports, strict=True) for handler in together),
        ranking.at("POST", ranks, editing, rank, {"day": in_path(date)}),
        *show.by_id_and_name("GET", path, viewing, reading(services, shown), _PERIOD, by_name=""),
    ]
