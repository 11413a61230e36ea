"""Official clients of the Model Context Protocol against a server: each lists, calls and errs.

They are found by environment variables: MCP_PYTHON_2 and MCP_PYTHON_1 are interpreters that have
the package `mcp` in a release of 2.x and 1.x, MCP_NODE_MODULES is a directory `node_modules` with
`@modelcontextprotocol/client` 2.x.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Server, catalog, serving

CLIENTS = Path(__file__).parent / "mcp_clients"
SAMPLE = """{"entityType": "databaseService", "name": "shop", "serviceType": "Mysql"}
{"entityType": "database", "name": "db", "service": "shop"}
{"entityType": "databaseSchema", "name": "sales", "database": "shop.db"}
{"entityType": "table", "name": "orders", "databaseSchema": "shop.db.sales", "columns": []}
"""
FORWARDING = ("stdio", sys.executable, "-m", "api.commands", "mcp")


def needs(variable: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(
        variable not in os.environ, reason=f"{variable} names no official client"
    )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    directory = tmp_path_factory.mktemp("served")
    sample = directory / "sample.jsonl"
    sample.write_text(SAMPLE)
    assert catalog("import", "--data", str(directory / "data"), str(sample)).returncode == 0
    with serving(directory / "data") as started:
        yield started


def ask(server: Server, *command: str, **environment: str) -> Any:
    """The answers of a client, as it prints them."""
    address = str(server.http.base_url).rstrip("/")
    given = {
        **os.environ,
        "CATALOG_URL": address,
        "CATALOG_TOKEN": server.http.headers["Authorization"].removeprefix("Bearer "),
        **environment,
    }
    done = subprocess.run(
        [f"{address}/mcp" if each == "http" else each for each in command],
        env=given,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def check(answers: Any, *versions: str) -> None:
    assert answers["version"] in versions
    assert answers["tools"][:2] == ["search_catalog", "get_entities"]
    assert answers["total"] == 1
    assert answers["wrong"][0] is True
    assert "did you mean limit?" in answers["wrong"][1]
    assert "Unknown tool" in answers["unknown"]


@needs("MCP_PYTHON_1")
@pytest.mark.parametrize("way", [("http",), FORWARDING], ids=["http", "stdio"])
def test_python_1_speaks_the_legacy_era(server: Server, way: tuple[str, ...]) -> None:
    program = str(CLIENTS / "client_v1.py")
    check(ask(server, os.environ.get("MCP_PYTHON_1", ""), program, *way), "2025-11-25")


@needs("MCP_PYTHON_2")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("way", [("http",), FORWARDING], ids=["http", "stdio"])
def test_python_2_speaks_both_eras(server: Server, way: tuple[str, ...], mode: str) -> None:
    program = str(CLIENTS / "client_v2.py")
    answers = ask(server, os.environ.get("MCP_PYTHON_2", ""), program, *way, MODE=mode)
    check(answers, "2026-07-28" if mode == "auto" else "2025-11-25")


@needs("MCP_NODE_MODULES")
@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_typescript_2_speaks_both_eras(
    server: Server, tmp_path: Path, mode: str, version: str
) -> None:
    # Modules are looked for beside the program that imports them.
    program = tmp_path / "client.mjs"
    program.write_text((CLIENTS / "client_v2.mjs").read_text())
    (tmp_path / "node_modules").symlink_to(os.environ.get("MCP_NODE_MODULES", ""))
    check(ask(server, "node", str(program), "http", MODE=mode), version)
