"""Two workers share the connections, and any of them tells what both did."""

import os
import signal
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import httpx
import pytest

from api.callers.tokens.minting import find_minter, mint
from api.settings import read_settings
from tests.e2e.conftest import Server
from tests.e2e.family import Family, all_serve, clients, family, metric, shares
from tests.waiting import until

LIST = 'catalog_request_seconds_count{method="GET",route="/v1/glossaries",status="200"}'


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory that holds the data directory of the shared family."""
    return tmp_path_factory.mktemp("family")


@pytest.fixture(scope="module")
def shared(directory: Path) -> Iterator[Family]:
    """Processes of which no test ends one."""
    with family(directory) as running:
        yield running


def ask(asking: list[httpx.Client]) -> None:
    for client in asking * 20:
        assert client.get("/v1/glossaries").status_code == 200


def test_any_scrape_has_the_requests_of_all_workers_also_of_one_that_was_killed(
    tmp_path: Path,
) -> None:
    with family(tmp_path) as running:
        server = running.server
        with clients(server, 8) as asking:
            ask(asking)
            until(lambda: {metric(client, LIST) for client in asking} == {160})
            assert min(shares(asking[0])) > 0

            victim = running.children()["worker-1"]
            os.kill(victim, signal.SIGKILL)
            with clients(server, 1) as (survivor,):
                assert metric(survivor, LIST) == 160
        until(lambda: victim not in running.children().values() and len(running.children()) == 3)

        until(lambda: all_serve(server))
        with clients(server, 8) as asking:
            ask(asking)
            until(lambda: {metric(client, LIST) for client in asking} == {320})


def lesser_share(server: Server) -> float:
    """Return how many of 21 connections the worker has that has fewer of them."""
    # Another one waits for the projections to be ready; others of other tests have been closed.
    with clients(server, 1) as (asking,):
        until(lambda: sum(shares(asking)) == 2)
    with clients(server, 20) as asking:
        until(lambda: sum(shares(asking[0])) == 21)
        return min(shares(asking[0]))


def test_no_worker_has_most_connections(shared: Family) -> None:
    # A worker gets fewer if a busy machine has no processor for it while the other one waits. It is
    # tried again for that, but not for long: workers that do not wait share evenly now and then.
    tries = (lesser_share(shared.server) for _ in range(12))
    assert len(list(islice((share for share in tries if share == 10), 4))) == 4


def test_any_scrape_tells_how_far_the_projections_are(shared: Family) -> None:
    with clients(shared.server, 6) as asking:
        assert min(shares(asking[0])) > 0
        for number in range(3):
            shared.server.post("/v1/glossaries", name=f"g{number}", description="")

        for name in (
            "catalog_log_head",
            'catalog_projection_checkpoint{projection="entities"}',
            'catalog_projection_checkpoint{projection="search"}',
        ):
            # 34 events are the catalog's own: what it has from its start.
            until(lambda name=name: {metric(client, name) for client in asking} == {37})  # type: ignore[misc]
        for projection in ("entities", "search"):
            lag = f'catalog_projection_lag_events{{projection="{projection}"}}'
            assert {metric(client, lag) for client in asking} == {0}


def memories(asking: list[httpx.Client]) -> list[set[float]]:
    """Return, for each scrape, if each process takes memory."""
    name = "catalog_process_resident_memory_bytes"
    return [
        {metric(client, f'{name}{{process="{each}"}}') > 10_000_000 for client in asking}
        for each in ("worker-1", "worker-2", "supervisor", "projecting")
    ]


def test_any_scrape_tells_what_each_process_takes(shared: Family) -> None:
    with clients(shared.server, 6) as asking:
        assert min(shares(asking[0])) > 0
        until(lambda: memories(asking) == [{True}] * 4)


@pytest.mark.deep
def test_any_scrape_tells_what_each_process_takes_also_one_that_was_replaced(
    tmp_path: Path,
) -> None:
    with family(tmp_path) as running:
        with clients(running.server, 6) as asking:
            assert min(shares(asking[0])) > 0
            until(lambda: memories(asking) == [{True}] * 4)
        victim = running.children()["worker-1"]
        os.kill(victim, signal.SIGKILL)
        until(lambda: victim not in running.children().values() and len(running.children()) == 3)
        until(lambda: all_serve(running.server))
        with clients(running.server, 6) as asking:
            until(lambda: memories(asking) == [{True}] * 4)
            assert {metric(client, "catalog_ready") for client in asking} == {1}


def test_any_scrape_has_the_refusals_of_all_workers(shared: Family, directory: Path) -> None:
    refused = 'catalog_refusals_total{reason="no permission",status="403"}'
    with clients(shared.server, 6) as asking:
        assert min(shares(asking[0])) > 0
        token = mint(
            find_minter(read_settings({}, data=str(directory / "d"))), "r", ("reader",), 600
        )
        for client in asking:
            as_reader = {"Authorization": f"Bearer {token}"}
            assert client.get("/v1/audit/events", headers=as_reader).status_code == 403

        until(lambda: {metric(client, refused) for client in asking} == {6})
