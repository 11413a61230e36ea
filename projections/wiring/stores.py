"""Opens a data directory: the log, the read models built from it, and what feeds them."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from domain.errors import Conflict
from domain.event_store.opening import (
    address_in,
    begins_log,
    needing_the_extra,
    note_database,
    open_event_log,
)
from domain.event_store.port import EventStore
from domain.machine.storage_errors import storage_errors
from domain.reading.horizon import Horizon
from projections.entities.history_limit import HistoryLimit
from projections.entities.port import SortedReadModel
from projections.feeding.daemon import ApplyAtOnce, read_building
from projections.generations.current_generation import CurrentGeneration
from projections.generations.folder import FolderLeadership, build_lock
from projections.generations.port import ChangeCounter, Leadership
from projections.generations.shared_supervision import Supervisor
from projections.generations.supervision import GenerationSupervisor
from projections.search.engine import SearchEngine
from projections.search.history_limit import SearchHistoryLimit
from projections.search.projection import SearchProjection
from projections.wiring.local_read_models import (
    Backend,
    entities_definition,
    search_definition,
)

if TYPE_CHECKING:
    from projections.wiring.shared_entities import SharedEntities

_READ_MODELS = ("entities*", "search*")
"""Patterns of the names that read models have in a data directory."""
_UNSERVED = "not-served-yet"
"""The file that says of a directory with read models that no server has begun to serve it."""


class Stores:
    """An open data directory: its log, its read models for reading, and their supervisors."""

    def __init__(
        self,
        directory: Path,
        log: EventStore,
        backends: Sequence[Backend[Any]],
        read_models: Sequence[CurrentGeneration[Any]],
        supervisors: Sequence[Supervisor],
    ) -> None:
        """The read models, the sorted one first, and where each of them is."""
        self.directory = directory
        self.log = log
        self.backends = backends
        self.read_models = read_models
        self.entities: CurrentGeneration[SortedReadModel] = read_models[0]
        self.engine: CurrentGeneration[SearchEngine] = read_models[1]
        self.supervisors = supervisors
        """One supervisor for each projection; none in a process that only reads."""
        first = supervisors[0] if supervisors else None
        self._feeder = first if isinstance(first, GenerationSupervisor) else None
        """The feeder of the sorted read model, where this process feeds it and it is in a file."""

    @property
    def is_shared(self) -> bool:
        """True if hosts share the sorted read model, in a database.

        Reads of it take a round trip, so they are not for an event loop, and its commits are made
        in whichever process leads.
        """
        return self.backends[0].is_shared

    @property
    def searches_elsewhere(self) -> bool:
        """True if searches are made by a cluster, so that to ask it anything takes a round trip."""
        return self.backends[1].is_shared

    @property
    def looks_elsewhere(self) -> bool:
        """True if only a database or a cluster can tell what has changed since a search."""
        return any(backend.is_shared for backend in self.backends)

    def named(self, what: str) -> list[CurrentGeneration[Any]]:
        """The read models of a name; all of them for `all`."""
        return [live for live in self.read_models if what in (live.definition.name, "all")]

    @property
    def fed_at_once(self) -> Mapping[str, ApplyAtOnce]:
        """Projection -> function that applies the next batch, for a thread that has just appended.

        Applying a write to the sorted read model in a file takes little more time than waking
        another thread. Search is not among them, as it gathers writes; nor is a read model in a
        database, whose commits wait.
        """
        feeder = self._feeder
        return {} if feeder is None else {feeder.name: feeder.feed}

    def listed(self) -> int:
        """The position up to which lists are current; raises StoreUnavailable.

        The process that feeds them need not ask the file.
        """
        feeder = self._feeder
        position = None if feeder is None else feeder.position
        return self.entities.checkpoint() if position is None else position

    def documents(self, entity_ids: Sequence[str]) -> Mapping[str, bytes]:
        """Id -> full JSON of those entities that the live lists have; raises StoreUnavailable."""
        return self.entities.read(lambda entities: entities.documents(entity_ids))

    def interrupt(self) -> None:
        """End whatever the supervisors are building, because the process is about to stop."""
        for supervisor in self.supervisors:
            supervisor.interrupt()

    def close(self) -> None:
        """Close everything; no thread may step the supervisors any more."""
        self.engine.close()
        self.entities.close()
        for supervisor in self.supervisors:
            supervisor.close()
        for backend in self.backends:
            backend.close()
        self.log.close()


def open_log(directory: Path, database: str | None = None, *, is_there: bool = False) -> EventStore:
    """Open the log alone, in the database at a URL or else in the data directory.

    The directory is made when it is missing, and so is the log, but not in a database where the
    caller expects that it `is_there`. Raises Conflict when the directory's log is elsewhere.
    """
    if not database:
        make_directory(directory)
    log = open_event_log(address_in(directory, database), is_there=is_there)
    if database:
        make_directory(directory)
        note_database(directory)
    return log


def open_stores(
    directory: Path,
    database: str | None = None,
    search: str | None = None,
    *,
    history_days: int | None = None,
    writable: bool = True,
    is_there: bool = False,
) -> Stores:
    """Open everything in a data directory, which is made when it is missing.

    The log is in the database at a URL, where one is given, and search in the cluster at another. A
    process that runs the projectors holds the directory's ProjectorLock before it opens the stores
    writable: that process decides which generations may be served. Any other process passes
    `writable` false. `history_days` are the days of which read models keep the past; None: all.
    `is_there` is as for `open_log`. Raises StoreUnavailable when something cannot be opened, and
    Conflict as `open_log` does, and where read models are left of a log that is gone.
    """
    if not database and begins_log(directory) and (left := read_models_in(directory)):
        address_in(directory)  # which knows of a log that is only half replaced
        raise Conflict(
            f"{directory} has no log (events.db is missing or empty), but read models of one"
            f" ({', '.join(left)}): put the log back; remove them to begin a new catalog"
        )
    log = open_log(directory, database, is_there=is_there)
    if writable:
        _remove_first_layout(directory)
    opened: list[Callable[[], None]] = [log.close]
    try:
        backends = open_backends(directory, log, database, search)
        opened += [backend.close for backend in backends]
        current: list[CurrentGeneration[Any]] = []
        supervisors: list[Supervisor] = []
        for backend in backends:
            changes = ChangeCounter() if writable else None
            if changes is not None:
                supervisor = backend.supervisor(log, changes)
                supervisors.append(supervisor)
                opened.append(supervisor.close)
                supervisor.open()
            reader = backend.reader(log, changes)
            reader.building = partial(read_building, directory, reader.definition.name)
            current.append(reader)
    except BaseException:
        for close in reversed(opened):
            close()
        raise
    if supervisors:
        lists: CurrentGeneration[SortedReadModel] = current[0]
        limit = HistoryLimit(history_days)
        supervisors[0].prune = limit.step
        # Search waits for lists only if there is a limit of the history.
        horizon: Callable[[], Horizon] = Horizon
        due: Callable[[], int] = int
        if history_days is not None:
            horizon = partial(lists.read, lambda entities: entities.horizon())
            due = partial(lists.read, limit.due)
        supervisors[1].prune = SearchHistoryLimit(horizon, due).step
    return Stores(directory, log, backends, current, supervisors)


def open_backends(
    directory: Path, log: EventStore, database: str | None, search: str | None
) -> list[Backend[Any]]:
    """Return the places of the read models of a data directory, the sorted one first.

    With the URL of a database that one is there, next to the log; with that of a search cluster,
    the search index is in the cluster. The caller closes them. Raises InvalidInput for what is no
    URL.
    """
    shared = None
    if database:
        with needing_the_extra():
            from projections.wiring.shared_entities import (  # noqa: PLC0415 - an extra
                SharedEntities,
            )
        shared = SharedEntities(database)
    entities = shared or Backend(entities_definition(directory), FolderLeadership(directory))
    if search:
        return [entities, _in_cluster(search, directory, log, shared)]
    return [entities, Backend(search_definition(directory), FolderLeadership(directory))]


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


def read_models_in(directory: Path) -> list[str]:
    """The names of what a data directory holds of read models."""
    return sorted(path.name for pattern in _READ_MODELS for path in directory.glob(pattern))


def _remove_first_layout(directory: Path) -> None:
    """Remove read models from before there were generations: they are built anew."""
    with storage_errors("what an older version left cannot be removed"):
        for name in ("entities.db", "entities.db-wal", "entities.db-shm"):
            (directory / name).unlink(missing_ok=True)
        if (directory / "search").is_dir():
            shutil.rmtree(directory / "search")


def make_directory(directory: Path) -> None:
    """Make the data directory, closed to other users because it holds the secret.

    Raises StoreUnavailable.
    """
    with storage_errors("the data directory cannot be made"):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)


def was_served(directory: Path) -> bool:
    """Return True if a server, of this version or an older one, has served a data directory.

    A directory that was served has read models. Tools that build some before leave a note.
    """
    return _has_read_models(directory) and not (directory / _UNSERVED).exists()


def note_before_serving(directory: Path) -> None:
    """Note that a directory without read models was not served; for tools that will build some.

    Raises StoreUnavailable.
    """
    if not _has_read_models(directory):
        with storage_errors("the data directory cannot be written"):
            (directory / _UNSERVED).touch()


def note_served(directory: Path) -> None:
    """Remove the note that a directory was not served yet. Raises StoreUnavailable."""
    with storage_errors("the data directory cannot be written"):
        (directory / _UNSERVED).unlink(missing_ok=True)


def _has_read_models(directory: Path) -> bool:
    definitions = (entities_definition(directory), search_definition(directory))
    return any(definition.generations.numbers() for definition in definitions)
