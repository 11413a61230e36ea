"""The memory of a reaction, in the tables of the log."""

from collections.abc import Sequence
from typing import Any

from domain.event_store.postgres.connections import Connections, translated_errors
from domain.event_store.postgres.link import spelled
from domain.event_store.reactions import ReactionMemory, Statement


class PostgresReactionMemory(ReactionMemory):
    """The port on the connections of the log."""

    def __init__(self, name: str, connections: Connections) -> None:
        super().__init__(name)
        self._connections = connections

    def _rows(self, statement: str, *values: Any) -> list[Any]:
        return self._connections.ask(lambda link: link.rows(spelled(statement), *values))

    def _change(self, statements: Sequence[Statement]) -> None:
        with self._connections.use() as link, translated_errors(), link.transaction():
            for statement, runs in statements:
                for values in runs:
                    link.execute(spelled(statement).encode(), values)
