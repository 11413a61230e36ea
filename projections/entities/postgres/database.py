"""The tables of one generation in PostgreSQL, the connections that read them, and their errors."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import lru_cache
from typing import Any, NoReturn, TypeVar

import msgspec
import psycopg

from domain.errors import StoreUnavailable
from domain.event_store.postgres.address import read_address
from domain.event_store.postgres.connections import Connections, unavailable
from domain.event_store.postgres.link import Link
from projections.entities.list_sql import Statement
from projections.feeding.port import Superseded

WHAT = "the sorted read model"
"""The store that cannot be used, in the messages of errors."""
_GONE = (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName)
T = TypeVar("T")
MOST_KEPT = 16
"""Connections of a process that large pages keep while they are sent, at most."""
READERS = 8
"""Connections to read by that a process has at most, beside those that are kept for long."""
_LOOKERS = 4
"""Connections of a process to look at pointers and the like by."""
_SETTINGS = "-c statement_timeout={} -c max_parallel_workers_per_gather=0"
_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_FOR_ALL = (
    # Whoever reads everything may take hours, and joins by scanning.
    "SET LOCAL statement_timeout = 0",
    "SET LOCAL idle_in_transaction_session_timeout = 0",
    "SET LOCAL enable_seqscan = on",
    "SET LOCAL enable_hashjoin = on",
    "SET LOCAL enable_mergejoin = on",
)


def raise_as_ours(error: psycopg.Error) -> NoReturn:
    """Raise Superseded where the tables are gone, else StoreUnavailable."""
    if isinstance(error, _GONE):
        raise Superseded(
            "the tables of this generation of the sorted read model are gone"
        ) from error
    raise unavailable(error, what=WHAT) from error


@contextmanager
def postgres_errors() -> Iterator[None]:
    """Raise errors of PostgreSQL in the block as `raise_as_ours` does."""
    try:
        yield
    except psycopg.Error as error:
        raise_as_ours(error)


class Readers(Connections):
    """The connections by which a process reads lists."""

    def refuse(self, error: psycopg.Error) -> NoReturn:
        """Raise Superseded where the tables are gone, else StoreUnavailable."""
        raise_as_ours(error)


class EntityDatabase:
    """The database in which the generations of a catalog are; opened by one process."""

    def __init__(self, url: str, *, most_seconds: float = 10, grace_seconds: float = 2) -> None:
        """Raise InvalidInput for what is no URL of a database.

        A statement takes `most_seconds` at most; those of a request take some milliseconds. A
        server that does not even end it is given up `grace_seconds` after that.
        """
        address = read_address(url, writable=True)
        options = f"{address.parameters['options']} {_SETTINGS.format(int(most_seconds * 1_000))}"
        address = msgspec.structs.replace(
            address, parameters={**address.parameters, "options": options}
        )
        self.catalog = address.schema
        """The schema of the log, after which those of the generations are named."""
        self.connections = Connections(address, what=WHAT, size=_LOOKERS)
        self.patience = most_seconds + grace_seconds
        """Seconds after which a server is given up that should have ended a statement."""
        self.readers = Readers(address, what=WHAT, size=READERS)
        self.readers.read_seconds = self.readers.append_seconds = self.patience
        self.kept = threading.BoundedSemaphore(MOST_KEPT)

    def close(self) -> None:
        """Close the connections; nothing may use the database afterwards."""
        self.readers.close()
        self.connections.close()


class EntityTables:
    """The tables in the schema of one generation."""

    def __init__(self, database: EntityDatabase, schema: str, is_live: str) -> None:
        """`is_live` is an expression of SQL: whether this generation is the one to be read."""
        self.schema = f'"{schema}"'
        self._database = database
        self._is_live = is_live
        self._statements: dict[str, str] = {}
        """Statement -> the same within the schema; of those that reads have put together."""

    def within(self, sql: str) -> str:
        """A statement about these tables: the schema stands where `{}` does."""
        known = self._statements.get(sql)
        if known is None:
            known = self._statements[sql] = sql.replace("{}", self.schema)
        return known

    def ask(self, statement: Statement) -> list[Any]:
        """The rows of a statement; raises StoreUnavailable, Superseded when the tables are gone."""
        sql = self.within(statement[0])
        return self._database.readers.ask(lambda link: link.rows(sql, *statement[1]))

    def ask_live(self, statement: Statement) -> list[Any]:
        """As `ask`, of a statement that gives a row at least; no row of a generation that was left.

        Raises Superseded as well when another generation is live by now.
        """
        rows = self.ask((_if_live(statement[0], self._is_live), statement[1]))
        self._check_live(rows[0])
        return [row[1:] for row in rows]

    def begin(self, *, own: bool) -> Link:
        """A connection that sees one state of the tables until `end`, `own` to keep it for long.

        The generation is live in that state. Raises Superseded when another one is by now, and
        StoreUnavailable.
        """
        connections, kept = self._database.connections, self._database.kept
        if not own:
            link = self._database.readers.take()
        elif kept.acquire(timeout=connections.wait_seconds):
            try:
                link = connections.connect()
                link.answers_within = self._database.patience
            except BaseException:
                kept.release()
                raise
        else:
            raise StoreUnavailable(
                f"{WHAT} cannot be used now: {MOST_KEPT} large pages are being sent already"
            )
        try:
            with postgres_errors():
                # Sent together, as each takes a round trip. The state is that of the first query.
                begun = link.execute(f"{_BEGIN}; SELECT ({self._is_live})".encode(), prepare=False)
                begun.nextset()
                self._check_live(begun.fetchone())
        except BaseException:
            self.end(link, own=own)
            raise
        return link

    def end(self, link: Link, *, own: bool) -> None:
        """Give a connection of `begin` back."""
        if own:
            link.close()
            self._database.kept.release()
            return
        try:
            if not link.closed:
                link.execute(b"ROLLBACK")
        except psycopg.Error:
            link.close()
        finally:
            self._database.readers.give_back(link)

    def _check_live(self, row: Sequence[Any] | None) -> None:
        """Raise Superseded unless a row begins with what is true of a live generation."""
        if row is None or not row[0]:
            raise Superseded(f"another generation took the place of {self.schema}")

    @contextmanager
    def reading(self) -> Iterator[Link]:
        """A connection that sees one state of the tables until the block ends, as `begin` says."""
        with postgres_errors():
            link = self.begin(own=False)
            try:
                yield link
            finally:
                self.end(link, own=False)

    @contextmanager
    def snapshot(self) -> Iterator[Link]:
        """One state of the tables, live or not, on a connection of its own.

        It is seen until the block ends, however long that takes.
        """
        with postgres_errors(), closing(self._database.connections.connect()) as link:
            link.execute(_BEGIN.encode())
            for setting in _FOR_ALL:
                link.execute(setting.encode())
            yield link


@lru_cache(1_024)
def _if_live(sql: str, is_live: str) -> str:
    """A statement that tells in front of each row whether the generation is live."""
    return f"SELECT ({is_live}), asked.* FROM ({sql}) asked"
