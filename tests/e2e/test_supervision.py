"""Processes that hang are replaced; those that wait together with their supervisor are not."""

import os
import signal
import time
from pathlib import Path

import httpx
import pytest

from tests.depth import first_alone
from tests.e2e.conftest import NO_AUTHORITIES, Server
from tests.e2e.family import TIMEOUT, family
from tests.waiting import until


def write(server: Server, name: str) -> str:
    """Create a service on a connection of its own; the path of what was created."""
    url = server.http.base_url.join("/v1/services/databaseServices")
    body = {"name": name, "serviceType": "Mysql"}
    answer = httpx.post(
        url, json=body, headers=server.http.headers, timeout=60, verify=NO_AUTHORITIES
    )
    assert answer.status_code == 201, answer.text
    return f"{url}/{answer.json()['id']}"


@pytest.mark.parametrize("role", first_alone("project", "worker-1"))
def test_stopped_process_is_killed_and_replaced(tmp_path: Path, role: str) -> None:
    with family(tmp_path) as running:
        victim = running.children()[role]
        os.kill(victim, signal.SIGSTOP)
        until(lambda: victim not in running.children().values() and len(running.children()) == 3)
        write(running.server, "after")

        def is_listed() -> bool:
            url = running.server.http.base_url.join("/v1/services/databaseServices?limit=0")
            answer = httpx.get(
                url, headers=running.server.http.headers, timeout=60, verify=NO_AUTHORITIES
            )
            return answer.status_code == 200 and answer.json()["paging"]["total"] == 1

        until(is_listed)
        (hanging,) = running.said("process hangs")
        assert hanging["role"] == role if role == "project" else "worker" in hanging["role"]
        assert hanging["pid"] == victim
        assert hanging["seconds"] >= TIMEOUT
        assert [line["exit_code"] for line in running.said("process ended")] == [-signal.SIGKILL]
        assert running.server.stop() == 0


def test_worker_whose_event_loop_is_blocked_is_replaced(tmp_path: Path) -> None:
    # Loaded by each interpreter at its start; the other threads of a blocked process go on.
    (tmp_path / "sitecustomize.py").write_text(
        "import signal, time\nsignal.signal(signal.SIGUSR1, lambda *_: time.sleep(3_600))\n"
    )
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    with family(tmp_path, interpreters=True, PYTHONPATH=path) as running:
        victim = running.children()["worker-2"]
        os.kill(victim, signal.SIGUSR1)
        until(lambda: victim not in running.children().values() and len(running.children()) == 3)

        assert [line["pid"] for line in running.said("process hangs")] == [victim]


def test_processes_that_were_suspended_with_their_supervisor_are_left_alone(
    tmp_path: Path,
) -> None:
    with family(tmp_path) as running:
        before = running.children()
        everybody = [running.server.process.pid, *before.values()]
        for pid in everybody:
            os.kill(pid, signal.SIGSTOP)
        # The passing of time is what this is about.
        time.sleep(TIMEOUT + 1)
        for pid in everybody:
            os.kill(pid, signal.SIGCONT)
        write(running.server, "after")
        # Their supervisor looks after them five times.
        time.sleep(1)

        assert running.children() == before
        assert running.said("process hangs") == []


def test_process_that_is_stopped_does_not_keep_the_server_from_stopping(tmp_path: Path) -> None:
    with family(tmp_path, CATALOG_WORKER_TIMEOUT="60") as running:
        os.kill(running.children()["worker-1"], signal.SIGSTOP)

        assert running.server.stop() == 0
        assert len(running.said("process did not stop")) == 1
