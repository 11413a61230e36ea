"""Two hosts over one log in PostgreSQL: what they show while the database stops or is replaced."""

import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from benchmarks.postgres_server import PostgresServer, new_schema
from domain.errors import StoreUnavailable
from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.opening import open_event_log
from tests.api.conftest import Client, running
from tests.postgres_servers import running_or_skipped, stop_and_start_under_load
from tests.waiting import until

SERVICES = "/v1/services/databaseServices"


def put(client: Client, name: str, **more: Any) -> Any:
    return client.request("PUT", SERVICES, json={"name": name, "serviceType": "Mysql", **more})


def names(client: Client, position: int | str = 0) -> list[str]:
    """Return the names that a host lists at a position."""
    headers = {"X-Catalog-Position": str(position)}
    response = client.request("GET", f"{SERVICES}?limit=1000", headers=headers)
    assert response.status_code == 200, response.text
    return [each["name"] for each in response.json()["data"]]


def hits(client: Client, position: int | str) -> list[str]:
    """The names that a host finds, at a position."""
    headers = {"X-Catalog-Position": str(position)}
    path = "/v1/search/query?q=*&size=1000"
    response = client.request("GET", path, headers=headers)
    assert response.status_code == 200, response.text
    return sorted(hit["_source"]["name"] for hit in response.json()["hits"]["hits"])


def shows(client: Client, expected: list[str]) -> bool:
    """True if a host lists and finds what is expected; False while it answers nothing."""
    asked = (f"{SERVICES}?limit=1000", "/v1/search/query?q=*&size=1000")
    if any(client.request("GET", path).status_code == 503 for path in asked):
        return False
    return names(client) == expected == hits(client, 0)


def is_ready(client: Client) -> bool:
    return bool(client.http.get("/readyz").status_code == 200)


def recorded(url: str) -> list[RecordedEvent]:
    with closing(open_event_log(url)) as log:
        return log.read(0, 100_000)


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    return postgres.url(new_schema())


@pytest.fixture
def hosts(url: str, tmp_path: Path) -> Iterator[list[Client]]:
    with ExitStack() as stack:
        yield [
            stack.enter_context(running(directory, database_url=url))
            for directory in (tmp_path / "one", tmp_path / "two")
            if directory.mkdir() is None
        ]


def test_write_on_one_host_is_read_on_the_other_by_its_position(hosts: list[Client]) -> None:
    for number in range(10):
        writer, reader = hosts[number % 2], hosts[1 - number % 2]
        position = put(writer, f"n{number}").headers["X-Catalog-Position"]
        expected = [f"n{each}" for each in range(number + 1)]
        assert names(reader, position) == expected
        assert hits(reader, position) == expected


def test_hosts_go_on_when_the_database_stops_and_starts_under_load(
    hosts: list[Client], postgres: PostgresServer, url: str
) -> None:
    stored: list[str] = []
    refused: list[str] = []
    wrong: list[object] = []
    enough = threading.Event()

    def write(place: int) -> None:
        for number in itertools.count():
            if enough.is_set():
                return
            name = f"w{place}n{number}"
            answer = put(hosts[place], name)
            if answer.status_code == 201:
                stored.append(name)
            elif answer.status_code == 503 and answer.headers["Retry-After"]:
                refused.append(name)
            else:
                wrong.append(answer.text)

    def read(place: int) -> None:
        before: set[str] = set()
        while not enough.is_set():
            shown = names(hosts[place])
            if shown != sorted(shown) or not before <= set(shown):
                wrong.append((before, shown))
            before = set(shown)

    jobs: list[Callable[[], None]] = [
        lambda job=job, place=place: job(place) for job in (write, read) for place in (0, 1)
    ]
    stop_and_start_under_load(postgres, jobs, enough, stored, between=10)

    events = recorded(url)
    created = [each.event.name for each in events if hasattr(each.event, "name")]
    assert wrong == []
    assert len(created) == len(set(created))
    assert set(stored) <= set(created)
    for host in hosts:
        until(lambda host=host: is_ready(host))
        assert names(host, events[-1].position) == sorted(created)
        assert hits(host, events[-1].position) == sorted(created)


@pytest.fixture
def primary() -> Iterator[PostgresServer]:
    """A server that is not shared with other tests."""
    with running_or_skipped() as server:
        yield server


@pytest.fixture
def replica(primary: PostgresServer) -> Iterator[PostgresServer]:
    with running_or_skipped(primary=primary) as server:
        yield server


def has_all(primary: PostgresServer, replica: PostgresServer) -> bool:
    with primary.connect() as one, replica.connect() as two:
        written = one.execute("SELECT pg_current_wal_lsn()").fetchone()
        return written == two.execute("SELECT pg_last_wal_replay_lsn()").fetchone()


def test_failover_to_a_replica_that_lost_commits_is_noticed_told_and_mended(
    primary: PostgresServer,
    replica: PostgresServer,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with pytest.raises(StoreUnavailable, match="the server is a standby, which takes no writes"):
        open_event_log(replica.url("catalog"))
    url = primary.url("catalog", host=f"{primary.directory},{replica.directory}")
    with ExitStack() as stack:
        one, two = hosts = [
            stack.enter_context(running(directory, database_url=url))
            for directory in (tmp_path / "one", tmp_path / "two")
            if directory.mkdir() is None
        ]
        kept = put(one, "kept").json()
        until(lambda: has_all(primary, replica))
        # From here on the replica gets nothing, and nobody waits for it.
        replica.run("ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()")
        until(lambda: receivers(primary) == 0)
        lost = put(two, "lost")
        changed = put(one, "kept", description="lost as well")
        position = changed.headers["X-Catalog-Position"]
        assert (lost.status_code, changed.json()["version"]) == (201, 0.2)
        for host in hosts:
            assert names(host, position) == ["kept", "lost"] == hits(host, position)

        caplog.clear()
        primary.stop("immediate")
        replica.take_over()
        # Gets the position of an event that both hosts have applied; and what host one remembers
        # of the other entity is ahead of the log.
        until(lambda: put(two, "other").status_code in (200, 201))
        answers: list[Any] = []
        until(
            lambda: (
                answers.append(put(one, "kept", description="again"))
                or answers[-1].status_code == 200
            )
        )
        again = {"X-Catalog-Position": answers[-1].headers["X-Catalog-Position"]}

        for host in hosts:
            until(lambda host=host: is_ready(host))
            # Until it is built anew, a read model answers nothing.
            until(lambda host=host: shows(host, ["kept", "other"]))
            shown = host.request("GET", f"{SERVICES}/{kept['id']}", headers=again).json()
            assert (shown["description"], shown["version"]) == ("again", 0.2)
        streams = [(each.entity_id, each.stream_version) for each in recorded(url)]
        assert len(streams) == len(set(streams)) == 3
        told = [each for each in caplog.records if each.message == "the read model is built anew"]
        # The lists went back together with the log.
        assert [vars(each)["projection"] for each in told] == ["search"] * 2
        assert {each.levelno for each in told} == {logging.WARNING}


def receivers(primary: PostgresServer) -> int:
    """Return the number of replicas that take what a server commits."""
    with primary.connect() as connection:
        row = connection.execute("SELECT count(*) FROM pg_stat_replication").fetchone()
    assert row is not None
    return int(row[0])


def test_measurements_reported_to_one_host_are_read_and_summed_on_the_other(
    hosts: list[Client],
) -> None:
    one, two = hosts
    one.schema()
    table = one.table()["id"]
    query = one.create("queries", query="SELECT 1", service="service")["id"]
    at = int(time.time() * 1_000)
    profile = {"tableProfile": {"timestamp": at, "rowCount": 7.0}}
    path = f"/v1/tables/{table}"
    position = one.request("GET", path).headers["X-Catalog-Position"]
    seen = {"X-Catalog-Position": position}
    assert one.ask("PUT", f"{path}/tableProfile", json=profile)[0] == 200
    status, shown = two.ask("GET", f"{path}/tableProfile", headers=seen)
    assert (status, [each["rowCount"] for each in shown["data"]]) == (200, [7.0])

    sample = {"columns": ["id"], "rows": [[1]]}
    assert two.ask("PUT", f"{path}/sampleData", json=sample)[0] == 200
    assert one.get(f"{path}/sampleData")["sampleData"] == sample

    today = str(datetime.now(UTC).date())
    for host, count in ((one, 5), (two, 8)):
        use = {"date": today, "count": count}
        assert host.ask("POST", f"/v1/usage/table/{table}", json=use)[0] == 200
    ranked = one.request("POST", f"/v1/usage/compute.percentile/table/{today}")
    assert ranked.status_code == 201, ranked.text
    for host in hosts:
        (day,) = host.get(f"/v1/usage/table/{table}", date=today)["usage"]
        assert day["monthlyStats"] == {"count": 8, "percentileRank": 0.0}

    for host, back in ((one, 0), (two, 1)):
        reference = {"id": query, "type": "query"}
        cost = {"timestamp": at - back, "queryReference": reference, "cost": 2.5, "count": 4}
        assert host.ask("POST", "/v1/queryCostRecord", json=cost)[0] == 200
    for host in hosts:
        sums = host.get("/v1/queryCostRecord/service/service")["overallStats"]
        assert (sums["totalCost"], sums["totalExecutionCount"]) == (20.0, 8)

    assert one.ask("DELETE", f"{path}/table/{at}/profile")[0] == 200
    assert two.get(f"{path}/tableProfile")["data"] == []
    assert not [*one.directory.glob("measurements.db*"), *two.directory.glob("measurements.db*")]


def test_result_of_a_test_reported_to_one_host_is_shown_by_the_other(hosts: list[Client]) -> None:
    one, two = hosts
    one.schema()
    one.table()
    definition = {
        "name": "count",
        "description": "rows",
        "entityType": "TABLE",
        "testPlatforms": ["OpenMetadata"],
    }
    assert one.ask("POST", "/v1/dataQuality/testDefinitions", json=definition)[0] == 201
    link = "<#E::table::service.database.schema.orders>"
    case = {"name": "enough", "entityLink": link, "testDefinition": "count"}
    response = one.request("POST", "/v1/dataQuality/testCases", json=case)
    assert response.status_code == 201, response.text
    path = f"/v1/dataQuality/testCases/testCaseResults/{response.json()['fullyQualifiedName']}"
    result = {"timestamp": int(time.time() * 1_000), "testCaseStatus": "Failed"}
    assert one.ask("POST", path, json=result)[0] in (200, 201)
    seen = {"X-Catalog-Position": response.headers["X-Catalog-Position"]}
    status, shown = two.ask("GET", path, headers=seen)
    assert (status, [each["testCaseStatus"] for each in shown["data"]]) == (200, ["Failed"])
