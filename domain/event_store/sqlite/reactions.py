"""The memory of a reaction, in the SQLite file of the log."""

from collections.abc import Sequence
from typing import Any

from domain.event_store.reactions import ReactionMemory, Statement
from domain.event_store.sqlite.connections import Datastore


class SqliteReactionMemory(ReactionMemory):
    """The port on the connections of the log."""

    def __init__(self, name: str, datastore: Datastore) -> None:
        super().__init__(name)
        self._datastore = datastore

    def _rows(self, statement: str, *values: Any) -> list[Any]:
        with self._datastore.reading() as cursor:
            return cursor.execute(statement, values).fetchall()

    def _change(self, statements: Sequence[Statement]) -> None:
        with self._datastore.writing() as cursor:
            for statement, runs in statements:
                cursor.executemany(statement, runs)
