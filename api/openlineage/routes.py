"""The routes of the door, and the list of datasets that the catalog does not have."""

import asyncio
from typing import TYPE_CHECKING

import msgspec
from anyio import to_thread
from litestar.handlers import HTTPRouteHandler
from msgspec.structs import replace

from api.answers.responses import Finished, Large
from api.callers.permissions import Action, Permission
from api.declaring.declared_query import Parameters, query
from api.declaring.operation import Operation, Report
from api.declaring.signatures import AnyRequest
from api.openlineage.answers import TakenBatch, TakenEvent
from api.openlineage.unresolved import MOST_LISTED, UnresolvedPage, check_list, unresolved_page
from api.paths.openlineage import BATCH_PATHS, EVENT_PATHS
from api.services import Services
from domain.edges import EDGE
from domain.openlineage.mapping_file import MappingFile

if TYPE_CHECKING:
    from api.openlineage.door import Door


def openlineage_routes(services: Services) -> list[HTTPRouteHandler]:
    """The routes that clients of OpenLineage post to; raises InvalidInput for a wrong mapping."""
    entrance = _Entrance(services)

    async def one(request: AnyRequest) -> Finished:
        return Finished(await (await entrance.door()).one(request))

    async def batch(request: AnyRequest) -> Finished:
        return Finished(await (await entrance.door()).batch(request))

    async def unresolved(
        request: AnyRequest, namespace: str | None, limit: int, after: str | None
    ) -> Large:
        check_list(request.auth)

        def work() -> bytes:
            page = unresolved_page(services.measurements, namespace, limit, after)
            return msgspec.json.encode(page)

        return services.large(request, await services.heavy_read(request, work))

    writing = Permission(Action.EDIT, EDGE, also=Action.CREATE)
    return [
        *(_named(_ONE, path).at("POST", path, writing, one) for path in EVENT_PATHS),
        *(_named(_BATCH, path).at("POST", path, writing, batch) for path in BATCH_PATHS),
        _UNRESOLVED.at(
            "GET", "/v1/lineage/unresolved", Permission(Action.VIEW, EDGE), unresolved, _PAGE
        ),
    ]


class _Entrance:
    """The door, which the first event has imported, in a thread: no start is to wait for it."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._mapping = MappingFile(services.settings.openlineage)
        self._door: Door | None = None
        self._opening = asyncio.Lock()

    async def door(self) -> "Door":
        if self._door is None:
            async with self._opening:
                if self._door is None:
                    self._door = await to_thread.run_sync(self._opened)
        return self._door

    def _opened(self) -> "Door":
        from api.openlineage.door import Door  # noqa: PLC0415 - start-up

        return Door(self._services, self._mapping)


_ERRORS = (400, 408, 409, 413, 415, 503)
_TAKEN = (
    "The body may be packed by gzip, and have 10 MB unpacked. Who finds no place gets a 503, never"
    " a 429."
)
_ONE = Report(
    "postRunEvent",
    "Take an event of OpenLineage",
    "Of a run, a job or a dataset. It is answered once all that follows from it is stored; the same"
    f" again stores nothing. {_TAKEN}",
    answer=TakenEvent,
    body="OpenLineageEvent",
    errors=_ERRORS,
)
_BATCH = Report(
    "postEventBatch",
    "Take events of OpenLineage",
    "A list, or an object with `events`, of 1,000 at most. What is no event is named in the"
    f" answer. {_TAKEN}",
    answer=TakenBatch,
    body="OpenLineageBatch",
    errors=_ERRORS,
)
_UNRESOLVED = Operation(
    "listUnresolvedDatasets",
    "List datasets that pipelines name and the catalog does not have",
    "In order of namespaces and names. What is said of them waits, and is drawn when they come.",
    answer=UnresolvedPage,
)
_PAGE: Parameters = {
    "namespace": query(str, "The datasets of this namespace alone."),
    "limit": query(int, "Of a page.", 100, ge=1, le=MOST_LISTED),
    "after": query(
        str,
        "`paging.after` of the page before this one.",
        schema={"type": "string", "format": "page-cursor"},
    ),
}


def _named(operation: Report, path: str) -> Report:
    """The operation at a path; those at the second ones have ids of their own."""
    first = path in (EVENT_PATHS[0], BATCH_PATHS[0])
    return operation if first else replace(operation, id=f"{operation.id}OfOpenLineage")
