"""Two hosts over one database: lists of both show each write when its answer comes."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from socket import gethostname
from typing import Any

import pytest

from benchmarks.postgres_server import PostgresServer, new_schema
from tests.api.conftest import Client, running

SERVICES = "/v1/services/databaseServices"


@pytest.fixture
def hosts(postgres: PostgresServer, tmp_path: Path) -> Iterator[list[Client]]:
    """Clients of two applications; the first one feeds the lists."""
    url, directories = postgres.url(new_schema()), [tmp_path / name for name in ("leads", "waits")]
    with ExitStack() as stack:
        for directory in directories:
            directory.mkdir()
        yield [stack.enter_context(running(each, database_url=url)) for each in directories]


def names(page: dict[str, Any]) -> list[str]:
    return [each["name"] for each in page["data"]]


def test_lists_of_every_host_show_a_write_once_it_is_answered(hosts: list[Client]) -> None:
    written: list[str] = []
    for number in range(6):
        name = f"service-{number}"
        hosts[number % 2].create("services/databaseServices", name=name, serviceType="Mysql")
        written.append(name)
        for client in hosts:
            assert names(client.get(SERVICES)) == written
            assert client.get(f"{SERVICES}/name/{name}")["name"] == name


def test_reads_are_answered_as_from_a_file(hosts: list[Client], tmp_path: Path) -> None:
    directory = tmp_path / "file"
    directory.mkdir()
    with running(directory) as file:
        for client in (hosts[1], file):
            client.schema()
            client.table()
        for path in (
            "/v1/tables?limit=1",
            "/v1/tables?fields=columns,tags&databaseSchema=shop.db.sales",
            "/v1/tables?limit=0",
            "/v1/tables?limit=100000&include=all",
            "/v1/tables?tableRegex=^ord",
            "/v1/tables/name/shop.db.sales.orders?fields=*",
            "/v1/tables/name/nowhere",
            "/v1/tables?after=made-up",
        ):
            answers = [client.ask("GET", path) for client in (*hosts, file)]
            assert answers[0] == answers[1], path
            assert plain(answers[0]) == plain(answers[2]), path
        assert hosts[0].http.get("/readyz").json() == {"ready": True, "problems": []}


def plain(answer: Any) -> Any:
    """An answer without what differs between two catalogs of the same content."""
    if isinstance(answer, dict):
        differs = ("id", "updatedAt", "after", "before", "requestId")
        return {key: plain(value) for key, value in answer.items() if key not in differs}
    return [*map(plain, answer)] if isinstance(answer, (list, tuple)) else answer


def test_each_host_tells_of_the_lists_that_all_share(hosts: list[Client]) -> None:
    hosts[1].create("services/databaseServices", name="a", serviceType="Mysql")
    told = [client.get("/v1/system/projections")["projections"][0] for client in hosts]
    assert told[0] == told[1]
    assert (told[0]["state"], told[0]["lag"], told[0]["generation"]) == ("running", 0, 1)
    assert told[0]["leader"] == gethostname()
