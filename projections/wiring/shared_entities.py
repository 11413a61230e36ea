"""The sorted read model in a database that hosts share: definition, generations and leadership."""

from contextlib import AbstractContextManager
from datetime import timedelta

from domain.event_store.port import EventStore
from projections.entities.postgres.database import EntityDatabase
from projections.entities.postgres.model import PostgresReadModel
from projections.entities.postgres.opening import load, open_read_model
from projections.entities.postgres.tables import INDEXES, TABLES
from projections.entities.projection import EntityProjection
from projections.entities.stored_entity import stored_code
from projections.entities.verification_source import stored_entities
from projections.generations.definition import Definition, code_digest
from projections.generations.port import ChangeCounter
from projections.generations.postgres.generations import PostgresGenerations, build_lock
from projections.generations.postgres.leadership import PostgresLeadership
from projections.generations.shared_supervision import SharedSupervisor, Supervisor
from projections.generations.supervision import GenerationSupervisor
from projections.wiring.local_read_models import Backend, entity_kinds

_UNUSED_AFTER = timedelta(minutes=10)
"""Time after the last use by a host for which a read model that other code has built is kept."""


class SharedEntities(Backend[PostgresReadModel]):
    """The sorted read model of a catalog in PostgreSQL, opened by one process."""

    is_shared = True
    leadership: PostgresLeadership

    def __init__(self, url: str) -> None:
        """Raise InvalidInput for what is no URL of a database."""
        self._database = EntityDatabase(url)
        connections, catalog = self._database.connections, self._database.catalog
        code = code_digest(stored_code(), TABLES, INDEXES)
        leadership = PostgresLeadership(connections, f"{catalog} {EntityProjection.name} {code}")
        self._generations = PostgresGenerations(
            connections, catalog, EntityProjection.name, code, leadership.session
        )
        definition: Definition[PostgresReadModel] = Definition(
            name=EntityProjection.name,
            generations=self._generations,
            code=lambda: code,
            open=self._open,
            shows_commits_at_once=True,
            tells_when_superseded=True,
            projection=EntityProjection,
            source=stored_entities,
            kinds=entity_kinds,
            load=lambda address, log, progress: load(self._database, address, log, progress),
        )
        super().__init__(definition, leadership)
        self._given: list[PostgresLeadership] = []
        """The leaderships given by `leadership_of`, which end with the connections."""

    def supervisor(self, log: EventStore, changes: ChangeCounter | None = None) -> Supervisor:
        """Return the feeder of the read model from a log while this process leads."""
        return SharedSupervisor(
            self.definition.name,
            lambda: GenerationSupervisor(self.definition, log),
            self.leadership,
            self._keep,
        )

    def leadership_of(self, name: str) -> PostgresLeadership:
        """Leadership for another read model, or a reaction, among the hosts that share this one."""
        database = self._database
        leadership = PostgresLeadership(database.connections, f"{database.catalog} {name}")
        self._given.append(leadership)
        return leadership

    def building(self, name: str) -> AbstractContextManager[None]:
        """The lock for building another read model, among the hosts that share this one."""
        database = self._database
        return build_lock(database.connections, f"{database.catalog} {name} build", name)

    def close(self) -> None:
        """Close the connections; nothing may use the read model afterwards."""
        for leadership in (self.leadership, *self._given):
            leadership.release()
        self._database.close()

    def _open(self, address: str, writable: bool) -> PostgresReadModel:
        if writable:
            return open_read_model(self._database, address, writer=self.leadership.writer)
        return open_read_model(self._database, address, is_live=self._generations.is_live(address))

    def _keep(self) -> None:
        self._generations.note_use()
        self._generations.remove_unused(_UNUSED_AFTER)
