"""Logical test suites: cases of several tables, which stay in the suites of their tables."""

from collections.abc import Callable
from functools import partial
from typing import Annotated

import msgspec
from litestar.handlers import HTTPRouteHandler

from api.answers.bodies import JSON_TYPES
from api.answers.responses import Finished
from api.callers.permissions import Access, Action, Permission
from api.declaring.operation import Write, WriteOfMany
from api.declaring.signatures import AnyRequest, id_in_path
from api.services import Services
from api.use_cases.entity_writes import Asked, answer_write, read_asked, refuse_headers_of_one
from api.use_cases.measured import find, visible
from domain.kinds.bodies.components import Reference
from domain.kinds.ids import parse_id
from domain.kinds.registry import KINDS
from domain.patches.json_input import decode
from domain.writing.bulk_put import MAX_REQUESTS
from domain.writing.catalog import Proposal
from domain.writing.plans import Plan

_KEY = "testSuites"
_NEEDED = "Needs the permission to edit testSuite too."


class LogicalTestCases(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Cases that are to be in a logical suite."""

    test_suite_id: str
    test_case_ids: Annotated[list[str], msgspec.Meta(max_length=MAX_REQUESTS)]


def logical_suite_routes(services: Services) -> list[HTTPRouteHandler]:
    """The routes that put test cases into logical suites and take them out."""
    case, suite = KINDS["testCase"], KINDS["testSuite"]
    planner = services.catalog.planner

    async def add(request: AnyRequest) -> Finished:
        refuse_headers_of_one(request, "a request about many test cases")
        asked = await read_asked(request, JSON_TYPES)
        _check_access(asked.access)

        def propose() -> tuple[Proposal, str]:
            given = decode(asked.body, LogicalTestCases, "the body")
            suite_id = parse_id(given.test_suite_id, "testSuiteId")
            case_ids = [parse_id(each, "testCaseIds") for each in given.test_case_ids]
            element = Reference(type=suite.name, id=suite_id)
            plan = partial(planner.put_into_each, case, case_ids, _KEY, [element], asked.context)
            return services.catalog.propose_steps(plan)[0], suite_id

        written, suite_id = await services.write(request, propose)

        def shown() -> bytes:
            return visible(asked.access, Action.EDIT, suite, find(services, suite, suite_id))

        body = await services.heavy_read(request, shown)
        return Finished(body, headers=written.headers)

    async def remove(request: AnyRequest, suite_id: str, entity_id: str) -> Finished:
        suite, one = id_in_path(suite_id), id_in_path(entity_id)

        def plan_of(asked: Asked) -> Callable[[], Plan]:
            _check_access(asked.access)
            return partial(planner.take_from, case, one, _KEY, suite, asked.context)

        return await answer_write(services, case, request, Action.EDIT, plan_of)

    path = f"/v1/{case.collection}/logicalTestCases"
    editing = Permission(Action.EDIT, case.name)
    return [
        WriteOfMany(
            "addLogicalTestCases",
            "Add test cases to a logical test suite",
            "All of them or none, in one transaction. The suite stands alone; the cases stay in the"
            f" suites of their tables. {_NEEDED}",
            answer="TestSuite",
            body=LogicalTestCases,
            errors=(400, 404, 408, 409, 413, 415, 503),
        ).at("PUT", path, editing, add),
        Write("deleteLogicalTestCase", "Take a test case out of a logical test suite", _NEEDED).at(
            "DELETE", f"{path}/{{suite_id:str}}/{{entity_id:str}}", editing, remove
        ),
    ]


def _check_access(access: Access) -> None:
    """Raise Forbidden or FieldWithheld unless the caller may change what is in a suite."""
    access.require(Action.EDIT, "testSuite")
    if withheld := access.withheld(Action.EDIT, "testCase"):
        withheld.refuse_field(_KEY, "logicalTestCases")
