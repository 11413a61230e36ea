"""OpenMetadata's own command and client, run against a real server of ours.

They are found by METADATA_COMMAND, the path of the executable `metadata` of openmetadata-ingestion
in an environment of its own (docs/connectors.md says how it is made), and PostgreSQL's programs on
the path. Tests are skipped where these are not.
"""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.e2e.conftest import Server, catalog, replay, serving

COMMAND = os.environ.get("METADATA_COMMAND", "")
"""The executable `metadata`, or nothing."""

needs_metadata = pytest.mark.skipif(
    not COMMAND, reason="METADATA_COMMAND does not name the command of openmetadata-ingestion"
)
needs_postgres = pytest.mark.skipif(
    shutil.which("initdb") is None, reason="PostgreSQL's programs (initdb, ...) are not on the path"
)


def bot_token(directory: Path) -> str:
    """A token as `catalog token` prints it for a connector."""
    done = catalog("token", "--subject", "ingestion-bot", "--role", "bot", "--data", str(directory))
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


class Catalog:
    """A server that connectors write to, with what operators ask of its data directory."""

    def __init__(self, server: Server, directory: Path) -> None:
        self.server = server
        self.directory = directory
        self._token = bot_token(directory)

    @property
    def host_port(self) -> str:
        """The address that OpenMetadata's clients are configured with."""
        return f"{self.server.http.base_url}/api".replace("//api", "/api")

    def run(self, workflow: str, **config: Any) -> str:
        """Run a workflow of the command to its end, which must be a success; returns its log."""
        file = self.directory / "workflow.json"
        connection = {
            "hostPort": self.host_port,
            "authProvider": "openmetadata",
            "securityConfig": {"jwtToken": self._token},
        }
        workflow_config = {"openMetadataServerConfig": connection}
        file.write_bytes(msgspec.json.encode({**config, "workflowConfig": workflow_config}))
        done = subprocess.run(
            [COMMAND, workflow, "-c", str(file)],
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        log = done.stdout + done.stderr
        assert done.returncode == 0, log[-8_000:]
        assert "Workflow Success %: 100.0" in log, log[-8_000:]
        return log

    def head(self) -> int:
        """The last position of the log, as `catalog-replay inspect` counts."""
        done = replay("inspect", "--json", "--data", str(self.directory))
        assert done.returncode == 0, done.stderr
        head: int = msgspec.json.decode(done.stdout)["head"]
        return head

    def verify(self) -> None:
        """Hold the read models to the log, as `catalog-replay verify` does."""
        done = replay("verify", "--data", str(self.directory))
        assert done.returncode == 0, done.stdout + done.stderr

    def table(self, fqn: str) -> Any:
        """A table with all of its fields, deleted or not."""
        return self.server.get(f"/v1/tables/name/{fqn}", fields="*", include="all")

    def edit(self, table: Any, *operations: dict[str, Any]) -> None:
        """A person's patch of a table."""
        answer = self.server.http.patch(
            f"/v1/tables/{table['id']}",
            content=msgspec.json.encode(operations),
            headers={"Content-Type": "application/json-patch+json"},
        )
        assert answer.status_code == 200, answer.text


@contextmanager
def catalog_for_connectors(directory: Path) -> Iterator[Catalog]:
    """A server over a new catalog."""
    with serving(directory) as server:
        yield Catalog(server, directory)


class Postgres:
    """A PostgreSQL server of a test."""

    def __init__(self, port: int) -> None:
        self.port = port

    def connection(self, database: str) -> dict[str, Any]:
        """Return the configuration with which a connector reads a database."""
        return {
            "type": "Postgres",
            "username": "om",
            "authType": {"password": "unused"},
            "hostPort": f"127.0.0.1:{self.port}",
            "database": database,
        }

    def execute(self, database: str, *options: str) -> None:
        """Give statements or files (`-c`, `-f`) to psql."""
        address = ["-h", "127.0.0.1", "-p", str(self.port), "-U", "om", "-d", database]
        command = ["psql", "-q", "-v", "ON_ERROR_STOP=1", *address, *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=60)


@contextmanager
def postgres_server() -> Iterator[Postgres]:
    """A PostgreSQL on a free port, with its data in a directory that goes with it."""
    # Its programs refuse to be run by root.
    user = "nobody" if os.geteuid() == 0 else None
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="postgres-") as directory:
        if user is not None:
            shutil.chown(directory, user)

        def run(*command: str) -> None:
            subprocess.run(
                command, user=user, cwd=directory, check=True, stdout=subprocess.DEVNULL, timeout=60
            )

        data = f"{directory}/data"
        run("initdb", "-D", data, "-A", "trust", "-U", "om", "--no-sync")
        options = f"-p {port} -k {directory} -c shared_preload_libraries=pg_stat_statements"
        run("pg_ctl", "-D", data, "-o", options, "-l", f"{directory}/log", "-w", "start")
        try:
            yield Postgres(port)
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")


SHOP = Path(__file__).with_name("shop.sql")


@contextmanager
def shop_in_postgres() -> Iterator[Postgres]:
    """A PostgreSQL with the database of `shop.sql`."""
    with postgres_server() as postgres:
        postgres.execute("postgres", "-c", "CREATE DATABASE shop")
        postgres.execute("shop", "-c", "CREATE EXTENSION pg_stat_statements", "-f", str(SHOP))
        yield postgres


SINK: dict[str, Any] = {"type": "metadata-rest", "config": {}}


def source(kind: str, service: str, connection: Any = None, **config: Any) -> dict[str, Any]:
    """The part of a workflow's configuration that says what is read."""
    given = {} if connection is None else {"serviceConnection": {"config": connection}}
    config = {"sourceConfig": {"config": config}}
    return {"type": kind, "serviceName": service, **given, **config}


OWN_SCHEMAS = {"excludes": ["^information_schema$", "^pg_.*", "^public$"]}


def ingest_shop(catalog: Catalog, postgres: Postgres) -> str:
    """Run the connector of PostgreSQL over the shop, as its documentation shows."""
    shop = source(
        "postgres",
        "warehouse",
        postgres.connection("shop"),
        type="DatabaseMetadata",
        schemaFilterPattern=OWN_SCHEMAS,
        includeStoredProcedures=True,
    )
    return catalog.run("ingest", source=shop, sink=SINK)
