"""A transaction of SQLite that writes, for the databases beside the log.

The log has one of its own (`domain/event_store/sqlite/connections.py`), which takes a connection
from a pool and must know whether a commit that failed may be on disk.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def writing(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """A connection in a transaction that is committed when the block ends, or else rolled back.

    The connection must be in autocommit mode. Raises what SQLite raises.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        # On a full disk SQLite has rolled back by itself.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
