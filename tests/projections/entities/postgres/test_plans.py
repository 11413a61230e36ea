"""Pages are read by indexes, in order: nothing is sorted, and no table is gone through."""

from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.postgres_server import PostgresServer
from domain.kinds.registry import KINDS
from projections.entities.cursors import Place
from projections.entities.list_port import Include, ListRequest
from projections.entities.list_sql import Statement
from projections.entities.postgres.model import PostgresReadModel
from projections.entities.postgres.pages import PostgresListSql
from tests.contracts.test_sorted_read_model import fill, stored, uuid
from tests.postgres_models import postgres_model

SQL = PostgresListSql()
CONTRACT = KINDS["dataContract"]
PLACE = Place("n05", uuid(5))


@pytest.fixture(scope="module")
def model(postgres: PostgresServer) -> Iterator[PostgresReadModel]:
    with postgres_model(postgres) as model:
        scopes = [uuid(900), f"owner:{uuid(901)}"]
        contracts = (
            stored(n, f"n{n:02}", "dataContract", status="Draft", scopes=scopes) for n in range(20)
        )
        fill(model, *contracts)
        yield model


def plan(model: PostgresReadModel, statement: Statement) -> list[str]:
    """Return the database's plan for a statement, line by line."""
    sql, values = statement
    with model.tables.reading() as link:
        return [line for (line,) in link.rows(f"EXPLAIN {model.tables.within(sql)}", *values)]


def page(backward: bool, **narrowed: Any) -> Statement:
    """Return the statement for a page of ten, with its total and what is behind its cursor."""
    request = ListRequest(kind=CONTRACT, limit=10, **narrowed)
    selection = SQL.select(request)
    return SQL.page(selection, PLACE, 11, 256_000, backward=backward, optional=True)


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("analyzed", [False, True])
@pytest.mark.parametrize(
    ("narrowed", "index"),
    [
        ({}, "entities_in_order"),
        ({"include": Include.DELETED}, "entities_in_order"),
        ({"status": "Draft"}, "entities_by_status"),
        ({"filters": {"entity": uuid(900)}}, "scopes_pkey"),
        ({"filters": {"owner": uuid(901)}}, "scopes_pkey"),
        ({"filters": {"owner": "ann"}}, "scopes_pkey"),
    ],
)
def test_page_is_read_from_an_index_in_its_order(
    postgres: PostgresServer,
    model: PostgresReadModel,
    narrowed: dict[str, Any],
    index: str,
    backward: bool,
    analyzed: bool,
) -> None:
    if analyzed:
        tables = ("entities", "scopes", "counters")
        postgres.run(*(model.tables.within(f"ANALYZE {{}}.{table}") for table in tables))
    lines = plan(model, page(backward, **narrowed))
    assert not [line for line in lines if "Sort" in line or "Seq Scan" in line], lines
    # `entities_1` and the like are tables that a scope is looked up in.
    used = {
        word
        for line in lines
        for word in line.split()
        if word.startswith(("entities_", "scopes_")) and not word[-1].isdigit()
    }
    assert index in used, lines
    assert used <= {index, "entities_pkey", "entities_by_fqn"}, lines
    # What is behind the cursor is told by the index alone.
    assert [line for line in lines if f"Index Only Scan using {index}" in line or "scopes" in index]


@pytest.mark.parametrize("named", ["PII.Sensitive", uuid(53)])
def test_scope_of_a_label_is_looked_up_by_a_key(model: PostgresReadModel, named: str) -> None:
    selection = SQL.select(
        ListRequest(kind=KINDS["table"], limit=10, filters={"tag": named, "tier": named})
    )
    statement = SQL.page(selection, PLACE, 11, 256_000, backward=False, optional=False)
    lines = plan(model, statement)
    assert not [line for line in lines if "Sort" in line or "Seq Scan" in line], lines


def test_page_of_both_deletion_states_merges_two_ranges(model: PostgresReadModel) -> None:
    lines = plan(model, page(False, include=Include.ALL))
    assert sum("Index Scan using entities_in_order" in line for line in lines) == 2, lines
    assert not [line for line in lines if "Seq Scan" in line], lines
    # Each of them ends after the rows that the page has.
    assert sum("Limit" in line for line in lines) == 3, lines


def test_single_entities_and_documents_are_found_by_their_keys(model: PostgresReadModel) -> None:
    for sql, values, index in (
        ("SELECT core FROM {}.entities WHERE id = ANY (%b::text[])", ([uuid(1)],), "entities_pkey"),
        ("SELECT id FROM {}.entities WHERE fqn_key = %b", (b"k",), "entities_by_fqn"),
    ):
        lines = plan(model, (sql, values))
        assert index in lines[0], lines
