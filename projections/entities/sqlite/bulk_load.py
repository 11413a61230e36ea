"""Builds the file of the sorted read model from the whole log, in the order of its key.

The log's claims give the order, so each entity is folded once and written once, at the end of
the table; indexes, scopes and counters are made from the finished rows. Memory holds the ids and
one part's entities, however large the log is.
"""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec

from domain.event_store.port import EventStore
from domain.machine import durable_files
from domain.reading.moments import recorded_moments
from projections.entities.bulk_folding import folded_parts
from projections.entities.commit_changes import add_digests, added_digests
from projections.entities.sqlite.database import sqlite_errors
from projections.entities.sqlite.tables import (
    INDEXES,
    INSERT_DIGEST,
    INSERT_ENTITY,
    INSERT_MOMENT,
    PAGE_BYTES,
    TABLES,
)
from projections.entities.stored_entity import StoredEntity
from projections.feeding.log_fingerprint import fingerprint_at
from projections.feeding.port import Damaged, Progress

_DERIVED = """
INSERT INTO scopes SELECT one.value, e.kind, e.deleted, e.name, e.id, e.status
    FROM entities e, json_each(e.scopes) one ORDER BY 1, 2, 3, 4, 5;
INSERT INTO counters SELECT kind, '', deleted, coalesce(status, ''), count(*)
    FROM entities GROUP BY kind, deleted, status;
INSERT INTO counters SELECT kind, scope, deleted, coalesce(status, ''), count(*)
    FROM scopes GROUP BY kind, scope, deleted, status;
"""


def load(path: Path, log: EventStore, progress: Progress) -> None:
    """Fill a new file with what the log has now; raises StoreUnavailable.

    Nothing is journaled: a file that was not finished is useless and to be removed.
    """
    with (
        sqlite_errors(),
        closing(sqlite3.connect(path, isolation_level=None)) as connection,
        folded_parts(log, list, list[StoredEntity]) as (live, parts),
    ):
        fingerprint = fingerprint_at(log, live.head)
        if fingerprint is None:
            raise Damaged(f"the log has no event at its head, position {live.head}")
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
        connection.execute("BEGIN")
        done, sums = 0, dict[str, tuple[int, int]]()
        for entities in parts:
            connection.executemany(INSERT_ENTITY, map(msgspec.structs.astuple, entities))
            add_digests(sums, ((one.kind, 1, one.digest) for one in entities))
            done += len(entities)
            progress(done, len(live))
        connection.executemany(INSERT_DIGEST, added_digests({}, sums))
        connection.executemany(INSERT_MOMENT, recorded_moments(log, live.head))
        connection.execute("COMMIT")
        connection.executescript(INDEXES + _DERIVED)
        if live.head:
            connection.execute("INSERT INTO checkpoint VALUES (1, ?, ?)", (live.head, fingerprint))
        connection.execute("PRAGMA locking_mode=NORMAL")
        connection.execute("PRAGMA journal_mode=WAL")
    durable_files.sync(path)
