"""The very configuration of the proxy, run by nginx before hosts that answer, and that do not."""

import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from tests.deploy.dockerfile import ROOT
from tests.e2e.conftest import NO_AUTHORITIES
from tests.waiting import until

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
CONFIGURATION = (ROOT / "deploy" / "nginx.conf").read_text()
RESOLVES = (1, 27, 3)
"""The first release that looks up the names of an upstream again."""

pytestmark = pytest.mark.skipif(NGINX is None, reason="there is no nginx on the path")


class Host:
    """A host of the catalog that answers with its name, or with a status that is given to it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.status = 200
        self.asked: list[str] = []
        self.port = 0


@contextmanager
def running_host(name: str) -> Iterator[Host]:
    host = Host(name)

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            host.asked.append(f"{self.command} {self.path}")
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body = host.name.encode()
            self.send_response(503 if self.path == "/search" else host.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_POST = answer

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    host.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=[0.01])
    thread.start()
    try:
        yield host
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def version() -> tuple[int, ...]:
    assert NGINX is not None
    said = subprocess.run([NGINX, "-v"], capture_output=True, text=True, check=True).stderr
    found = re.search(r"nginx/(\d+)\.(\d+)\.(\d+)", said)
    assert found is not None, said
    return tuple(map(int, found.groups()))


@contextmanager
def proxying(folder: Path, *hosts: Host) -> Iterator[httpx.Client]:
    """Ask the proxy as deployed, but for names, ports and, on an older nginx, `resolve`."""
    assert NGINX is not None
    port, text = free_port(), CONFIGURATION
    for name, host in zip(("one", "two"), hosts, strict=True):
        text = text.replace(f"server {name}:8585", f"server 127.0.0.1:{host.port}")
    text = text.replace("listen 8585;", f"listen 127.0.0.1:{port};")
    if version() < RESOLVES:
        text = text.replace(" resolve ", " ")
    (folder / "nginx.conf").write_text(text)
    own = f"daemon off; pid {folder}/nginx.pid; error_log stderr;"
    process = subprocess.Popen(
        [NGINX, "-p", str(folder), "-e", "stderr", "-c", str(folder / "nginx.conf"), "-g", own]
    )
    try:
        address = f"http://127.0.0.1:{port}"
        with httpx.Client(base_url=address, verify=NO_AUTHORITIES, timeout=60) as client:

            def listens() -> bool:
                assert process.poll() is None
                with suppress(httpx.TransportError):
                    return client.get("/").is_success
                return False

            until(listens)
            yield client
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture
def hosts() -> Iterator[tuple[Host, Host]]:
    with ExitStack() as running:
        first, second = (running.enter_context(running_host(name)) for name in ("one", "two"))
        yield first, second


def tokens_of(client: httpx.Client) -> dict[str, str]:
    """A token of a client of each host, by the name of the host."""
    found: dict[str, str] = {}
    for number in range(64):
        found.setdefault(
            client.get("/", headers={"Authorization": f"t{number}"}).text, f"t{number}"
        )
    assert sorted(found) == ["one", "two"]
    return found


def test_client_stays_on_its_host(tmp_path: Path, hosts: tuple[Host, Host]) -> None:
    with proxying(tmp_path, *hosts) as client:
        for name, token in tokens_of(client).items():
            said = {client.get("/", headers={"Authorization": token}).text for _ in range(20)}
            assert said == {name}


@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_host_that_cannot_answer_is_passed_over(
    tmp_path: Path, hosts: tuple[Host, Host], method: str
) -> None:
    with proxying(tmp_path, *hosts) as client:
        headers = {"Authorization": tokens_of(client)["one"]}
        hosts[0].status = 503
        for _ in range(5):
            answer = client.request(method, "/v1/tables", headers=headers)
            assert (answer.status_code, answer.text) == (200, "two")
        hosts[0].status = 200
        assert client.request(method, "/v1/tables", headers=headers).text == "one"


def test_post_that_a_host_has_taken_is_not_sent_to_another(
    tmp_path: Path, hosts: tuple[Host, Host]
) -> None:
    with proxying(tmp_path, *hosts) as client:
        headers = {"Authorization": tokens_of(client)["one"]}
        hosts[0].status = 503
        answer = client.post("/v1/tables", headers=headers, content=b"{}")
        assert (answer.status_code, answer.text) == (503, "one")
    assert "POST /v1/tables" not in hosts[1].asked


def test_lists_go_on_while_no_host_can_search(tmp_path: Path, hosts: tuple[Host, Host]) -> None:
    with proxying(tmp_path, *hosts) as client:
        for token in tokens_of(client).values():
            headers = {"Authorization": token}
            assert {client.get("/search", headers=headers).status_code for _ in range(5)} == {503}
            assert client.get("/v1/tables", headers=headers).status_code == 200


def test_name_that_leads_elsewhere_is_looked_up_again() -> None:
    """A running nginx of that release is needed to see it; the release and its words are held."""
    image = re.search(
        r"image: nginx:(\d+)\.(\d+)\.(\d+)", (ROOT / "deploy/compose.yaml").read_text()
    )
    assert image is not None
    assert tuple(map(int, image.groups())) >= RESOLVES
    assert re.search(r"^    resolver \S+ valid=5s", CONFIGURATION, re.MULTILINE)
    assert re.search(r"upstream hosts \{[^}]*\bzone hosts", CONFIGURATION)
