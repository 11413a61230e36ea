"""Search in a cluster that has users: with the rights of the deployment, with fewer, with none.

OPENSEARCH_SECURITY=1 has these tests run, see `tests/secured_opensearch.py`.
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from benchmarks.opensearch_server import NoServer
from projections.generations import supervision
from projections.generations.port import ProposedGeneration
from projections.operation.inspection import inspect
from projections.search.engine import EngineQuery
from projections.search.opensearch import mapping
from projections.search.opensearch.address import read_search_address
from projections.search.opensearch.cluster import Cluster
from projections.search.tree import MatchAll
from tests import secured_opensearch
from tests.api.conftest import Client, running
from tests.opensearch_indexes import patience
from tests.projections.read_models import (
    create,
    difference_of,
    found,
    generations,
    opened,
    rebuild,
    step,
)
from tests.secured_opensearch import PASSWORD, Right, SecuredServer
from tests.waiting import until

pytestmark = pytest.mark.xdist_group("opensearch with users")

SERVICES = "/v1/services/databaseServices"
SEARCH = "/v1/search/query?index=all&q=*"
OF_CLUSTER, OF_INDEXES = "cluster_permissions", "allowed_actions"
WEAKER: dict[str, Right] = {
    "without-state": (OF_CLUSTER, "cluster:monitor/state"),
    "without-writes": (OF_INDEXES, "indices:data/write/bulk[s]"),
    "without-search": (OF_INDEXES, "indices:data/read/search"),
}


@pytest.fixture(scope="module")
def node() -> Iterator[SecuredServer]:
    try:
        with secured_opensearch.running(WEAKER) as server, patience():
            yield server
    except NoServer as error:
        pytest.skip(str(error))


@pytest.fixture
def url(node: SecuredServer) -> Iterator[str]:
    """The address with the user of the deployment, whose indexes are removed after the test."""
    url = node.url_of("catalog")
    yield url
    with closing(Cluster(read_search_address(url))) as cluster:
        for row in cluster.look("/_cat/indices/catalog-*", format="json", h="index"):
            cluster.request("DELETE", f"/{row['index']}")


def test_user_of_the_deployment_builds_searches_switches_and_tidies_up(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervision, "WATCH_SECONDS", 0.0)
    with opened(tmp_path / "data", search=url) as stores:
        create(stores, "first", "second", "third")
        step(stores)
        for _ in range(3):
            rebuild(stores)
        assert (len(found(stores)), generations(stores)) == (3, [4, 4])
        assert stores.engine.generations.numbers() == [3, 4]
        assert difference_of(stores.engine, stores.log) is None
        with stores.engine.use() as model:
            monkeypatch.setattr(mapping, "MAX_WINDOW", 1)
            far = model.search(EngineQuery(tree=MatchAll(), offset=2, size=9))
            assert (far.total, len(far.hits)) == (3, 1)
        assert inspect(stores, details=True).projections[1].error is None
        kept = stores.engine.generations
        proposed = kept.propose(ProposedGeneration(stores.engine.generation()), instead_of=None)
        kept.withdraw(instead_of=proposed)
        # Who opens an index for writing takes it over from whoever wrote to it.
        definition = stores.backends[1].definition
        with closing(definition.open(kept.address(4), True)) as engine:
            engine.reset()
            assert engine.count() == 0


def test_user_of_the_deployment_may_let_go_of_states(url: str, tmp_path: Path) -> None:
    """A refusal would be passed over: the cluster would keep each state for minutes."""
    with (
        opened(tmp_path / "data", search=url) as stores,
        closing(Cluster(read_search_address(url))) as cluster,
    ):
        create(stores, "first")
        step(stores)
        path = f"/{stores.engine.generations.address(1)}/_search/point_in_time"
        made = cluster.request("POST", path, keep_alive="1m")
        kept = {"pit_id": [made["pit_id"]]}
        gone = cluster.request("DELETE", "/_search/point_in_time", kept)
        assert [each["successful"] for each in gone["pits"]] == [True]


@pytest.mark.parametrize("user", WEAKER)
def test_missing_right_is_told(
    node: SecuredServer, url: str, user: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    if user == "without-search":
        with opened(tmp_path, search=url) as stores:
            create(stores, "first")
            step(stores)
    _, right = WEAKER[user]
    with running(tmp_path, search_url=node.url_of(user)) as client:
        if user != "without-search":
            client.create("services/databaseServices", name="first", serviceType="Mysql")
        refused(client, f"lacks rights: {right}")
    assert PASSWORD not in logged(caplog)


def test_wrong_password_is_told(
    node: SecuredServer, url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    wrong = "wr0ng-p4ss"
    with running(tmp_path, search_url=node.url_of("catalog", wrong)) as client:
        told = refused(client, "does not take our user with this password")
        assert wrong not in told
        assert client.get(f"{SERVICES}?limit=10")["data"] == []
        # The state that it is told by is asked of the cluster, the projector tries on its own.
        until(lambda: "does not take our user" in logged(caplog))
    assert wrong not in logged(caplog)


def state(client: Client) -> dict[str, Any]:
    """Return the distance of the search index to the log."""
    reports = client.get("/v1/system/projections")["projections"]
    return {each["name"]: each for each in reports}["search"]


def refused(client: Client, reason: str) -> str:
    """All that a client is told where the cluster refuses what search needs, which has a reason."""
    told: list[str] = []

    def is_told() -> bool:
        told.append(str(state(client)["error"]))
        return reason in told[-1]

    until(is_told)
    answer = client.request("GET", SEARCH)
    assert (answer.status_code, answer.json()["errorType"]) == (503, "SERVICE_UNAVAILABLE")
    ready = client.http.get("/readyz")
    assert (ready.status_code, "search" in ready.json()["problems"][0]) == (503, True)
    return f"{answer.text} {ready.text} {told}"


def logged(caplog: pytest.LogCaptureFixture) -> str:
    """All that was logged, with what stands beside the messages."""
    return str([vars(record) for record in caplog.records])
