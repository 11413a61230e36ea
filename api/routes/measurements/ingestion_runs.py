"""Runs of ingestion pipelines: reported by their ids, listed, read and deleted."""

from typing import Any

from litestar.handlers import HTTPRouteHandler

from api.callers.permissions import Action, Permission
from api.declaring.operation import Operation, Removal, Report
from api.declaring.signatures import AnyRequest
from api.routes.measurements.reports import LISTED, PERIOD, STORED
from api.services import Services
from api.use_cases import measured
from domain.kinds.registry import KINDS
from domain.machine import clock
from domain.measurements.ingestion_runs import IngestionRun
from domain.measurements.runs import RUN


def ingestion_run_routes(services: Services) -> list[HTTPRouteHandler]:
    """The routes of the runs of an ingestion pipeline, which OpenMetadata calls its status."""
    kind = KINDS["ingestionPipeline"]
    store = services.measurements

    def add(request: AnyRequest, body: bytes, pipeline: str) -> bytes:
        run = measured.report(body, IngestionRun)
        entity = measured.find(services, kind, pipeline)
        entity_id = measured.id_of(entity)
        known = services.measurements.newest_point(entity_id, RUN, run.part) if run.part else None
        moment = clock.now()
        store.write(entity_id, run.points(moment, known[0] if known else None), moment)
        return measured.visible(request.auth, Action.EDIT, kind, entity)

    def listed(request: AnyRequest, pipeline: str, **period: Any) -> bytes:
        entity_id = measured.id_of(measured.find(services, kind, pipeline))
        return measured.page(services, entity_id, RUN, None, **period)

    def one(request: AnyRequest, pipeline: str, run: str) -> bytes:
        entity_id = measured.id_of(measured.find(services, kind, pipeline))
        known = services.measurements.newest_point(entity_id, RUN, run)
        return known[1] if known else b"{}"

    def delete(request: AnyRequest, pipeline: str) -> bytes:
        entity = measured.find(services, kind, pipeline)
        store.delete(measured.id_of(entity), RUN)
        return measured.visible(request.auth, Action.EDIT, kind, entity)

    viewing, editing = Permission(Action.VIEW, kind.name), Permission(Action.EDIT, kind.name)
    path = f"/v1/{kind.collection}/{{pipeline:str}}/pipelineStatus"
    return [
        Report(
            "addIngestionRun",
            "Report a run of an ingestion pipeline",
            f"{STORED} Of one `runId` the last report stands.",
            answer="MeasuredIngestionPipeline",
            body=IngestionRun,
        ).at("PUT", path, editing, measured.reporting(services, add)),
        Operation(
            "listIngestionRuns",
            "List the runs of an ingestion pipeline",
            LISTED,
            answer="IngestionRunList",
        ).at("GET", path, viewing, measured.reading(services, listed), PERIOD),
        Operation(
            "getIngestionRun",
            "Get a run of an ingestion pipeline",
            "An empty object where none of this `runId` was reported: OpenMetadata's client asks"
            " before it reports the first time, and takes a 404 for a fault.",
            answer=IngestionRun,
        ).at("GET", f"{path}/{{run:str}}", viewing, measured.reading(services, one)),
        Removal(
            "deleteIngestionRuns",
            "Delete the runs of an ingestion pipeline",
            answer="MeasuredIngestionPipeline",
        ).at("DELETE", path, editing, measured.changing(services, delete)),
    ]
