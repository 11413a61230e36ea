"""Requests of datacontract-cli: it publishes documents, and the results of its tests."""

from functools import partial

import msgspec
from litestar.handlers import HTTPRouteHandler

from api.answers.bodies import JSON_TYPES, check_media_type, read_body
from api.answers.responses import Finished
from api.callers.permissions import Action, Permission
from api.declaring.operation import Report, WriteOfMany
from api.declaring.signatures import AnyRequest
from api.paths.base_path import PUBLISHED
from api.routes.contracts.documents import STRICT
from api.routes.measurements.reports import STORED
from api.services import Services
from api.use_cases import measured
from api.use_cases.entity_writes import read_asked, refuse_headers_of_one
from api.use_cases.publications import PublicationAnswer, page_of, publish
from api.use_cases.reported_runs import ReportedRunAnswer, keep_run
from domain.contracts.validation.reported_runs import ReportedRun
from domain.kinds.registry import CONTRACT


def tool_routes(services: Services) -> list[HTTPRouteHandler]:
    """The routes at which datacontract-cli publishes, which takes 200 alone for success."""

    async def put(request: AnyRequest, strict: bool) -> Finished:
        refuse_headers_of_one(request, "a publication")
        asked = await read_asked(request, JSON_TYPES)
        written, answer = await publish(services, request, asked, strict=strict)
        headers = page_of(services, request, answer.contracts[0].fully_qualified_name)
        return Finished(msgspec.json.encode(answer), headers=headers | written.headers)

    async def report(request: AnyRequest) -> Finished:
        check_media_type(request.headers.get("content-type"), JSON_TYPES)
        run = partial(measured.report, await read_body(request), ReportedRun)
        answer = await services.measure(request, lambda: keep_run(services, run()))
        names = [each.fully_qualified_name for each in answer.contracts] or answer.not_tested
        headers = page_of(services, request, names[0])
        return Finished(msgspec.json.encode(answer), headers=headers)

    publishing = Permission(Action.EDIT, CONTRACT.name, also=Action.CREATE)
    return [
        WriteOfMany(
            "publishDataContract",
            "Publish an ODCS document, as datacontract-cli does",
            _PUBLISHED,
            answer=PublicationAnswer,
            body="OdcsDocument",
            errors=(400, 408, 409, 413, 415, 422, 503),
            path=f"{PUBLISHED}/{{odcs_id}}",
            tag=CONTRACT.collection,
        ).at("PUT", PUBLISHED, publishing, put, STRICT),
        Report(
            "reportDataContractTests",
            "Report a run of the tests of a contract, as datacontract-cli does",
            _REPORTED,
            answer=ReportedRunAnswer,
            body=ReportedRun,
            tag=CONTRACT.collection,
        ).at("POST", "/api/test-results", Permission(Action.EDIT, CONTRACT.name), report),
    ]


_PUBLISHED = (
    "Each contract that the document is about is given all of it: those that have a document of its"
    " `id`, and for other schema objects the contract of the entity that `catalogEntity` names"
    " among `customProperties`, or of the table that is at one of the `servers`. 422 where there is"
    " none, or several are meant; 409 where the contract is about another entity. `location-html`"
    " is the address of its page."
)
_REPORTED = (
    "Each contract that has the document `dataContractId` gets a result by the checks whose `model`"
    " is its schema object, and the run is kept for its page. The same `runId` again changes"
    f" nothing. {STORED}"
)
