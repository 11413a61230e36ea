"""The API over a catalog in PostgreSQL: answers, and what it says when the database is away."""

import logging
from collections.abc import Iterator
from pathlib import Path
from socket import gethostname
from typing import Any

import pytest

from benchmarks.postgres_server import PostgresServer, new_schema
from domain.event_store.postgres.connections import Connections
from tests.api.conftest import Client, running
from tests.waiting import until

TABLES = "/v1/services/databaseServices"


@pytest.fixture
def client(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Client]:
    with running(tmp_path, database_url=postgres.url(new_schema())) as started:
        monkeypatch.setattr(Connections, "wait_seconds", 0.1)
        yield started


def ready(client: Client) -> tuple[int, Any]:
    response = client.http.get("/readyz")
    return response.status_code, response.json()


def checkpoints(client: Client) -> list[int]:
    return [each["checkpoint"] for each in client.get("/v1/system/projections")["projections"]]


def test_writes_are_read_repeated_and_refused_as_over_a_file(client: Client) -> None:
    client.schema()
    table = client.table()
    key = {"Idempotency-Key": "k"}
    body = {"name": "twice", "serviceType": "Mysql"}
    first, again = (client.ask("POST", TABLES, json=body, headers=key) for _ in range(2))
    assert (first[0], again) == (201, first)
    assert client.ask("POST", TABLES, json=body)[0] == 409
    path = f"/v1/tables/{table['id']}"
    patch = [{"op": "add", "path": "/description", "value": "all"}]
    headers = {"Content-Type": "application/json-patch+json", "If-Match": 'W/"0.1"'}
    first, second = (client.ask("PATCH", path, json=patch, headers=headers) for _ in range(2))
    assert (first[0], second[0]) == (200, 412), first
    assert client.get(path)["description"] == "all"
    assert len(client.get(f"{path}/versions")["versions"]) == 2
    assert [each["name"] for each in client.get("/v1/tables")["data"]] == ["orders"]
    assert client.get("/v1/audit/events")["paging"]["head"] == 6


def test_names_that_the_database_cannot_hold_are_refused_or_not_found(client: Client) -> None:
    assert client.ask("GET", "/v1/tables/name/a%00b")[0] == 404
    assert client.ask("GET", "/v1/tables/a%00b")[0] == 400


def test_database_that_is_away_is_told_and_comes_back(
    postgres: PostgresServer, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    client.create("services/databaseServices", name="before", serviceType="Mysql")
    assert ready(client) == (200, {"ready": True, "problems": []})
    report = client.get("/v1/system/projections")
    head = report["head"]
    assert (report["host"], report["sharedLog"], report["logError"]) == (gethostname(), True, None)
    assert "catalog_log_readable 1.0" in client.request("GET", "/metrics").text
    until(lambda: checkpoints(client) == [head, head])
    postgres.stop("immediate")
    try:
        assert ready(client) == (
            503,
            {"ready": False, "problems": ["the event log cannot be read"]},
        )
        body = {"name": "during", "serviceType": "Mysql"}
        status, answer = client.ask("POST", TABLES, json=body)
        assert (status, answer["errorType"]) == (503, "SERVICE_UNAVAILABLE")
        assert answer["message"] == "the event log cannot be used now: its database is away"
        report = client.get("/v1/system/projections")
        assert (report["head"], report["logBytes"], report["sharedLog"]) == (None, None, True)
        assert report["logError"] == "the event log cannot be used now: its database is away"
        assert [
            (each["name"], each["checkpoint"], each["lag"], each["lagSeconds"])
            for each in report["projections"]
        ] == [("entities", 0, None, None), ("search", head, None, None)]
        metrics = client.request("GET", "/metrics").text.splitlines()
        assert "catalog_log_readable 0.0" in metrics
        assert f'catalog_projection_checkpoint{{projection="search"}} {head}.0' in metrics
        assert [
            line
            for line in metrics
            if line.startswith(("catalog_log_head ", "catalog_projection_lag"))
        ] == []
        # Lists are there as well; what a search finds is this host's own, without documents.
        for path in (TABLES, f"{TABLES}/name/before", f"{TABLES}?limit=1000"):
            status, answer = client.ask("GET", path)
            assert (status, answer["message"]) == (
                503,
                "the sorted read model cannot be used now: its database is away",
            )
    finally:
        postgres.start()
    until(lambda: ready(client)[0] == 200)
    client.create("services/databaseServices", name="after", serviceType="Mysql")
    assert [each["name"] for each in client.get(TABLES)["data"]] == ["after", "before"]
    said = [
        record
        for record in caplog.records
        if record.name == "catalog.log" and record.levelno > logging.INFO
    ]
    assert [record.message for record in said] == [
        "the database of the log is out of reach",
        "the database of the log answers again",
    ]
    assert "No such file or directory" in vars(said[0])["error"]


def test_full_disk_of_the_database_is_told_without_its_files(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    schema = new_schema()
    with running(tmp_path, database_url=postgres.url(schema)) as client:
        # What the server says where a table finds no room.
        postgres.run(
            f"CREATE FUNCTION {schema}.full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            " RAISE 'could not extend file \"base/5/24601\": No space left on device'"
            " USING ERRCODE = 'disk_full'; END $$",
            f"CREATE TRIGGER full_disk BEFORE INSERT ON {schema}.events"
            f" EXECUTE FUNCTION {schema}.full_disk()",
        )
        status, answer = client.ask("POST", TABLES, json={"name": "no", "serviceType": "Mysql"})

    assert (status, answer["message"]) == (
        503,
        "the event log cannot be used now: the disk of its database is full (53100)",
    )


def test_database_that_takes_no_writes_is_told_and_refuses_them_while_reads_go_on(
    postgres: PostgresServer, client: Client
) -> None:
    client.create("services/databaseServices", name="before", serviceType="Mysql")
    assert ready(client) == (200, {"ready": True, "problems": []})
    head = client.get("/v1/system/projections")["head"]
    until(lambda: checkpoints(client) == [head, head])
    postgres.run("ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
    try:
        told = ["the database of the log takes no writes: every write is refused"]
        until(lambda: ready(client) == (200, {"ready": True, "problems": [], "degraded": told}))
        assert client.get("/v1/system/projections")["logReadOnly"] is True
        status, answer = client.ask("POST", TABLES, json={"name": "no", "serviceType": "Mysql"})
        assert (status, answer["message"]) == (
            503,
            "the event log cannot be used now: its database takes no writes (25006)",
        )
        assert [each["name"] for each in client.get(TABLES)["data"]] == ["before"]
    finally:
        postgres.run("ALTER SYSTEM RESET default_transaction_read_only", "SELECT pg_reload_conf()")
    until(lambda: ready(client) == (200, {"ready": True, "problems": []}))
    client.create("services/databaseServices", name="after", serviceType="Mysql")
