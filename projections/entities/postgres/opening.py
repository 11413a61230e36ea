"""Makes, fills and opens the schemas of generations.

The log's claims give the order of a load, so each entity is folded once and copied once; indexes
and counters are made from the finished rows. All of it is one transaction: a schema that is
there is whole, and one that was not finished leaves nothing behind.
"""

from collections.abc import Callable
from contextlib import closing

from msgspec.structs import astuple
from psycopg import sql

from domain.event_store.port import EventStore
from domain.event_store.postgres.link import Link
from domain.reading.moments import LogDays, recorded_moments
from projections.entities.bulk_folding import folded_parts
from projections.entities.daily_counts import DayCounts
from projections.entities.loaded_past import LoadedPast
from projections.entities.postgres.copy_rows import CopyPart, copy_in, copy_part, copy_tuples
from projections.entities.postgres.database import EntityDatabase, EntityTables, postgres_errors
from projections.entities.postgres.model import PostgresReadModel, no_writer
from projections.entities.postgres.tables import INDEXES, TABLES
from projections.entities.stored_entity import add_digests, added_digests
from projections.feeding.log_fingerprint import fingerprint_of_head
from projections.feeding.port import Progress

_SETTINGS = (
    "SET LOCAL statement_timeout = 0",
    "SET LOCAL idle_in_transaction_session_timeout = 0",
    "SET LOCAL enable_seqscan = on",
    "SET LOCAL enable_hashjoin = on",
    "SET LOCAL maintenance_work_mem = '256MB'",
    "SET LOCAL work_mem = '64MB'",
    # As lists are read by plans that hold for any values, a sample of a fifth of the usual is
    # enough, and takes a fifth of the time.
    "SET LOCAL default_statistics_target = 20",
)
_COUNTERS = """
INSERT INTO {}.counters SELECT kind, '', deleted, coalesce(status, ''), count(*)
    FROM {}.entities GROUP BY kind, deleted, status;
INSERT INTO {}.counters SELECT kind, scope, deleted, coalesce(status, ''), count(*)
    FROM {}.scopes GROUP BY kind, scope, deleted, status;
ANALYZE {}.history; ANALYZE {}.history_scopes;
ANALYZE {}.entities; ANALYZE {}.scopes; ANALYZE {}.counters;
"""


def make(link: Link, schema: str) -> None:
    """Make the schema of a generation without entities, in the link's transaction."""
    _make_tables(link, schema)
    _run(link, INDEXES.replace("{schema}", f'"{schema}"'))


def load(database: EntityDatabase, schema: str, log: EventStore, progress: Progress) -> None:
    """Make and fill the schema of a generation with what the log has now.

    Raises StoreUnavailable, also when there is a schema of that name, and Damaged for the log.
    """
    tables = EntityTables(database, schema, "true")
    with (
        postgres_errors(),
        closing(database.connections.connect()) as link,
        folded_parts(log, copy_part, CopyPart) as (live, parts),
        link.transaction(),
    ):
        fingerprint = fingerprint_of_head(log, live.head)
        _run(link, *_SETTINGS)
        _make_tables(link, schema)
        done, sums = 0, dict[str, tuple[int, int]]()
        log_days = LogDays()
        moments = recorded_moments(log, live.head)
        copy_tuples(link, tables, "{}.moments", log_days.noting(moments))
        past, days = LoadedPast(live), DayCounts(log_days)
        for part in parts:
            copy_in(link, tables, part)
            past.count(part.past)
            replaced, ended = past.kept(part.past)
            copy_tuples(link, tables, "{}.history", map(astuple, replaced))
            copy_tuples(link, tables, "{}.history_scopes", ended)
            days.add_events(part.past.events)
            days.add_coverage(part.past.coverage)
            add_digests(sums, part.sums)
            done += part.number
            progress(done, len(live))
        copy_tuples(link, tables, "{}.kind_totals", past.totals())
        copy_tuples(link, tables, "{}.forgotten", past.forgotten())
        _run(link, INDEXES.replace("{schema}", tables.schema), tables.within(_COUNTERS))
        link.cursor().executemany(
            tables.within("INSERT INTO {}.digests VALUES (%b, %b, %b)"), added_digests({}, sums)
        )
        copy_tuples(link, tables, "{}.pasts", past.pasts)
        copy_tuples(link, tables, "{}.days", days.rows)
        link.execute(
            tables.within("UPDATE {}.checkpoint SET position = %b, fingerprint = %b").encode(),
            (live.head, fingerprint),
        )


def open_read_model(
    database: EntityDatabase,
    schema: str,
    *,
    is_live: str = "true",
    writer: Callable[[], Link] = no_writer,
) -> PostgresReadModel:
    """The read model in a schema; `is_live` and `writer` are those of its tables and itself.

    Raises Superseded when there is none, and StoreUnavailable.
    """
    model = PostgresReadModel(EntityTables(database, schema, is_live), writer)
    model.checkpoint()
    return model


def _make_tables(link: Link, schema: str) -> None:
    link.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
    _run(link, TABLES.replace("{schema}", f'"{schema}"'))


def _run(link: Link, *scripts: str) -> None:
    for script in scripts:
        link.execute(script.encode(), prepare=False)
