"""Rebuilds beside a running server: no failed request, no stale read, in any process."""

import json
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.depth import first_alone
from tests.e2e.conftest import NO_AUTHORITIES, Server, catalog, replay, serving
from tests.waiting import until


def contract_parents(server: Server) -> None:
    server.post("/v1/services/databaseServices", name="service", serviceType="Mysql")
    server.post("/v1/databases", name="database", service="service")
    server.post("/v1/databaseSchemas", name="schema", database="service.database")


class Traffic:
    """Clients that write, and read what they wrote at once, each time on a new connection."""

    def __init__(self, server: Server, clients: int) -> None:
        self._server = server
        self._stop = threading.Event()
        self.failed: list[str] = []
        self.written = 0
        self._threads = [
            threading.Thread(target=self._run, args=(number,)) for number in range(clients)
        ]

    def __enter__(self) -> "Traffic":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self, client: int) -> None:
        number = 0
        try:
            while not self._stop.is_set():
                self._write(f"c{client}n{number}")
                number += 1
        except (AssertionError, httpx.HTTPError) as error:
            self.failed.append(repr(error))

    def _write(self, name: str) -> None:
        body = {"name": name, "databaseSchema": "service.database.schema", "columns": []}
        base, headers = self._server.http.base_url, self._server.http.headers
        with httpx.Client(
            base_url=base, headers=headers, timeout=30, verify=NO_AUTHORITIES
        ) as http:
            made = http.post("/v1/tables", json=body)
            assert made.status_code == 201, made.text
        self.written += 1
        with httpx.Client(
            base_url=base, headers=headers, timeout=30, verify=NO_AUTHORITIES
        ) as http:
            one = http.get(f"/v1/tables/name/service.database.schema.{name}")
            assert one.status_code == 200, one.text
            listed = http.get("/v1/tables", params={"limit": 1000})
            assert listed.status_code == 200, listed.text
            assert name in [item["name"] for item in listed.json()["data"]], f"stale: {name}"
            found = http.get("/v1/search/query", params={"q": "c0n0"})
            assert found.status_code == 200, found.text


def lines(output: str) -> list[Any]:
    return [json.loads(line) for line in output.splitlines()]


@pytest.mark.parametrize("workers", first_alone(1, 2))
def test_rebuild_and_rollback_under_writes_fail_no_request_and_serve_nothing_stale(
    tmp_path: Path, workers: int
) -> None:
    with serving(tmp_path, "--workers", str(workers)) as server:
        contract_parents(server)
        with Traffic(server, 3) as traffic:
            runs = []
            for command in (("rebuild", "--force"), ("rollback",), ("rebuild", "--force")):
                begun = traffic.written
                until(lambda begun=begun: traffic.written > begun + 5 or traffic.failed)
                runs.append(replay(*command, "--json", "--data", str(tmp_path)))
            nothing = replay("rebuild", "--data", str(tmp_path))
        assert [run.returncode for run in runs] == [0, 0, 0], runs
        assert traffic.failed == []
        assert traffic.written > 30
        told = [[(one["projection"], one["generation"]) for one in lines(r.stdout)] for r in runs]
        assert told == [
            [("entities", 2), ("search", 2)],
            [("entities", 1), ("search", 1)],
            [("entities", 3), ("search", 3)],
        ]
        assert all(one["byServer"] for run in runs for one in lines(run.stdout))
        assert (nothing.returncode, nothing.stdout.count("unchanged, nothing to do")) == (0, 2)
        assert server.get("/v1/tables", limit=0)["paging"]["total"] == traffic.written
        proof = replay("verify", "--data", str(tmp_path))
        assert proof.returncode == 0, proof.stdout


def test_rebuild_waits_for_a_server_that_dies_and_switches_by_itself(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        contract_parents(server)
        server.stop()
    done = replay("rebuild", "--force", "--json", "--data", str(tmp_path))
    assert [(one["generation"], one["byServer"]) for one in lines(done.stdout)] == [
        (2, False),
        (2, False),
    ]
    with serving(tmp_path) as server:
        assert server.get("/v1/databaseSchemas", limit=0)["paging"]["total"] == 1


def test_server_with_a_damaged_read_model_refuses_until_it_is_built_anew(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        contract_parents(server)
        server.stop()
    path = tmp_path / "entities-1.db"
    path.write_bytes(path.read_bytes().replace(b'"Mysql"', b'"MYsql"'))
    with serving(tmp_path) as server:
        answer = server.get("/v1/services/databaseServices")
        assert answer["data"][0]["serviceType"] == "Mysql"
        reports = server.get("/v1/system/projections")["projections"]
        assert [report["generation"] for report in reports] == [2, 1]
        assert all(report["code"] == report["runningCode"] for report in reports)


def test_inspect_shows_generations_kinds_and_one_entity_side_by_side(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        contract_parents(server)
        service = server.get("/v1/services/databaseServices/name/service")
    assert replay("catch-up", "--data", str(tmp_path)).returncode == 0
    shown = json.loads(replay("inspect", "--json", "--data", str(tmp_path)).stdout)
    one = replay("inspect", "--entity", "databaseService", "service", "--data", str(tmp_path))
    other = replay("inspect", "--entity", "databaseService", "nobody", "--data", str(tmp_path))
    wrong = replay("inspect", "--entity", "dog", "x", "--data", str(tmp_path))

    entities, search = shown["projections"]
    assert (entities["generation"], entities["previous"], entities["checkpoint"]) == (1, None, 37)
    assert {kind: held["entities"] for kind, held in entities["kinds"].items()} == {
        # What a new catalog has from its start.
        "classification": 2,
        "tag": 8,
        "testDefinition": 24,
        "database": 1,
        "databaseSchema": 1,
        "databaseService": 1,
    }
    assert entities["kinds"]["database"]["deleted"] == 0
    assert sorted(search["kinds"]) == sorted(entities["kinds"])
    found = json.loads(one.stdout)
    assert found["log"] == found["entities"]
    assert found["log"]["id"] == service["id"] == found["id"]
    assert (found["differences"], found["search"]["kind"]) == ([], "databaseService")
    assert (other.returncode, "not found" in other.stderr) == (2, True)
    assert (wrong.returncode, "is not a kind" in wrong.stderr) == (2, True)


def test_rollback_without_a_good_previous_generation_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"
    file.write_text('{"entityType":"databaseService","name":"s","serviceType":"Mysql"}')
    data = str(tmp_path / "d")
    catalog("import", str(file), "--data", data)
    built = replay("rebuild", "--data", data)
    refused = replay("rollback", "--data", data)

    again = replay("rebuild", "--data", data, "--force")
    with closing(sqlite3.connect(tmp_path / "d" / "entities-1.db")) as lists, lists:
        lists.execute("DELETE FROM entities")
    differs = replay("rollback", "--data", data)

    assert (built.returncode, again.returncode) == (0, 0)
    assert (differs.returncode, differs.stdout) == (1, "")
    assert differs.stderr.startswith("error: generation 1 of entities differs from the log: ")
    assert replay("verify", "entities", "--data", data).returncode == 0
    assert built.stdout.startswith("entities: rebuilt, generation 1, 1 entities, checkpoint 1")
    assert (refused.returncode, refused.stderr) == (
        2,
        "error: there is no previous generation of entities\n",
    )
