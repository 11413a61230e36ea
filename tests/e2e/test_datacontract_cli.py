"""The real datacontract-cli 1.2.8, unmodified, against a server on a socket.

Opt-in: DATACONTRACT_COMMAND names the command of an environment with `datacontract-cli[duckdb]`.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Server, serving

COMMAND = os.environ.get("DATACONTRACT_COMMAND", "")
pytestmark = pytest.mark.skipif(
    not COMMAND, reason="DATACONTRACT_COMMAND does not name datacontract"
)
DOCUMENT = """\
apiVersion: v3.1.0
kind: DataContract
id: {id}
version: 1.0.0
status: active
servers:
  - {{server: files, type: local, path: "{folder}/{{model}}.csv", format: csv, delimiter: ","}}
  - {{server: warehouse, type: postgres, host: db, port: 5432, database: shop, schema: public}}
schema:
  - name: orders
    properties:
      - {{name: id, logicalType: integer, required: true, unique: true}}
      - name: status
        logicalType: string
        quality:
          - {{type: library, metric: invalidValues, arguments: {{validValues: [paid]}}, mustBe: 0}}
  - name: customers
    properties:
      - {{name: id, logicalType: integer, required: true}}
"""


class Shop:
    """A server with two tables, and the folder of who types."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.address = str(server.http.base_url).rstrip("/")
        self.file = folder / "shop.odcs.yaml"
        self.rows(1, 2)
        (folder / "customers.csv").write_text("id\n1\n")

    def rows(self, *ids: int) -> None:
        lines = [f"{each},paid" for each in ids]
        (self.folder / "orders.csv").write_text("\n".join(["id,status", *lines, ""]))

    def write(self, document_id: str) -> None:
        self.file.write_text(DOCUMENT.format(id=document_id, folder=self.folder))

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        token = self.server.http.headers["Authorization"].removeprefix("Bearer ")
        return subprocess.run(
            [COMMAND, *arguments],
            env={
                **os.environ,
                "ENTROPY_DATA_HOST": self.address,
                "ENTROPY_DATA_API_KEY": token,
                "COLUMNS": "400",
            },
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def contract(self, table: str) -> dict[str, Any]:
        """The contract of a table, with its newest result."""
        http = self.server.http
        found = http.get(f"/v1/tables/name/shop.shop.public.{table}").json()
        (contract,) = http.get("/v1/dataContracts", params={"entity": found["id"]}).json()["data"]
        asked = {"fields": "latestResult"}
        body: dict[str, Any] = http.get(f"/v1/dataContracts/{contract['id']}", params=asked).json()
        return body

    def statuses(self) -> list[str]:
        """How the newest tests of both contracts ended."""
        tables = ("orders", "customers")
        return [self.contract(each)["latestResult"]["status"] for each in tables]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    folder = tmp_path_factory.mktemp("shop")
    with serving(folder / "data") as server:
        for path, body in {
            "services/databaseServices": {"name": "shop", "serviceType": "Postgres"},
            "databases": {"name": "shop", "service": "shop"},
            "databaseSchemas": {"name": "public", "database": "shop.shop"},
        }.items():
            assert server.http.post(f"/v1/{path}", json=body).status_code == 201
        for name in ("orders", "customers"):
            columns = [{"name": each, "dataType": "INT"} for each in ("id", "status")]
            table = {"name": name, "databaseSchema": "shop.shop.public", "columns": columns}
            assert server.http.post("/v1/tables", json=table).status_code == 201
        yield Shop(server, folder)


@pytest.mark.parametrize("document_id", ["orders", "urn:shop:orders", "a b/c?d#e", "../x", "é/.."])
def test_publish_is_a_success_for_ids_of_any_shape(shop: Shop, document_id: str) -> None:
    shop.write(document_id)

    first, second = shop.run("publish", shop.file.name), shop.run("publish", shop.file.name)

    for done in (first, second):
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Published data contract successfully" in done.stdout
        assert f"Open {shop.address}/entity/dataContract/shop.shop.public." in done.stdout
    path = f"/v1/dataContracts/{shop.contract('orders')['id']}/odcs"
    assert shop.server.http.get(path).json()["id"] == document_id


def test_refused_document_fails_with_the_reason(shop: Shop) -> None:
    shop.write("nowhere")
    shop.file.write_text(shop.file.read_text().replace("schema: public", "schema: absent"))

    done = shop.run("publish", shop.file.name)

    assert done.returncode == 1
    assert "catalogEntity" in done.stdout


def test_tests_are_reported_and_files_are_compared_by_address(shop: Shop) -> None:
    shop.write("tested")
    assert shop.run("publish", shop.file.name).returncode == 0
    to = ("--publish", f"{shop.address}/api/test-results")

    passed = shop.run("test", shop.file.name, *to)
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert f"Open {shop.address}/entity/dataContract/shop.shop.public." in passed.stdout
    assert shop.statuses() == ["Success", "Success"]

    shop.rows(1, 1)
    failed = shop.run("ci", shop.file.name, *to)
    assert failed.returncode == 1
    assert shop.statuses() == ["Failed", "Success"]
    message = shop.contract("orders")["latestResult"]["message"]
    assert "failed: Check that unique field id has no duplicate values" in message

    (shop.folder / "orders.csv").unlink()
    assert shop.run("test", shop.file.name, *to).returncode == 1
    assert shop.statuses() == ["Aborted", "Aborted"]
    shop.rows(1, 2)

    stored = f"{shop.address}/v1/dataContracts/{shop.contract('orders')['id']}/odcs/yaml"
    assert shop.run("lint", stored).returncode == 0
    local = shop.folder / "local.odcs.yaml"
    local.write_text(shop.file.read_text().replace("required: true, unique: true", "unique: true"))
    changes = shop.run("changelog", stored, local.name)
    assert changes.returncode == 0, changes.stdout + changes.stderr
    assert "required" in changes.stdout
    broken = shop.run("breaking", stored, local.name)
    assert broken.returncode == 1, broken.stdout + broken.stderr
    exported = shop.run("export", "sql", stored, "--server", "warehouse", "--schema-name", "orders")
    assert "CREATE TABLE orders" in exported.stdout, exported.stdout + exported.stderr
