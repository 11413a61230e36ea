"""Fills an empty log with the events of another one, in one transaction, by COPY."""

from collections.abc import Iterator

import psycopg

from domain.errors import ConcurrentChange, Conflict, InvalidInput
from domain.event_store.postgres.appending import CHANGE_CLAIMS, claim_parameters, refusal_of
from domain.event_store.postgres.features import NAME, columns
from domain.event_store.postgres.link import Link
from domain.event_store.stored import StoredRow
from domain.event_store.transfer import insert_all
from domain.event_store.writes import ClaimChange

_COPY = (
    "COPY events (entity_id, stream_version, type, payload, position) FROM STDIN (FORMAT binary)"
)
_BROKEN_STREAM = """
SELECT entity_id FROM (
    SELECT entity_id, stream_version, position, row_number() OVER stream AS due,
        lag(position, 1, 0::bigint) OVER stream AS previous
    FROM events WINDOW stream AS (PARTITION BY entity_id ORDER BY stream_version)) numbered
WHERE stream_version <> due OR position < previous LIMIT 1
"""
_FINISH = (
    "INSERT INTO restored SELECT 1, max(position), count(*) FROM events HAVING count(*) > 0",
    "SELECT setval('positions', coalesce((SELECT max(position) FROM events), 0))",
    # The next statements should not be planned for empty tables.
    "ANALYZE events",
    "ANALYZE claims",
)


def restore_rows(link: Link, rows: Iterator[StoredRow]) -> Iterator[int]:
    """Insert events and the claims that follow from them; yields the positions reached.

    The transaction is the caller's, who holds the order lock. Raises Conflict when the log has
    events already, InvalidInput for an incomplete log, and psycopg's errors.
    """
    link.execute("SET LOCAL statement_timeout = 0")
    link.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
    if link.execute("SELECT FROM events LIMIT 1").fetchone() is not None:
        raise Conflict("only an empty log can be imported into: this one has events")

    def insert(batch: list[StoredRow], changes: list[ClaimChange]) -> None:
        try:
            with link.cursor() as cursor, cursor.copy(_COPY) as copy:
                copy.set_types(["text", "int8", "text", "bytea", "int8"])
                for row in batch:
                    copy.write_row(row)
        except psycopg.errors.UniqueViolation as error:
            raise ConcurrentChange(str(error.diag.message_detail)) from error
        if not changes:
            return
        refusal, concerned = link.one(CHANGE_CLAIMS, *claim_parameters(changes))
        if refusal is not None:
            raise refusal_of(refusal, concerned, None)

    used = yield from insert_all(rows, insert)
    broken = link.execute(_BROKEN_STREAM).fetchone()
    if broken is not None:
        raise InvalidInput(f"the stream of {broken[0]} has gaps or is out of order: no full log")
    link.execute(NAME.encode(), columns(used))
    for statement in _FINISH:
        link.execute(statement)
