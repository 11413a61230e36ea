"""Fills an empty log with the events of another one, in one transaction."""

import sqlite3
from collections.abc import Iterator
from itertools import chain
from typing import Any

from domain.errors import AlreadyExists, ConcurrentChange, Conflict, InvalidInput
from domain.event_store.claims import claim_changes
from domain.event_store.features import features_of
from domain.event_store.sqlite.claims import write_claims
from domain.event_store.sqlite.features import name_features
from domain.event_store.stored import StoredRow
from domain.event_store.transfer import in_batches, readable_event

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
    used: set[str] = set()
    for batch in in_batches(rows):
        events = [readable_event(row) for row in batch]
        used |= features_of(events)
        ids = (row[0] for row in batch)
        changes = chain.from_iterable(map(claim_changes, ids, events))
        try:
            cursor.executemany(_INSERT, batch)
            write_claims(cursor, list(changes))
        except (sqlite3.IntegrityError, AlreadyExists, ConcurrentChange) as error:
            where = f"positions {batch[0][4]} to {batch[-1][4]}"
            raise InvalidInput(f"{where}: an event or a name comes twice ({error})") from error
        yield batch[-1][4]
    broken: Any = cursor.execute(_BROKEN_STREAM).fetchone()
    if broken is not None:
        raise InvalidInput(f"the stream of {broken[0]} has gaps or is out of order: no full log")
    name_features(cursor, used)
    cursor.execute(_RESTORED)
    cursor.execute("COMMIT")
