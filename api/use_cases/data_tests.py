"""Tests of a table or of a suite, each with its latest run, as a caller may see them."""

from collections.abc import Mapping
from typing import Any

import msgspec

from api.callers.permissions import Access, Action, Permission
from api.services import Services
from api.use_cases.lists import list_body
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
ORDER = ("Failed", "Aborted", "Queued", "", "Success")
"""Statuses in the order in which people look for them; a test that was never run has none."""


def may_list_tests(access: Access) -> bool:
    """True if a caller may know which tests are in a suite."""
    kind = KINDS["testCase"]
    withheld = access.withheld(Action.LIST, kind.name)
    keys = (kind.filters["testSuiteId"], *kind.also_in)
    return access.may(Permission(Action.LIST, kind.name)) and not (
        withheld is not None and any(withheld.covers(key) for key in keys)
    )


def suite_of(services: Services, kind: EntityKind, entity: Mapping[str, Any]) -> str | None:
    """The id of the suite that an entity is, or that belongs to a table."""
    if kind.name == "testSuite":
        return str(entity["id"])
    try:
        name = names.child(entity["fullyQualifiedName"], SUITE)
        return id_of(find(services, KINDS["testSuite"], name))
    except NotFound:
        return None


def tests_in(
    services: Services, access: Access, suite: str | None, entity: Mapping[str, Any], *, seen: bool
) -> tuple[list[dict[str, Any]], int]:
    """The first tests in a suite, each with its latest run, and the number of all.

    Without a suite there are none. Failed tests come first. `of` of a row is the part of `entity`
    that the test is about. Runs are only looked at if the caller may see them (`seen`).
    """
    rows: list[dict[str, Any]] = []
    if suite is None:
        return rows, 0
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
            rows.append(
                {"id": case["id"], "reference": reference, "of": of, "run": read_run(newest)}
            )
        after = page["paging"].get("after")
        if after is None or size >= MOST_BYTES:
            rows.sort(key=lambda row: ORDER.index(status_of(row["run"])))
            return rows, page["paging"]["total"]


def status_of(run: TestResult | None) -> str:
    """The status of a run; empty where there was none."""
    return run.test_case_status or "" if run else ""


def read_run(body: bytes | None) -> TestResult | None:
    """A run of a test from its stored result; None for no run."""
    return None if body is None else msgspec.json.decode(body, type=TestResult)
