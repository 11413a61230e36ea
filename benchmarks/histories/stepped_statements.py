"""Points between the statements that actors send to PostgreSQL.

There is none while an actor has a transaction open: another one could wait for its locks for ever.
A commit and the statement that waits for the disk are sent together; there they are parted, and the
point between them is COMMITTED.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import psycopg
from psycopg.pq import PipelineStatus, TransactionStatus

from benchmarks.histories.scheduling import ANSWERED, COMMITTED, is_scheduled, point, quiet

_SHOWN = 60


@contextmanager
def stepped_statements() -> Iterator[None]:
    """A block in which actors give their turn away between two statements."""
    send = psycopg.Cursor.execute
    committed: set[int] = set()
    """Connections whose last statement was a commit that is not sent yet."""

    def execute(cursor: Any, query: Any, *values: Any, **options: Any) -> Any:
        if not is_scheduled():
            return send(cursor, query, *values, **options)
        connection, text = cursor.connection, _text(query)
        if connection.pgconn.pipeline_status != PipelineStatus.OFF:
            if id(connection) in committed:
                committed.discard(id(connection))
                with connection.pipeline():
                    pass
                point(COMMITTED)
            result = send(cursor, query, *values, **options)
            if text == "COMMIT":
                committed.add(id(connection))
            return result
        committed.discard(id(connection))
        if not _is_idle(connection):
            return send(cursor, query, *values, **options)
        point(f"sends {text[:_SHOWN]}")
        result = send(cursor, query, *values, **options)
        if _is_idle(connection):
            point(ANSWERED)
        return result

    transaction = psycopg.Connection.transaction

    @contextmanager
    def in_transaction(connection: Any, *values: Any, **options: Any) -> Iterator[Any]:
        with quiet(), transaction(connection, *values, **options) as given:
            yield given

    with (
        patch.object(psycopg.Cursor, "execute", execute),
        patch.object(psycopg.Connection, "transaction", in_transaction),
    ):
        yield


def _is_idle(connection: psycopg.Connection[Any]) -> bool:
    status = connection.info.transaction_status
    return not connection.closed and status == TransactionStatus.IDLE


def _text(query: Any) -> str:
    return query.decode() if isinstance(query, bytes) else str(query)
