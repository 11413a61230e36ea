"""The statements about lists as SQLite spells them."""

from collections.abc import Sequence

import msgspec

from projections.entities.list_sql import Beyond, ListSql, Shape, Statement

_SAME_ENTITY = "e.kind = k.kind AND e.deleted = k.deleted AND e.name = k.name AND e.id = k.id"


class SqliteListSql(ListSql):
    """Statements for SQLite, whose reader ends what it has read enough of."""

    by_status = " INDEXED BY entities_by_status"
    is_listed = _SAME_ENTITY

    def spell(self, sql: str) -> str:
        """A statement without the schema, which a file has only one of."""
        return sql.replace("{}.", "")

    def rows_of(
        self, ids: Sequence[str], most_bytes: int, *, backward: bool, optional: bool
    ) -> Statement:
        """A query for the rows of the entities with these ids, in their order."""
        sql = (
            f"SELECT e.name, e.id, e.core, {'e.optional' if optional else 'NULL'}"
            " FROM json_each(?) one CROSS JOIN entities e ON e.id = one.value"
        )
        return sql, (msgspec.json.encode(ids).decode(),)

    def _page(
        self, shape: Shape, beyond: Beyond, any_rows: bool, backward: bool, optional: bool
    ) -> str:
        """The total and whether the list goes on behind the place come in a row of their own."""
        head = f"SELECT {self._head(shape, beyond, any_rows, backward)}, NULL, NULL"
        if not any_rows:
            return head
        return f"{head} UNION ALL SELECT * FROM ({self._rows(shape, beyond, backward, optional)})"

    def _rows(self, shape: Shape, beyond: Beyond, backward: bool, optional: bool) -> str:
        core, fields = "k.core", "k.optional"
        if shape.scopes:
            # Not a join: it would put all rows of the page through a sorter before the first.
            core, fields = (
                f"(SELECT e.{column} FROM {{}}.entities e NOT INDEXED WHERE {_SAME_ENTITY})"
                for column in ("core", "optional")
            )
        return self._keys(shape, beyond, backward, f", {core}, {fields if optional else 'NULL'}")
