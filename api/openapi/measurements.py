"""The operations on measurements: profiles and samples of tables, the use of entities."""

from collections.abc import Iterator, Mapping

from api.openapi.operation import Operation
from api.routes.measurements.usage import used_kinds

_READ_ERRORS = (400, 404, 503)
_WRITE_ERRORS = (400, 404, 408, 413, 415, 503)
_STORED = (
    "It is a measurement: stored beside the log for some time (`docs/limits.md`), it makes no"
    " version."
)
_LISTED = "The newest first. Follow `paging.after` until it is absent."
_TABLES = "/v1/tables/{table}"
_RESULTS = "/v1/dataQuality/testCases/testCaseResults/{fqn}"


def _measure(id: str, summary: str, body: str, answer: str, about: str = _STORED) -> Operation:
    return Operation(
        id=id,
        summary=summary,
        about=about,
        answers={200: answer},
        errors=_WRITE_ERRORS,
        body=body,
    )


def _show(id: str, summary: str, answer: str, about: str = "") -> Operation:
    return Operation(
        id=id, summary=summary, about=about, answers={200: answer}, errors=_READ_ERRORS
    )


def _delete(id: str, summary: str) -> Operation:
    return Operation(
        id=id, summary=summary, answers={200: "MeasuredTable"}, errors=(400, 404, 408, 503)
    )


def _usage() -> Iterator[tuple[tuple[str, str], tuple[str, Operation]]]:
    for kind in used_kinds():
        name = kind.body.__name__
        for place, by in (("{entity_id}", ""), ("name/{fqn}", "ByName")):
            path = f"/v1/usage/{kind.name}/{place}"
            for method, verb in (("put", "createOrUpdate"), ("post", "report")):
                yield (
                    (method, path),
                    (
                        "usage",
                        _measure(
                            f"{verb}{name}Usage{by}",
                            f"Report the use of a {kind.name} on a day",
                            "DailyUse",
                            "EntityUsage",
                        ),
                    ),
                )
            summary = f"Get the use of a {kind.name}"
            yield ("get", path), ("usage", _show(f"get{name}Usage{by}", summary, "EntityUsage"))


def _ranking() -> Iterator[tuple[tuple[str, str], tuple[str, Operation]]]:
    for kind in used_kinds():
        operation = Operation(
            id=f"rank{kind.body.__name__}Usage",
            summary=f"Rank the use of each {kind.name} on a day",
            about="Among those that were used on that day: the percentage that was used less, on"
            " the day and in the 7 and 30 days that end with it. `percentileRank` of the use shows"
            " it.",
            answers={201: None},
            errors=(400, 408, 413, 503),
        )
        yield ("post", f"/v1/usage/compute.percentile/{kind.name}/{{day}}"), ("usage", operation)


MEASUREMENT_OPERATIONS: Mapping[tuple[str, str], tuple[str, Operation]] = {
    ("put", f"{_TABLES}/tableProfile"): (
        "tables",
        _measure(
            "addTableProfile",
            "Report the profile of a table",
            "TableProfileReport",
            "MeasuredTable",
        ),
    ),
    ("get", f"{_TABLES}/tableProfile"): (
        "tables",
        _show("listTableProfiles", "List the profiles of a table", "TableProfileList", _LISTED),
    ),
    ("get", f"{_TABLES}/tableProfile/latest"): (
        "tables",
        _show(
            "getLatestTableProfile",
            "Get a table with its newest profile and those of its columns",
            "MeasuredTable",
        ),
    ),
    ("get", f"{_TABLES}/columnProfile"): (
        "tables",
        _show(
            "listColumnProfiles",
            "List the profiles of a column",
            "ColumnProfileList",
            f"The path names the column. {_LISTED}",
        ),
    ),
    ("get", f"{_TABLES}/systemProfile"): (
        "tables",
        _show(
            "listSystemProfiles",
            "List the operations on a table",
            "SystemProfileList",
            _LISTED,
        ),
    ),
    ("delete", f"{_TABLES}/{{profile_type}}/{{at}}/profile"): (
        "tables",
        _delete("deleteTableProfile", "Delete a profile of a table"),
    ),
    ("put", f"{_TABLES}/sampleData"): (
        "tables",
        _measure(
            "addSampleData",
            "Report a sample of the rows of a table",
            "TableSample",
            "MeasuredTable",
            f"In place of the sample before it. {_STORED}",
        ),
    ),
    ("get", f"{_TABLES}/sampleData"): (
        "tables",
        _show("getSampleData", "Get a table with the sample of its rows", "MeasuredTable"),
    ),
    ("delete", f"{_TABLES}/sampleData"): (
        "tables",
        _delete("deleteSampleData", "Delete the sample of the rows of a table"),
    ),
    ("post", _RESULTS): (
        "testCases",
        _measure(
            "addTestCaseResult",
            "Report the result of a test case",
            "TestResult",
            "TestResult",
            f"{_STORED} Its `sampleData` is shown with the permission to sample alone.",
        ),
    ),
    ("get", _RESULTS): (
        "testCases",
        _show("listTestCaseResults", "List the results of a test case", "TestResultList", _LISTED),
    ),
    ("put", f"{_TABLES}/joins"): (
        "tables",
        _measure(
            "addTableJoins",
            "Report what a table was joined with on a day",
            "TableJoins",
            "MeasuredTable",
            f"In place of what was reported of the same columns and day. {_STORED} A read of the"
            " table shows the `joins` of 30 days where `fields` names them, those that were"
            " reported of the other tables included.",
        ),
    ),
    ("post", "/v1/queryCostRecord"): (
        "queries",
        _measure("addQueryCost", "Report what runs of a query have cost", "QueryCost", "QueryCost"),
    ),
    ("get", "/v1/queryCostRecord/service/{service}"): (
        "queries",
        _show(
            "getQueryCosts",
            "Get what the queries of a service have cost",
            "QueryCosts",
            "All of them together, and those that have cost most one by one.",
        ),
    ),
    **dict(_usage()),
    **dict(_ranking()),
}
"""(method, path) -> tag and operation."""
