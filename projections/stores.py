"""Opens what a data directory holds: the log and the read models built from it."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol

from domain.errors import StoreUnavailable
from domain.event_store.opening import (
    address_in,
    needing_the_extra,
    note_database,
    open_event_log,
)
from domain.event_store.port import EventStore
from projections.entities.port import SortedReadModel
from projections.entities.projection import EntityProjection
from projections.entities.sqlite import bulk_load, file_check
from projections.entities.sqlite.model import SqliteReadModel, open_read_model
from projections.entities.sqlite.tables import INDEXES, TABLES
from projections.entities.stored_entity import stored_code
from projections.entities.verification_source import stored_entities
from projections.feeding.port import Damaged, Progress
from projections.generations.change_counter import ChangeCounter
from projections.generations.current_generation import CurrentGeneration
from projections.generations.definition import Definition, KindReport, M, code_digest
from projections.generations.folder_shelf import FolderShelf, storage_errors
from projections.generations.leadership import FolderLeadership, Leadership
from projections.generations.shelf import Shelf
from projections.generations.supervision import GenerationSupervisor, Supervisor
from projections.search import bulk_build as search_load
from projections.search import projection as search_projection
from projections.search.engine import SearchEngine
from projections.search.index.engine import WhooshEngine
from projections.search.index.format.schema import schema_digest
from projections.search.language.field_types import moment_paths
from projections.search.projection import SearchProjection
from projections.search.verification_source import sorted_entries

if TYPE_CHECKING:
    from projections.shared_entities import SharedEntities


def entities_definition() -> Definition[SqliteReadModel]:
    """The sorted read model, in a SQLite file for each generation."""
    return Definition(
        name=EntityProjection.name,
        code=lambda: code_digest(stored_code(), TABLES, INDEXES),
        open=lambda address, writable: open_read_model(Path(address), writable=writable),
        check=file_check.check,
        shut=_shut_entities,
        trusted=_is_trusted,
        shows_commits_at_once=True,
        tells_when_superseded=False,
        projection=EntityProjection,
        source=stored_entities,
        kinds=_entity_kinds,
        load=_load_entities,
        resumes=False,
        batch_size=5_000,
    )


def search_definition() -> Definition[SearchEngine]:
    """The search index, whose large files are summed after every opening while it is served."""
    return Definition(
        name=SearchProjection.name,
        code=lambda: code_digest(
            search_projection.VERSION, sorted(moment_paths()), schema_digest()
        ),
        open=_open_engine,
        check=lambda engine, go_on: engine.check(go_on),
        shut=lambda engine: engine.close(),
        trusted=lambda address: False,
        shows_commits_at_once=False,
        tells_when_superseded=False,
        projection=SearchProjection,
        source=sorted_entries,
        kinds=_search_kinds,
        load=_load_search,
        resumes=True,
        batch_size=5_000,
    )


def _shut_entities(model: SqliteReadModel) -> None:
    with storage_errors("the stamp of the sorted read model cannot be written"):
        file_check.shut(model)


def _is_trusted(address: str) -> bool:
    with storage_errors(f"the stamp of {address} cannot be read"):
        return file_check.take_stamp(Path(address))


def _load_entities(address: str, log: EventStore, progress: Progress) -> None:
    with storage_errors(f"{address} cannot be built"):
        bulk_load.load(Path(address), log, progress)


def _open_engine(address: str, writable: bool) -> SearchEngine:
    engine = WhooshEngine.open(Path(address), writable=writable)
    if engine.rebuild_reason is not None:
        engine.close()
        raise Damaged(engine.rebuild_reason)
    return engine


def _load_search(address: str, log: EventStore, progress: Progress) -> None:
    with storage_errors(f"{address} cannot be built"):
        engine = WhooshEngine.open(Path(address))
        try:
            _discard_damaged(engine, progress)
            search_load.load(engine, log, progress)
            engine.compact()
        finally:
            engine.close()


def _discard_damaged(engine: SearchEngine, progress: Progress) -> None:
    """Begins an index anew when what an earlier load left in it is damaged."""
    try:
        engine.check(lambda: progress(0, 0))
    except Damaged:
        engine.reset()


def _entity_kinds(model: SortedReadModel) -> dict[str, KindReport]:
    deleted = model.deleted()
    return {
        kind: KindReport(n, deleted.get(kind, 0), f"{total:x}")
        for kind, (n, total) in model.digests().items()
    }


def _search_kinds(engine: SearchEngine) -> dict[str, KindReport]:
    with engine.snapshot() as snapshot:
        kept = snapshot.digests()
    return {kind: KindReport(n, None, f"{total:x}") for kind, (n, total) in sorted(kept.items())}


_PATTERNS = {EntityProjection.name: "entities-{}.db", SearchProjection.name: "search-{}"}
"""Projection -> the name of a generation's file or folder, with `{}` for its number."""


def open_shelf(directory: Path, definition: Definition[Any]) -> Shelf:
    """Where the generations of a read model are kept for a data directory."""
    return FolderShelf(directory, definition.name, _PATTERNS[definition.name])


_UNSERVED = "not-served-yet"
"""The file that says of a directory with read models that no server has begun to serve it."""


def was_served(directory: Path) -> bool:
    """Whether a server has begun to serve a data directory, of this version or of an older one.

    Each that was served has read models; tools that build them before note it.
    """
    return _has_read_models(directory) and not (directory / _UNSERVED).exists()


def note_before_serving(directory: Path) -> None:
    """To be called by tools before they build read models: notes it where there are none yet.

    Raises StoreUnavailable.
    """
    if not _has_read_models(directory):
        with storage_errors("the data directory cannot be written"):
            (directory / _UNSERVED).touch()


def note_served(directory: Path) -> None:
    """To be called by a server that has made what it makes once. Raises StoreUnavailable."""
    with storage_errors("the data directory cannot be written"):
        (directory / _UNSERVED).unlink(missing_ok=True)


def _has_read_models(directory: Path) -> bool:
    definitions = (entities_definition(), search_definition())
    return any(open_shelf(directory, definition).numbers() for definition in definitions)


class Shared(Protocol):
    """What processes of several hosts can read and feed."""

    def supervisor(self, log: EventStore) -> Supervisor:
        """What feeds the read model from a log while this process leads."""

    def close(self) -> None:
        """Closes the connections."""


class Home(Generic[M]):
    """Where a read model is kept for a data directory, and who feeds it."""

    def __init__(
        self,
        definition: Definition[M],
        shelf: Shelf,
        leadership: Leadership,
        shared: Shared | None = None,
    ) -> None:
        """`shared` is what hosts share, where they do."""
        self.definition = definition
        self.shelf = shelf
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
        return CurrentGeneration(self.definition, self.shelf, log, known)

    def supervisor(self, log: EventStore, changes: ChangeCounter) -> Supervisor:
        """What feeds the read model; the caller holds the ProjectorLock of the directory."""
        if self._shared:
            return self._shared.supervisor(log)
        return GenerationSupervisor(self.definition, self.shelf, log, changes)

    def close(self) -> None:
        """Closes connections; nothing may use the read model afterwards."""
        if self._shared:
            self._shared.close()


def open_homes(
    directory: Path, log: EventStore, database: str | None = None, search: str | None = None
) -> list[Home[Any]]:
    """Where the read models of a data directory are, the sorted one first.

    With the URL of a database that one is there, next to the log; with that of a search cluster,
    the search index is in the cluster. The caller closes them. Raises InvalidInput for what is no
    URL.
    """
    leadership = FolderLeadership(directory)
    entities: Home[Any]
    shared: SharedEntities | None = None
    if database:
        shared = _shared_entities(database)
        entities = Home(shared.definition, shared.shelf, shared.leadership, shared)
    else:
        definition = entities_definition()
        entities = Home(definition, open_shelf(directory, definition), leadership)
    if search:
        return [entities, _home_in_cluster(search, directory, log, shared)]
    local = search_definition()
    return [entities, Home(local, open_shelf(directory, local), leadership)]


def _shared_entities(url: str) -> "SharedEntities":
    with needing_the_extra():
        from projections.shared_entities import SharedEntities  # noqa: PLC0415 - an extra
    return SharedEntities(url, _entity_kinds)


def _home_in_cluster(
    url: str, directory: Path, log: EventStore, shared: "SharedEntities | None"
) -> Home[Any]:
    """The search index in a cluster; hosts that share a database have one lead for it there."""
    with needing_the_extra("search in OpenSearch", "opensearch"):
        from projections.shared_search import DirectoryLead, SearchHome  # noqa: PLC0415 - an extra
    if shared is None:
        leadership: Leadership = FolderLeadership(directory)
        found = SearchHome(url, directory, log.identity(), _search_kinds, DirectoryLead())
    else:
        lead = shared.lead(SearchProjection.name)
        leadership = lead
        found = SearchHome(url, directory, log.identity(), _search_kinds, lead)
    return Home(found.definition, found.shelf, leadership, found)


class Stores:
    """An open data directory: its log, its read models for reading, and their supervisors."""

    def __init__(
        self,
        directory: Path,
        log: EventStore,
        homes: Sequence[Home[Any]],
        read_models: Sequence[CurrentGeneration[Any]],
        supervisors: Sequence[Supervisor],
    ) -> None:
        """The read models, the sorted one first, and where each of them is."""
        self.directory = directory
        self.log = log
        self.homes = homes
        self.read_models = read_models
        self.entities: CurrentGeneration[SortedReadModel] = read_models[0]
        self.engine: CurrentGeneration[SearchEngine] = read_models[1]
        self.supervisors = supervisors
        """One supervisor for each projection; none in a process that only reads."""

    @property
    def is_shared(self) -> bool:
        """Whether hosts share the sorted read model, in a database.

        Reads of it take a round trip, so they are not for an event loop, and its commits are made
        in whichever process leads.
        """
        return self.homes[0].is_shared

    @property
    def searches_elsewhere(self) -> bool:
        """Whether searches are made by a cluster, so that to ask it anything takes a round trip."""
        return self.homes[1].is_shared

    @property
    def looks_elsewhere(self) -> bool:
        """Whether a database or a cluster must say if anything has changed since a search."""
        return any(home.is_shared for home in self.homes)

    def interrupt(self) -> None:
        """Ends whatever the supervisors are building, because the process is about to stop."""
        for supervisor in self.supervisors:
            supervisor.interrupt()

    def close(self) -> None:
        """Closes everything; no thread may step the supervisors any more."""
        self.engine.close()
        self.entities.close()
        for supervisor in self.supervisors:
            supervisor.close()
        for home in self.homes:
            home.close()
        self.log.close()


def open_log(directory: Path, database: str | None = None) -> EventStore:
    """Opens the log alone, in the database at a URL or else in the data directory.

    The directory is made when it is missing. Raises Conflict when its log is elsewhere.
    """
    make_directory(directory)
    log = open_event_log(address_in(directory, database))
    if database:
        note_database(directory)
    return log


def open_stores(
    directory: Path,
    database: str | None = None,
    search: str | None = None,
    *,
    writable: bool = True,
) -> Stores:
    """Opens everything in a data directory, which is made when it is missing.

    The log is in the database at a URL, where one is given, and search in the cluster at another. A
    process that runs the projectors holds the directory's ProjectorLock before it opens the stores
    writable: that process decides which generations may be served. Any other process passes
    `writable` false. Raises StoreUnavailable when something cannot be opened, and Conflict as
    `open_log` does.
    """
    log = open_log(directory, database)
    if writable:
        _remove_first_layout(directory)
    opened: list[Callable[[], None]] = [log.close]
    try:
        homes = open_homes(directory, log, database, search)
        opened += [home.close for home in homes]
        current: list[CurrentGeneration[Any]] = []
        supervisors: list[Supervisor] = []
        for home in homes:
            changes = ChangeCounter() if writable else None
            if changes is not None:
                supervisor = home.supervisor(log, changes)
                supervisors.append(supervisor)
                opened.append(supervisor.close)
                supervisor.open()
            current.append(home.reader(log, changes))
    except BaseException:
        for close in reversed(opened):
            close()
        raise
    return Stores(directory, log, homes, current, supervisors)


def _remove_first_layout(directory: Path) -> None:
    """Remove read models from before there were generations: they are built anew."""
    with storage_errors("what an older version left cannot be removed"):
        for name in ("entities.db", "entities.db-wal", "entities.db-shm"):
            (directory / name).unlink(missing_ok=True)
        if (directory / "search").is_dir():
            shutil.rmtree(directory / "search")


def make_directory(directory: Path) -> None:
    """Makes the data directory, closed to other users because it holds the secret."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnavailable(f"the data directory cannot be made: {error}") from error
