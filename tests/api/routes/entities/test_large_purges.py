"""Purges of more than one transaction takes: in several, each of which leaves what may be left."""

import time
from typing import Any

import pytest

from domain.errors import StoreUnavailable
from domain.event_store.postgres.log import PostgresEventStore
from domain.event_store.sqlite.log import SqliteEventStore
from projections.verification.report import Verdict
from projections.verification.run import Request, verify
from projections.wiring.stores import open_log
from tests.api.conftest import IN_DATABASE, Client, database_of

MOST = 3


class Transactions:
    """Number of events that each transaction stores; `left` of them succeed, None for all."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.left: int | None = None


@pytest.fixture
def transactions(client: Client, monkeypatch: pytest.MonkeyPatch) -> Transactions:
    seen = Transactions()
    store = PostgresEventStore if IN_DATABASE else SqliteEventStore
    append = store.append_group

    def counted(log: Any, appends: Any) -> Any:
        if seen.left is not None:
            if not seen.left:
                raise StoreUnavailable("the disk is gone")
            seen.left -= 1
        seen.sizes.append(sum(len(each.rows) for each in appends))
        return append(log, appends)

    client.services.catalog.most_events = MOST
    monkeypatch.setattr(store, "append_group", counted)
    return seen


def hub(client: Client, edges: int) -> Any:
    """A table from which edges lead to others."""
    client.schema()
    center = client.table("center")
    for number in range(edges):
        other = client.table(f"t{number}")
        ends = {
            key: {"id": entity["id"], "type": "table"}
            for key, entity in (("fromEntity", other), ("toEntity", center))
        }
        details = {"source": "ViewLineage"}
        client.ask("PUT", "/v1/lineage", json={"edge": {**ends, "lineageDetails": details}})
    return center


def edges_at(client: Client, entity: Any) -> int:
    """Return the number of edges that the log has at an entity."""
    log = open_log(client.directory, database_of(client.directory))
    try:
        return len(log.claims(ends=[entity["id"]]))
    finally:
        log.close()


def is_clean(client: Client) -> bool:
    """True if the log agrees with itself."""
    log = open_log(client.directory, database_of(client.directory))
    try:
        done = verify(log, {}, Request(now=time.time_ns() // 1_000_000))
    finally:
        log.close()
    return done.verdict is Verdict.EQUAL


def test_hub_is_purged_with_some_of_its_edges_in_each_transaction(
    client: Client, transactions: Transactions
) -> None:
    center = hub(client, 8)
    transactions.sizes.clear()
    path = f"/v1/tables/{center['id']}?hardDelete=true"
    status, answer = client.ask("DELETE", path)
    assert (status, answer["name"]) == (200, "center")
    assert transactions.sizes == [MOST, MOST, 2, 1]
    assert client.ask("DELETE", path)[0] == 404
    assert is_clean(client)


def test_everything_below_is_purged_in_turns_children_first(
    client: Client, transactions: Transactions
) -> None:
    hub(client, 4)
    transactions.sizes.clear()
    path = "/v1/databases/name/service.database?hardDelete=true&recursive=true"
    assert client.ask("DELETE", path)[0] == 200
    # Four edges, five tables, their schema and the database.
    assert transactions.sizes == [MOST, MOST, MOST, 1, 1]
    assert client.get("/v1/tables")["paging"]["total"] == 0
    assert is_clean(client)


def test_purge_that_breaks_off_leaves_a_whole_catalog_and_can_be_repeated(
    client: Client, transactions: Transactions
) -> None:
    center = hub(client, 8)
    path = f"/v1/tables/{center['id']}?hardDelete=true"
    transactions.left = 1
    assert client.ask("DELETE", path)[0] == 503
    assert edges_at(client, center) == 8 - MOST
    assert is_clean(client)
    transactions.left = None
    assert client.ask("DELETE", path)[0] == 200
    assert is_clean(client)


@pytest.mark.parametrize(
    ("query", "asked", "status"),
    [
        ("hardDelete=true", {"headers": {"If-Match": '"9.9"'}}, 412),
        ("hardDelete=true", {"role": "reader"}, 403),
        ("hardDelete=false", {}, 200),
    ],
)
def test_refused_or_soft_delete_purges_nothing(
    client: Client,
    transactions: Transactions,
    query: str,
    asked: dict[str, Any],
    status: int,
) -> None:
    center = hub(client, 8)
    path = f"/v1/tables/{center['id']}?{query}"
    assert client.ask("DELETE", path, **asked)[0] == status
    assert edges_at(client, center) == 8


def test_entity_with_something_below_it_keeps_its_edges(
    client: Client, transactions: Transactions
) -> None:
    center = hub(client, 8)
    client.create("dataContracts", name="c", entity={"id": center["id"], "type": "table"})
    status, answer = client.ask("DELETE", f"/v1/tables/{center['id']}?hardDelete=true")
    assert (status, "is not empty" in answer["message"]) == (400, True)
    assert edges_at(client, center) == 8


def test_repeated_purge_under_a_key_is_answered_as_the_first_time(
    client: Client, transactions: Transactions
) -> None:
    center = hub(client, 8)
    path, key = f"/v1/tables/{center['id']}?hardDelete=true", {"Idempotency-Key": "k"}
    first, again = (client.ask("DELETE", path, headers=key) for _ in range(2))
    assert (first[0], again) == (200, first)


def test_edges_of_a_source_are_removed_in_turns(client: Client, transactions: Transactions) -> None:
    center = hub(client, 8)
    transactions.sizes.clear()
    path = f"/v1/lineage/table/{center['id']}/type/ViewLineage"
    assert client.ask("DELETE", path) == (200, {"deleted": 8})
    assert transactions.sizes == [MOST, MOST, 2]
    assert client.ask("DELETE", path) == (200, {"deleted": 0})


def test_stale_hub_goes_with_its_edges_in_turns(client: Client, transactions: Transactions) -> None:
    hub(client, 8)
    transactions.sizes.clear()
    body = {
        "scopeFqn": "service.database.schema",
        "scopeEntityType": "databaseSchema",
        "seenFqns": [f"service.database.schema.t{number}" for number in range(8)],
        "hardDelete": True,
    }
    status, answer = client.ask("DELETE", "/v1/tables/deleteStale", json=body)
    assert (status, answer["numberOfRowsPassed"]) == (200, 1)
    assert transactions.sizes == [MOST, MOST, 2, 1]
