"""The state of the read models beside the log, for `/v1/system/projections` and `inspect`."""

import socket
import time
from typing import Any

import msgspec
from msgspec import Raw

from domain.errors import LaterRelease, NotFound, StoreUnavailable
from domain.event_store.database_url import is_url
from domain.kinds.entity_kind import EntityKind
from domain.machine.disk import Disk, look_at_disk
from domain.openmetadata import document
from domain.reading import history
from projections.feeding.daemon import ProjectorState, is_projected, read_states
from projections.generations.current_generation import CurrentGeneration, NotBuilt
from projections.generations.definition import KindReport
from projections.generations.port import Pointer
from projections.search.documents.documents import entity_digest, is_indexed
from projections.wiring.local_read_models import Backend
from projections.wiring.stores import Stores


class ProjectionReport(msgspec.Struct, rename="camel"):
    """The state of one projection beside the log; fields are None where the log cannot be read."""

    name: str
    state: str
    error: str | None
    checkpoint: int
    head: int | None
    lag: int | None
    """Number of positions of the log that the projection has not applied."""
    lag_seconds: float | None
    """Age in seconds of the oldest event that the projection has not applied; 0 without one."""
    entities: int
    bytes: int
    """Size of all generations together."""
    leader: str | None
    """Name of the host that feeds the read model; None when none does, or that is unknown."""
    generation: int | None
    """Number of the generation that is read."""
    previous: int | None
    """Number of the generation that `rollback` goes back to."""
    built_at: int | None
    """Time when the live generation was built, in milliseconds since the Unix epoch."""
    code: str | None
    """Digest of the code that built the generation that is read."""
    running_code: str
    """Digest of the code that makes this report; a difference means that a rebuild is due."""
    built: int | None = None
    """Number of entities done, while the read model is built for the first time, or anew."""
    to_build: int | None = None
    """Number of all entities that are to be built."""
    kinds: dict[str, KindReport] | None = None
    """Kind -> report of its entities in the read model; None without details."""


class Inspection(msgspec.Struct, rename="camel"):
    """The log and everything that this host has derived from it."""

    host: str
    """Name of the machine or container that makes this report."""
    shared_log: bool
    """True if other hosts may have the same log: head and size of the log are then of all hosts."""
    head: int | None
    """Position of the newest event; None where the log cannot be read."""
    log_bytes: int | None
    log_error: str | None
    """The reason why the log, or a part of it, cannot be read; None otherwise."""
    later_release: str | None
    """The features of the log that only a later release knows, and which release; None without any.

    This program does not write to such a log, and cannot read all of it.
    """
    log_read_only: bool
    """True if the database of the log is set to take no writes now."""
    clock_fault: str | None
    """The fault of this host's clock for which each write is refused; None where it seems right."""
    log_id: str | None
    """Random text made with the log, which imports of it do not have; None without details, or
    where the log cannot be read.
    """
    disk: Disk | None
    """The disk of the data directory; None where the system does not report it."""
    projected: bool
    """True if some process of this host runs the projectors."""
    projections: list[ProjectionReport]
    reactions: dict[str, ProjectorState] = {}
    """Reactions of this host that follow the log, by name, such as the judge of contracts."""


class EntityInspection(msgspec.Struct, rename="camel"):
    """One entity as the log has it and as each read model has it."""

    kind: str
    id: str
    log: Raw | None
    """The entity's document folded from the log; None when the entity was purged."""
    log_position: int
    """Head of the log when the document was folded."""
    entities: Raw | None
    """The entity's document in the sorted read model."""
    entities_checkpoint: int
    search: dict[str, Any] | None
    """Kind and digest of the entity's document in the search index; edges have none."""
    search_checkpoint: int
    differences: list[str]
    """Names of the read models whose entity differs from the log's."""


def inspect(stores: Stores, *, details: bool = False) -> Inspection:
    """The state of every projection beside the log; `details` adds numbers and digests by kind."""
    head: int | None = None
    log_bytes: int | None = None
    error = later = clock_fault = log_id = None
    read_only = False
    try:
        head, log_bytes = stores.log.head(), stores.log.size()
        read_only = stores.log.is_read_only()
        clock_fault = stores.log.clock_fault()
        log_id = stores.log.identity() if details else None
        stores.log.refuse_later_release()
    except LaterRelease as refused:
        error = later = refused.message
    except StoreUnavailable as unavailable:
        error = unavailable.message
    projected = is_projected(stores.directory)
    return Inspection(
        host=socket.gethostname(),
        shared_log=is_url(stores.log.address),
        head=head,
        log_bytes=log_bytes,
        log_error=error,
        later_release=later,
        log_read_only=read_only,
        clock_fault=clock_fault,
        log_id=log_id,
        disk=look_at_disk(stores.directory),
        projected=projected,
        projections=[
            _report(stores, backend, live, head, projected=projected, details=details)
            for backend, live in zip(stores.backends, stores.read_models, strict=True)
        ],
        reactions=_reactions(stores) if projected else {},
    )


def _reactions(stores: Stores) -> dict[str, ProjectorState]:
    read_models = {live.definition.name for live in stores.read_models}
    states = read_states(stores.directory)
    return {name: state for name, state in states.items() if name not in read_models}


def _report(
    stores: Stores,
    backend: Backend[Any],
    live: CurrentGeneration[Any],
    head: int | None,
    *,
    projected: bool,
    details: bool,
) -> ProjectionReport:
    name = live.definition.name
    known = read_states(stores.directory).get(name)
    if not projected:
        state, error = "not running", None
    elif known is None:
        state, error = "unknown", "the daemon cannot share its state"
    else:
        state, error = known.state.value, known.error
    checkpoint = entities = size = 0
    building: ProjectorState | None = None
    kinds, pointer, leader = None, Pointer(), None
    try:
        leader = backend.leadership.leader()
        pointer = live.generations.pointer()
        size = sum(live.generations.size(number) for number in live.generations.numbers())
        with live.use() as model:
            checkpoint, entities = model.checkpoint(), model.count()
            kinds = dict(live.definition.kinds(model)) if details else None
    except StoreUnavailable as unavailable:
        why = unavailable.message
        # What keeps a read model from being built is known to who tries to build it.
        state, error = "unavailable", why if error in (None, why) else f"{why} ({error})"
        if isinstance(unavailable, NotBuilt) and unavailable.building is not None:
            state, building = "building", unavailable.building
    return ProjectionReport(
        name=name,
        state=state,
        error=error,
        checkpoint=checkpoint,
        head=head,
        lag=None if head is None else max(head - checkpoint, 0),
        lag_seconds=None if head is None else _age_of_next(stores, checkpoint),
        entities=entities,
        bytes=size,
        leader=leader,
        generation=pointer.live.number if pointer.live else None,
        previous=pointer.previous.number if pointer.previous else None,
        built_at=pointer.live.built_at if pointer.live else None,
        code=pointer.live.code if pointer.live else None,
        running_code=live.definition.code(),
        built=building.done if building else None,
        to_build=building.total if building else None,
        kinds=kinds,
    )


def inspect_entity(stores: Stores, kind: EntityKind, fqn: str) -> EntityInspection:
    """One entity in the log and in each read model; raises NotFound for an unknown name."""
    claim = stores.log.claim(kind.name, fqn)
    if claim is None:
        raise NotFound(f"{kind.name} instance for {fqn!r} not found")
    position = stores.log.head()
    state = next((each for each, _ in history.folded(stores.log.stream(claim.id))), None)
    said = None if state is None or state.purged else state
    with stores.entities.use() as entities:
        entities_checkpoint = entities.checkpoint()
        listed = entities.documents([claim.id]).get(claim.id)
    with stores.engine.use() as engine, engine.snapshot() as snapshot:
        indexed = next((entry for entry in snapshot.entries() if entry[0] == claim.id), None)
        search_checkpoint, _ = snapshot.checkpoint
    differences = []
    shown = None if said is None else document.encode(document.fields(said))
    if (listed and msgspec.json.decode(listed)) != (shown and msgspec.json.decode(shown)):
        differences.append("entities")
    due = said if said is not None and is_indexed(said) else None
    if (indexed and indexed[2]) != (due and entity_digest(due)):
        differences.append("search")
    return EntityInspection(
        kind=kind.name,
        id=claim.id,
        log=None if shown is None else Raw(shown),
        log_position=position,
        entities=None if listed is None else Raw(listed),
        entities_checkpoint=entities_checkpoint,
        search=None if indexed is None else {"kind": indexed[1], "digest": f"{indexed[2]:x}"},
        search_checkpoint=search_checkpoint,
        differences=differences,
    )


def _age_of_next(stores: Stores, checkpoint: int) -> float | None:
    try:
        waiting = stores.log.read(checkpoint, 1)
    except StoreUnavailable:
        return None
    return max(time.time() - waiting[0].event.at / 1000, 0.0) if waiting else 0.0
