"""Browsers that are signed in as a role, without a socket."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from litestar import Litestar
from litestar.testing import TestClient

from tests.api.conftest import Client, running, token

HTML = {"Accept": "text/html"}


class Browser:
    """Asks for pages as a browser does, with the session of a role, or of nobody."""

    def __init__(self, client: Client, role: str | None = None) -> None:
        self.client = client
        self._http: TestClient[Litestar] = client.http
        self.cookie: str | None = None
        if role is not None:
            self.sign_in(token(role))

    def sign_in(self, given: str) -> Any:
        """Paste a token; the answer."""
        answer = self.post("/sign-in", {"token": given})
        self.take(answer)
        return answer

    def take(self, answer: Any) -> None:
        """Keep the session that an answer starts."""
        header = answer.headers.get("set-cookie", "")
        if header.startswith("catalog_session="):
            self.cookie = header.partition(";")[0].partition("=")[2] or None

    def get(self, path: str, **options: Any) -> Any:
        """The answer with a page; redirects are not followed."""
        return self._ask("GET", path, **options)

    def post(self, path: str, fields: dict[str, str], **options: Any) -> Any:
        """The answer to a form, sent as it is."""
        return self._ask("POST", path, data=fields, **options)

    def submit(self, path: str, fields: dict[str, str] | None = None, *, on: str = "/") -> Any:
        """The answer to a form of a page, which is loaded first for the token in it."""
        page = self.get(on).text
        held = page.partition('name="form_token" value="')[2].partition('"')[0]
        return self.post(path, {**(fields or {}), "form_token": held})

    def _ask(self, method: str, path: str, **options: Any) -> Any:
        headers = {**HTML, **options.pop("headers", {})}
        if self.cookie is not None:
            headers["Cookie"] = f"catalog_session={self.cookie}"
        answer = self._http.request(
            method, path, headers=headers, follow_redirects=False, **options
        )
        self._http.cookies.clear()
        return answer


def hidden(text: str) -> dict[str, str]:
    """What the form of a page sends without being asked: hidden fields and ticked boxes."""
    main = text.partition("<main")[2]
    pairs = re.findall(r'<input type="(?:hidden|checkbox)" name="([^"]*)" value="([^"]*)"', main)
    return {unescape(name): unescape(value) for name, value in pairs}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A catalog with a table, its contract, owner and tags, for tests that write nothing."""
    with running(tmp_path_factory.mktemp("shop")) as client:
        fill(client)
        yield client


def fill(client: Client) -> None:
    """Create a small shop: a table with nested columns, a contract of it, an owner and tags."""
    client.schema()
    client.create("users", name="annabel", email="annabel@shop.example")
    client.create("classifications", name="PII", description="Personal data")
    client.create("tags", name="Email", classification="PII", description="An address")
    client.create("domains", name="sales", domainType="Aggregate", description="What is sold")
    table = client.table(
        "orders",
        displayName="Customer orders",
        description="One **row** per order. <script>alert(1)</script>",
        owners=[{"type": "user", "fullyQualifiedName": "annabel"}],
        domains=["sales"],
        tags=[
            {
                "tagFQN": "PII.Email",
                "source": "Classification",
                "labelType": "Manual",
                "state": "Confirmed",
            }
        ],
        columns=[
            {"name": "id", "dataType": "INT", "constraint": "PRIMARY_KEY"},
            {
                "name": "customer",
                "dataType": "STRUCT",
                "children": [{"name": "email", "dataType": "VARCHAR", "dataLength": 99}],
            },
        ],
    )
    client.create(
        "dataContracts",
        name="orders",
        entity={"type": "table", "id": table["id"]},
        description="What readers may rely on",
    )
    client.search_until(lambda found: found["hits"]["total"]["value"] >= 2, q="orders")
