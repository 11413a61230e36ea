"""What is asked of a past that is not kept any more is a 410, wherever it is asked."""

from pathlib import Path
from typing import Any

import pytest

from domain.reading.horizon import Horizon
from projections.entities.port import SortedReadModel
from projections.search.history_limit import SearchHistoryLimit
from tests.api.conftest import Client, RunFilled
from tests.api.pages.conftest import Browser
from tests.waiting import until


def horizon_of(client: Client) -> Horizon:
    return client.services.stores.entities.read(lambda entities: entities.horizon())


def move_horizon(client: Client, position: int) -> None:
    """Have the feeder of lists move their horizon, as it does with CATALOG_HISTORY_DAYS."""

    def prune(model: SortedReadModel) -> bool:
        before = model.horizon()
        return before.position < position and model.prune(position, 1) != before

    client.services.stores.supervisors[0].prune = prune
    until(lambda: horizon_of(client).position == position)


def at_of(client: Client, path: str, **params: Any) -> tuple[int, Any]:
    """Status of an answer, and its error if it is one."""
    response = client.request("GET", path, params=params)
    return response.status_code, response.json() if response.status_code != 200 else None


TEXTS = ("first", "second", "third", "fourth")


def tell(client: Client) -> None:
    """Create two tables with an edge between them, and change one of them four times."""
    client.schema()
    table, other = client.table(), client.table("other")
    ends = [{"id": each["id"], "type": "table"} for each in (table, other)]
    edge = {"edge": {"fromEntity": ends[0], "toEntity": ends[1]}}
    assert client.ask("PUT", "/v1/lineage", json=edge)[0] == 200
    for text in TEXTS:
        patch = [{"op": "add", "path": "/description", "value": text}]
        assert client.ask("PATCH", f"/v1/tables/{table['id']}", json=patch)[0] == 200


@pytest.fixture
def story(tmp_path: Path, run_filled: RunFilled) -> Any:
    """A table that was changed four times, the position of its creation, and the client."""
    with run_filled(tmp_path, tell) as client:
        table = client.get("/v1/tables/name/service.database.schema.orders")
        created = client.services.stores.log.head() - len(TEXTS)
        yield client, table, created


QUESTIONS = (
    ("/v1/tables", {}),
    ("/v1/tables", {"limit": 0}),
    ("/v1/tables", {"include": "all", "fields": "owners"}),
    ("/v1/tables", {"limit": 1_000}),
    ("/v1/dataContracts", {}),
    ("/v1/tables/{id}", {}),
    ("/v1/tables/name/service.database.schema.orders", {}),
    ("/v1/lineage/table/{id}", {"downstreamDepth": 2}),
    ("/v1/lineage/table/name/service.database.schema.orders", {}),
    ("/v1/search/query", {"q": "orders"}),
    ("/v1/search/aggregate", {"field": "name.keyword"}),
    ("/v1/search/suggest", {"q": "ord"}),
)


@pytest.mark.parametrize(("path", "params"), QUESTIONS)
def test_past_before_the_horizon_is_gone(story: Any, path: str, params: dict[str, Any]) -> None:
    client, table, created = story
    path = path.replace("{id}", table["id"])
    head = client.services.stores.log.head()
    assert at_of(client, path, at=created, **params)[0] == 200
    move_horizon(client, head - 1)
    horizon = horizon_of(client)
    for given in ({"at": head - 2}, {"at": created}, {"asOf": "2026-01-01"}):
        status, error = at_of(client, path, **given, **params)
        assert (status, error["errorType"]) == (410, "BEFORE_HORIZON"), (given, error)
        assert f"from position {head - 1} on, which the log reached at 20" in error["message"]
        assert "CATALOG_HISTORY_DAYS" in error["message"]
    for given in ({"at": head - 1}, {"at": "now"}, {"asOf": horizon.at}, {}):
        assert at_of(client, path, **given, **params)[0] == 200, given


def test_differences_from_before_the_horizon_are_gone(story: Any) -> None:
    client, table, created = story
    head = client.services.stores.log.head()
    everything = {"from": 0, "to": created, "limit": 2}
    page = client.get("/v1/diff", **everything)
    move_horizon(client, head - 1)
    for path, params in (
        (f"/v1/tables/{table['id']}/diff", {"from": created}),
        (f"/v1/tables/{table['id']}/diff", {"from": created, "to": created}),
        ("/v1/diff", {"from": created}),
        ("/v1/diff", {"from": "2026-01-01"}),
        ("/v1/diff", {**everything, "after": page["paging"]["after"]}),
    ):
        status, error = at_of(client, path, **params)
        assert (status, error["errorType"]) == (410, "BEFORE_HORIZON"), (path, params, error)
    for path in ("/v1/diff", f"/v1/tables/{table['id']}/diff"):
        assert at_of(client, path, **{"from": head - 1})[0] == 200


def test_cursor_pinned_before_the_horizon_is_gone(story: Any) -> None:
    client, _, created = story
    pages = {
        at: client.get("/v1/tables", limit=1, at=at)["paging"]["after"]
        for at in (created, client.services.stores.log.head())
    }
    move_horizon(client, created + 1)
    answers = [at_of(client, "/v1/tables", limit=1, after=after) for after in pages.values()]
    assert [status for status, _ in answers] == [410, 200]
    assert answers[0][1]["errorType"] == "BEFORE_HORIZON"


def test_pages_with_a_date_before_the_horizon_say_so(story: Any) -> None:
    client, _, created = story
    move_horizon(client, created + 2)
    browser = Browser(client, "admin")
    for address in (
        "/browse/table",
        "/entity/table/service.database.schema.orders",
        "/history/table/service.database.schema.orders",
        "/tree",
        "/",
    ):
        answer = browser.get(f"{address}?at={created + 1}")
        assert answer.status_code == 410, address
        assert f"the past is kept from position {created + 2} on" in answer.text
        assert browser.get(f"{address}?at={created + 2}").status_code == 200


def test_versions_and_history_are_all_there(story: Any) -> None:
    client, table, _ = story
    move_horizon(client, client.services.stores.log.head())
    versions = client.get(f"/v1/tables/{table['id']}/versions")["versions"]
    assert len(versions) == 5


def test_searches_follow_the_horizon_of_lists(story: Any) -> None:
    client, _, _ = story
    stores = client.services.stores
    head = stores.log.head()
    client.search_until(lambda found: "fourth" in str(found), q="orders")
    move_horizon(client, head - 1)
    stores.supervisors[1].prune = SearchHistoryLimit(lambda: horizon_of(client), int).step

    def kept() -> int:
        with stores.engine.use() as engine, engine.snapshot() as snapshot:
            return snapshot.horizon.position

    until(lambda: kept() == head - 1)
    for at, description in ((head - 1, "third"), (head, "fourth")):
        hits = client.get("/v1/search/query", q="orders", at=at)["hits"]["hits"]
        assert hits[0]["_source"]["description"] == description
