"""Events of OpenLineage at real servers: two workers, a kill amid a batch, and clients that run."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from domain.event_store.opening import open_event_log
from tests.api.openlineage.captured import (
    DUCK,
    MAPPING,
    captured,
    fill,
    needs_captured,
    run_event,
)
from tests.docs.blocks import ROOT, blocks, commands, is_as_printed
from tests.docs.test_typed import ADDRESS, MARK
from tests.e2e.conftest import NO_AUTHORITIES, Server, catalog, serving
from tests.waiting import until

COMMAND = os.environ.get("DBT_OL_COMMAND", "")
needs_dbt_ol = pytest.mark.skipif(
    not COMMAND, reason="DBT_OL_COMMAND is the path of dbt-ol in an environment of its own"
)
PIPELINE = "/v1/pipelines/shop_ci.dbt-run-shop/status"
SEEDS = {
    "raw_customers": "id,name,email\n1,Ann,ann@example.org\n2,Bo,bo@example.org\n",
    "raw_orders": "id,customer_id,amount_cents,status,ordered_at\n1,1,500,paid,2026-01-05\n"
    "2,2,700,odd,2026-01-06\n",
}
MODELS = {
    "stg_customers": "select id as customer_id, name as customer_name, lower(email) as email"
    " from {{ ref('raw_customers') }}",
    "stg_orders": "select id as order_id, customer_id, amount_cents / 100 as amount, status,"
    " ordered_at from {{ ref('raw_orders') }}",
    "orders": "select o.order_id, o.customer_id, c.customer_name, o.amount, o.status, o.ordered_at"
    " from {{ ref('stg_orders') }} o join {{ ref('stg_customers') }} c"
    " on o.customer_id = c.customer_id",
}
TESTS = """
version: 2
models:
  - name: orders
    description: One row for each order.
    columns:
      - name: order_id
        description: The key of an order.
        data_tests: [unique, not_null]
      - name: status
        data_tests:
          - accepted_values:
              arguments: {values: [paid, shipped]}
"""
PROJECT = """
name: shop
version: "1.0"
profile: shop
models:
  shop: {+materialized: table}
"""
PYTHON = """
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.transport.http import HttpCompression, HttpConfig, HttpTransport
from openlineage.client.transport.http import ApiKeyTokenProvider
import os
config = HttpConfig(
    url=os.environ["OPENLINEAGE_URL"],
    auth=ApiKeyTokenProvider({"apiKey": os.environ["OPENLINEAGE_API_KEY"]}),
    compression=HttpCompression.GZIP,
)
client = OpenLineageClient(transport=HttpTransport(config))
client.emit(RunEvent(
    eventType=RunState.COMPLETE, eventTime="2026-11-23T07:00:00Z",
    run=Run(runId="01a20740-0000-7000-8000-00000000000a"), job=Job("jobs", "packed"),
    inputs=[InputDataset(NAMESPACE, "shop.sales.orders")],
    outputs=[OutputDataset(NAMESPACE, "shop.sales.daily_revenue")],
    producer="https://example.org/etl",
))
"""


class Filling:
    """A server, in the words in which captured events are given their catalog."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def create(self, collection: str, **body: Any) -> Any:
        return self._server.post(f"/v1/{collection}", **body)


@contextmanager
def door(directory: Path, *arguments: str, mapping: str = MAPPING, **more: Any) -> Iterator[Server]:
    """A server with rules for the names of the dbt project."""
    file = directory / "openlineage.toml"
    file.write_text(mapping)
    with serving(directory, *arguments, CATALOG_OPENLINEAGE=str(file), **more) as server:
        yield server


def head(directory: Path) -> int:
    with closing(open_event_log(directory / "events.db")) as log:
        return log.head()


def is_drawn(server: Server, source: str, target: str) -> bool:
    names = "/".join(f"table/name/duck.shop.sales.{name}" for name in (source, target))
    return server.http.get(f"/v1/lineage/getLineageEdge/{names}").status_code == 200


@needs_captured
def test_two_workers_store_events_once(tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chosen = random.Random(seed)
    events = [*captured("dbt-run-duckdb"), *captured("dbt-build-structured-duckdb")] * 2
    chosen.shuffle(events)
    with door(tmp_path, "--workers", "2") as server:
        fill(Filling(server))
        patch = [{"op": "add", "path": "/description", "value": "What people say."}]
        path = "/v1/tables/name/duck.shop.sales.orders"
        headers = {"Content-Type": "application/json-patch+json"}
        people = server.http.patch(path, json=patch, headers=headers)
        assert people.status_code == 200

        def send(event: dict[str, Any]) -> int:
            # A connection of its own may lead to either worker.
            address = server.http.base_url.join("/api/v1/lineage")
            own = {"Authorization": server.http.headers["Authorization"]}
            answer = httpx.post(address, json=event, headers=own, timeout=60, verify=NO_AUTHORITIES)
            assert isinstance(answer.status_code, int)
            return answer.status_code

        with ThreadPoolExecutor(8) as threads:
            assert {*threads.map(send, events)} == {200}
        before = head(tmp_path)
        with ThreadPoolExecutor(8) as threads:
            assert {*threads.map(send, events)} == {200}
        assert head(tmp_path) == before
        edges = [
            *(("raw_customers", "stg_customers"), ("raw_orders", "stg_orders")),
            *(("stg_customers", "orders"), ("stg_orders", "orders")),
            *(("orders", "customer_totals"), ("orders", "daily_revenue")),
        ]
        assert [ends for ends in edges if not is_drawn(server, *ends)] == []
        assert server.get(path)["description"] == "What people say."
        runs = server.get(PIPELINE)["data"]
        assert sorted(each["executionStatus"] for each in runs) == ["Failed", "Successful"]
        cases = server.get("/v1/dataQuality/testCases", limit=100)["data"]
        names = [each["fullyQualifiedName"] for each in cases]
        assert len(names) == len({*names})
        failed = 0
        for name in names:
            results = server.get(f"/v1/dataQuality/testCases/testCaseResults/{name}")["data"]
            failed += sum(each["testCaseStatus"] == "Failed" for each in results)
        assert failed == 1


@pytest.mark.parametrize("delay", [0.0, 0.05, 0.15])
def test_batch_that_was_killed_is_doubled_nowhere(tmp_path: Path, delay: float) -> None:
    events = [
        run_event(job=f"j{number}", run=f"r{number}", reads=("orders",), writes=(f"t{number}",))
        for number in range(300)
    ]
    with door(tmp_path) as server:
        fill(Filling(server))
        tables = [
            {
                "name": f"t{number}",
                "databaseSchema": "duck.shop.sales",
                "columns": [{"name": "order_id", "dataType": "INT"}],
            }
            for number in range(300)
        ]
        assert server.http.put("/v1/tables/bulk", json=tables).status_code == 200
        with ThreadPoolExecutor(1) as threads:
            sent = threads.submit(server.http.post, "/v1/lineage/batch", json=events)
            with suppress(TimeoutError):
                sent.exception(timeout=delay)
            server.process.send_signal(signal.SIGKILL)
            server.process.wait(60)
            with suppress(httpx.TransportError):
                sent.result()
    with door(tmp_path) as server:
        for _ in range(2):
            answer = server.http.post("/v1/lineage/batch", json=events).json()
            assert answer["summary"]["successful"] == 300
        walk = server.get(
            "/v1/lineage/table/name/duck.shop.sales.orders", upstreamDepth=0, downstreamDepth=1
        )
        assert len(walk["downstreamEdges"]) == 300
        pipelines = server.get("/v1/pipelines", limit=1_000)
        assert pipelines["paging"]["total"] == 300
        for number in (0, 150, 299):
            assert len(server.get(f"/v1/pipelines/jobs.j{number}/status")["data"]) == 1
        server.stop()
    with closing(open_event_log(tmp_path / "events.db")) as log:
        created = [
            each for each in log.read(0, 100_000) if each.event.kind in ("lineageEdge", "pipeline")
        ]
        assert len({each.entity_id for each in created}) == 600


def project(directory: Path) -> Path:
    """A project of dbt on a DuckDB file, one of whose tests fails."""
    shop = directory / "shop"
    for folder, files, ending in (("seeds", SEEDS, "csv"), ("models", MODELS, "sql")):
        (shop / folder).mkdir(parents=True)
        for name, text in files.items():
            (shop / folder / f"{name}.{ending}").write_text(text)
    (shop / "models" / "schema.yml").write_text(TESTS)
    (shop / "dbt_project.yml").write_text(PROJECT)
    target = {"type": "duckdb", "path": str(shop / "shop.duckdb"), "schema": "sales"}
    profile = {"shop": {"target": "dev", "outputs": {"dev": target}}}
    (shop / "profiles.yml").write_text(json.dumps(profile))
    return shop


def dbt_ol(shop: Path, server: Server, token: str, *arguments: str) -> None:
    """Run dbt-ol, whatever dbt itself comes to; one of its tests fails."""
    environment = {
        **os.environ,
        "PATH": f"{Path(COMMAND).parent}{os.pathsep}{os.environ['PATH']}",
        "DBT_PROFILES_DIR": str(shop),
        "OPENLINEAGE_URL": str(server.http.base_url),
        "OPENLINEAGE_API_KEY": token,
        "OPENLINEAGE_NAMESPACE": "shop_ci",
    }
    done = subprocess.run(
        [COMMAND, *arguments],
        cwd=shop,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "Emitted" in done.stdout + done.stderr or done.returncode in (0, 1), done.stderr


@needs_dbt_ol
@pytest.mark.parametrize("mode", [(), ("--consume-structured-logs",)], ids=["plain", "structured"])
def test_dbt_that_runs_is_lineage_and_results(tmp_path: Path, mode: tuple[str, ...]) -> None:
    shop = project(tmp_path)
    with door(tmp_path) as server:
        fill(Filling(server))
        token = catalog(
            "token", "--data", str(tmp_path), "--subject", "dbt", "--role", "bot"
        ).stdout.strip()
        commands = [["build"]] if mode else [["seed"], ["run"], ["test"]]
        for command in commands * 2:
            dbt_ol(shop, server, token, *mode, *command)
        edges = [("raw_customers", "stg_customers"), ("raw_orders", "stg_orders")]
        edges += [("stg_customers", "orders"), ("stg_orders", "orders")]
        until(lambda: all(is_drawn(server, *ends) for ends in edges))
        before = head(tmp_path)
        for command in commands:
            dbt_ol(shop, server, token, *mode, *command)
        assert head(tmp_path) == before
        cases = server.get("/v1/dataQuality/testCases", limit=100)["data"]
        by_name = {each["name"]: each["fullyQualifiedName"] for each in cases}
        failing = by_name["accepted_values_orders_status__paid__shipped"]
        results = server.get(f"/v1/dataQuality/testCases/testCaseResults/{failing}")["data"]
        assert {each["testCaseStatus"] for each in results} == {"Failed"}
        assert len(results) == 3
        table = server.get("/v1/tables/name/duck.shop.sales.orders")
        assert table["description"] == "One row for each order."


@needs_dbt_ol
def test_python_client_sends_packed_events(tmp_path: Path) -> None:
    with door(tmp_path) as server:
        fill(Filling(server))
        token = catalog(
            "token", "--data", str(tmp_path), "--subject", "etl", "--role", "bot"
        ).stdout.strip()
        script = PYTHON.replace("NAMESPACE", repr(DUCK))
        environment = {
            **os.environ,
            "OPENLINEAGE_URL": str(server.http.base_url),
            "OPENLINEAGE_API_KEY": token,
        }
        python = Path(COMMAND).with_name("python")
        assert shutil.which(python), python
        done = subprocess.run(
            [str(python), "-c", script],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert is_drawn(server, "orders", "daily_revenue")


@needs_dbt_ol
def test_walk_from_an_empty_catalog_prints_what_the_page_shows(tmp_path: Path) -> None:
    (block,) = [each for each in blocks("docs/openlineage.md") if each.reason == "needs dbt-ol"]
    typed = commands(block)
    shutil.copytree(ROOT / "docs" / "shop", tmp_path / "docs" / "shop")
    programs = (Path(sys.executable).parent, Path(COMMAND).parent, os.environ["PATH"])
    mapping = (tmp_path / "docs" / "shop" / "openlineage.toml").read_text()
    with door(tmp_path, mapping=mapping) as server:
        address = str(server.http.base_url).rstrip("/")
        script = "".join(f"{command.text}\necho '{MARK}'\n" for command in typed)
        done = subprocess.run(
            ["bash", "-c", "exec 2>&1\n" + script.replace(ADDRESS, address)],
            cwd=tmp_path,
            env={**os.environ, "PATH": ":".join(map(str, programs)), "CATALOG_DATA": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        printed = done.stdout.split(f"{MARK}\n")[:-1]
        for command, text in zip(typed, printed, strict=True):
            shown = command.printed.replace(ADDRESS, address)
            assert not shown or is_as_printed(text, shown), f"{command.text}\n{text}"
