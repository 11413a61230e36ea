"""Opens what a data directory holds: the log and the read models built from it."""

from pathlib import Path

import structlog

from domain.errors import StoreUnavailable
from domain.event_store.log import EventLog, open_event_log
from projections.entities.projection import EntityProjection
from projections.entities.queries import read_documents
from projections.entities.store import EntityStore, open_entity_store
from projections.port import Projection
from projections.projector import Projector
from projections.search.engine import SearchEngine
from projections.search.objects import object_reader
from projections.search.projection import SearchProjection
from projections.search.whoosh.engine import WhooshEngine

log_line = structlog.get_logger("catalog.projections")

EVENTS_PER_COMMIT = {"entities": 5_000, "search": 5_000}
"""Projection -> the most events in one of its commits."""


class Stores:
    """The log, the sorted read model and the search index; made by `open_stores`."""

    def __init__(
        self, directory: Path, log: EventLog, entities: EntityStore, engine: SearchEngine
    ) -> None:
        self.directory = directory
        self.log = log
        self.entities = entities
        self.engine = engine

    def projectors(self) -> list[Projector]:
        """One for each projection, continuing where it stands."""
        projections: list[Projection] = [
            EntityProjection(self.entities),
            SearchProjection(self.engine),
        ]
        return [
            Projector(projection, self.log, batch_size=EVENTS_PER_COMMIT[projection.name])
            for projection in projections
        ]

    @property
    def read_models(self) -> dict[str, EntityStore | SearchEngine]:
        """Projection -> what it writes to."""
        return {EntityProjection.name: self.entities, SearchProjection.name: self.engine}

    def close(self) -> None:
        """Release every file."""
        self.engine.close()
        self.entities.close()
        self.log.close()


def open_log(directory: Path) -> EventLog:
    """The log alone, in a directory that is made when it is missing."""
    make_directory(directory)
    return open_event_log(directory / "events.db")


def open_stores(directory: Path, *, writable: bool = True) -> Stores:
    """Everything in a data directory, made when it is missing.

    A process that runs the projectors holds the directory's ProjectorLock before it opens
    anything writable, for what is damaged is begun anew; any other passes `writable` false.
    Raises StoreUnavailable when something cannot be opened.
    """
    log = open_log(directory)
    entities = open_entity_store(directory / "entities.db", writable=writable)
    read_objects = object_reader(lambda ids: read_documents(entities, ids))
    engine = WhooshEngine.open(directory / "search", writable=writable, read_objects=read_objects)
    if engine.rebuild_reason is not None:
        log_line.warning("the search index is built anew", reason=engine.rebuild_reason)
    return Stores(directory, log, entities, engine)


def make_directory(directory: Path) -> None:
    """Make the data directory, closed to other users: it holds the secret and the history."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnavailable(f"the data directory cannot be made: {error}") from error
