"""Version, health, readiness, metrics and the state of the projections."""

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from anyio import CapacityLimiter, to_thread
from litestar.handlers import HTTPRouteHandler

from api.answers.responses import Finished
from api.callers.permissions import PUBLIC, Action, Permission
from api.callers.tokens.key_cache import OVERDUE_SECONDS, STALE_SECONDS
from api.callers.tokens.verifier import TokenVerifier
from api.declaring.declared_query import Parameters, query
from api.declaring.operation import Operation
from api.declaring.signatures import AnyRequest
from api.errors import preparing, read_as
from api.services import Services
from api.telemetry.metrics import Metrics
from domain.machine import clock
from domain.release import RELEASE, commit
from projections.feeding.daemon import State
from projections.operation.inspection import Inspection, ProjectionReport, inspect
from projections.operation.proofs import read_proofs

OPERATING = Permission(Action.OPERATE)
_LISTS = read_as("entities")
FULL = "the disk of the data directory is full"
_TROUBLES = {
    "retrying": "behind: retrying after an error (see the log)",
    "stopped": "behind: stopped by an error (see the log)",
    "not running": "not updated",
    "unknown": "in an unknown state",
}
"""State of a projection -> what `/readyz` says of its answers, where the state is no adjective."""
_WHAT = "What is to be ready: everything, or lists and entities alone."
READY_OF: Parameters = {"of": query(Literal["all", "lists"], _WHAT, "all")}


class Version(msgspec.Struct):
    """The version that OpenMetadata's client checks before it talks to a server."""

    version: str
    revision: str
    timestamp: int


class Health(msgspec.Struct):
    """That the process answers, and which program it runs."""

    status: Literal["alive"]
    release: str
    commit: str
    """The commit that the program was built from; `unknown` where nothing tells."""


class Preparation(msgspec.Struct, omit_defaults=True, rename="camel"):
    """Progress of a read model that is being built; without numbers where that is not known yet."""

    done: int | None = None
    """Number of entities that are done, out of `total`."""
    total: int | None = None


class Readiness(msgspec.Struct, omit_defaults=True):
    """Readiness to answer requests with fresh data, and the reasons against it."""

    ready: bool
    problems: list[str]
    degraded: list[str] = []
    """Faults that should be mended, though they prevent no read yet; absent when there are none."""
    preparing: dict[str, Preparation] = {}
    """`lists` or `search` -> progress, while they are being built; absent when both are there."""


def system_routes(
    services: Services, metrics: Metrics, verifier: TokenVerifier
) -> list[HTTPRouteHandler]:
    """The routes that concern the service and not entities."""
    started = clock.now()
    settings = services.settings

    def version(_: AnyRequest) -> Finished:
        return _json(Version(settings.version, "metadata-catalog", started))

    def healthz(_: AnyRequest) -> Finished:
        return _json(Health("alive", RELEASE, commit()))

    inspecting, rendering = CapacityLimiter(1), CapacityLimiter(1)
    under_way: list[asyncio.Future[Inspection]] = []

    async def inspected() -> Inspection:
        # Requests that come during an inspection share its result: where a database hangs, each one
        # takes seconds.
        if not under_way or under_way[0].done():
            # In a thread, because the first look at a new index opens it, which may take seconds.
            look = to_thread.run_sync(inspect, services.stores, limiter=inspecting)
            under_way[:] = [asyncio.ensure_future(look)]
            # Takes the error of an inspection that nobody waits for any more; asyncio would log it.
            under_way[0].add_done_callback(lambda looked: looked.cancelled() or looked.exception())
        return await asyncio.shield(under_way[0])

    async def readiness(of: str) -> tuple[Readiness, Inspection]:
        keys_gone, degraded = find_key_problems(verifier.key_ages())
        inspection = await inspected()
        needed = inspection.projections[:1] if of == _LISTS else inspection.projections
        problems = find_problems(inspection, needed, settings.ready_lag) + keys_gone
        if inspection.log_read_only:
            degraded.append("the database of the log takes no writes: every write is refused")
        if inspection.clock_fault is not None:
            degraded.append(f"every write is refused: {inspection.clock_fault}")
        damage = await to_thread.run_sync(services.measurements.damage, limiter=inspecting)
        if damage is not None:
            degraded.append(f"measurements cannot be read or written: {damage}")
        degraded += [
            f"reaction {name} is stopped until a restart"
            for name, each in inspection.reactions.items()
            if each.state is State.STOPPED
        ]
        if inspection.disk is not None and inspection.disk.full:
            # A full disk alone does not keep anybody from reading what was written.
            (problems or degraded).append(FULL)
        being_built = {
            read_as(each.name): Preparation(each.built, each.to_build)
            for each in inspection.projections
            if each.state == "building"
        }
        return Readiness(not problems, problems, degraded, being_built), inspection

    async def readyz(_: AnyRequest, of: str) -> Finished:
        ready = (await readiness(of))[0]
        return _json(ready, 200 if ready.ready else 503)

    async def projections(_: AnyRequest) -> Finished:
        return _json(await inspected())

    async def show_metrics(_: AnyRequest) -> Finished:
        ready, inspection = await readiness("all")

        def render() -> bytes:
            proofs = read_proofs(services.stores.directory)
            return metrics.render(inspection, ready=ready.ready, proofs=proofs)

        # In a thread as well, because the text of hundreds of series takes tens of milliseconds.
        body = await to_thread.run_sync(render, limiter=rendering)
        return Finished(body, media_type=metrics.MEDIA_TYPE)

    return [
        Operation("getVersion", "Get the version", answer=Version).at(
            "GET", "/v1/system/version", PUBLIC, version
        ),
        Operation("getHealth", "Is the process alive?", answer="Health").at(
            "GET", "/healthz", PUBLIC, healthz
        ),
        Operation(
            "getReadiness",
            "Can requests be answered with fresh data?",
            answer=Readiness,
            statuses=(200, 503),
            errors=(400, 503),
        ).at("GET", "/readyz", PUBLIC, readyz, READY_OF),
        Operation(
            "getProjections",
            "Get the state of the projections",
            answer=Inspection,
            errors=(503,),
        ).at("GET", "/v1/system/projections", OPERATING, projections),
        Operation(
            "getMetrics",
            "Get the metrics in Prometheus' text format",
            errors=(503,),
            media_type="text/plain",
        ).at("GET", "/metrics", Permission(Action.METRICS), show_metrics),
    ]


def find_problems(
    inspection: Inspection, needed: Sequence[ProjectionReport], lag_limit: float
) -> list[str]:
    """The reasons why this host is not ready for what needs some projections, a sentence each.

    Anybody may read them: what exactly is wrong with the log is for operators, but for the release
    that it needs.
    """
    if inspection.later_release is not None:
        return [inspection.later_release]
    if inspection.head is None:
        return ["the event log cannot be read"]
    problems = [] if inspection.projected else ["no process runs the projectors"]
    for projection in needed:
        if projection.state == "building":
            problems.append(preparing(projection.name, projection.built, projection.to_build))
        elif projection.state != "running":
            trouble = _TROUBLES.get(projection.state, projection.state)
            problems.append(f"{_subject(projection)} {trouble}")
        elif (behind := projection.lag_seconds) is not None and behind > lag_limit:
            lag = f"{behind:.0f} s behind ({projection.lag} events)"
            problems.append(f"{_subject(projection)} {lag}")
    return problems


def _subject(projection: ProjectionReport) -> str:
    name = read_as(projection.name)
    return f"{name} {'are' if name == _LISTS else 'is'}"


def find_key_problems(ages: Sequence[float | None]) -> tuple[list[str], list[str]]:
    """Problems of the issuers' keys, and what may become a problem, from the ages of the keys.

    Anybody may read both, so issuers are counted, not named.
    """
    gone = sum(age is None for age in ages)
    if gone == len(ages):
        return ["no issuer has keys: every token is refused"], []
    degraded = [f"{gone} of {len(ages)} issuers have no keys"] if gone else []
    overdue = [age for age in ages if age is not None and age >= OVERDUE_SECONDS]
    if overdue:
        degraded.append(
            f"keys of {len(overdue)} of {len(ages)} issuers could not be renewed for"
            f" {max(overdue):.0f} s; they are used for {STALE_SECONDS:.0f} s"
        )
    return [], degraded


def _json(value: Any, status: int = 200) -> Finished:
    return Finished(msgspec.json.encode(value), status_code=status)
