"""Signing in at a provider whose access tokens are not for the catalog: by its ID token."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest

from api.callers.tokens.issuers import Issuer
from api.callers.tokens.minting import mint
from tests.api.conftest import SECRET, running
from tests.api.pages.conftest import Browser


class Answers(BaseHTTPRequestHandler):
    """A provider that says where it is, and gives the tokens that a test has made."""

    tokens: dict[str, str]

    def do_GET(self) -> None:
        issuer = f"http://127.0.0.1:{self.server.server_address[1]}"
        self._answer(
            {
                "issuer": issuer,
                "authorization_endpoint": f"{issuer}/authorize",
                "token_endpoint": f"{issuer}/token",
            }
        )

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(self.tokens)

    def _answer(self, value: dict[str, str]) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def issuer() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def id_token(**claims: str) -> str:
    """A token that the catalog takes, with further claims."""
    given = jwt.decode(mint(Issuer(secret=SECRET), "eve", ("reader",), 300), SECRET, ["HS256"])
    return jwt.encode({**given, **claims}, SECRET, "HS256")


@pytest.mark.parametrize(
    ("access", "identity", "status"),
    [
        ("good", None, 303),
        ("good", "of this sign-in", 303),
        ("good", "of another sign-in", 401),
        ("good", "without a nonce", 401),
        ("good", "no token", 401),
        ("opaque", "of this sign-in", 303),
        ("opaque", "of another sign-in", 401),
        ("opaque", "without a nonce", 401),
        ("opaque", "forged", 401),
        ("opaque", None, 401),
    ],
)
def test_id_token_will_do_if_it_is_of_this_very_sign_in(
    tmp_path: Path, issuer: str, access: str, identity: str | None, status: int
) -> None:
    with running(tmp_path, oidc_issuer=issuer, oidc_client_id="catalog") as client:
        browser = Browser(client)
        left = browser.get("/sign-in/provider?to=/browse/table")
        cookie = left.headers["set-cookie"].partition(";")[0]
        asked = parse_qs(urlsplit(left.headers["location"]).query)
        (nonce,), (state,) = asked["nonce"], asked["state"]
        made = {
            "of this sign-in": id_token(nonce=nonce),
            "of another sign-in": id_token(nonce="another"),
            "without a nonce": id_token(),
            "no token": "x",
            "forged": id_token(nonce=nonce)[:-4] + "AAAA",
        }
        Answers.tokens = {"access_token": id_token() if access == "good" else access}
        if identity is not None:
            Answers.tokens["id_token"] = made[identity]

        answer = browser.get(f"/sign-in/return?code=c&state={state}", headers={"Cookie": cookie})
        browser.take(answer)

        assert answer.status_code == status
        assert browser.cookie is None if status == 401 else browser.cookie is not None
        if status == 303:
            assert answer.headers["location"] == "/browse/table"
            assert "eve" in browser.get("/").text
