"""Operations that two workers tell of alike, and that end in the middle with a process."""

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.e2e.conftest import Server, admin_token, serving
from tests.e2e.family import Family, clients, family
from tests.waiting import until

OWN = {"Sec-Fetch-Site": "same-origin"}
"""Headers that a browser sends with a form of our own pages."""
REBUILD = {"work": "rebuild", "what": "entities"}


def sign_in(asking: Sequence[httpx.Client], directory: Path) -> None:
    """Give clients a session of an administrator."""
    given = {"token": admin_token(directory)}
    admitted = asking[0].post("/sign-in", data=given, headers=OWN)
    cookie = admitted.headers["set-cookie"].partition(";")[0]
    for client in asking:
        client.headers = httpx.Headers({"Accept": "text/html", "Cookie": cookie})


def start(client: httpx.Client) -> int:
    """Ask for a rebuild of the lists from the page; the status of the answer."""
    page = client.get("/operation").text
    held = page.partition('name="form_token" value="')[2].partition('"')[0]
    return client.post("/operation", data={**REBUILD, "form_token": held}, headers=OWN).status_code


def all_say(asking: Sequence[httpx.Client], said: str) -> bool:
    """True if the page of each worker says so."""
    return all(said in client.get("/operation").text for client in asking)


def read_of(pid: int, name: str) -> bytes:
    """Return the kernel's account of a process; nothing of one that is gone."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except (FileNotFoundError, ProcessLookupError):  # gone before it was opened, or read
        return b""


def exists(pid: int) -> bool:
    """True if a process runs."""
    stat = read_of(pid, "stat")
    return stat != b"" and stat.rpartition(b")")[2].split()[0] != b"Z"


def operation_of(running: Family) -> int:
    """The id of the process of the operation that a worker has started.

    The process of an operation that has ended goes on for the moment that its own end takes.
    """
    workers = [pid for role, pid in running.children().items() if role != "project"]

    def found() -> list[int]:
        return [
            child
            for pid in workers
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in map(int, read_of(pid, f"task/{task.name}/children").split())
            if b"projections.operation.process" in read_of(child, "cmdline")
        ]

    until(lambda: len(found()) == 1)
    return found()[0]


@contextmanager
def suspended(pid: int) -> Iterator[None]:
    """A process that does nothing during a block."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def generation(server: Server) -> int:
    """The number of the generation of the lists that is read."""
    return int(server.get("/v1/system/projections")["projections"][0]["generation"])


def test_operation_is_told_by_all_workers_and_its_end_with_a_process_too(tmp_path: Path) -> None:
    with (
        family(tmp_path, CATALOG_WORKER_TIMEOUT="60") as running,
        clients(running.server, 6) as asking,
    ):
        sign_in(asking, tmp_path / "d")
        # A rebuild waits for the process that projects to take its generation up.
        with suspended(running.children()["project"]):
            assert start(asking[0]) == 303
            until(lambda: all_say(asking, "switching entities to generation 2"))
            assert {start(client) for client in asking} == {409}

            os.kill(operation_of(running), signal.SIGKILL)
            until(lambda: all_say(asking, "was cut off while switching"))
        until(lambda: generation(running.server) == 2)

        assert start(asking[-1]) == 303
        until(lambda: all_say(asking, "Rebuilt and verified entities"))
        assert generation(running.server) == 3

        processes = list(running.children().values())
        with suspended(running.children()["project"]):
            assert start(asking[0]) == 303
            until(lambda: all_say(asking, "switching entities to generation 4"))
            operation = operation_of(running)
            # Ctrl-C is for the group of the server.
            assert os.getpgid(operation) == operation
            running.server.process.kill()
            until(lambda: not exists(operation))
        until(lambda: not any(map(exists, processes)))
    with serving(tmp_path / "d") as server, clients(server, 1) as asking:
        sign_in(asking, tmp_path / "d")
        assert all_say(asking, "was cut off while switching")
        assert generation(server) == 4
        assert start(asking[0]) == 303
        until(lambda: all_say(asking, "Rebuilt and verified entities"))
