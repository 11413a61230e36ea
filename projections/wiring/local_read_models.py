"""The read models that a data directory holds: their definitions, backends and generations."""

from pathlib import Path
from typing import Generic

from domain.event_store.port import EventStore
from domain.machine.storage_errors import storage_errors
from projections.entities.port import SortedReadModel
from projections.entities.projection import EntityProjection
from projections.entities.sqlite import bulk_load, file_check
from projections.entities.sqlite.model import SqliteReadModel, open_read_model
from projections.entities.sqlite.tables import INDEXES, TABLES
from projections.entities.stored_entity import stored_code
from projections.entities.verification_source import stored_entities
from projections.feeding.port import Damaged, Progress
from projections.generations.current_generation import CurrentGeneration
from projections.generations.definition import Definition, KindReport, M, code_digest
from projections.generations.folder import FolderGenerations
from projections.generations.port import ChangeCounter, Leadership
from projections.generations.shared_supervision import Supervisor
from projections.generations.supervision import GenerationSupervisor
from projections.search import bulk_build as search_load
from projections.search import projection as search_projection
from projections.search.engine import SearchEngine
from projections.search.index.engine import WhooshEngine
from projections.search.language.field_types import moment_paths
from projections.search.matching.weights import schema_digest
from projections.search.projection import SearchProjection
from projections.search.verification_source import sorted_entries


class Backend(Generic[M]):
    """The place of a read model for a data directory, and its feeder: in the directory itself,
    unless a subclass says otherwise.
    """

    is_shared = False
    """True if hosts share the read model."""

    def __init__(self, definition: Definition[M], leadership: Leadership) -> None:
        self.definition = definition
        self.leadership = leadership

    def reader(self, log: EventStore, changes: ChangeCounter | None) -> CurrentGeneration[M]:
        """Lend the live generation; `changes` are those of the supervisor of this process."""
        # Other processes may make the next change of a shared read model.
        known = None if self.is_shared else changes
        return CurrentGeneration(self.definition, log, known)

    def supervisor(self, log: EventStore, changes: ChangeCounter | None = None) -> Supervisor:
        """Return the feeder of the read model; the caller holds the directory's ProjectorLock."""
        return GenerationSupervisor(self.definition, log, changes, alone=True)

    def leadership_of(self, name: str) -> Leadership:
        """The leadership for another task that one of the hosts sharing the read model does."""
        return self.leadership

    def close(self) -> None:
        """Close connections; nothing may use the read model afterwards."""


def entities_definition(directory: Path) -> Definition[SqliteReadModel]:
    """The sorted read model of a data directory, in a SQLite file for each generation."""
    return Definition(
        name=EntityProjection.name,
        generations=FolderGenerations(directory, EntityProjection.name, "entities-{}.db"),
        code=lambda: code_digest(stored_code(), TABLES, INDEXES),
        open=lambda address, writable: open_read_model(Path(address), writable=writable),
        share_states=SqliteReadModel.share_states,
        check=file_check.check,
        shut=storage_errors("the stamp of the sorted read model cannot be written")(
            file_check.shut
        ),
        trusted=_is_trusted,
        shows_commits_at_once=True,
        projection=EntityProjection,
        source=stored_entities,
        kinds=entity_kinds,
        load=_load_entities,
    )


def search_definition(directory: Path) -> Definition[SearchEngine]:
    """The search index of a data directory.

    Its large files are summed after every opening, while it is served.
    """
    return Definition(
        name=SearchProjection.name,
        generations=FolderGenerations(directory, SearchProjection.name, "search-{}"),
        code=lambda: code_digest(
            search_projection.VERSION, sorted(moment_paths()), schema_digest()
        ),
        open=_open_engine,
        check=lambda engine, go_on: engine.check(go_on),
        trusted=lambda address: False,
        shows_commits_at_once=False,
        projection=SearchProjection,
        source=sorted_entries,
        kinds=search_kinds,
        load=_load_search,
        resumes=True,
    )


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
            try:
                engine.check(lambda: progress(0, 0))
            except Damaged:
                # Damaged files that an earlier load left are of no use.
                engine.reset()
            search_load.load(engine, log, progress)
            engine.compact()
        finally:
            engine.close()


def entity_kinds(model: SortedReadModel) -> dict[str, KindReport]:
    """Report what a sorted read model holds of each kind, wherever it is."""
    deleted = model.deleted()
    return {
        kind: KindReport(n, deleted.get(kind, 0), f"{total:x}")
        for kind, (n, total) in model.digests().items()
    }


def search_kinds(engine: SearchEngine) -> dict[str, KindReport]:
    """Report what a search index holds of each kind, wherever it is."""
    with engine.snapshot() as snapshot:
        kept = snapshot.digests()
    return {kind: KindReport(n, None, f"{total:x}") for kind, (n, total) in sorted(kept.items())}
