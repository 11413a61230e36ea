"""The host that feeds an index in a cluster is killed in a commit, and another one goes on."""

import subprocess
import sys
import time
from collections.abc import Hashable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from benchmarks.direct_catalog import DirectCatalog
from benchmarks.opensearch_server import OpenSearchServer
from benchmarks.postgres_server import PostgresServer, new_schema
from domain.kinds.registry import KINDS
from domain.writing.entity_cache import ByName
from projections.feeding.port import Overtaken
from projections.generations import shared_supervision
from projections.generations.building import build
from projections.generations.port import Pointer
from projections.generations.shared_supervision import SharedSupervisor
from projections.search.opensearch.address import read_search_address
from projections.search.opensearch.cluster import Cluster
from projections.wiring.stores import Stores
from tests.depth import first_alone
from tests.opensearch_relay import Relay
from tests.projections.read_models import ME, create, difference_of, found, opened, step
from tests.waiting import until

pytestmark = pytest.mark.xdist_group("opensearch")

SERVICE = KINDS["databaseService"]
TAKEOVER_SECONDS = 5.0
_LEADER = """
import sys, time
from pathlib import Path
from projections.wiring.stores import open_stores
lists, search = open_stores(Path(sys.argv[1]), sys.argv[2], sys.argv[3]).supervisors
print(search.leads, flush=True)
while True:
    search.step() or time.sleep(0.002)
"""


@pytest.fixture(autouse=True)
def tried_at_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_supervision, "TRY_SECONDS", 0.0)


@pytest.fixture
def relay(opensearch: OpenSearchServer) -> Iterator[Relay]:
    relay = Relay(opensearch.port)
    yield relay
    relay.down()


def feed(stores: Stores) -> bool:
    """Let a host do what it has to do for the index; whether it leads then."""
    supervisor = stores.supervisors[1]
    assert isinstance(supervisor, SharedSupervisor)
    while supervisor.step():
        pass
    return supervisor.leads


def difference(stores: Stores) -> str | None:
    with stores.engine.use() as model:
        assert model.checkpoint() == stores.log.head()
    return difference_of(stores.engine, stores.log)


def writes(cluster: Cluster) -> int:
    """Number of requests to write documents that the node has taken, when it is done with all."""
    until(lambda: not cluster.look("/_tasks", actions="*bulk*")["nodes"])
    told: Any = cluster.look("/_nodes/usage/rest_actions")
    return sum(node["rest_actions"].get("bulk_action", 0) for node in told["nodes"].values())


def test_pointer_of_a_host_that_has_lost_the_lead_is_not_written(
    opensearch: OpenSearchServer,
    postgres: PostgresServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It stands still between the reading and the writing of the pointer, and is not proposed."""
    database, url = postgres.url(new_schema()), f"{opensearch.url}/p{uuid4().hex}"
    with (
        opened(tmp_path / "one", database, url) as one,
        opened(tmp_path / "two", database, url) as two,
    ):
        create(one, "a")
        assert feed(one)
        live, generations, others = (
            one.read_models[1],
            one.backends[1].definition.generations,
            two.backends[1].definition.generations,
        )
        build(live.definition, one.log, lambda done, total: None)
        point = generations.point

        def lose_and_point(pointer: Pointer, *, instead_of: Hashable | None) -> Hashable:
            proposed = others.revision("proposal")
            assert proposed is not None
            others.withdraw(instead_of=proposed)
            postgres.run(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                " WHERE application_name LIKE 'catalog leader%'"
            )
            until(lambda: feed(two))
            return point(pointer, instead_of=instead_of)

        monkeypatch.setattr(generations, "point", lose_and_point)
        with pytest.raises(Overtaken, match="another process has replaced"):
            feed(one)
        monkeypatch.undo()
        create(two, "b")
        assert (feed(two), feed(one)) == (True, False)
        for stores in (one, two):
            until(lambda stores=stores: len(found(stores)) == 2)  # type: ignore[misc]
            assert stores.engine.generation().number == 1
        assert difference(two) is None


@pytest.mark.parametrize(
    "sign", first_alone(b"meanwhile-0", b'.checkpoint"'), ids=["documents", "checkpoint"]
)
def test_host_that_is_killed_in_a_commit_is_replaced_and_what_it_sent_late_changes_nothing(
    sign: bytes,
    opensearch: OpenSearchServer,
    postgres: PostgresServer,
    relay: Relay,
    tmp_path: Path,
) -> None:
    prefix, database = f"p{uuid4().hex}", postgres.url(new_schema())
    index, url = f"{prefix}-search-1", f"{opensearch.url}/{prefix}"
    relayed = f"http://127.0.0.1:{relay.port}/{prefix}"
    script = [sys.executable, "-c", _LEADER, str(tmp_path / "killed"), database, relayed]
    with (
        subprocess.Popen(script, stdout=subprocess.PIPE, text=True) as leader,
        closing(Cluster(read_search_address(url))) as cluster,
    ):
        assert leader.stdout is not None
        assert leader.stdout.readline() == "True\n"
        with opened(tmp_path / "two", database, url) as two:
            create(two, "before")
            until(lambda: len(found(two)) == 1)
            assert not feed(two)
            relay.be_silent_from(sign)
            create(two, *(f"meanwhile-{n}" for n in range(5)))
            until(lambda: relay.is_silent)
            leader.kill()
            killed_at = time.monotonic()
            until(lambda: feed(two), every=0.01)
            assert time.monotonic() - killed_at < TAKEOVER_SECONDS
            step(two)
            assert (len(found(two)), difference(two)) == (6, None)

            catalog = DirectCatalog(two.log)
            changed = {"name": "meanwhile-0", "serviceType": "Mysql", "description": "newer"}
            catalog.put(SERVICE, changed, ME)
            catalog.delete(SERVICE, ByName("meanwhile-1"), ME, hard=True, recursive=False)
            step(two)
            expected, before = found(two), writes(cluster)
            assert len(expected) == 5
            relay.speak()
            until(lambda: writes(cluster) > before)
            writes(cluster)  # it was counted when it began
            cluster.request("POST", f"/{index}/_refresh")
            assert (found(two), difference(two)) == (expected, None)
            create(two, "after")
            step(two)
            assert (len(found(two)), difference(two)) == (6, None)
            assert two.engine.generation().number == 1
