"""Samples of the data itself: rows of tables, rows that failed a test, messages of topics.

Samples may hold personal data: they are shown with the action `sample` alone.
"""

from typing import Any

import msgspec
from litestar.handlers import HTTPRouteHandler

from api.callers.permissions import Action, Permission
from api.declaring.operation import Operation, Removal, Report
from api.declaring.signatures import AnyRequest
from api.routes.measurements.reports import STORED
from api.services import Services
from api.use_cases.measured import (
    changing,
    find,
    id_of,
    reading,
    report,
    reporting,
    visible,
    with_member,
)
from domain.errors import InvalidInput, NotFound
from domain.kinds.registry import KINDS
from domain.machine import clock
from domain.measurements.port import Measurements
from domain.measurements.reports import (
    RESULT,
    SAMPLE,
    TableSample,
    TestResult,
    TopicSample,
)


class Sampled(msgspec.Struct, frozen=True, kw_only=True):
    """A kind whose entities have samples, and what OpenMetadata calls them."""

    kind: str
    parameter: str
    """Name of the id or qualified name in the path."""
    member: str
    """Last part of the path, and key of the sample in the entity."""
    body: type[TableSample | TopicSample]
    hidden_with: tuple[str, str]
    """Kind and key of its body; a caller from whom the key is withheld does not see the sample."""
    alone: bool = False
    """True if a read answers with the sample alone, or 404, in place of the entity with it."""
    failed: bool = False
    """True if only a test whose newest result is `Failed` takes a sample."""
    name: str
    """The words that operation ids have for the sample."""
    what: str
    """The words that summaries have for the sample."""


_SAMPLED = (
    Sampled(
        kind="table",
        parameter="table",
        member="sampleData",
        body=TableSample,
        hidden_with=("table", "columns"),
        name="SampleData",
        what="sample of the rows of a table",
    ),
    Sampled(
        kind="topic",
        parameter="topic",
        member="sampleData",
        body=TopicSample,
        hidden_with=("topic", "messageSchema"),
        name="TopicSampleData",
        what="sample of the messages of a topic",
    ),
    Sampled(
        kind="testCase",
        parameter="case",
        member="failedRowsSample",
        body=TableSample,
        hidden_with=("table", "columns"),
        alone=True,
        failed=True,
        name="FailedRowsSample",
        what="sample of the rows that failed a test case",
    ),
)


def sample_routes(services: Services) -> list[HTTPRouteHandler]:
    """The routes of all samples."""
    return [route for each in _SAMPLED for route in _routes(services, each)]


def _routes(services: Services, sampled: Sampled) -> list[HTTPRouteHandler]:
    kind, member = KINDS[sampled.kind], sampled.member
    store = services.measurements

    def put(request: AnyRequest, body: bytes, **where: str) -> bytes:
        moment = clock.now()
        points = report(body, sampled.body).points(moment)
        entity = find(services, kind, where[sampled.parameter])
        if sampled.failed:
            _check_failed(store, id_of(entity))
        store.write(id_of(entity), points, moment)
        if sampled.failed:
            # A result that came meanwhile found no sample to delete.
            try:
                _check_failed(store, id_of(entity))
            except InvalidInput:
                store.delete(id_of(entity), SAMPLE)
                raise
        return with_member(visible(request.auth, Action.EDIT, kind, entity), member, body)

    def get(request: AnyRequest, **where: str) -> bytes:
        of, key = sampled.hidden_with
        if withheld := request.auth.withheld(Action.VIEW, of):
            withheld.refuse_field(key, member)
        entity = find(services, kind, where[sampled.parameter])
        sample = store.latest(id_of(entity), SAMPLE)
        if sampled.alone:
            if sample is None:
                raise NotFound(f"{kind.name} {where[sampled.parameter][:80]!r} has no {member}")
            return sample
        whole = visible(request.auth, Action.VIEW, kind, entity)
        return whole if sample is None else with_member(whole, member, sample)

    def delete(request: AnyRequest, **where: str) -> bytes:
        entity = find(services, kind, where[sampled.parameter])
        store.delete(id_of(entity), SAMPLE)
        return visible(request.auth, Action.EDIT, kind, entity)

    editing = Permission(Action.EDIT, kind.name)
    sampling = Permission(Action.VIEW, kind.name, also=Action.SAMPLE)
    path = f"/v1/{kind.collection}/{{{sampled.parameter}:str}}/{member}"
    name, what, measured = sampled.name, sampled.what, f"Measured{kind.body.__name__}"
    only = " Only a test case whose newest result is `Failed` takes one." if sampled.failed else ""
    shown: Any = sampled.body if sampled.alone else measured
    return [
        Report(
            f"add{name}",
            f"Report a {what}",
            f"In place of the sample before it.{only} {STORED}",
            answer=measured,
            body=sampled.body,
        ).at("PUT", path, editing, reporting(services, put), unsupported=_NOT_COMPARED),
        Operation(f"get{name}", f"Get the {what}", answer=shown).at(
            "GET", path, sampling, reading(services, get)
        ),
        Removal(
            f"delete{name}",
            f"Delete the {what}",
            answer=measured,
        ).at("DELETE", path, editing, changing(services, delete)),
    ]


_NOT_COMPARED = {"validate": "false"}
"""The value with which OpenMetadata's client asks for no comparison of columns; none is made."""


def _check_failed(store: Measurements, case_id: str) -> None:
    """Raise InvalidInput unless the newest result of a test case is `Failed`."""
    newest = store.latest(case_id, RESULT)
    status = None if newest is None else msgspec.json.decode(newest, type=TestResult)
    if status is None or status.test_case_status != "Failed":
        got = "it has no result" if status is None else f"it is {status.test_case_status}"
        raise InvalidInput(
            f"failedRowsSample needs a test case whose newest result is Failed, and {got}"
        )
