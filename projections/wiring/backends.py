"""Where each read model is kept: in a data directory, in a database or in a search cluster."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic

from domain.event_store.opening import needing_the_extra
from domain.event_store.port import EventStore
from projections.generations.change_counter import ChangeCounter
from projections.generations.current_generation import CurrentGeneration
from projections.generations.definition import Definition, M
from projections.generations.folder import build_lock
from projections.generations.leadership import FolderLeadership, Leadership
from projections.generations.port import Generations
from projections.generations.shared_supervision import Supervisor
from projections.generations.supervision import GenerationSupervisor
from projections.search.projection import SearchProjection
from projections.wiring.local_read_models import (
    entities_definition,
    open_generations,
    search_definition,
)

if TYPE_CHECKING:
    from projections.wiring.shared_entities import SharedEntities


class Backend(Generic[M]):
    """Where a read model is kept for a data directory, and who feeds it: in the directory itself,
    unless a subclass says otherwise.
    """

    is_shared = False
    """True if hosts share the read model."""
    generations: Generations
    leadership: Leadership

    def __init__(
        self, definition: Definition[M], generations: Generations, leadership: Leadership
    ) -> None:
        self.definition = definition
        self.generations = generations
        self.leadership = leadership

    def reader(self, log: EventStore, changes: ChangeCounter | None) -> CurrentGeneration[M]:
        """Lends the live generation; `changes` are those of the supervisor of this process."""
        # Of what is shared, other processes may make the next change.
        known = None if self.is_shared else changes
        return CurrentGeneration(self.definition, self.generations, log, known)

    def supervisor(self, log: EventStore, changes: ChangeCounter | None = None) -> Supervisor:
        """What feeds the read model; the caller holds the ProjectorLock of the directory."""
        return GenerationSupervisor(self.definition, self.generations, log, changes, alone=True)

    def close(self) -> None:
        """Closes connections; nothing may use the read model afterwards."""


def open_backends(
    directory: Path, log: EventStore, database: str | None = None, search: str | None = None
) -> list[Backend[Any]]:
    """Where the read models of a data directory are, the sorted one first.

    With the URL of a database that one is there, next to the log; with that of a search cluster,
    the search index is in the cluster. The caller closes them. Raises InvalidInput for what is no
    URL.
    """
    shared = _shared_entities(database) if database else None
    entities = shared or _in_directory(directory, entities_definition())
    if search:
        return [entities, _in_cluster(search, directory, log, shared)]
    return [entities, _in_directory(directory, search_definition())]


def _in_directory(directory: Path, definition: Definition[Any]) -> Backend[Any]:
    generations = open_generations(directory, definition)
    return Backend(definition, generations, FolderLeadership(directory))


def _shared_entities(url: str) -> "SharedEntities":
    with needing_the_extra():
        from projections.wiring.shared_entities import SharedEntities  # noqa: PLC0415 - an extra
    return SharedEntities(url)


def _in_cluster(
    url: str, directory: Path, log: EventStore, shared: "SharedEntities | None"
) -> Backend[Any]:
    """The search index in a cluster; hosts that share a database lead and build by locks there."""
    with needing_the_extra("search in OpenSearch", "opensearch"):
        from projections.wiring.shared_search import SharedSearch  # noqa: PLC0415 - an extra
    name = SearchProjection.name
    leadership: Leadership = FolderLeadership(directory)
    building: Callable[[], AbstractContextManager[None]] = partial(build_lock, directory, name)
    if shared is not None:
        leadership, building = shared.leadership_of(name), partial(shared.building, name)
    return SharedSearch(url, log.identity(), leadership, building)
