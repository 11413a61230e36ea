"""Many clients that write at once: all are acknowledged, and each reads its own writes."""

import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from domain.event_store.opening import open_event_log
from tests.depth import first_alone
from tests.e2e.conftest import NO_AUTHORITIES, Server, replay, serving
from tests.e2e.test_serve import make_schema

CLIENTS = 32


def write_and_read(server: Server, client: int, writes: int, failures: list[Any]) -> None:
    """Put tables and a shared one in turn, and look for each at once, over one connection."""
    address, headers = server.http.base_url, server.http.headers
    with httpx.Client(base_url=address, headers=headers, timeout=60, verify=NO_AUTHORITIES) as http:
        for number in range(writes):
            name = f"c{client:02}n{number}"
            columns = [{"name": "id", "dataType": "INT"}]
            body = {"name": name, "databaseSchema": "service.database.schema", "columns": columns}
            made = http.put("/v1/tables", json=body)
            shown = http.get("/v1/tables", params={"limit": 1_000})
            if made.status_code != 201 or name not in [one["name"] for one in shown.json()["data"]]:
                failures.append((made.status_code, made.text, name))
            shared = {"name": "shared", "serviceType": "Mysql", "displayName": name}
            put = http.put("/v1/services/databaseServices", json=shared)
            if put.status_code not in (200, 201) or put.json()["displayName"] != name:
                failures.append((put.status_code, put.text, name))


@pytest.mark.parametrize("workers", first_alone(1, 2))
@pytest.mark.parametrize("writes", first_alone(2, 8))
def test_clients_that_write_at_once_read_their_own_writes(
    tmp_path: Path, workers: int, writes: int
) -> None:
    failures: list[Any] = []
    with serving(tmp_path, "--workers", str(workers)) as server:
        make_schema(server)
        threads = [
            threading.Thread(target=write_and_read, args=(server, client, writes, failures))
            for client in range(CLIENTS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        total = server.get("/v1/tables", limit=0)["paging"]["total"]
        assert total == CLIENTS * writes
        assert server.stop() == 0
    log = open_event_log(tmp_path / "events.db")
    recorded = log.read(0, 10_000)
    log.close()
    # What a new catalog has from its start is beside it.
    written = [each for each in recorded if each.event.actor != "catalog"]
    assert len(written) == 3 + 2 * CLIENTS * writes
    assert replay("verify", f"--data={tmp_path}").returncode == 0
