"""Builds the file of the sorted read model from the whole log, in the order of its key.

The log's claims give the order, so each entity is folded once and written once, at the end of
the table; indexes, scopes and counters are made from the finished rows. Memory holds the ids and
one part's entities, however large the log is.
"""

import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from msgspec.structs import astuple

from domain.event_store.port import EventStore
from domain.machine import durable_files
from domain.reading.moments import LogDays, recorded_moments
from projections.entities.bulk_folding import folded_parts
from projections.entities.daily_counts import DayCounts
from projections.entities.folding_process import FoldedPart
from projections.entities.loaded_past import LoadedPast
from projections.entities.sqlite.database import sqlite_errors
from projections.entities.sqlite.tables import (
    ADD_TO_DAY,
    FORGET,
    INDEXES,
    INSERT_DIGEST,
    INSERT_ENTITY,
    INSERT_MOMENT,
    INSERT_PAST,
    INSERT_REPLACED,
    INSERT_TOTAL,
    PAGE_BYTES,
    TABLES,
)
from projections.entities.stored_entity import add_digests, added_digests
from projections.feeding.log_fingerprint import fingerprint_of_head
from projections.feeding.port import Progress

_DERIVED = """
INSERT INTO scopes SELECT * FROM loaded_scopes ORDER BY 1, 2, 3, 4, 5;
INSERT INTO history_scopes SELECT * FROM loaded_ended ORDER BY 1, 2, 3, 4, 5, 6;
INSERT INTO counters SELECT kind, '', deleted, coalesce(status, ''), count(*)
    FROM entities GROUP BY kind, deleted, status;
INSERT INTO counters SELECT kind, scope, deleted, coalesce(status, ''), count(*)
    FROM scopes GROUP BY kind, scope, deleted, status;
"""
_LOADED = {
    "scopes": "scope, kind, deleted, name, id, status, since",
    "ended": "scope, kind, deleted, name, id, until, since, status",
}
"""Columns of tables that hold rows in the order of the load until they are sorted."""


def _itself(part: FoldedPart) -> FoldedPart:
    return part


def load(path: Path, log: EventStore, progress: Progress) -> None:
    """Fill a new file with what the log has now; raises StoreUnavailable, Damaged for the log.

    Nothing is journaled: a file that was not finished is useless and to be removed.
    """
    with (
        sqlite_errors(),
        closing(sqlite3.connect(path, isolation_level=None)) as connection,
        folded_parts(log, _itself, FoldedPart) as (live, parts),
    ):
        fingerprint = fingerprint_of_head(log, live.head)
        for pragma in (
            f"page_size={PAGE_BYTES}",
            "journal_mode=OFF",
            "synchronous=OFF",
            "locking_mode=EXCLUSIVE",
            "cache_size=-65536",
            f"threads={len(os.sched_getaffinity(0))}",
        ):
            connection.execute(f"PRAGMA {pragma}")
        connection.executescript(TABLES)
        for name, columns in _LOADED.items():
            connection.execute(f"CREATE TEMP TABLE loaded_{name} ({columns})")
        connection.execute("BEGIN")
        done, sums = 0, dict[str, tuple[int, int]]()
        log_days = LogDays()
        moments = recorded_moments(log, live.head)
        connection.executemany(INSERT_MOMENT, log_days.noting(moments))
        past, days = LoadedPast(live), DayCounts(log_days)
        for part in parts:
            past.count(part)
            replaced, ended = past.kept(part)
            connection.executemany(INSERT_ENTITY, map(astuple, part.entities))
            connection.executemany(INSERT_REPLACED, map(astuple, replaced))
            for name, rows in (("scopes", part.listed), ("ended", ended)):
                _put(connection, name, rows)
            days.add_events(part.events)
            days.add_coverage(part.coverage)
            add_digests(sums, ((one.kind, 1, one.digest) for one in part.entities))
            done += len(part.entities)
            progress(done, len(live))
        connection.executemany(INSERT_TOTAL, past.totals())
        connection.executemany(FORGET, past.forgotten())
        connection.executemany(INSERT_DIGEST, added_digests({}, sums))
        connection.executemany(INSERT_PAST, past.pasts)
        connection.executemany(ADD_TO_DAY, days.rows)
        connection.execute("COMMIT")
        connection.executescript(INDEXES + _DERIVED)
        if live.head:
            connection.execute(
                "INSERT INTO checkpoint (one, position, fingerprint) VALUES (1, ?, ?)",
                (live.head, fingerprint),
            )
        connection.execute("PRAGMA locking_mode=NORMAL")
        connection.execute("PRAGMA journal_mode=WAL")
    durable_files.sync(path)


def _put(connection: sqlite3.Connection, name: str, rows: Iterable[tuple[Any, ...]]) -> None:
    """Add rows to a table of `_LOADED`."""
    values = ",".join("?" * (_LOADED[name].count(",") + 1))
    connection.executemany(f"INSERT INTO loaded_{name} VALUES ({values})", rows)
