"""Imports of dbt's artifacts for a caller: read in a process, and written in the caller's turns."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from anyio import CapacityLimiter, to_thread

from api.answers.bodies import OR_PACKED, check_media_type, read_body
from api.callers.limits import Places
from api.callers.permissions import Access, Action
from api.declaring.signatures import AnyRequest
from api.services import Services, Written
from api.use_cases.documents import refuse_withheld
from api.use_cases.entity_writes import context_of, refuse_headers_of_one
from domain.dbt.contracts import ContractImport, ManifestImport
from domain.dbt.reading import read_manifest, read_run
from domain.dbt.results import RunImport, results_of
from domain.dbt.tested_versions import noted_manifest
from domain.kinds.registry import CONTRACT
from domain.machine import clock
from domain.writing.catalog import Proposal

ARTIFACT_TYPES = ("application/json", "application/gzip", "application/x-gzip")
MOST_PROCESSES = 2
"""Artifacts of all callers that are imported at a time; reading one may take 768 MB."""

T = TypeVar("T")


class DbtImports:
    """The imports that are under way: one of each caller, and some of all callers."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._threads = CapacityLimiter(MOST_PROCESSES)
        self._places = Places(1, "imports from dbt", MOST_PROCESSES)

    async def manifest(self, request: AnyRequest, service: str) -> tuple[Written, ManifestImport]:
        """Write the contracts of the manifest in a request's body, each by itself.

        Raises InvalidInput for what is no manifest, NotFound without the service, Forbidden and
        FieldWithheld for a caller who may not see all of contracts, and TooManyRequests and
        Overloaded while other imports are under way.
        """
        services, told, written = self._services, ManifestImport(), Written(0, listed=True)
        _refuse_partial_sight(request.auth)
        context = context_of(request)

        async def write(propose: Callable[[], tuple[Proposal, T]]) -> T:
            nonlocal written
            done, outcome = await services.write(request, propose)
            position = max(written.position, done.position)
            written = Written(position, listed=written.listed and done.listed)
            return outcome

        with self._places.held(request.user.name):
            body = await _read(request)
            header, lines = await self._run(partial(read_manifest, body))
            importing = await services.heavy_read(
                request,
                partial(ContractImport, services.catalog, service, header.project, context),
            )
            for line in lines:
                told.add(await write(partial(importing.propose, line)))
            gone = await services.heavy_read(request, importing.withdrawn)
            for contract_id in gone:
                outcome = await write(partial(importing.propose_withdrawal, contract_id))
                if outcome is not None:
                    told.add(outcome)
            if header.invocation is not None:
                position = services.stores.log.head()
                note = noted_manifest(header.invocation, position, clock.now())
                store = partial(
                    services.measurements.write, importing.service.id, [note], clock.now()
                )
                await services.measure(request, store)
        return written, told

    async def run_results(self, request: AnyRequest, service: str) -> RunImport:
        """Keep the results of the run in a request's body.

        Raises InvalidInput for what are no results, or for a run that is too old or in the future,
        NotFound without the service, Forbidden for a caller who may not see contracts, which are
        named, and TooManyRequests and Overloaded as `manifest` does.
        """
        services = self._services
        request.auth.require(Action.VIEW, CONTRACT.name)
        with self._places.held(request.user.name):
            body = await _read(request)
            run, statuses = await self._run(partial(read_run, body))

            results = partial(
                results_of, services.catalog, services.measurements, service, run, statuses
            )
            found = await services.heavy_read(request, results)
            store = partial(services.measurements.write_all, found.points, clock.now())
            await services.measure(request, store)
        return found.told

    async def _run(self, work: Callable[[], T]) -> T:
        return await to_thread.run_sync(work, limiter=self._threads)


async def _read(request: AnyRequest) -> bytes:
    """The artifact in the body of a request."""
    refuse_headers_of_one(request, "an import")
    check_media_type(request.headers.get("content-type"), ARTIFACT_TYPES)
    return await read_body(request, encodings=OR_PACKED)


def _refuse_partial_sight(access: Access) -> None:
    """Raise Forbidden or FieldWithheld for a caller who does not see all that an import tells."""
    access.require(Action.VIEW, CONTRACT.name)
    for action in (Action.VIEW, Action.EDIT):
        refuse_withheld(access, action)
