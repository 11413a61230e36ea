"""Reports of profilers and of runs of tests: profiles over time, and results."""

from functools import partial
from typing import Any, Literal

import msgspec
from litestar.handlers import HTTPRouteHandler

from api.callers.permissions import Action, Permission
from api.declaring.declared_query import Parameters, in_path, query
from api.declaring.operation import Operation, Removal, Report
from api.declaring.signatures import AnyRequest, name_in_path
from api.services import Services
from api.use_cases.measured import (
    changing,
    find,
    id_of,
    page,
    reading,
    report,
    reporting,
    shown_result,
    visible,
)
from domain.errors import InvalidInput, NotFound
from domain.kinds import names
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS
from domain.machine import clock
from domain.measurements.reports import (
    COLUMN,
    FOREVER,
    RESULT,
    SAMPLE,
    SYSTEM,
    TABLE,
    TableProfileReport,
    TestResult,
    column_part,
)

MEASURED = "MeasuredTable"
"""The component schema of a table with measurements."""
MOST_LISTED = 1_000
"""The largest `limit` of a page of measurements."""

ProfileType = Literal["table", "column", "system"]

STORED = (
    "It is a measurement: stored beside the log for some time (`docs/limits.md`), it makes no"
    " version."
)
LISTED = "The newest first. Follow `paging.after` until it is absent."
PERIOD: Parameters = {
    "start_ts": query(int, "From this time on, in milliseconds.", ge=0, le=FOREVER),
    "end_ts": query(int, "Up to this time, in milliseconds.", ge=0, le=FOREVER),
    "limit": query(int, "Of a page.", MOST_LISTED, ge=1, le=MOST_LISTED),
    "after": query(int, "`paging.after` of the page before this one."),
}


def measurement_routes(services: Services) -> list[HTTPRouteHandler]:
    """The routes of profiles of tables."""
    kind = KINDS["table"]
    store = services.measurements

    def put_profile(request: AnyRequest, body: bytes, table: str) -> bytes:
        points = report(body, TableProfileReport).points()
        entity = find(services, kind, table)
        store.write(id_of(entity), points, clock.now())
        return visible(request.auth, Action.EDIT, kind, entity)

    def latest(request: AnyRequest, table: str) -> bytes:
        entity = find(services, kind, table)
        whole = msgspec.json.decode(visible(request.auth, Action.VIEW, kind, entity))
        entity_id = id_of(entity)
        if newest := store.newest(entity_id, TABLE):
            whole["profile"] = msgspec.Raw(newest[""])
        if "columns" in whole:
            add_profiles(whole["columns"], store.newest(entity_id, COLUMN), "")
        return msgspec.json.encode(whole)

    def listing(series: str, request: AnyRequest, table: str, **period: Any) -> bytes:
        name, part = _column(table) if series == COLUMN else (table, None)
        if series == COLUMN and (withheld := request.auth.withheld(Action.VIEW, "table")):
            withheld.refuse_field("columns", "columnProfile")
        return page(services, id_of(find(services, kind, name)), series, part, **period)

    def delete_profile(
        request: AnyRequest, table: str, profile_type: ProfileType, at: int
    ) -> bytes:
        entity = find(services, kind, table)
        if at > FOREVER or not store.delete(id_of(entity), profile_type, at):
            raise NotFound(f"the table has no {profile_type} profile of {at}")
        return visible(request.auth, Action.EDIT, kind, entity)

    viewing, editing = Permission(Action.VIEW, "table"), Permission(Action.EDIT, "table")
    path = f"/v1/{kind.collection}/{{table:str}}"

    def listed(id: str, summary: str, series: str, about: str = LISTED) -> HTTPRouteHandler:
        profile = f"{series}Profile"
        answer = f"{profile[0].upper()}{profile[1:]}List"
        operation = Operation(id, summary, about, answer=answer)
        shown = reading(services, partial(listing, series))
        return operation.at("GET", f"{path}/{profile}", viewing, shown, PERIOD)

    return [
        Report(
            "addTableProfile",
            "Report the profile of a table",
            STORED,
            answer=MEASURED,
            body=TableProfileReport,
        ).at("PUT", f"{path}/tableProfile", editing, reporting(services, put_profile)),
        listed("listTableProfiles", "List the profiles of a table", TABLE),
        Operation(
            "getLatestTableProfile",
            "Get a table with its newest profile and those of its columns",
            answer=MEASURED,
        ).at("GET", f"{path}/tableProfile/latest", viewing, reading(services, latest)),
        listed(
            "listColumnProfiles",
            "List the profiles of a column",
            COLUMN,
            f"The path names the column. {LISTED}",
        ),
        listed("listSystemProfiles", "List the operations on a table", SYSTEM),
        Removal(
            "deleteTableProfile",
            "Delete a profile of a table",
            answer=MEASURED,
        ).at(
            "DELETE",
            f"{path}/{{profile_type:str}}/{{at:int}}/profile",
            editing,
            changing(services, delete_profile),
            {"profile_type": in_path(ProfileType), "at": in_path(int)},
        ),
    ]


def _column(fqn: str) -> tuple[str, str]:
    """The qualified name of a column's table, and the column as the store names it."""
    parts = names.split(fqn)
    if len(parts) <= names.TABLE_PARTS:
        raise InvalidInput(f"{fqn[:80]!r} is not the qualified name of a column")
    return names.join(parts[: names.TABLE_PARTS]), ".".join(parts[names.TABLE_PARTS :])


def add_profiles(columns: list[dict[str, Any]], newest: dict[str, bytes], above: str) -> None:
    """Put the profile of each column, at every depth, into the column."""
    for column in columns:
        part = f"{above}{column_part(column['name'])}"
        if part in newest:
            column["profile"] = msgspec.Raw(newest[part])
        add_profiles(column.get("children", []), newest, f"{part}.")


_MARKER = b"/testCaseResults/"


def test_result_routes(services: Services) -> list[HTTPRouteHandler]:
    """The routes of the results of test cases, by the qualified name of the case."""
    kind: EntityKind = KINDS["testCase"]

    def add(request: AnyRequest, body: bytes, fqn: str) -> bytes:
        given = report(body, TestResult)
        name = name_in_path(request.scope, _MARKER)
        entity_id = id_of(find(services, kind, name))
        result = given.of(entity_id, name)
        services.measurements.write(entity_id, result.points(), clock.now())
        shown = msgspec.json.encode(result)
        passed = result.test_case_status == "Success"
        # An older result that comes late does not decide about the sample.
        if passed and services.measurements.latest(entity_id, RESULT) == shown:
            services.measurements.delete(entity_id, SAMPLE)
        return shown_result(request.auth, shown)

    def listed(request: AnyRequest, fqn: str, **period: Any) -> bytes:
        shown = partial(shown_result, request.auth)
        entity = find(services, kind, name_in_path(request.scope, _MARKER))
        return page(services, id_of(entity), RESULT, "", shown=shown, **period)

    path = f"/v1/{kind.collection}/testCaseResults/{{fqn:path}}"
    return [
        Report(
            "addTestCaseResult",
            "Report the result of a test case",
            f"{STORED} Its `sampleData` is shown with the permission to sample alone. A newest"
            " result of `Success` deletes the sample of rows that failed before.",
            answer=TestResult,
            body=TestResult,
        ).at("POST", path, Permission(Action.EDIT, kind.name), reporting(services, add)),
        Operation(
            "listTestCaseResults",
            "List the results of a test case",
            LISTED,
            answer="TestResultList",
        ).at("GET", path, Permission(Action.VIEW, kind.name), reading(services, listed), PERIOD),
    ]
