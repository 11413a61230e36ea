"""`get_quality`: tests, profile, use, runs and results of an entity, as they were measured."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from api.callers.permissions import Action, Permission
from api.mcp.answers import Answer, Room, Text, fill, short
from api.mcp.asking import Asked, Cursor, Named, first_moment, viewed
from api.mcp.cleaning import plain
from api.mcp.facts import facts_of
from api.use_cases.data_tests import may_list_tests, suite_of, tests_in
from api.use_cases.measured import measured_fields, shown_result
from domain.errors import InvalidInput
from domain.kinds.entity_kind import EntityKind
from domain.measurements.port import PageRequest
from domain.measurements.reports import COLUMN, RESULT, TABLE, USAGE, TestResult, column_part
from domain.measurements.runs import RUN

MOST_POINTS, MOST_DAYS, MOST_RESULT = 100, 30, 400
"""Runs or results of one answer, days of use, and characters of what a result says."""
_PAGE_BYTES = 2_000_000
_SERIES = {"testCase": RESULT, "pipeline": RUN, "ingestionPipeline": RUN}
"""Kind -> the series of what its entities did."""
_RESULT_FIELDS = ("latestResult",)


class GetQuality(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments."""

    entity: Named
    column: Annotated[
        str, Meta(max_length=3_072, description="Profile of this column of a table.")
    ] = ""
    since: Annotated[str, Meta(max_length=64, description="Of runs: 2026-11-01T12:00:00Z.")] = ""
    cursor: Cursor = ""


class Test(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A test, with its last run."""

    name: str
    of: str = ""
    """Name of the column that the test is about; empty for a test of the table."""
    status: str = "never run"
    time: int | UnsetType = UNSET
    text: str = ""
    """What the run said."""


class Quality(Answer, kw_only=True, omit_defaults=True):
    """The answer; what is not measured is not there."""

    tests: list[Test] = msgspec.field(default_factory=list)
    total_tests: int | UnsetType = UNSET
    tests_looked_at: int | UnsetType = UNSET
    """Number of tests whose runs were looked at; unset if all were."""
    profile: dict[str, Any] = msgspec.field(default_factory=dict)
    use: dict[str, int] = msgspec.field(default_factory=dict)
    """Day -> number of uses."""
    runs: list[dict[str, Any]] = msgspec.field(default_factory=list)
    """What the entity did, the newest first."""
    result: Any = None
    """The newest result of a contract."""
    texts: list[Text] = msgspec.field(default_factory=list)


async def get_quality(asked: Asked, given: GetQuality) -> Quality:
    """The tests, profile, use and runs that were measured of an entity."""
    pinned, start = asked.place(given.cursor)
    return await asked.services.heavy_read(
        asked.request, partial(_measured, asked, given, pinned, start)
    )


def _measured(asked: Asked, given: GetQuality, pinned: int | None, start: int) -> Quality:
    kind = viewed(asked.access, given.entity)
    wanted = [each for each in _RESULT_FIELDS if each in measured_fields(kind, _RESULT_FIELDS)]
    entity = msgspec.json.decode(asked.read(given.entity, wanted, None)[0])
    store = asked.services.measurements
    position = asked.services.stores.entities.checkpoint() if pinned is None else pinned
    quality = Quality(position=position, request_id=asked.request_id)
    room = asked.room()
    if kind.name == "table":
        _add_profile(asked, given, entity, quality)
    if "usageSummary" in kind.keys and _sees(asked, kind, "usageSummary"):
        request = PageRequest(
            entity_id=entity["id"], series=USAGE, limit=MOST_DAYS, most_bytes=_PAGE_BYTES
        )
        for _, body in store.page(request).points:
            used = msgspec.json.decode(body)
            quality.use[used["date"]] = used["count"]
    if entity.get("latestResult"):
        quality.result = facts_of("result", entity["latestResult"], quality.texts, MOST_RESULT)
    room.spend(msgspec.json.encode((quality.profile, quality.use, quality.result, quality.texts)))
    more = None
    if kind.name in ("table", "testSuite"):
        more = _add_tests(asked, kind, entity, quality, room, start)
    elif kind.name in _SERIES:
        more = _add_runs(asked, kind, given, entity["id"], quality, room, start)
    quality.cursor = asked.cursors.made(position, more)
    return quality


def _sees(asked: Asked, kind: EntityKind, path: str) -> bool:
    withheld = asked.access.withheld(Action.VIEW, kind.name)
    return withheld is None or not withheld.covers(path)


def _add_profile(
    asked: Asked, given: GetQuality, entity: Mapping[str, Any], quality: Quality
) -> None:
    store = asked.services.measurements
    if given.column:
        if withheld := asked.access.withheld(Action.VIEW, "table"):
            withheld.refuse_field("columns", "column")
        column = given.column.removeprefix(f"{entity['fullyQualifiedName']}.")
        newest = store.newest(entity["id"], COLUMN).get(column_part(column))
        if newest is None:
            raise InvalidInput(f"column {given.column[:80]!r} of the table was never profiled")
    else:
        newest = store.newest(entity["id"], TABLE).get("")
    if newest is not None:
        quality.profile = _cut(msgspec.json.decode(newest), quality.texts)


def _cut(value: Mapping[str, Any], texts: list[Text]) -> dict[str, Any]:
    """A measurement without its long values: distributions are left out, lists are counted."""
    plainly = {
        key: inner if not isinstance(inner, list) else {"count": len(inner)}
        for key, inner in value.items()
        if not isinstance(inner, dict)
    }
    facts: dict[str, Any] = facts_of("", plainly, texts, MOST_RESULT)
    return facts


def _add_tests(
    asked: Asked,
    kind: EntityKind,
    entity: Mapping[str, Any],
    quality: Quality,
    room: Room,
    start: int,
) -> int | None:
    """Add the tests of a table or suite, the failing first; the place of the first left out."""
    if not may_list_tests(asked.access):
        return None
    seen = asked.access.may(Permission(Action.VIEW, "testCase"))
    suite = suite_of(asked.services, kind, entity)
    rows, total = tests_in(asked.services, asked.access, suite, entity, seen=seen)
    quality.total_tests = total
    if len(rows) < total:
        quality.tests_looked_at = len(rows)
    quality.tests, more = fill(room, map(_test, rows[start:]), start)
    return more


def _test(row: Mapping[str, Any]) -> Test:
    run: TestResult | None = row["run"]
    named = row["reference"]["fullyQualifiedName"] or row["reference"]["name"]
    if run is None:
        return Test(name=plain(named), of=plain(row["of"]))
    return Test(
        name=plain(named),
        of=plain(row["of"]),
        status=run.test_case_status or "",
        time=run.timestamp,
        text=short("result", run.result or "", MOST_RESULT),
    )


def _add_runs(
    asked: Asked,
    kind: EntityKind,
    given: GetQuality,
    entity_id: str,
    quality: Quality,
    room: Room,
    start: int,
) -> int | None:
    """Add runs or results, the newest first; the time before which others are left out."""
    request = PageRequest(
        entity_id=entity_id,
        series=_SERIES[kind.name],
        since=first_moment(given.since),
        before=start or None,
        limit=MOST_POINTS,
        most_bytes=_PAGE_BYTES,
    )
    page = asked.services.measurements.page(request)
    rows = []
    for at, body in page.points:
        shown = shown_result(asked.access, body) if kind.name == "testCase" else body
        texts: list[Text] = []
        run = {"time": at, **_cut(msgspec.json.decode(shown), texts)}
        if texts:
            run["texts"] = texts
        rows.append(run)
    quality.runs, more = fill(room, rows)
    if more is not None:
        return int(quality.runs[-1]["time"])
    return page.points[-1][0] if page.more else None
