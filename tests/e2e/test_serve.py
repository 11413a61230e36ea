"""The server on a real socket, in one process and in several."""

import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.depth import first_alone
from tests.e2e.conftest import NO_AUTHORITIES, Server, catalog, replay, serving
from tests.waiting import until


def make_schema(server: Server) -> str:
    server.post("/v1/services/databaseServices", name="service", serviceType="Mysql")
    server.post("/v1/databases", name="database", service="service")
    created = server.post("/v1/databaseSchemas", name="schema", database="service.database")
    name: str = created["fullyQualifiedName"]
    return name


def make_table(server: Server, name: str) -> Any:
    columns = [{"name": "id", "dataType": "INT"}]
    schema = "service.database.schema"
    return server.post("/v1/tables", name=name, databaseSchema=schema, columns=columns)


@pytest.mark.parametrize("workers", [1, 2])
def test_server_shows_a_write_in_the_next_list_and_in_search(tmp_path: Path, workers: int) -> None:
    with serving(tmp_path, "--workers", str(workers)) as server:
        make_schema(server)
        for number in range(20):
            make_table(server, f"orders_{number}")
            # A new connection each time: with several workers it may be another process.
            fresh = httpx.get(
                server.http.base_url.join("/v1/tables?limit=0"),
                headers=server.http.headers,
                verify=NO_AUTHORITIES,
            )
            assert fresh.json()["paging"]["total"] == number + 1

        def is_found() -> bool:
            found = server.get("/v1/search/query", q="orders_19")
            return found["hits"]["total"]["value"] > 0

        until(is_found)
        assert server.stop() == 0


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&- <&-"])
def test_server_without_standard_streams_serves(tmp_path: Path, closed: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = (
        f"exec {sys.executable} -m api.commands serve --port {port} --data '{tmp_path}' {closed}"
    )
    process = subprocess.Popen(["sh", "-c", command], stderr=subprocess.PIPE)

    def is_served() -> bool:
        assert process.poll() is None
        try:
            return httpx.get(f"http://127.0.0.1:{port}/readyz", verify=NO_AUTHORITIES).is_success
        except httpx.TransportError:
            return False

    try:
        until(is_served)
    finally:
        process.terminate()
        said = process.communicate(timeout=60)[1]

    assert (process.returncode, b"Traceback" in said) == (0, False)


@pytest.mark.parametrize("workers", first_alone("1", "2"))
def test_new_catalog_has_tiers_once_and_not_again(tmp_path: Path, workers: str) -> None:
    (tmp_path / "lines.jsonl").write_text('{"entityType":"classification","name":"PII"}\n')
    data = tmp_path / "d"
    imported = catalog("import", str(tmp_path / "lines.jsonl"), "--data", str(data))
    assert imported.returncode == 0, imported.stdout
    with serving(data, "--workers", workers) as server:
        tier = server.get("/v1/classifications/name/Tier")
        assert (tier["updatedBy"], tier["version"]) == ("catalog", 0.1)
        tags = server.get("/v1/tags", classification="Tier")["data"]
        assert [tag["name"] for tag in tags] == [f"Tier{number}" for number in range(1, 6)]
        for name in ("PII", "Tier"):
            gone = server.http.delete(
                f"/v1/classifications/name/{name}?hardDelete=true&recursive=true"
            )
            assert gone.status_code == 200
        head = server.get("/v1/system/projections")["head"]
        assert server.stop() == 0
    with serving(data) as server:
        assert server.get("/v1/classifications")["data"] == []
        assert server.get("/v1/system/projections")["head"] == head
    verified = replay("verify", "--data", str(data))
    assert verified.returncode == 0, verified.stdout


@pytest.mark.deep
def test_server_with_workers_survives_the_death_of_one_process(tmp_path: Path) -> None:
    with serving(tmp_path, "--workers", "2") as server:
        make_schema(server)
        children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
        victims = children.read_text().split()
        assert len(victims) == 3
        for victim in victims:
            os.kill(int(victim), signal.SIGKILL)
        names = (f"t{number}" for number in count())

        def writes_are_listed() -> bool:
            with suppress(httpx.TransportError, AssertionError):
                make_table(server, next(names))
                return server.get("/v1/tables", limit=0)["paging"]["total"] > 0
            return False

        until(writes_are_listed)


def test_acknowledged_writes_survive_kill_9(tmp_path: Path) -> None:
    acknowledged: list[str] = []
    with serving(tmp_path) as server:
        make_schema(server)
        stop = threading.Event()

        def write(prefix: str) -> None:
            number = 0
            while not stop.is_set():
                try:
                    acknowledged.append(make_table(server, f"{prefix}{number}")["name"])
                except (httpx.TransportError, RuntimeError):
                    return
                number += 1

        writers = [threading.Thread(target=write, args=(prefix,)) for prefix in "abc"]
        for writer in writers:
            writer.start()
        until(lambda: len(acknowledged) >= 30)
        server.process.kill()
        stop.set()
        for writer in writers:
            writer.join()
        server.process.wait()

    with serving(tmp_path) as server:
        stored = [item["name"] for page in server.pages("/v1/tables", 100) for item in page]

    assert set(acknowledged) <= set(stored)
    assert len(stored) == len(set(stored)) <= len(acknowledged) + 3


def test_server_stops_cleanly_while_busy(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        make_schema(server)
        assert server.stop(signal.SIGINT) == 0


@pytest.mark.parametrize("workers", ["1", "2"])
def test_second_server_on_one_directory_is_refused(tmp_path: Path, workers: str) -> None:
    with serving(tmp_path):
        command = ("serve", "--port", "0", "--workers", workers, "--data", str(tmp_path))
        second = catalog(*command)

    assert (second.returncode, second.stdout) == (2, "")
    assert "a server or command already uses" in second.stderr


@pytest.mark.parametrize("count", first_alone(1_200, 5_000))
def test_streamed_list_of_everything(tmp_path: Path, count: int) -> None:
    lines = [
        '{"entityType":"databaseService","name":"s","serviceType":"Mysql"}',
        '{"entityType":"database","name":"d","service":"s"}',
        '{"entityType":"databaseSchema","name":"x","database":"s.d"}',
    ]
    table = '{"entityType":"table","name":"%s","databaseSchema":"s.d.x","columns":[]}'
    contract = '{"entityType":"dataContract","name":"%s",'
    contract += '"entity":{"type":"table","fullyQualifiedName":"s.d.x.%s"}}'
    for name in (f"c{number:05}" for number in range(count)):
        lines += [line.replace("%s", name) for line in (table, contract)]
    file = tmp_path / "catalog.jsonl"
    file.write_text("\n".join(lines))
    assert catalog("import", str(file), "--data", str(tmp_path / "data")).returncode == 0

    with serving(tmp_path / "data") as server:
        answer = server.get("/v1/dataContracts", limit=1_000_000)
        with server.http.stream("GET", "/v1/dataContracts?limit=1000000") as response:
            next(response.iter_bytes(1000))
        part = server.get("/v1/dataContracts", limit=count - 1_000)

    assert [item["name"] for item in answer["data"]] == [f"c{n:05}" for n in range(count)]
    assert answer["paging"] == {"total": count}
    assert len(part["data"]) == count - 1_000
    assert sorted(part["paging"]) == ["after", "total"]


def test_workers_do_not_outlive_their_supervisor(tmp_path: Path) -> None:
    with serving(tmp_path, "--workers", "2") as server:
        children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
        orphans = [int(child) for child in children.read_text().split()]
        server.process.kill()
        until(lambda: not any(Path(f"/proc/{one}").exists() for one in orphans))

    assert len(orphans) == 3
