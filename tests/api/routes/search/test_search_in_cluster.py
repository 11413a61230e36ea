"""The API over a catalog with search in a cluster: answers, and what it says when that is away."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from benchmarks.opensearch_server import OpenSearchServer
from tests.api.conftest import Client, running
from tests.opensearch_indexes import PATIENCE
from tests.opensearch_relay import Relay
from tests.waiting import until

pytestmark = pytest.mark.xdist_group("opensearch")

SERVICES = "/v1/services/databaseServices"
SEARCH = "/v1/search/query?index=all&q="


@pytest.fixture
def relay(opensearch: OpenSearchServer) -> Iterator[Relay]:
    relay = Relay(opensearch.port)
    yield relay
    relay.down()


@pytest.fixture
def client(relay: Relay, tmp_path: Path) -> Iterator[Client]:
    url = f"http://127.0.0.1:{relay.port}/p{uuid4().hex}"
    with running(tmp_path, search_url=url, patience=PATIENCE) as started:
        yield started


def created(client: Client, name: str) -> str:
    """The position of a new service."""
    response = client.request("POST", SERVICES, json={"name": name, "serviceType": "Mysql"})
    assert response.status_code == 201
    return str(response.headers["X-Catalog-Position"])


def state(client: Client) -> dict[str, Any]:
    """Return the distance of the search index to the log."""
    (said,) = (
        each
        for each in client.get("/v1/system/projections")["projections"]
        if each["name"] == "search"
    )
    return dict(said)


def test_client_finds_what_it_has_written(client: Client) -> None:
    for name in ("orders", "customers"):
        position = created(client, name)
        status, found = client.ask("GET", SEARCH + name, headers={"X-Catalog-Position": position})
        assert (status, found["hits"]["total"]["value"]) == (200, 1)
        assert found["hits"]["hits"][0]["_source"]["name"] == name
    assert state(client)["state"] == "running"
    assert (state(client)["generation"], state(client)["entities"]) == (1, 2)


def test_search_of_the_past_says_that_scores_are_approximate(client: Client) -> None:
    asked = {"q": "orders", "index": "all"}
    at = created(client, "orders")
    service = client.get(f"{SERVICES}/name/orders")
    patch = [{"op": "add", "path": "/displayName", "value": "bills"}]
    client.request("PATCH", f"{SERVICES}/{service['id']}", json=patch)
    position = created(client, "orders of then")
    present = client.ask(
        "GET", "/v1/search/query", params=asked, headers={"X-Catalog-Position": position}
    )[1]
    assert (present["hits"]["total"]["value"], "scores" in present) == (2, False)
    past = client.get("/v1/search/query", **asked, at=at)
    assert (past["hits"]["total"]["value"], past["scores"]) == (1, "approximate")
    assert "displayName" not in past["hits"]["hits"][0]["_source"]
    suggested = client.get("/v1/search/suggest", q="bil", index="all", at=position)
    assert len(suggested["suggest"]["metadata-suggest"][0]["options"]) == 1
    suggested = client.get("/v1/search/suggest", q="bil", index="all", at=at)
    assert suggested["suggest"]["metadata-suggest"][0]["options"] == []


def test_cluster_that_is_away_is_told_and_comes_back(client: Client, relay: Relay) -> None:
    position = created(client, "before")
    client.ask("GET", SEARCH + "before", headers={"X-Catalog-Position": position})
    relay.down()
    created(client, "during")
    assert client.get(f"{SERVICES}?limit=10")["paging"]["total"] == 2
    status, said = client.ask("GET", SEARCH + "before")
    assert (status, said.get("errorType")) == (503, "SERVICE_UNAVAILABLE"), said
    assert "the search cluster cannot be reached" in said["message"]
    ready = client.http.get("/readyz")
    assert (ready.status_code, ready.json()["ready"]) == (503, False)
    assert "search" in ready.json()["problems"][0]
    until(lambda: "cannot be reached" in (state(client)["error"] or ""))
    relay.up()
    until(lambda: client.http.get("/readyz").status_code == 200)
    until(lambda: client.ask("GET", SEARCH + "during")[1]["hits"]["total"]["value"] == 1)
