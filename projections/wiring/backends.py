"""Where each read model is kept: in a data directory, in a database or in a search cluster."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol

from domain.event_store.opening import needing_the_extra
from domain.event_store.port import EventStore
from projections.generations.change_counter import ChangeCounter
from projections.generations.current_generation import CurrentGeneration
from projections.generations.definition import Definition, M
from projections.generations.folder import build_lock
from projections.generations.leadership import FolderLeadership, Leadership
from projections.generations.port import Generations
from projections.generations.supervision import GenerationSupervisor
from projections.generations.supervisor import Supervisor
from projections.search.projection import SearchProjection
from projections.wiring.local_read_models import (
    entities_definition,
    entity_kinds,
    open_generations,
    search_definition,
    search_kinds,
)

if TYPE_CHECKING:
    from projections.wiring.shared_entities import SharedEntities


class Shared(Protocol):
    """What processes of several hosts can read and feed."""

    def supervisor(self, log: EventStore) -> Supervisor:
        """What feeds the read model from a log while this process leads."""

    def close(self) -> None:
        """Closes the connections."""


class Backend(Generic[M]):
    """Where a read model is kept for a data directory, and who feeds it."""

    def __init__(
        self,
        definition: Definition[M],
        generations: Generations,
        leadership: Leadership,
        shared: Shared | None = None,
    ) -> None:
        """`shared` is what hosts share, where they do."""
        self.definition = definition
        self.generations = generations
        self.leadership = leadership
        self._shared = shared

    @property
    def is_shared(self) -> bool:
        """Whether hosts share the read model."""
        return self._shared is not None

    def reader(self, log: EventStore, changes: ChangeCounter | None) -> CurrentGeneration[M]:
        """Lends the live generation; `changes` are those of the supervisor of this process."""
        # Of what is shared, other processes may make the next change.
        known = None if self._shared else changes
        return CurrentGeneration(self.definition, self.generations, log, known)

    def supervisor(self, log: EventStore, changes: ChangeCounter) -> Supervisor:
        """What feeds the read model; the caller holds the ProjectorLock of the directory."""
        if self._shared:
            return self._shared.supervisor(log)
        return GenerationSupervisor(self.definition, self.generations, log, changes, alone=True)

    def close(self) -> None:
        """Closes connections; nothing may use the read model afterwards."""
        if self._shared:
            self._shared.close()


def open_backends(
    directory: Path, log: EventStore, database: str | None = None, search: str | None = None
) -> list[Backend[Any]]:
    """Where the read models of a data directory are, the sorted one first.

    With the URL of a database that one is there, next to the log; with that of a search cluster,
    the search index is in the cluster. The caller closes them. Raises InvalidInput for what is no
    URL.
    """
    leadership = FolderLeadership(directory)
    entities: Backend[Any]
    shared: SharedEntities | None = None
    if database:
        shared = _shared_entities(database)
        entities = Backend(shared.definition, shared.generations, shared.leadership, shared)
    else:
        definition = entities_definition()
        entities = Backend(definition, open_generations(directory, definition), leadership)
    if search:
        return [entities, _backend_in_cluster(search, directory, log, shared)]
    local = search_definition()
    return [entities, Backend(local, open_generations(directory, local), leadership)]


def _shared_entities(url: str) -> "SharedEntities":
    with needing_the_extra():
        from projections.wiring.shared_entities import SharedEntities  # noqa: PLC0415 - an extra
    return SharedEntities(url, entity_kinds)


def _backend_in_cluster(
    url: str, directory: Path, log: EventStore, shared: "SharedEntities | None"
) -> Backend[Any]:
    """The search index in a cluster; hosts that share a database lead and build by locks there."""
    with needing_the_extra("search in OpenSearch", "opensearch"):
        from projections.wiring.shared_search import DirectoryLeaderStatus, SearchBackend  # noqa: PLC0415 - an extra
    name, owner = SearchProjection.name, log.identity()
    if shared is None:
        leadership: Leadership = FolderLeadership(directory)
        building = partial(build_lock, directory, name)
        found = SearchBackend(url, owner, search_kinds, DirectoryLeaderStatus(), building)
    else:
        leadership = leader = shared.leadership_of(name)
        found = SearchBackend(url, owner, search_kinds, leader, partial(shared.building, name))
    return Backend(found.definition, found.generations, leadership, found)
