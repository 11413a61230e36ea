"""Tests of data on pages: the latest result of each test, and the runs of one test."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from api.callers.permissions import Access, Action, Permission
from api.pages.entities.relations import list_body
from api.pages.frame.addresses import list_address
from api.pages.frame.documents import cut
from api.services import Services
from api.use_cases.measured import find, id_of
from domain.errors import NotFound
from domain.kinds import names
from domain.kinds.bodies.quality import SUITE
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS
from domain.measurements.reports import RESULT, TestResult

READ = 100
"""Tests of a list that are read at once."""
MOST_BYTES = 4_000_000
"""Bytes of tests and results after which a page looks at no more of them."""
SHOWN = 100
"""Tests of each sort that a page names."""
RUNS = 20
"""Runs of one test that its page shows."""
_RUNS_BYTES = 1_000_000
_FOREVER = 2**62
_MOST_RESULT, _MOST_SAMPLE, _MOST_VALUES = 500, 20_000, 20
_PASSED = "Success"
_ORDER = ("Failed", "Aborted", "Queued", "", _PASSED)
"""Statuses in the order in which people look for them; a test that was never run has none."""
_WORDS = {"Success": "passed", "": "never run"}


def tests_of(
    services: Services, access: Access, kind: EntityKind, entity: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The tests of a table or of a suite, each with its latest run; None without tests.

    Tests that did not pass come first. A caller who may not list tests, or not those of a suite,
    sees a note that they are withheld, whether there are any or not. Blocks.
    """
    if kind.name not in ("table", "testSuite"):
        return None
    if not _may_list(access):
        return {"withheld": True}
    seen = access.may(Permission(Action.VIEW, "testCase"))
    suite = _suite_of(services, kind, entity)
    rows, total = _looked_at(services, access, suite, entity, seen=seen) if suite else ([], 0)
    if not total:
        return None
    rows.sort(key=lambda row: _ORDER.index(row["status"]))
    counts = Counter(row["status"] for row in rows)
    return {
        "withheld": False,
        "seen": seen,
        "total": total,
        "looked": len(rows),
        "failing": counts["Failed"] + counts["Aborted"],
        "counts": [
            f"{counts[each]} {_WORDS.get(each, each.lower())}" for each in _ORDER if counts[each]
        ],
        "others": [row for row in rows if row["status"] != _PASSED],
        "passed": [row for row in rows if row["status"] == _PASSED],
        "shown": SHOWN,
        "address": list_address("testCase", testSuiteId=suite),
    }


def _may_list(access: Access) -> bool:
    """True if a caller may know which tests are in a suite."""
    kind = KINDS["testCase"]
    withheld = access.withheld(Action.LIST, kind.name)
    keys = (kind.filters["testSuiteId"], *kind.also_in)
    return access.may(Permission(Action.LIST, kind.name)) and not (
        withheld is not None and any(withheld.covers(key) for key in keys)
    )


def _suite_of(services: Services, kind: EntityKind, entity: Mapping[str, Any]) -> str | None:
    """The id of the suite that an entity is, or that belongs to a table."""
    if kind.name == "testSuite":
        return str(entity["id"])
    try:
        name = names.child(entity["fullyQualifiedName"], SUITE)
        return id_of(find(services, KINDS["testSuite"], name))
    except NotFound:
        return None


def _looked_at(
    services: Services, access: Access, suite: str, entity: Mapping[str, Any], *, seen: bool
) -> tuple[list[dict[str, Any]], int]:
    """The first tests in a suite, each with its latest run, and the number of all.

    `of` is the part of `entity` that a test is of. Without `seen` no run is looked at.
    """
    rows: list[dict[str, Any]] = []
    size, after, whole = 0, None, entity["fullyQualifiedName"]
    while True:
        body = list_body(
            services, KINDS["testCase"], access, limit=READ, testSuiteId=suite, after=after
        )
        page = msgspec.json.decode(body)
        size += len(body)
        for case in page["data"]:
            newest = services.measurements.latest(case["id"], RESULT) if seen else None
            size += len(newest or b"")
            keys = ("name", "displayName", "fullyQualifiedName")
            reference = {"type": "testCase", **{key: case.get(key) for key in keys}}
            about = case.get("entityFQN", "")
            of = "" if about == whole else about.removeprefix(f"{whole}.")
            rows.append({"reference": reference, "of": of, **run(newest)})
        after = page["paging"].get("after")
        if after is None or size >= MOST_BYTES:
            return rows, page["paging"]["total"]


def runs_of(
    services: Services, access: Access, kind: EntityKind, entity: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The runs of a test case, the newest first; None for an entity of another kind. Blocks.

    `sample` has the rows that did not pass the latest run, for callers who may see samples.
    """
    if kind.name != "testCase":
        return None
    page = services.measurements.page(
        entity["id"],
        RESULT,
        "",
        since=0,
        until=_FOREVER,
        before=None,
        limit=RUNS,
        most_bytes=_RUNS_BYTES,
    )
    bodies = [body for _, body in page.points]
    last = msgspec.json.decode(bodies[0], type=TestResult) if bodies else None
    sampling = access.may(Permission(Action.SAMPLE, kind.name))
    sample = cut(last.sample_data or "", _MOST_SAMPLE) if last and sampling else ""
    return {
        "rows": [run(body) for body in bodies],
        "total": page.total,
        "sample": sample,
        "sample_withheld": not sampling,
    }


def run(body: bytes | None) -> dict[str, Any]:
    """A run of a test as pages show it, from its stored result; None for no run."""
    result = msgspec.json.decode(body, type=TestResult) if body is not None else None
    if result is None:
        return {"status": "", "at": None, "result": "", "rows": "", "values": []}
    return {
        "status": result.test_case_status or "",
        "at": result.timestamp,
        "result": cut(result.result or "", _MOST_RESULT),
        "rows": _rows(result.passed_rows, result.failed_rows),
        "values": _values(result),
    }


def _rows(passed: int | None, failed: int | None) -> str:
    """The number of failed rows, and of all rows if that is known."""
    if failed is None:
        return ""
    return f"{failed:,}" if passed is None else f"{failed:,} of {passed + failed:,}"


def _values(result: TestResult) -> Sequence[str]:
    """The numbers that a run computed, with their names."""
    return [
        cut(f"{each.name}: {each.value}" if each.name else str(each.value), _MOST_RESULT)
        for each in (result.test_result_value or ())[:_MOST_VALUES]
        if each.value is not None
    ]
