"""The provider's description of itself: asked for once, remembered, and asked for again."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from api.callers.sign_in import provider
from api.callers.sign_in.provider import REMEMBERED_SECONDS, RETRY_SECONDS, Discovery
from api.callers.tokens.fetching import Unreachable
from api.settings import Settings
from domain.errors import InvalidInput
from tests.api.conftest import running
from tests.api.pages.conftest import Browser

ISSUER = "https://identity.example.org"
PATIENCE = 30


def description(issuer: str = ISSUER, **other: str) -> bytes:
    said = {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}/authorize",
        "token_endpoint": f"{issuer}/token",
    }
    return json.dumps(said | other).encode()


class Fetches:
    """Stands for the network: answers with what a test has set, or raises it."""

    def __init__(self) -> None:
        self.answer: bytes | Exception = description()
        self.urls: list[str] = []
        self.held: threading.Event | None = None

    def __call__(self, url: str) -> bytes:
        self.urls.append(url)
        if self.held is not None:
            assert self.held.wait(PATIENCE)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def fetches(monkeypatch: pytest.MonkeyPatch) -> Fetches:
    made = Fetches()
    monkeypatch.setattr(provider, "fetch", made)
    return made


def test_description_is_remembered_for_a_while(fetches: Fetches) -> None:
    now = [100.0]
    known = Discovery(ISSUER, lambda: now[0])

    async def test() -> None:
        for moment, asked in ((100.0, 1), (99.0 + REMEMBERED_SECONDS, 1), (1_100.0, 2)):
            now[0] = moment
            assert (await known.addresses()).token_endpoint == f"{ISSUER}/token"
            assert fetches.urls == [f"{ISSUER}/.well-known/openid-configuration"] * asked

    asyncio.run(test())


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Unreachable("no answer: timed out"), "no answer"),
        (b"<html>", "cannot be read"),
        (description("https://other.example.org"), "calls itself"),
        (description(token_endpoint="http://other.example.org"), "must be https"),
    ],
)
def test_failure_is_the_answer_until_the_provider_is_asked_again(
    fetches: Fetches, answer: bytes | Exception, said: str
) -> None:
    now = [100.0]
    known = Discovery(ISSUER, lambda: now[0])

    async def test() -> None:
        fetches.answer = answer
        for moment in (100.0, 99.0 + RETRY_SECONDS):
            now[0] = moment
            with pytest.raises(InvalidInput, match=said):
                await known.addresses()
        assert len(fetches.urls) == 1
        fetches.answer, now[0] = description(), 100.0 + RETRY_SECONDS
        assert (await known.addresses()).issuer == ISSUER

    asyncio.run(test())


@pytest.mark.parametrize("answer", [description(), Unreachable("no answer")])
def test_one_request_is_under_way_for_all_who_wait(
    fetches: Fetches, answer: bytes | Exception
) -> None:
    async def test() -> None:
        fetches.held, fetches.answer = threading.Event(), answer
        known = Discovery(ISSUER)
        waiting = [asyncio.create_task(known.addresses()) for _ in range(120)]
        await asyncio.sleep(0)
        fetches.held.set()
        given = await asyncio.gather(*waiting, return_exceptions=True)
        assert len(fetches.urls) == 1
        assert {type(each) for each in given} == {
            Unreachable if isinstance(answer, Exception) else provider.Addresses
        }

    asyncio.run(asyncio.wait_for(test(), PATIENCE))


@pytest.fixture
def slow_provider() -> Iterator[tuple[str, threading.Semaphore, Callable[[], None]]]:
    """A provider that answers once it is told to: its address, what it was asked, and the word."""
    asked, told = threading.Semaphore(0), threading.Event()

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.release()
            assert told.wait(PATIENCE)
            body = description(f"http://127.0.0.1:{self.server.server_address[1]}")
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", asked, told.set
        finally:
            told.set()
            server.shutdown()
            thread.join()


def test_people_who_leave_for_a_slow_provider_hold_up_nobody(
    tmp_path: Path, slow_provider: tuple[str, threading.Semaphore, Callable[[], None]]
) -> None:
    issuer, asked, tell = slow_provider
    many = 45  # more than the threads that all other work shares
    with (
        running(tmp_path, oidc_issuer=issuer, oidc_client_id="catalog") as client,
        ThreadPoolExecutor(many) as asking,
    ):
        leaving = [
            asking.submit(Browser(client).get, "/sign-in/provider?to=/") for _ in range(many)
        ]
        try:
            assert asked.acquire(timeout=PATIENCE)
            audit = Browser(client, "admin").get("/audit")
        finally:
            tell()
        assert audit.status_code == 200
        for each in leaving:
            answer = each.result()
            assert answer.status_code == 303
            assert answer.headers["location"].startswith(f"{issuer}/authorize?")
        assert not asked.acquire(blocking=False)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"oidc_issuer": ISSUER}, "CATALOG_OIDC_ISSUER and CATALOG_OIDC_CLIENT_ID need each other"),
        (
            {"oidc_issuer": "http://identity.example.org", "oidc_client_id": "x"},
            "CATALOG_OIDC_ISSUER: 'http://identity.example.org' must be https, or ",
        ),
        ({"oidc_scope": "profile"}, "CATALOG_OIDC_SCOPE must hold openid, got 'profile'"),
        (
            {"oidc_client_secret_file": "/nowhere"},
            "CATALOG_OIDC_CLIENT_SECRET_FILE: /nowhere cannot be read: No such file or directory",
        ),
    ],
)
def test_settings_with_which_nobody_could_sign_in_are_refused(
    given: dict[str, str], said: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        provider.check_settings(Settings(**given))

    assert refused.value.message.startswith(said)
