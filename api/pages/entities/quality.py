"""Tests of data on pages, with their runs."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from api.callers.permissions import Access, Action, Permission
from api.pages.entities.entity_routes import EntityRequest
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
from domain.measurements.port import PageRequest
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
_MOST_SAMPLE = 20_000
_ORDER = ("Failed", "Aborted", "Queued", "", "Success")
"""Statuses in the order in which people look for them; a test that was never run has none."""
_WORDS = {"Success": "passed", "": "never run"}


def tests_of(at: EntityRequest, entity: Mapping[str, Any]) -> dict[str, Any] | None:
    """The tests of a table or of a suite, each with its latest run; None without tests.

    Tests that did not pass come first. A caller who may not list tests, or not those of a suite,
    sees a note that they are withheld, whether there are any or not. Blocks.
    """
    if at.kind.name not in ("table", "testSuite"):
        return None
    if not _may_list(at.access):
        return {"withheld": True}
    seen = at.access.may(Permission(Action.VIEW, "testCase"))
    suite = _suite_of(at.services, at.kind, entity)
    rows, total = _looked_at(at, suite, entity, seen=seen) if suite else ([], 0)
    if not total:
        return None
    counts = Counter(_status(row["run"]) for row in rows)
    rows.sort(key=lambda row: _ORDER.index(_status(row["run"])))
    return {
        "withheld": False,
        "seen": seen,
        "total": total,
        "looked": len(rows),
        "failing": counts["Failed"] + counts["Aborted"],
        "counts": [
            f"{counts[each]} {_WORDS.get(each, each.lower())}" for each in _ORDER if counts[each]
        ],
        "others": rows[: len(rows) - counts["Success"]],
        "passed": rows[len(rows) - counts["Success"] :],
        "shown": SHOWN,
        "address": list_address("testCase", testSuiteId=suite),
    }


def _status(run: TestResult | None) -> str:
    return run.test_case_status or "" if run else ""


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
    at: EntityRequest, suite: str, entity: Mapping[str, Any], *, seen: bool
) -> tuple[list[dict[str, Any]], int]:
    """The first tests in a suite, each with its latest run, and the number of all.

    `of` is the part of `entity` that a test is of. Without `seen` no run is looked at.
    """
    rows: list[dict[str, Any]] = []
    size, after, whole = 0, None, entity["fullyQualifiedName"]
    while True:
        body = list_body(
            at.services, KINDS["testCase"], at.access, limit=READ, testSuiteId=suite, after=after
        )
        page = msgspec.json.decode(body)
        size += len(body)
        for case in page["data"]:
            newest = at.services.measurements.latest(case["id"], RESULT) if seen else None
            size += len(newest or b"")
            keys = ("name", "displayName", "fullyQualifiedName")
            reference = {"type": "testCase", **{key: case.get(key) for key in keys}}
            about = case.get("entityFQN", "")
            of = "" if about == whole else about.removeprefix(f"{whole}.")
            rows.append({"reference": reference, "of": of, "run": read_run(newest)})
        after = page["paging"].get("after")
        if after is None or size >= MOST_BYTES:
            return rows, page["paging"]["total"]


def runs_of(at: EntityRequest, entity: Mapping[str, Any]) -> dict[str, Any] | None:
    """The runs of a test case, the newest first; None for an entity of another kind. Blocks.

    `sample` has the rows that did not pass the latest run, for callers who may see samples.
    """
    if at.kind.name != "testCase":
        return None
    page = at.services.measurements.page(
        PageRequest(
            entity_id=entity["id"], series=RESULT, part="", limit=RUNS, most_bytes=_RUNS_BYTES
        )
    )
    runs = [read_run(body) for _, body in page.points]
    sampling = at.access.may(Permission(Action.SAMPLE, at.kind.name))
    sample = cut(runs[0].sample_data or "", _MOST_SAMPLE) if runs and runs[0] and sampling else ""
    return {
        "rows": runs,
        "total": page.total,
        "sample": sample,
        "sample_withheld": not sampling,
    }


def read_run(body: bytes | None) -> TestResult | None:
    """A run of a test from its stored result; None for no run."""
    return None if body is None else msgspec.json.decode(body, type=TestResult)


def expected_tests(at: EntityRequest, contract: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The tests that a contract expects to pass, each with what its last run came to.

    Blocks: the latest results of the tests are read.
    """
    may_view = at.access.may(Permission(Action.VIEW, "testCase"))
    tests = []
    for reference in (contract.get("qualityExpectations") or [])[:SHOWN]:
        newest = at.services.measurements.latest(reference["id"], RESULT) if may_view else None
        tests.append({"reference": reference, "seen": may_view, "run": read_run(newest)})
    return tests
