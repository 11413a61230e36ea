"""Reads and writes of measurements of an entity, as every route of measurements does them."""

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from functools import partial
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from api.answers.bodies import JSON_TYPES, check_media_type, read_body
from api.answers.responses import Finished
from api.callers.permissions import Access, Action, Permission
from api.declaring.signatures import AnyRequest
from api.services import Services
from domain.contracts.validation.results import latest
from domain.errors import InvalidInput
from domain.kinds.bodies.components import Identified
from domain.kinds.bodies.refused_values import converted
from domain.kinds.entity_kind import EntityKind
from domain.kinds.ids import parse_id
from domain.kinds.registry import KINDS
from domain.machine import clock
from domain.measurements.joins import first_day, summed
from domain.measurements.port import PageRequest
from domain.measurements.reports import FOREVER, JOIN, RESULT, TestResult, moment_of
from domain.measurements.runs import RUN
from domain.patches.json_input import decode
from projections.entities.single_entities import EntityAnswer, read_one

_PAGE_BYTES = 1_000_000
_PARTS = 10_000

T = TypeVar("T", bound=msgspec.Struct)


def report(body: bytes, expected: type[T]) -> T:
    """Read the report in a body; raises InvalidInput naming the key that does not fit."""
    return converted(decode(body, dict[str, Any], "the body"), expected, "the body")


Complete = Callable[[Sequence[tuple[int, bytes]], Sequence[tuple[int, bytes]]], list[bytes]]
"""Makes the JSON of points of theirs and of those of all parts, given with their times."""
Handler = Callable[..., Coroutine[Any, Any, Finished]]


def reading(
    services: Services, work: Callable[..., bytes | tuple[bytes, Mapping[str, Any]]]
) -> Handler:
    """The handler of a read that `work` makes in the threads of heavy reads.

    `work` is given the request, and the parameters by keyword; it makes a body, which may come with
    what else `Large` is given.
    """

    async def handler(request: AnyRequest, **given: Any) -> Finished:
        made = await services.heavy_read(request, partial(work, request, **given))
        body, more = made if isinstance(made, tuple) else (made, {})
        return services.large(request, body, **more)

    return handler


def changing(services: Services, work: Callable[..., bytes]) -> Handler:
    """The handler of a change of measurements that `work` makes when it is its caller's turn."""

    async def handler(request: AnyRequest, **given: Any) -> Finished:
        body = await services.measure(request, partial(work, request, **given))
        return services.large(request, body)

    return handler


def reporting(services: Services, work: Callable[..., bytes]) -> Handler:
    """The handler of a report, whose body `work` is given beside the parameters.

    It raises InvalidInput for a condition, which needs a version.
    """

    async def handler(request: AnyRequest, **given: Any) -> Finished:
        for name in ("if-match", "if-none-match"):
            if name in request.headers:
                no = "and measurements have none"
                raise InvalidInput(f"{name} means a version of an entity, {no}")
        check_media_type(request.headers.get("content-type"), JSON_TYPES)
        body = await read_body(request)
        return await changing(services, work)(request, body=body, **given)

    return handler


def find(services: Services, kind: EntityKind, which: str) -> EntityAnswer:
    """The live entity with this id or qualified name, whole; raises NotFound."""
    entity_id = fqn = None
    try:
        entity_id = parse_id(which, "id")
    except InvalidInput:
        fqn = kind.spelled(which)
    with services.stores.entities.use() as entities:
        return read_one(entities, kind, entity_id=entity_id, fqn=fqn)


def id_of(entity: EntityAnswer) -> str:
    """The id of an entity that was read."""
    return msgspec.json.decode(entity.body, type=Identified).id


def visible(access: Access, action: Action, kind: EntityKind, entity: EntityAnswer) -> bytes:
    """The JSON of an entity as far as both an action and `view` show it to a caller."""
    body = entity.body
    if not access.may(Permission(Action.VIEW, kind.name)):
        return b'{"id":%b}' % msgspec.json.encode(id_of(entity))
    for withheld in (access.withheld(action, kind.name), access.withheld(Action.VIEW, kind.name)):
        if withheld:
            body = withheld.cut(body)
    return body


def with_member(whole: bytes, key: str, value: bytes) -> bytes:
    """A JSON object with one more member at its end."""
    return b"%b,%b:%b}" % (whole.rstrip()[:-1], msgspec.json.encode(key), value.strip())


def page(
    services: Services,
    entity_id: str,
    series: str,
    part: str | None,
    *,
    start_ts: int | None,
    end_ts: int | None,
    limit: int,
    after: int | None,
    shown: Callable[[bytes], bytes] = lambda body: body,
    complete: Complete | None = None,
) -> bytes:
    """A page of a series of an entity, the newest first, as OpenMetadata's lists are written.

    `shown` makes of the JSON of a point what the caller may see of it, and `complete` adds to the
    points what the other parts of the series have at their times.
    """
    wanted = PageRequest(
        entity_id=entity_id,
        series=series,
        part=part,
        since=_bounded(start_ts, 0),
        until=_bounded(end_ts, FOREVER),
        before=None if after is None else _bounded(after, 0),
        limit=limit,
        most_bytes=_PAGE_BYTES,
    )
    page = services.measurements.page(wanted)
    points, more = page.points, page.more
    bodies = [body for _, body in points]
    if complete is not None and points:
        all_parts = replace(
            wanted, part=None, since=points[-1][0], until=points[0][0], before=None, limit=_PARTS
        )
        beside = services.measurements.page(all_parts)
        # Every point of a page is complete: with too many parts beside it, the page ends earlier.
        points = [each for each in points if not beside.more or each[0] >= beside.points[-1][0]]
        more = more or len(points) < len(bodies)
        bodies = complete(points, beside.points)
    paging: dict[str, int | str] = {"total": page.total}
    if more:
        paging["after"] = str(points[-1][0])
    data = b",".join(map(shown, bodies))
    return b'{"data":[%b],"paging":%b}' % (data, msgspec.json.encode(paging))


def _bounded(given: int | None, default: int) -> int:
    """A given time, or the default, within the bounds of times that the store can compare with."""
    return default if given is None else max(min(given, FOREVER), -FOREVER)


_RUNS_SHOWN = 10
_MOST_SHOWN = 10_000
_MOST_BYTES = 4_000_000


def refuse_joins(access: Access, action: Action) -> None:
    """Raise FieldWithheld where a caller does not see the columns, which joins are of."""
    for each in (action, Action.VIEW):
        if withheld := access.withheld(each, "table"):
            withheld.refuse_field("columns", "joins")


def joins_of(services: Services, table_id: str) -> bytes:
    """The joins of a table in the last days, as JSON."""
    day = today()
    wanted = PageRequest(
        entity_id=table_id,
        series=JOIN,
        since=moment_of(first_day(day)),
        until=moment_of(day),
        limit=_MOST_SHOWN,
        most_bytes=_MOST_BYTES,
    )
    page = services.measurements.page(wanted)
    return msgspec.json.encode(summed((body for _, body in page.points), day))


_SAMPLE = b'"sampleData"'


def shown_result(access: Access, body: bytes) -> bytes:
    """The JSON of a test's result, without the rows that did not pass unless samples are shown."""
    if _SAMPLE not in body or access.may(Permission(Action.SAMPLE, "testCase")):
        return body
    return msgspec.json.encode(
        replace(msgspec.json.decode(body, type=TestResult), sample_data=None)
    )


def _newest_result(services: Services, access: Access, case_id: str) -> bytes | None:
    body = services.measurements.latest(case_id, RESULT)
    return None if body is None else shown_result(access, body)


def _newest_runs(services: Services, _: Access, pipeline_id: str) -> bytes | None:
    wanted = PageRequest(
        entity_id=pipeline_id, series=RUN, limit=_RUNS_SHOWN, most_bytes=_PAGE_BYTES
    )
    points = services.measurements.page(wanted).points
    return b"[%b]" % b",".join(body for _, body in points) if points else None


def _newest_of_contract(services: Services, access: Access, contract_id: str) -> bytes | None:
    newest = services.measurements.latest(contract_id, RESULT)
    if newest is None:
        return None
    # The message tells of the contract and of its entity, whatever kind that is of.
    sees_all = access.kinds(Action.VIEW) >= KINDS.keys() and not access.hidden.get(Action.VIEW)
    return msgspec.json.encode(latest(newest, with_message=sees_all))


Measured = Callable[[Services, Access, str], bytes | None]
"""The JSON of a field, from the measurements of the entity with an id; None without any."""

_MEASURED: Mapping[str, Mapping[str, Measured]] = {
    "table": {"joins": lambda services, _, table_id: joins_of(services, table_id)},
    "pipeline": {
        "pipelineStatus": lambda services, _, pipeline_id: services.measurements.latest(
            pipeline_id, RUN
        )
    },
    "ingestionPipeline": {"pipelineStatuses": _newest_runs},
    "testCase": {"testCaseResult": _newest_result},
    "dataContract": {"latestResult": _newest_of_contract},
}


def measured_fields(kind: EntityKind, named: Iterable[str]) -> dict[str, Measured]:
    """Name -> reader of each named field of a kind that comes from measurements; `*` adds none."""
    known = _MEASURED.get(kind.name, {})
    return {name: known[name] for name in named if name in known}


def today() -> date:
    """Return the current date in UTC."""
    return datetime.fromtimestamp(clock.now() // 1_000, UTC).date()
