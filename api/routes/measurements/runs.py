"""Runs of pipelines, reported by connectors one by one or many at once, and listed."""

from typing import Any

from litestar.handlers import HTTPRouteHandler

from api.callers.permissions import Action, Permission
from api.declaring.declared_query import in_path
from api.declaring.operation import Operation, Removal, Report
from api.declaring.signatures import AnyRequest
from api.routes.measurements.reports import LISTED, PERIOD, STORED
from api.services import Services
from api.use_cases import measured
from domain.errors import InvalidInput, NotFound
from domain.kinds.bodies.refused_values import converted
from domain.kinds.registry import KINDS
from domain.machine import clock
from domain.measurements.reports import FOREVER
from domain.measurements.runs import MAX_RUNS, RUN, PipelineRun, points, with_tasks
from domain.patches.json_input import decode

_BY_TIME = "Those of one `timestamp` replace each other, and the newest 1,000 are kept."


def pipeline_run_routes(services: Services) -> list[HTTPRouteHandler]:
    """The routes of the runs of a pipeline, which OpenMetadata calls its status."""
    kind = KINDS["pipeline"]
    store = services.measurements

    def add(request: AnyRequest, body: bytes, pipeline: str) -> bytes:
        return written(request, [measured.report(body, PipelineRun)], pipeline)

    def add_many(request: AnyRequest, body: bytes, pipeline: str) -> bytes:
        given = decode(body, list[dict[str, Any]], "the body")
        if len(given) > MAX_RUNS:
            raise InvalidInput(f"a report may have {MAX_RUNS} runs, got {len(given)}")
        runs = [converted(each, PipelineRun, f"run {n}") for n, each in enumerate(given, 1)]
        return written(request, runs, pipeline)

    def written(request: AnyRequest, runs: list[PipelineRun], pipeline: str) -> bytes:
        entity = measured.find(services, kind, pipeline)
        moment = clock.now()
        store.write(measured.id_of(entity), points(runs, store.oldest(moment)), moment)
        return measured.visible(request.auth, Action.EDIT, kind, entity)

    def listed(request: AnyRequest, pipeline: str, **period: Any) -> bytes:
        entity_id = measured.id_of(measured.find(services, kind, pipeline))
        return measured.page(services, entity_id, RUN, "", complete=with_tasks, **period)

    def delete(request: AnyRequest, pipeline: str, at: int) -> bytes:
        entity = measured.find(services, kind, pipeline)
        if at > FOREVER or not store.delete(measured.id_of(entity), RUN, at):
            raise NotFound(f"the pipeline has no run of {at}")
        return measured.visible(request.auth, Action.EDIT, kind, entity)

    viewing, editing = Permission(Action.VIEW, kind.name), Permission(Action.EDIT, kind.name)
    path = f"/v1/{kind.collection}/{{pipeline:str}}/status"
    return [
        Report(
            "addPipelineStatus",
            "Report a run of a pipeline",
            f"{STORED} {_BY_TIME} A run from before the time that is kept is passed over.",
            answer="MeasuredPipeline",
            body=PipelineRun,
        ).at("PUT", path, editing, measured.reporting(services, add)),
        Report(
            "addPipelineStatuses",
            "Report runs of a pipeline",
            f"{STORED} {_BY_TIME} All of them are stored, or none.",
            answer="MeasuredPipeline",
            body="PipelineRuns",
        ).at("PUT", f"{path}/bulk", editing, measured.reporting(services, add_many)),
        Operation(
            "listPipelineStatuses", "List the runs of a pipeline", LISTED, answer="PipelineRunList"
        ).at("GET", path, viewing, measured.reading(services, listed), PERIOD),
        Removal(
            "deletePipelineStatus",
            "Delete a run of a pipeline",
            answer="MeasuredPipeline",
        ).at(
            "DELETE",
            f"{path}/{{at:int}}",
            editing,
            measured.changing(services, delete),
            {"at": in_path(int)},
        ),
    ]
