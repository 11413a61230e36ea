"""Builds the file of the sorted read model from the whole log, in the order of its key.

The log's claims give the order, so each entity is folded once and written once, at the end of
the table; indexes, scopes and counters are made from the finished rows. Memory holds the ids and
one part's entities, however large the log is.
"""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from msgspec.structs import astuple

from domain.event_store.port import EventStore
from domain.machine import durable_files
from domain.reading.moments import recorded_moments
from projections.entities.bulk_folding import LoadedPast, folded_parts
from projections.entities.folding_process import FoldedPart
from projections.entities.sqlite.database import sqlite_errors
from projections.entities.sqlite.tables import (
    INDEXES,
    INSERT_DIGEST,
    INSERT_ENTITY,
    INSERT_MOMENT,
    INSERT_PAST,
    INSERT_REPLACED,
    PAGE_BYTES,
    TABLES,
)
from projections.entities.stored_entity import add_digests, added_digests
from projections.feeding.log_fingerprint import fingerprint_at
from projections.feeding.port import Damaged, Progress

_DERIVED = """
INSERT INTO scopes SELECT one.value, e.kind, e.deleted, e.name, e.id, e.status
    FROM entities e, json_each(e.scopes) one ORDER BY 1, 2, 3, 4, 5;
INSERT INTO counters SELECT kind, '', deleted, coalesce(status, ''), count(*)
    FROM entities GROUP BY kind, deleted, status;
INSERT INTO counters SELECT kind, scope, deleted, coalesce(status, ''), count(*)
    FROM scopes GROUP BY kind, scope, deleted, status;
INSERT INTO history_scopes SELECT one.value, h.kind, h.deleted, h.name, h.id, h.until, h.since,
    h.status FROM history h, json_each(h.scopes) one ORDER BY 1, 2, 3, 4, 5, 6;
INSERT INTO kind_totals SELECT kind, deleted, status, position,
    sum(sum(n)) OVER (PARTITION BY kind, deleted, status ORDER BY position)
    FROM total_steps GROUP BY kind, deleted, status, position HAVING sum(n) <> 0;
INSERT INTO forgotten SELECT kind, deleted, status, position, sum(n)
    FROM forgotten_steps GROUP BY kind, deleted, status, position HAVING sum(n) <> 0;
DROP TABLE total_steps;
DROP TABLE forgotten_steps;
"""
_STEPS = "CREATE TEMP TABLE {}_steps (kind, deleted, status, position, n)"
_INSERT_STEP = "INSERT INTO {}_steps VALUES (?,?,?,?,?)"


def _itself(part: FoldedPart) -> FoldedPart:
    return part


def load(path: Path, log: EventStore, progress: Progress) -> None:
    """Fill a new file with what the log has now; raises StoreUnavailable.

    Nothing is journaled: a file that was not finished is useless and to be removed.
    """
    with (
        sqlite_errors(),
        closing(sqlite3.connect(path, isolation_level=None)) as connection,
        folded_parts(log, _itself, FoldedPart) as (live, parts),
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
        for name in ("total", "forgotten"):
            connection.execute(_STEPS.format(name))
        connection.execute("BEGIN")
        done, sums = 0, dict[str, tuple[int, int]]()
        past = LoadedPast(live)
        for part in parts:
            connection.executemany(INSERT_ENTITY, map(astuple, part.entities))
            replaced = past.kept(part.replaced, part.newest)
            connection.executemany(INSERT_REPLACED, map(astuple, replaced))
            connection.executemany(_INSERT_STEP.format("total"), part.steps)
            connection.executemany(_INSERT_STEP.format("forgotten"), part.forgotten)
            add_digests(sums, ((one.kind, 1, one.digest) for one in part.entities))
            done += len(part.entities)
            progress(done, len(live))
        connection.executemany(INSERT_DIGEST, added_digests({}, sums))
        connection.executemany(_INSERT_STEP.format("forgotten"), past.forgotten)
        connection.executemany(INSERT_PAST, past.pasts)
        connection.executemany(INSERT_MOMENT, recorded_moments(log, live.head))
        connection.execute("COMMIT")
        connection.executescript(INDEXES + _DERIVED)
        if live.head:
            connection.execute("INSERT INTO checkpoint VALUES (1, ?, ?)", (live.head, fingerprint))
        connection.execute("PRAGMA locking_mode=NORMAL")
        connection.execute("PRAGMA journal_mode=WAL")
    durable_files.sync(path)
