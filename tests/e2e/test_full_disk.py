"""A disk that is really full: what a server and the commands say of it, and that they go on."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.routes.system.system import FULL
from tests.e2e.conftest import Server, catalog, replay, serving
from tests.waiting import until

_BYTES = 32_000_000


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk in memory, which only root may mount."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={_BYTES}", "tmpfs", str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("this user may mount no disk")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(disk: Path, room: int = 0) -> Path:
    """Write a file until there is no room left on a disk; then leave some again."""
    filling = disk / "filling"
    with filling.open("wb", buffering=0) as file:
        while True:
            try:
                file.write(b"x" * 4_096)
            except OSError:
                break
        file.truncate(max(file.tell() - room, 0))
    return filling


def glossary(server: Server, name: str, size: int) -> int:
    """The status with which a new entity of a size is answered."""
    body = {"name": name, "description": "x" * size}
    return server.http.post("/v1/glossaries", json=body, timeout=30).status_code


def lags(server: Server) -> list[int]:
    """Return the number of events that each read model has not applied."""
    return [each["lag"] for each in server.get("/v1/system/projections")["projections"]]


def test_server_on_a_full_disk_says_so_and_goes_on_when_there_is_room(disk: Path) -> None:
    with serving(disk / "data") as server:
        assert glossary(server, "before", 10) == 201
        until(lambda: lags(server) == [0, 0])
        filling = fill(disk)
        refused = server.http.post(
            "/v1/glossaries", json={"name": "g", "description": "x" * 100_000}
        )
        ready = server.http.get("/readyz")
        shown = replay("inspect", "--data", str(disk / "data"))

        assert refused.status_code == 503
        assert refused.json()["message"].endswith("is full")
        assert (ready.status_code, ready.json()["degraded"]) == (200, [FULL])
        assert f"the disk of {disk / 'data'} is full: 0 bytes are left" in shown.stdout
        assert server.get("/v1/glossaries")["paging"]["total"] == 1

        filling.unlink()
        until(lambda: server.http.get("/readyz").json() == {"ready": True, "problems": []})
        assert glossary(server, "after", 100_000) == 201


def test_readiness_names_the_full_disk_when_projections_cannot_follow(disk: Path) -> None:
    with serving(disk / "data") as server:
        filling = fill(disk, 600_000)
        # The log takes one of them, and the read models then find no room.
        statuses = [glossary(server, f"g{number}", 250_000) for number in range(4)]
        assert statuses[-1] == 503
        until(lambda: server.http.get("/readyz").status_code == 503)

        assert server.http.get("/readyz").json()["problems"][-1] == FULL

        filling.unlink()
        until(lambda: server.http.get("/readyz").json() == {"ready": True, "problems": []})


def test_commands_name_the_full_disk(disk: Path, tmp_path: Path) -> None:
    data = disk / "data"
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"entityType":"databaseService","name":"s","serviceType":"Mysql"}\n')
    assert catalog("import", str(lines), "--data", str(data)).returncode == 0
    fill(disk)
    new, old = ("--data", str(disk / "new")), ("--data", str(data))
    done = [
        (new, catalog("serve", "--port", "0", *new)),
        (new, catalog("import", str(lines), *new)),
        (old, catalog("token", "--subject", "a", "--role", "admin", "--expires", "9d", *old)),
        (old, catalog("revoke", "--id", "x", *old)),
        (old, replay("inspect", *old)),
        (old, replay("catch-up", *old)),
        (old, replay("verify", *old)),
    ]

    for (_, directory), outcome in done:
        last = outcome.stderr.splitlines()[-1]
        assert outcome.returncode == 2, outcome
        assert last.startswith("error: "), outcome
        assert last.endswith(f"the disk of {directory} is full: 0 bytes are left"), outcome
        assert "Traceback" not in outcome.stderr


def test_start_on_a_full_disk_warns_of_it_and_serves_what_is_there(
    disk: Path, tmp_path: Path
) -> None:
    data = disk / "data"
    with serving(data) as server:
        until(lambda: lags(server) == [0, 0])
        assert server.stop() == 0
    # The file of a log that was closed has no index in memory, which takes some room.
    fill(disk, 1_000_000)
    with (tmp_path / "log").open("w") as log, serving(data, log=log) as server:
        assert server.get("/v1/classifications")["paging"]["total"] == 2
        assert server.http.get("/readyz").json()["degraded"] == [FULL]

    said = (tmp_path / "log").read_text()
    assert f"warning: the disk of {data} is full: " in said
