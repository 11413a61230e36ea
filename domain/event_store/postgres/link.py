"""One connection to a database, with its server's epoch and its broken promises of durability."""

import time
from typing import Any

import psycopg
from psycopg.abc import RV, PQGen

_LOOK_SECONDS = 0.1
"""Time between two looks for signals while a thread waits for the server, as in psycopg."""
_SYNC = "SELECT pg_logical_emit_message(true, 'catalog', '')"
"""Writes next to nothing, and is committed once all that was visible before is on disk."""
_CUT_WAIT = "SyncRepWaitForLSN"
"""The function of the server that warns when its wait for a synchronous standby was cut short."""


def spelled(sql: str) -> str:
    """A statement with `?` for its values as a Link takes it: they are sent in binary."""
    return sql.replace("?", "%b")


class Link(psycopg.Connection[tuple[Any, ...]]):
    """A connection in autocommit mode that knows its server, and when it was used."""

    epoch = 0
    """The epoch of the connections in which this one was made; its server has no other."""

    session = 0
    """Number of the server's process that answers this connection."""

    sync_was_cut = False
    """True if the server stopped waiting for a standby during this use of the connection.

    Transactions that it committed meanwhile may not survive a failover.
    """

    used_at = 0.0
    """Time at which it was given back last, by `time.monotonic`."""

    answers_within: float | None = None
    """Seconds that the server may take to answer; after that the connection is closed. None: any.
    """

    _reader: psycopg.Cursor[tuple[Any, ...]] | None = None
    """The reader of `rows`; making one takes a tenth of the time of a statement."""

    def wait(
        self, gen: PQGen[RV], interval: float = _LOOK_SECONDS, timeout: float | None = None
    ) -> RV:
        """Wait for the server; see psycopg. Raises OperationalError when it does not answer."""
        if self.answers_within is None:
            return super().wait(gen, interval, timeout)
        due = time.monotonic() + self.answers_within
        try:
            return super().wait(gen, interval, self.answers_within)
        except psycopg.OperationalError:
            if time.monotonic() >= due:
                # Nobody waits for an answer that would still come over this connection.
                self.pgconn.finish()
            raise

    def rows(self, statement: str, *values: Any) -> list[Any]:
        """The rows of a statement's result, sent and read in binary; raises psycopg.Error."""
        reader = self._reader
        if reader is None:
            reader = self._reader = self.cursor(binary=True)
        return reader.execute(statement.encode(), values).fetchall()

    def one(self, statement: str, *values: Any) -> Any:
        """The first row of a statement's result, None without rows; raises psycopg.Error."""
        return self.cursor(binary=True).execute(statement.encode(), values).fetchone()

    def sync(self) -> None:
        """Wait until all that was visible before survives power loss; raises psycopg.Error."""
        self.one(_SYNC)
        if self.sync_was_cut:
            raise psycopg.OperationalError("the server has not waited for its standby")

    def note_cut_sync(self, notice: psycopg.errors.Diagnostic) -> None:
        """Remember a warning of the server that it stopped waiting for a standby."""
        if notice.source_function == _CUT_WAIT:
            self.sync_was_cut = True
