"""What runs of tests came to: measurements of the test cases."""

from typing import Any

import msgspec
from litestar.handlers import HTTPRouteHandler
from msgspec.structs import replace

from api.answers.responses import Finished
from api.callers.permissions import Access, Action, Permission
from api.declaring.operation import Operation, Report
from api.declaring.signatures import name_in_path
from api.routes.measurements.profiles import LISTED, PERIOD, STORED
from api.services import Services
from api.use_cases.measured import (
    AnyRequest,
    change,
    find,
    id_of,
    now,
    page,
    read,
    read_report,
    report,
)
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS
from domain.measurements.reports import RESULT, TestResult

_MARKER = b"/testCaseResults/"
_SAMPLE = b'"sampleData"'


def test_result_routes(services: Services) -> list[HTTPRouteHandler]:
    """The routes of the results of test cases, by the qualified name of the case."""
    kind: EntityKind = KINDS["testCase"]

    async def add(request: AnyRequest, fqn: str) -> Finished:
        body = await read_report(request)

        def work() -> bytes:
            given = report(body, TestResult)
            entity = find(services, kind, name_in_path(request, _MARKER))
            result = given.of(id_of(entity), name_in_path(request, _MARKER))
            services.measurements.write(id_of(entity), result.points(), now())
            return msgspec.json.encode(_shown(result, request.auth))

        return await change(services, request, work)

    async def listed(request: AnyRequest, fqn: str, **period: Any) -> Finished:
        def work() -> bytes:
            entity = find(services, kind, name_in_path(request, _MARKER))
            return page(services, id_of(entity), RESULT, "", shown=shown, **period)

        def shown(body: bytes) -> bytes:
            if _SAMPLE not in body:
                return body
            result = msgspec.json.decode(body, type=TestResult)
            return msgspec.json.encode(_shown(result, request.auth))

        return await read(services, request, work)

    path = f"/v1/{kind.collection}/testCaseResults/{{fqn:path}}"
    return [
        Report(
            "addTestCaseResult",
            "Report the result of a test case",
            f"{STORED} Its `sampleData` is shown with the permission to sample alone.",
            answer=TestResult,
            body=TestResult,
        ).at("POST", path, Permission(Action.EDIT, kind.name), add),
        Operation(
            "listTestCaseResults",
            "List the results of a test case",
            LISTED,
            answer="TestResultList",
        ).at("GET", path, Permission(Action.VIEW, kind.name), listed, PERIOD),
    ]


def _shown(result: TestResult, access: Access) -> TestResult:
    """The result without the rows that did not pass, unless the caller may see samples."""
    if access.may(Permission(Action.SAMPLE, "testCase")):
        return result
    return replace(result, sample_data=None)
