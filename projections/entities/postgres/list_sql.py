"""The statements about lists as PostgreSQL spells them."""

from collections.abc import Sequence

from domain.kinds.names import name_key
from projections.entities.list_sql import Beyond, ListSql, Parameters, Shape, Statement

_OPTIONAL = {False: "NULL::bytea AS optional", True: "optional"}
_SIZE = {False: "octet_length(core)", True: "octet_length(core) + octet_length(optional)"}


class PostgresListSql(ListSql):
    """Statements for PostgreSQL, which itself ends the rows that have enough bytes.

    `{}` stands for the schema of the generation in all of them.
    """

    by_name = "fqn_key = ?"
    key = "encode(fqn_key, 'hex')"
    limits_branches = True

    def name_values(self, kind: str, fqn: str) -> Parameters:
        """The key of the name, which is what the names are found by."""
        return (name_key(kind, fqn),)

    def spell(self, sql: str) -> str:
        """A statement whose values are sent in binary."""
        return sql.replace("?", "%b")

    def rows_of(
        self, ids: Sequence[str], most_bytes: int, *, backward: bool, optional: bool
    ) -> Statement:
        """A query for the rows of the entities with these ids, in the order of a list."""
        return self._spelled(_rows_of, backward, optional), ([*ids], most_bytes)

    def _bound(self, most_bytes: int) -> Parameters:
        return (most_bytes,)

    def _page(
        self, shape: Shape, beyond: Beyond, any_rows: bool, backward: bool, optional: bool
    ) -> str:
        """The total and whether the list goes on behind the place stand in each row.

        The other columns are NULL without any row.
        """
        head, rows = self._head(shape, beyond, any_rows, backward), "SELECT NULL, NULL, NULL, NULL"
        if any_rows:
            rows = self._rows(shape, beyond, backward, optional)
        return f"SELECT m.*, p.* FROM (SELECT {head}) m LEFT JOIN ({rows}) p ON true"

    def _rows(self, shape: Shape, beyond: Beyond, backward: bool, optional: bool) -> str:
        if not shape.scopes:
            wanted = f", k.core, {'k.' if optional else ''}{_OPTIONAL[optional]}"
            return _bounded(self._keys(shape, beyond, backward, wanted), backward, optional)
        sql = (
            f"SELECT k.name, k.id, e.core, {'e.' if optional else ''}{_OPTIONAL[optional]}"
            f" FROM ({self._keys(shape, beyond, backward, '')}) k"
            f" JOIN {{}}.entities e ON e.id = k.id ORDER BY {_order(backward)}"
        )
        return _bounded(sql, backward, optional)


def _rows_of(backward: bool, optional: bool) -> str:
    sql = (
        f"SELECT name, id, core, {_OPTIONAL[optional]} FROM {{}}.entities"
        f" WHERE id = ANY (?::text[]) ORDER BY {_order(backward)}"
    )
    return _bounded(sql, backward, optional)


def _bounded(sql: str, backward: bool, optional: bool) -> str:
    """The rows up to the one that makes them have so many bytes."""
    summed = f"sum(size) OVER (ORDER BY {_order(backward)} ROWS UNBOUNDED PRECEDING)"
    return (
        f"SELECT name, id, core, optional FROM (SELECT *, {summed} - size AS before"
        f" FROM (SELECT *, {_SIZE[optional]} AS size FROM ({sql}) r) sized) summed"
        " WHERE before < ?"
    )


def _order(backward: bool) -> str:
    return "name DESC, id DESC" if backward else "name, id"
