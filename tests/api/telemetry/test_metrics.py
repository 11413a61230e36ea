"""Metrics that a scraper gets, and proof that it gets nothing else."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from socket import gethostname

import anyio
import msgspec
import pytest

from api.callers.work_queue import WorkQueue
from api.routes.system import system
from api.telemetry.shared_counts import QUEUES, SharedCounts
from benchmarks.postgres_server import PostgresServer, new_schema
from projections.feeding.daemon import ProjectorState, State, states_path
from tests.api.conftest import Client, running
from tests.api.served_metrics import families, measured, sample


@pytest.fixture(params=["files", "database"])
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Client]:
    """A catalog of which every metric has a sample, in files and in a database."""
    options = {}
    if request.param == "database":
        server: PostgresServer = request.getfixturevalue("postgres")
        options["database_url"] = server.url(new_schema())
    with measured(tmp_path, **options) as started:
        yield started


def test_scraper_reads_the_metrics_and_nothing_else(empty: Client) -> None:
    assert empty.request("GET", "/metrics", role="scraper").status_code == 200
    for path in (
        "/v1/tables",
        "/v1/search/query?q=x",
        "/v1/audit/events",
        "/v1/system/projections",
        "/v1/lineage/table/x",
    ):
        assert empty.request("GET", path, role="scraper").status_code in (403, 404), path
    assert empty.request("GET", "/v1/tables", role="scraper").status_code == 403
    assert empty.http.get("/metrics").status_code == 401
    assert empty.request("GET", "/metrics", role="editor").status_code == 403


def test_metrics_tell_of_log_read_models_disk_and_proofs(client: Client) -> None:
    alive = client.http.get("/healthz").json()
    host, build = gethostname(), {"release": alive["release"], "commit": alive["commit"]}

    assert sample(client, "catalog_build_info", **build) == 1
    assert sample(client, "catalog_ready") == 1
    assert sample(client, "catalog_log_head") == 3
    assert sample(client, "catalog_log_read_only") == 0
    assert (sample(client, "catalog_log_size_bytes") or 0) > 8_192
    for projection in ("entities", "search"):
        assert sample(client, "catalog_projection_entities", projection=projection) == 3
        size = sample(client, "catalog_projection_size_bytes", projection=projection)
        assert (size or 0) > 1_000
        state = {"projection": projection, "state": "running"}
        assert sample(client, "catalog_projection_state", **state) == 1
        led = sample(client, "catalog_projection_leader", projection=projection, host=host)
        assert led == 1
    size, left = (sample(client, f"catalog_disk_{name}_bytes") or 0 for name in ("size", "left"))
    assert 0 < left <= size
    assert 59 < (sample(client, "catalog_proof_age_seconds", part="log") or 0) < 600
    assert sample(client, "catalog_proof_equal", part="log") == 1
    assert sample(client, "catalog_proof_equal", part="search") == 0
    assert sample(client, "catalog_proof_equal", part="entities") is None


def test_metrics_tell_that_a_host_is_not_ready_and_which_projection_stopped(
    client: Client,
) -> None:
    states = {"entities": ProjectorState(), "search": ProjectorState(State.STOPPED, "poison")}
    states_path(client.directory).write_bytes(msgspec.json.encode(states))

    assert sample(client, "catalog_ready") == 0
    stopped = {"projection": "search", "state": "stopped"}
    assert sample(client, "catalog_projection_state", **stopped) == 1


def test_refused_requests_are_counted_by_status_and_reason(tmp_path: Path) -> None:
    with running(tmp_path, rate_limit=0.001, rate_burst=3) as client:
        client.http.get("/v1/tables")
        client.http.get("/v1/tables", headers={"Authorization": "Bearer x"})
        client.request("GET", "/v1/audit/events", role="reader")
        for _ in range(5):
            client.request("GET", "/v1/tables", role="editor")
        counted = {
            (each.labels["status"], each.labels["reason"]): each.value
            for family in families(client)
            for each in family.samples
            if each.name == "catalog_refusals_total" and each.value
        }

    assert counted == {
        ("401", "no bearer token"): 1,
        ("401", "no token that can be read"): 1,
        ("403", "no permission"): 1,
        ("429", "too many requests a second"): 2,
    }


def test_queues_tell_what_runs_and_what_waits() -> None:
    counts, go_on = SharedCounts.made(1), threading.Event()
    turns = WorkQueue(1)
    turns.report = lambda running, waiting: counts.own.set_queue(1, running, waiting)
    seen = []

    async def look() -> None:
        async with anyio.create_task_group() as tasks:
            for number in range(3):
                tasks.start_soon(turns.go_on, f"caller {number % 2}", go_on.wait)
            await anyio.wait_all_tasks_blocked()
            seen.append(counts.own.queues[QUEUES[1]])
            go_on.set()
        seen.append(counts.own.queues[QUEUES[1]])

    anyio.run(look)

    assert seen == [(1, 2), (0, 0)]


def test_work_of_a_client_that_left_does_not_wait_any_more() -> None:
    counts, go_on = SharedCounts.made(1), threading.Event()
    turns = WorkQueue(1)
    turns.report = lambda running, waiting: counts.own.set_queue(0, running, waiting)
    seen = []

    async def look() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(turns.go_on, "a", go_on.wait)
            await anyio.wait_all_tasks_blocked()
            with anyio.CancelScope() as scope:
                tasks.start_soon(_cancel, scope)
                await turns.go_on("b", go_on.wait)
            seen.append(counts.own.queues[QUEUES[0]])
            go_on.set()

    async def _cancel(scope: anyio.CancelScope) -> None:
        await anyio.wait_all_tasks_blocked()
        scope.cancel()

    anyio.run(look)

    assert seen == [(1, 0)]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux tells")
def test_processes_tell_their_time_and_memory(client: Client) -> None:
    used = sample(client, "catalog_process_cpu_seconds_total", process="worker-1")
    memory = sample(client, "catalog_process_resident_memory_bytes", process="worker-1")

    assert used is not None
    assert 0 < used <= sum(os.times()[:2]) + 1
    assert memory is not None
    assert memory > 10_000_000


def test_scrape_asks_for_no_details_of_the_read_models(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers by kind, of each entity, are for commands: a scrape costs the same at any size."""
    inspect, asked = system.inspect, []
    monkeypatch.setattr(
        system, "inspect", lambda stores, **given: asked.append(given) or inspect(stores, **given)
    )

    families(client)

    assert asked == [{}]
