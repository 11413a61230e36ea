"""Fills an empty log with the events of another one, in one transaction."""

import sqlite3
from collections.abc import Iterator
from typing import Any

from domain.errors import ConcurrentChange, Conflict, InvalidInput
from domain.event_store.sqlite.claims import write_claims
from domain.event_store.sqlite.features import name_features
from domain.event_store.stored import StoredRow
from domain.event_store.transfer import insert_all
from domain.event_store.writes import ClaimChange

_INSERT = (
    "INSERT INTO stored_events (originator_id, originator_version, topic, state, rowid)"
    " VALUES (?,?,?,?,?)"
)
_RESTORED = "INSERT INTO restored SELECT 1, max(rowid), count(*) FROM stored_events HAVING count(*)"
_BROKEN_STREAM = """
SELECT originator_id FROM (
    SELECT originator_id, originator_version AS version, rowid AS position,
        row_number() OVER stream AS due, lag(rowid, 1, 0) OVER stream AS previous
    FROM stored_events WINDOW stream AS (PARTITION BY originator_id ORDER BY originator_version))
WHERE version != due OR position < previous LIMIT 1
"""


def restore_rows(connection: sqlite3.Connection, rows: Iterator[StoredRow]) -> Iterator[int]:
    """Insert events and the claims that follow from them; yields the positions reached.

    Raises Conflict when the database has events already, InvalidInput for an incomplete log.
    """
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA cache_size=-65536")
    cursor = connection.cursor()
    cursor.execute("BEGIN IMMEDIATE")
    if cursor.execute("SELECT 1 FROM stored_events").fetchone() is not None:
        raise Conflict("only an empty log can be imported into: this one has events")

    def insert(batch: list[StoredRow], changes: list[ClaimChange]) -> None:
        try:
            cursor.executemany(_INSERT, batch)
        except sqlite3.IntegrityError as error:
            raise ConcurrentChange(str(error)) from error
        write_claims(cursor, changes)

    used = yield from insert_all(rows, insert)
    broken: Any = cursor.execute(_BROKEN_STREAM).fetchone()
    if broken is not None:
        raise InvalidInput(f"the stream of {broken[0]} has gaps or is out of order: no full log")
    name_features(cursor, used)
    cursor.execute(_RESTORED)
    cursor.execute("COMMIT")
