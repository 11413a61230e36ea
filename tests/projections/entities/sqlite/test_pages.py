"""Pages of lists read from SQLite: plans, statements, connections and snapshots."""

import sqlite3
from typing import Any

import pytest

from domain.kinds.registry import KINDS
from projections.entities.cursors import Place
from projections.entities.list_pages import list_page
from projections.entities.list_port import ListRequest
from projections.entities.list_selections import ScopeShape, Selection, Shape
from projections.entities.sqlite.database import EntityDatabase
from projections.entities.sqlite.model import SqliteReadModel
from projections.entities.sqlite.pages import SqliteListSql
from projections.feeding.port import Damaged
from tests.projections.conftest import Fixture


def read(catalog: Fixture, limit: int, **options: Any) -> bytes:
    """A page of tables, whether it takes long or not."""
    return b"".join(
        list_page(catalog.entities, ListRequest(kind=KINDS["table"], limit=limit, **options))
    )


@pytest.mark.parametrize("limit", [9, 19])
def test_read_page_leaves_no_snapshot(catalog: Fixture, limit: int) -> None:
    catalog.schema()
    for number in range(20):
        catalog.table(f"t{number:02}", description="x" * 100_000)
    catalog.project()

    read(catalog, limit)

    # A snapshot that is left would keep the write-ahead log from being used again.
    catalog.table("after")
    catalog.project()
    checkpoint = catalog.entities.database.connect().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert checkpoint.fetchone() == (0, 0, 0)


@pytest.mark.parametrize("limit", [5, 3_000])
def test_read_page_of_a_damaged_file_is_told(catalog: Fixture, limit: int) -> None:
    catalog.schema()
    for number in range(40):
        catalog.table(f"t{number:02}", description="x" * 5_000)
    catalog.project()
    catalog.entities.database.settle()
    path = catalog.entities.database.path
    damaged = path.with_name("damaged.db")
    # All that is left are the page of the schema and the lengths of the others.
    damaged.write_bytes(path.read_bytes()[:16_384] + bytes(path.stat().st_size - 16_384))
    model = SqliteReadModel(EntityDatabase(damaged, writable=False))

    for _ in range(2):
        with pytest.raises(Damaged, match="the sorted read model is damaged"):
            b"".join(list_page(model, ListRequest(kind=KINDS["table"], limit=limit)))
    model.close()


@pytest.mark.parametrize("scopes", [(), (("a",),), (("a",), ("b",))])
@pytest.mark.parametrize("states", [(0,), (0, 1)])
@pytest.mark.parametrize("status", [None, "Draft"])
@pytest.mark.parametrize("backward", [False, True])
def test_list_reads_its_rows_in_order(
    catalog: Fixture, scopes: Any, states: Any, status: Any, backward: bool
) -> None:
    by_id = ScopeShape("", False, 0, False)
    shape = Shape(states, status is not None, (by_id,) * len(scopes))
    selected = Selection(shape, ("dataContract", *([status] if status else ())), scopes)
    sql = SqliteListSql()
    rows = sql.rows(selected, Place("n", "i"), 10, 256_000, backward=backward, optional=True)
    end = sql.keys(selected, None, 1, backward=backward, fqn=False)
    connection = catalog.entities.database.connection

    for statement, parameters in (rows, end, sql.total(selected)):
        steps = [
            row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
        ]
        assert [each for each in steps if each.startswith("SCAN") and "CONSTANT" not in each] == []
        assert [each for each in steps if "B-TREE" in each or "MATERIALIZE" in each] == []


def test_list_closed_stream_lets_go_of_its_connection(
    catalog: Fixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog.schema()
    for name in "abcde":
        catalog.table(name)
    catalog.project()
    opened: list[sqlite3.Connection] = []
    connect = catalog.entities.database.connect

    def connecting() -> sqlite3.Connection:
        opened.append(connect())
        return opened[-1]

    catalog.entities.database.hand_over()
    monkeypatch.setattr(catalog.entities.database, "connect", connecting)
    for steps in (2, 3, 4):
        request = ListRequest(kind=KINDS["table"], limit=100)
        chunks = list_page(catalog.entities, request, most_rows=4)
        for _ in range(steps):
            next(chunks, None)

        chunks.close()

        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            opened.pop().execute("SELECT 1")
    # Of what does not take long the connection is kept.
    for _ in range(2):
        read(catalog, 4)
        assert len(opened) == 1


@pytest.mark.parametrize("rows", [1, 3])
def test_list_runs_a_fixed_number_of_statements(
    catalog: Fixture, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog.schema()
    for number in range(rows):
        catalog.table(f"t{number}")
    catalog.project()
    statements: list[str] = []
    catalog.entities.database.connection.set_trace_callback(statements.append)

    read(catalog, 3, fields=("columns", "tags"))

    catalog.entities.database.connection.set_trace_callback(None)
    assert [statements[0], statements[-1]] == ["BEGIN", "ROLLBACK"]
    assert len(statements) == 4, statements
