"""Keeps the generations of a read model in a PostgreSQL database, each in a schema of its own.

Beside them stands a schema with a row for each projection and each digest of code that builds it:
its pointer and its proposal. So hosts of two releases are served side by side, each by what it has
built, and neither refuses or removes what is the other's.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import timedelta
from typing import Any

import msgspec
import psycopg
from psycopg import sql

from domain.errors import StoreUnavailable
from domain.event_store.postgres.connections import Connections, unavailable
from domain.event_store.postgres.link import Link
from projections.generations.port import Generations, Pointer, ProposedGeneration, Record

_LOCK = 7162
"""Key of the advisory lock under which the table `shelves` is made."""
_TABLE = """
CREATE TABLE IF NOT EXISTS {}.shelves (
    name text NOT NULL, code text NOT NULL,
    pointer bytea, pointer_revision bigint NOT NULL DEFAULT 0, live bigint,
    proposal bytea, proposal_revision bigint NOT NULL DEFAULT 0,
    used_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (name, code))
"""
_READ = (
    "SELECT {record}, CASE WHEN {record} IS NOT NULL THEN {record}_revision END"
    " FROM {} WHERE name = %b AND code = %b"
)
_MAKE_ROW = "INSERT INTO {} (name, code) VALUES (%b, %b) ON CONFLICT DO NOTHING"
_WRITE = (
    "UPDATE {} SET {record} = %b, {also} {record}_revision = {record}_revision + 1,"
    " used_at = now() WHERE name = %b AND code = %b AND"
    " CASE WHEN {record} IS NOT NULL THEN {record}_revision END IS NOT DISTINCT FROM %b::int8"
    " RETURNING {record}_revision"
)
_SCHEMAS = "SELECT nspname::text FROM pg_namespace WHERE starts_with(nspname, %b)"
_SIZE = (
    "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::int8 FROM pg_class"
    " WHERE relnamespace = to_regnamespace(%b) AND relkind = 'r'"
)
_NO_WAITING = "SET lock_timeout = '200ms'"
"""Do not wait for readers of a generation: other statements would queue behind."""


class PostgresGenerations(Generations):
    """The generations of one projection that one version of the code has built."""

    def __init__(
        self,
        connections: Connections,
        catalog: str,
        name: str,
        code: str,
        leader: Callable[[], Link | None] = lambda: None,
    ) -> None:
        """`catalog` is the schema of the log, and `code` the digest of what decides the content.

        `leader` gives the session of the leader, None in a process that does not lead. A leader
        writes by it, so that nothing is written once the session and the leadership are lost.
        """
        self.name = name
        self._connections = connections
        self._leader = leader
        self._catalog = catalog
        self._code = code
        self._schema = f"{catalog}_read_models"
        self._table = f'"{self._schema}".shelves'
        self._prefix = f"{catalog}_{name}_{code[:8]}_"

    def address(self, number: int) -> str:
        """The name of a generation's schema."""
        return f"{self._prefix}{number}"

    def numbers(self) -> list[int]:
        """The numbers of the generations that have a schema, ascending."""
        names = self._connections.ask(lambda link: link.rows(_SCHEMAS, self._prefix))
        digits = (name.removeprefix(self._prefix) for (name,) in names)
        return sorted(int(each) for each in digits if each.isdecimal())

    def size(self, number: int) -> int:
        """Bytes of the tables of a generation and of their indexes."""
        return int(self._connections.ask(lambda link: link.one(_SIZE, self.address(number)))[0])

    def remove(self, numbers: Collection[int]) -> None:
        """Drop the schemas of generations, but for those that somebody reads at the moment.

        They are left for a later removal. Raises StoreUnavailable.
        """
        if numbers:
            self._drop([self.address(number) for number in numbers])

    def is_live(self, address: str) -> str:
        """An expression of SQL for whether the generation at an address is live."""
        number = int(address.removeprefix(self._prefix))
        return (
            f"SELECT live = {number} FROM {self._table}"
            f" WHERE name = '{self.name}' AND code = '{self._code}'"
        )

    def withdraw(self, *, instead_of: Hashable) -> None:
        """Take the proposal of a revision away; raises StoreUnavailable."""
        self._write("proposal", "", (None,), instead_of)

    def building(self) -> AbstractContextManager[None]:
        """Hold the lock of the builders; raises StoreUnavailable while another one does."""
        return build_lock(self._connections, f"{self._prefix}build", self.name)

    def note_use(self) -> None:
        """Record that a host uses the generations of this code; raises StoreUnavailable."""
        self._for_own_row(f"UPDATE {self._table} SET used_at = now()")

    def remove_unused(self, age: timedelta) -> None:
        """Remove the generations that other code has built and no host has used for `age`.

        Raises StoreUnavailable.
        """
        sql_text = f"SELECT code FROM {self._table} WHERE name = %b AND used_at < now() - %b"
        for (code,) in self._connections.ask(lambda link: link.rows(sql_text, self.name, age)):
            if code != self._code:
                PostgresGenerations(self._connections, self._catalog, self.name, code).clear()

    def clear(self) -> None:
        """Remove all generations and then the pointer, unless a process reads one of them.

        Raises StoreUnavailable.
        """
        if self._drop(self.address(number) for number in self.numbers()):
            self._for_own_row(f"DELETE FROM {self._table}")

    def _for_own_row(self, statement: str) -> None:
        whole = f"{statement} WHERE name = %b AND code = %b".encode()
        self._connections.ask(lambda link: link.execute(whole, (self.name, self._code)))

    def _read(self, record: Record) -> bytes | None:
        raw: bytes | None = self._select(record)[0]
        return raw

    def revision(self, record: Record) -> Hashable | None:
        """Number of replacements of a record."""
        revision: int | None = self._select(record)[1]
        return revision

    def _select(self, record: Record) -> tuple[Any, Any]:
        """A record and its revision; None for each where there is no record."""
        statement = _READ.format(self._table, record=record)

        def read(link: Link) -> Any:
            try:
                return link.one(statement, self.name, self._code)
            except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
                return None

        return self._connections.ask(read) or (None, None)

    def _replace(
        self, record: Record, value: Pointer | ProposedGeneration, instead_of: Hashable | None
    ) -> Hashable | None:
        encoded = msgspec.json.encode(value)
        if not isinstance(value, Pointer):
            return self._write(record, "", (encoded,), instead_of)
        live = None if value.live is None else value.live.number
        return self._write(record, "live = %b,", (encoded, live), instead_of)

    def _write(
        self, record: Record, also: str, values: tuple[object, ...], instead_of: Hashable | None
    ) -> Hashable | None:
        """Write a record; returns its new revision, None if it does not have the expected one."""
        statement = _WRITE.format(self._table, record=record, also=also)
        key = self.name, self._code

        def write(link: Link) -> Hashable | None:
            if instead_of is None:
                self._make_row(link, key)
            row = link.one(statement, *values, *key, instead_of)
            return None if row is None else int(row[0])

        leading = self._leader()
        if leading is None:
            return self._connections.ask(write)
        try:
            return write(leading)
        except psycopg.Error as error:
            raise unavailable(error, what=f"the read model {self.name}") from error

    def _make_row(self, link: Link, key: tuple[str, str]) -> None:
        statement = _MAKE_ROW.format(self._table).encode()
        try:
            link.execute(statement, key)
        except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
            self._make_table(link)
            link.execute(statement, key)

    def _make_table(self, link: Link) -> None:
        with link.transaction():
            # Two processes that make the same schema at a time would fail.
            link.execute(b"SELECT pg_advisory_xact_lock(%b)", [_LOCK])
            name = sql.Identifier(self._schema)
            link.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(name))
            link.execute(sql.SQL(_TABLE).format(name))

    def _drop(self, schemas: Iterable[str]) -> bool:
        """True if all of these schemas are gone; a schema that a process reads is left."""
        all_gone = True
        try:
            with closing(self._connections.connect()) as link:
                link.execute(_NO_WAITING)
                for schema in schemas:
                    name = sql.Identifier(schema)
                    try:
                        link.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(name))
                    except psycopg.errors.LockNotAvailable:
                        all_gone = False
        except psycopg.Error as error:
            raise unavailable(error, what=f"the read model {self.name}") from error
        return all_gone


@contextmanager
def build_lock(connections: Connections, key: str, name: str) -> Iterator[None]:
    """Hold the advisory lock for building a generation of a read model.

    Raises StoreUnavailable while another process holds it, and when the session is lost before.
    """
    with closing(connections.connect()) as link:
        try:
            is_taken = try_lock(link, key)
        except psycopg.Error as error:
            raise unavailable(error, what=f"the read model {name}") from error
        if not is_taken:
            raise StoreUnavailable(f"another process is building a generation of {name}")
        yield


def try_lock(link: Link, name: str) -> bool:
    """True if a session has taken the advisory lock of a name, which it holds until it ends."""
    return bool(link.one("SELECT pg_try_advisory_lock(hashtextextended(%b, 0))", name)[0])
