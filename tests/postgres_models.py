"""Sorted read models in PostgreSQL, without a log: each in a schema of its own."""

from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext

from benchmarks.postgres_server import PostgresServer, new_schema
from projections.entities.postgres.database import EntityDatabase
from projections.entities.postgres.model import PostgresReadModel
from projections.entities.postgres.opening import make, open_read_model


@contextmanager
def postgres_model(
    server: PostgresServer, given: EntityDatabase | None = None
) -> Iterator[PostgresReadModel]:
    """An empty sorted read model, fed by a session of its own, in a database that may be given."""
    schema = f"{new_schema()}_entities_1"
    with (
        nullcontext(given) if given else closing(EntityDatabase(server.url("catalog"))) as database,
        closing(database.connections.connect()) as link,
    ):
        with link.transaction():
            make(link, schema)
        yield open_read_model(database, schema, writer=lambda: link)
    server.run(f"DROP SCHEMA {schema} CASCADE")
