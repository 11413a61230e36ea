"""What runs of tests came to: measurements of the test cases."""

from typing import Any

import msgspec
from litestar.handlers import HTTPRouteHandler
from msgspec.structs import replace

from api.callers.permissions import Access, Action, Permission
from api.declaring.operation import Operation, Report
from api.declaring.signatures import AnyRequest, name_in_path
from api.routes.measurements.profiles import LISTED, PERIOD, STORED
from api.services import Services
from api.use_cases.measured import (
    find,
    id_of,
    now,
    page,
    reading,
    report,
    reporting,
)
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS
from domain.measurements.reports import RESULT, TestResult

_MARKER = b"/testCaseResults/"
_SAMPLE = b'"sampleData"'


def test_result_routes(services: Services) -> list[HTTPRouteHandler]:
    """The routes of the results of test cases, by the qualified name of the case."""
    kind: EntityKind = KINDS["testCase"]

    def add(request: AnyRequest, body: bytes, fqn: str) -> bytes:
        given = report(body, TestResult)
        name = name_in_path(request, _MARKER)
        entity_id = id_of(find(services, kind, name))
        result = given.of(entity_id, name)
        services.measurements.write(entity_id, result.points(), now())
        return msgspec.json.encode(_shown(result, request.auth))

    def listed(request: AnyRequest, fqn: str, **period: Any) -> bytes:
        def shown(body: bytes) -> bytes:
            if _SAMPLE not in body:
                return body
            result = msgspec.json.decode(body, type=TestResult)
            return msgspec.json.encode(_shown(result, request.auth))

        entity = find(services, kind, name_in_path(request, _MARKER))
        return page(services, id_of(entity), RESULT, "", shown=shown, **period)

    path = f"/v1/{kind.collection}/testCaseResults/{{fqn:path}}"
    return [
        Report(
            "addTestCaseResult",
            "Report the result of a test case",
            f"{STORED} Its `sampleData` is shown with the permission to sample alone.",
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


def _shown(result: TestResult, access: Access) -> TestResult:
    """The result without the rows that did not pass, unless the caller may see samples."""
    if access.may(Permission(Action.SAMPLE, "testCase")):
        return result
    return replace(result, sample_data=None)
