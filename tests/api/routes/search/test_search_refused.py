"""Messages about a search cluster that refuses our user, in the words of its security plugin.

`test_search_with_users.py` asks a real one, where that is started.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Client, running
from tests.waiting import until

SEARCH = "/v1/search/query?index=all&q=*"
RIGHT = "indices:data/write/bulk[s]"
WHO = "and User [name=catalog, backend_roles=[], requestedTenant=null]"
REASON = {"type": "security_exception", "reason": f"no permissions for [{RIGHT}] {WHO}"}
MISSING = {"error": {"root_cause": [], "type": "index_not_found_exception", "reason": "no such"}}


class Cluster(BaseHTTPRequestHandler):
    """Knows one password, and no right."""

    def answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers["Authorization"] != "Basic Y2F0YWxvZzpyMWdodA==":  # catalog:r1ght
            self.send(401, "text/plain; charset=UTF-8", b"Unauthorized")
        elif "/_doc/" in self.path:
            self.send(404, "application/json", json.dumps(MISSING).encode())
        else:
            body = {"error": {"root_cause": [REASON], **REASON}, "status": 403}
            self.send(403, "application/json", json.dumps(body).encode())

    do_GET = do_PUT = do_POST = do_DELETE = answer

    def send(self, status: int, form: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", form)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def asking(directory: Path, password: str) -> Iterator[Client]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Cluster) as cluster:
        thread = threading.Thread(target=cluster.serve_forever, args=(0.01,))
        thread.start()
        url = f"http://catalog:{password}@127.0.0.1:{cluster.server_port}"
        try:
            with running(directory, search_url=url) as client:
                yield client
        finally:
            cluster.shutdown()
            thread.join()


def error(client: Client) -> str:
    """Return the reason why searches cannot be made, as operators are told."""
    _, search = client.get("/v1/system/projections")["projections"]
    return str(search["error"])


@pytest.mark.parametrize(
    ("password", "reason"),
    [
        ("wr0ng", "the search cluster does not take our user with this password"),
        ("r1ght", f"our user of the search cluster lacks rights: {RIGHT}"),
    ],
)
def test_refusal_has_its_reason_and_shows_no_secret(
    password: str, reason: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with asking(tmp_path, password) as client:
        until(lambda: reason in error(client))
        answer = client.request("GET", SEARCH)
        assert (answer.status_code, answer.json()["errorType"]) == (503, "SERVICE_UNAVAILABLE")
        ready = client.http.get("/readyz")
        assert (ready.status_code, ready.json()["problems"]) == (
            503,
            ["search is unavailable"],
        )
        said = f"{answer.text} {ready.text} {error(client)}"
    logged = str([vars(record) for record in caplog.records])
    assert reason in logged
    for secret in (password, "backend_roles"):
        assert secret not in said + logged
