"""The connector of Dagster over jobs that have run: pipelines, runs and lineage."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from tests.e2e.openmetadata.conftest import (
    SINK,
    Catalog,
    catalog_for_connectors,
    ingest_shop,
    needs_metadata,
    needs_postgres,
    shop_in_postgres,
    source,
)
from tests.waiting import until

COMMAND = os.environ.get("DAGSTER_COMMAND", "")
"""The executable `dagster`, with `dagster-webserver` beside it, or nothing."""

pytestmark = [
    needs_metadata,
    needs_postgres,
    pytest.mark.skipif(not COMMAND, reason="DAGSTER_COMMAND does not name the command of Dagster"),
    pytest.mark.xdist_group("openmetadata"),
]

JOBS = Path(__file__).with_name("dagster_jobs.py")


class Dagster(NamedTuple):
    """A catalog with the tables of the shop, and the address of a Dagster that makes them."""

    catalog: Catalog
    address: str

    def ingest(self, *left_out: str) -> None:
        """Run the connector, as its documentation shows, over all jobs but some."""
        config = source(
            "dagster",
            "dagster",
            {"type": "Dagster", "host": self.address},
            type="PipelineMetadata",
            lineageInformation={"dbServiceNames": ["warehouse"]},
            pipelineFilterPattern={"excludes": list(left_out)},
        )
        self.catalog.run("ingest", source=config, sink=SINK)


@pytest.fixture(scope="module")
def dagster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dagster]:
    """A Dagster of whose two jobs each has run once: `nightly` has succeeded, `hourly` failed."""
    home = tmp_path_factory.mktemp("dagster")
    environment = {**os.environ, "DAGSTER_HOME": str(home)}
    for job, status in (("nightly", 0), ("hourly", 1)):
        command = [COMMAND, "job", "execute", "-f", str(JOBS), "-j", job]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == status, done.stderr[-4_000:]
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    web = subprocess.Popen(
        [f"{COMMAND}-webserver", "-f", str(JOBS), "-p", str(port)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        until(lambda: answers(address), seconds=60)
        with (
            shop_in_postgres() as postgres,
            catalog_for_connectors(tmp_path_factory.mktemp("catalog")) as catalog,
        ):
            ingest_shop(catalog, postgres)
            yield Dagster(catalog, address)
    finally:
        web.terminate()
        web.wait(30)


def answers(address: str) -> bool:
    """Return True once a web server answers."""
    try:
        return httpx.get(f"{address}/server_info").status_code == 200
    except httpx.TransportError:
        return False


def pipelines(catalog: Catalog) -> dict[str, Any]:
    """The pipelines with their newest run, by the name that people see."""
    listed = catalog.server.get("/v1/pipelines", service="dagster")["data"]
    names = [each["fullyQualifiedName"] for each in listed]
    read = [
        catalog.server.get(f"/v1/pipelines/name/{name}", fields="pipelineStatus") for name in names
    ]
    return {pipeline["displayName"]: pipeline for pipeline in read}


def newest_runs(pipeline: Any) -> list[tuple[str, str]]:
    """The tasks of the newest run of a pipeline with their outcome; none without a run."""
    tasks = pipeline.get("pipelineStatus", {}).get("taskStatus", [])
    return [(task["name"], task["executionStatus"]) for task in tasks]


def test_jobs_come_with_runs_and_the_next_run_stores_only_whose_the_shared_edge_is(
    dagster: Dagster,
) -> None:
    catalog = dagster.catalog
    dagster.ingest()

    jobs = pipelines(catalog)
    tasks = {name: [task["name"] for task in job["tasks"]] for name, job in jobs.items()}
    both = ["shop__sales__orders", "shop__sales__revenue"]
    every = ["shop__sales__customers", *both]
    assert tasks == {"__ASSET_JOB": every, "hourly": every, "nightly": both}
    # Dagster tells of each task by itself: of a run, the task that began last is the newest.
    assert {name: newest_runs(job) for name, job in jobs.items()} == {
        "__ASSET_JOB": [],
        "hourly": [("shop__sales__revenue", "Successful")],
        "nightly": [("shop__sales__revenue", "Successful")],
    }
    runs = catalog.server.get(
        f"/v1/pipelines/{jobs['hourly']['fullyQualifiedName']}/status", startTs=0, endTs=2**52
    )["data"]
    assert ("shop__sales__customers", "Failed") in [
        (task["name"], task["executionStatus"]) for run in runs for task in run["taskStatus"]
    ]

    head = catalog.head()
    dagster.ingest()
    events = catalog.server.get("/v1/audit/events", after=head)["data"]
    assert {event["kind"] for event in events} == {"lineageEdge"}
    assert {each["path"] for event in events for each in event["patch"]} == {
        "/pipeline/id",
        "/pipeline/name",
        "/pipeline/fullyQualifiedName",
    }
    assert len(events) <= len(jobs)
    assert pipelines(catalog) == jobs

    dagster.ingest("__ASSET_JOB", "hourly")
    head = catalog.head()
    dagster.ingest("__ASSET_JOB", "hourly")
    assert catalog.head() == head
    catalog.verify()
