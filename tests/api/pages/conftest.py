"""Browsers that are signed in as a role, without a socket."""

import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any

import msgspec
import pytest
from litestar import Litestar
from litestar.testing import TestClient

from benchmarks.postgres_server import PostgresServer, new_schema
from tests.api.conftest import Client, RunFilled, running, token
from tests.waiting import until

BACKENDS = ("files", "postgresql")
HTML = {"Accept": "text/html"}
OWN = {"Sec-Fetch-Site": "same-origin"}
"""Headers that a browser sends with a form of our own pages."""
TABLE = "service.database.schema.orders"
CONTRACT = f"{TABLE}.dataContract_orders"
"""Qualified names in the catalogs of `shop` and `story`."""


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

    def head(self, path: str) -> Any:
        """The answer without the page itself."""
        return self._ask("HEAD", path)

    def post(self, path: str, fields: dict[str, str], **options: Any) -> Any:
        """The answer to a form, sent as it is."""
        headers = options.pop("headers", OWN)
        return self._ask("POST", path, data=fields, headers=headers, **options)

    def submit(self, path: str, fields: dict[str, str] | None = None, *, on: str = "/") -> Any:
        """The answer to a form of a page, which is loaded first for the token in it."""
        page = self.get(on).text
        held = page.partition('name="form_token" value="')[2].partition('"')[0]
        return self.post(path, {**(fields or {}), "form_token": held})

    def _ask(self, method: str, path: str, **options: Any) -> Any:
        given = options.pop("headers", {})
        headers = [*HTML.items(), *(given.items() if isinstance(given, dict) else given)]
        if self.cookie is not None:
            headers.append(("Cookie", f"catalog_session={self.cookie}"))
        answer = self._http.request(
            method, path, headers=headers, follow_redirects=False, **options
        )
        self._http.cookies.clear()
        return answer


def hidden(text: str) -> dict[str, str]:
    """Return the fields that a form sends without being asked: hidden fields and ticked boxes."""
    main = text.partition("<main")[2]
    pairs = re.findall(r'<input type="(?:hidden|checkbox)" name="([^"]*)" value="([^"]*)"', main)
    return {unescape(name): unescape(value) for name, value in pairs}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, run_filled: RunFilled) -> Iterator[Client]:
    """A catalog with a table, its contract, owner and tags, for tests that write nothing."""
    with run_filled(tmp_path_factory.mktemp("shop"), fill) as client:
        yield client


@pytest.fixture
def editor(tmp_path: Path, run_filled: RunFilled) -> Iterator[Browser]:
    """An editor at such a catalog, for tests that write."""
    with run_filled(tmp_path, fill) as client:
        yield Browser(client, "editor")


def _on(backend: str, request: pytest.FixtureRequest) -> dict[str, Any]:
    """Settings of an application whose log and lists are there."""
    if backend == "files":
        return {}
    server: PostgresServer = request.getfixturevalue("postgres")
    return {"database_url": server.url(new_schema())}


@pytest.fixture(params=BACKENDS)
def anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Client]:
    """An empty catalog in files, and one in a database."""
    with running(tmp_path, **_on(request.param, request)) as client:
        yield client


@pytest.fixture(scope="module", params=BACKENDS)
def shop_anywhere(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Client]:
    """Yield a client as `shop` does, in files and in a database."""
    directory = tmp_path_factory.mktemp("shop")
    with running(directory, **_on(request.param, request)) as client:
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


class Story(msgspec.Struct, frozen=True):
    """A catalog, and what it was."""

    client: Client
    first: int
    """The position at which it was filled."""
    between: str
    """A time after that and before all that was changed since."""


def write(client: Client, method: str, path: str, body: Any = None) -> None:
    response = client.request(method, path, json=body)
    assert response.status_code == 200, response.text


def patch(client: Client, path: str, key: str, value: Any) -> None:
    write(client, "PATCH", path, [{"op": "add", "path": f"/{key}", "value": value}])


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """A shop that was changed after it was filled, for tests that write nothing."""
    with running(tmp_path_factory.mktemp("story")) as client:
        fill(client)
        wide = [{"name": f"c{number}", "dataType": "INT"} for number in range(12)]
        retired, passing = client.table("retired", columns=wide), client.table("passing")
        first, last = client.services.stores.log.head(), passing["updatedAt"]
        until(lambda: time.time_ns() // 1_000_000 > last)
        client.table("later")
        patch(client, f"/v1/tables/name/{TABLE}", "description", "What everybody reads now")
        patch(client, f"/v1/tables/name/{TABLE}", "displayName", "Other columns")
        patch(client, "/v1/domains/name/sales", "name", "selling")
        write(client, "DELETE", f"/v1/tables/{retired['id']}")
        write(client, "DELETE", f"/v1/tables/{passing['id']}?hardDelete=true")
        seen = {"X-Catalog-Position": str(client.services.stores.log.head())}
        assert client.ask("GET", "/v1/search/query?q=*", headers=seen)[0] == 200
        moment = datetime.fromtimestamp(last / 1000, UTC).isoformat(timespec="milliseconds")
        yield Story(client, first, moment.replace("+00:00", "Z"))
