"""Tests of data on pages, with their runs."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from api.callers.permissions import Action, Permission
from api.pages.entities.entity_routes import EntityRequest
from api.pages.frame.addresses import list_address
from api.use_cases.data_tests import (
    ORDER,
    may_list_tests,
    read_run,
    status_of,
    suite_of,
    tests_in,
)
from domain.errors import cut
from domain.measurements.port import PageRequest
from domain.measurements.reports import RESULT

SHOWN = 100
"""Tests of each sort that a page names."""
RUNS = 20
"""Runs of one test that its page shows."""
_RUNS_BYTES = 1_000_000
_MOST_SAMPLE = 20_000
_WORDS = {"Success": "passed", "": "never run"}


def tests_of(at: EntityRequest, entity: Mapping[str, Any]) -> dict[str, Any] | None:
    """The tests of a table or of a suite, each with its latest run; None without tests.

    Tests that did not pass come first. A caller who may not list tests, or the tests of a suite,
    gets `withheld`, whether there are tests or not. Blocks.
    """
    if at.kind.name not in ("table", "testSuite"):
        return None
    if not may_list_tests(at.access):
        return {"withheld": True}
    seen = at.access.may(Permission(Action.VIEW, "testCase"))
    suite = suite_of(at.services, at.kind, entity)
    rows, total = tests_in(at.services, at.access, suite, entity, seen=seen)
    if not total:
        return None
    counts = Counter(status_of(row["run"]) for row in rows)
    return {
        "withheld": False,
        "seen": seen,
        "total": total,
        "looked": len(rows),
        "failing": counts["Failed"] + counts["Aborted"],
        "counts": [
            f"{counts[each]} {_WORDS.get(each, each.lower())}" for each in ORDER if counts[each]
        ],
        "others": rows[: len(rows) - counts["Success"]],
        "passed": rows[len(rows) - counts["Success"] :],
        "shown": SHOWN,
        "address": list_address("testCase", testSuiteId=suite),
    }


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


def expected_tests(at: EntityRequest, contract: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The tests that a contract expects to pass, each with its last run.

    Blocks: the latest results of the tests are read.
    """
    may_view = at.access.may(Permission(Action.VIEW, "testCase"))
    tests = []
    for reference in (contract.get("qualityExpectations") or [])[:SHOWN]:
        newest = at.services.measurements.latest(reference["id"], RESULT) if may_view else None
        tests.append({"reference": reference, "seen": may_view, "run": read_run(newest)})
    return tests
