"""Reads without a route are answered as their routes answer them, or left to these."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from litestar import Litestar

from api.app import Application
from api.callers.tokens.issuers import Issuer
from api.callers.tokens.minting import mint
from projections.entities.single_entities import read_one
from tests.api.conftest import SECRET, Client, over_files, running, running_under, token
from tests.depth import examples

pytestmark = over_files
POLICIES = """
[[rule]]
role = "admin"
allow = ["list", "view", "search", "create", "edit", "delete", "operate"]

[[rule]]
role = "reader"
allow = ["list", "view"]
kinds = ["table"]
withhold = ["columns.description", "owners"]
"""
NAME = "service.database.schema"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator["World"]:
    directory = tmp_path_factory.mktemp("direct")
    with running_under(directory, POLICIES) as client:
        yield World(client)


class World:
    """Some tables, one of them deleted, one too large for a direct read."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.app: Any = client.http.app
        assert isinstance(self.app, Application)
        client.schema()
        owner = client.create("users", name="ann", email="ann@example.org")
        self.tables = [
            client.table(
                f"t{number}",
                owners=[{"id": owner["id"], "type": "user"}],
                columns=[{"name": "id", "dataType": "INT", "description": "the key"}],
            )
            for number in range(5)
        ]
        self.large = client.create("glossaries", name="large", description="x" * 300_000)
        client.request("DELETE", f"/v1/tables/{self.tables[-1]['id']}")
        self.ids = [table["id"] for table in self.tables]
        self.cursor = client.get("/v1/tables", limit=2)["paging"]["after"]
        self.tokens = {role: token(role) for role in ("admin", "reader", "nobody")}
        for role in self.tokens:
            client.request("GET", "/healthz", role=role)
            self.routed(self.scope("/v1/tables", role=role))

    def scope(self, path: str, query: str = "", *, role: str = "admin", **more: str) -> Any:
        headers = {"host": "x", "authorization": f"Bearer {self.tokens[role]}", **more}
        return {
            "type": "http",
            "http_version": "1.1",
            "method": "GET",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
            "state": {},
        }

    def routed(self, scope: Any) -> tuple[int, dict[bytes, bytes], bytes]:
        """Status, headers and body of the answer that the route gives."""
        status, headers, body = 0, {}, b""

        messages = iter([{"type": "http.request", "body": b"", "more_body": False}])

        async def receive() -> Any:
            return next(messages, None) or await asyncio.Event().wait()

        async def send(message: Any) -> None:
            nonlocal status, headers, body
            if message["type"] == "http.response.start":
                status, headers = message["status"], dict(message["headers"])
            else:
                body += message.get("body", b"")

        app = super(Application, self.app)
        asyncio.run(self.app.edge(scope, receive, send, app.__call__))
        del headers[b"x-request-id"]
        return status, headers, body

    def direct(self, scope: Any) -> tuple[int, dict[bytes, bytes], bytes] | None:
        """Status, headers and body of the answer without a route; None where there is none."""
        answered = self.app.edge.answer(scope)
        if answered is None:
            return None
        answer, _ = answered
        return answer.status_code, dict(answer.raw_headers), answer.body


PLAIN = (
    "",
    "limit=2",
    "limit=0",
    "limit=2&fields=owners,columns",
    "fields=*&include=all",
    "include=deleted",
    "database=service.database",
    "databaseSchema=service.database.schema&limit=1",
    "limit=2&after={cursor}",
)


@pytest.mark.parametrize("query", PLAIN)
@pytest.mark.parametrize("role", ["admin", "reader"])
def test_plain_list_is_read_without_a_route(world: World, query: str, role: str) -> None:
    if role == "reader" and "owners" in query:
        query = query.replace("owners,", "")
    query = query.format(cursor=world.cursor)
    direct = world.direct(world.scope("/v1/tables", query, role=role))

    assert direct is not None
    assert direct == world.routed(world.scope("/v1/tables", query, role=role))
    assert direct[0] == 200


@pytest.mark.parametrize("query", ["", "fields=*", "include=all"])
@pytest.mark.parametrize("role", ["admin", "reader"])
def test_plain_entity_is_read_without_a_route(world: World, query: str, role: str) -> None:
    for path in (world.ids[0], f"name/{NAME}.t1"):
        direct = world.direct(world.scope(f"/v1/tables/{path}", query, role=role))

        assert direct is not None
        assert direct == world.routed(world.scope(f"/v1/tables/{path}", query, role=role))
        assert direct[1][b"etag"]


@pytest.mark.parametrize(
    ("path", "query", "more"),
    [
        ("/v1/tables", "limit=x", {}),
        ("/v1/tables", "limit=2&limit=3", {}),
        ("/v1/tables", "limit=null", {}),
        ("/v1/tables", "limit=n%55ll", {}),
        ("/v1/dataContracts", "status=%6eull", {}),
        ("/v1/dataContracts", "entity=nul%6C", {}),
        ("/v1/tables", "limit=1001", {}),
        ("/v1/tables", "limit=101", {}),
        ("/v1/tables", "Limit=2", {}),
        ("/v1/tables", "other=2", {}),
        ("/v1/tables", "fields=nothing", {}),
        ("/v1/tables", "after=damaged", {}),
        ("/v1/tables", "include=some", {}),
        ("/v1/tables/", "", {}),
        ("/v1//tables", "", {}),
        ("/v1/nothing", "", {}),
        ("/v1/tables/restore", "", {}),
        ("/v1/glossaries/{large}", "", {}),
        ("/v1/glossaries", "", {}),
        ("/v1/tables/{deleted}", "", {}),
        ("/v1/tables/{first}/versions", "", {}),
        ("/v1/tables/name/nothing", "", {}),
        ("/v1/tables", "", {"authorization": "Bearer x"}),
        ("/v1/tables", "", {"host": "a b"}),
        ("/v1/search/query", "q=t1", {}),
    ],
)
def test_other_request_is_left_to_its_route(
    world: World, path: str, query: str, more: dict[str, str]
) -> None:
    path = path.format(large=world.large["id"], deleted=world.ids[-1], first=world.ids[0])

    assert world.direct(world.scope(path, query, **more)) is None


def test_without_permission_a_request_is_left_to_its_route(world: World) -> None:
    for role, path in (("nobody", "/v1/tables"), ("reader", "/v1/databases")):
        assert world.direct(world.scope(path, role=role)) is None
        assert world.routed(world.scope(path, role=role))[0] == 403
    assert world.direct(world.scope("/v1/tables", "fields=owners", role="reader")) is None


def test_token_that_was_not_verified_yet_is_left_to_the_route(world: World) -> None:
    scope = world.scope("/v1/tables")
    fresh = mint(Issuer(secret=SECRET), "somebody new", ("admin",), 600)
    scope["headers"][1] = (b"authorization", f"Bearer {fresh}".encode())
    assert world.direct(scope) is None

    scope["headers"].append(scope["headers"][1])
    assert world.direct(scope) is None


def test_request_that_is_left_to_its_route_takes_one_place_of_the_rate(tmp_path: Path) -> None:
    with running(tmp_path, rate_limit=1.0, rate_burst=4) as client:
        statuses = [client.request("GET", "/v1/tables?limit=101").status_code for _ in range(5)]

    assert statuses == [200, 200, 200, 200, 429]


def test_direct_read_is_counted_and_logged_as_its_route_does(world: World) -> None:
    def counted() -> float:
        text = world.client.request("GET", "/metrics").text
        route = 'catalog_request_seconds_count{method="GET",route="/v1/tables/{entity_id}"'
        lines = [line for line in text.splitlines() if line.startswith(f'{route},status="200"')]
        return float(lines[0].split()[1]) if lines else 0.0

    before = counted()
    assert world.direct(world.scope(f"/v1/tables/{world.ids[0]}")) is not None
    world.routed(world.scope(f"/v1/tables/{world.ids[0]}"))

    assert counted() == before + 2


values = st.one_of(
    st.sampled_from(["", "0", "1", "5", "-1", "1e3", "true", "NULL", "owners", "*", "owners,tags"]),
    st.sampled_from(["all", "deleted", "service.database", NAME, f"{NAME}.t1", "Draft"]),
    st.text(st.characters(max_codepoint=300, exclude_categories=["Cs"]), max_size=8),
)
names = st.sampled_from(
    ["limit", "fields", "before", "after", "include", "database", "databaseSchema", "status", "x"]
)
queries = st.lists(st.tuples(names, values), max_size=4).map(
    lambda pairs: "&".join(f"{name}={value}" for name, value in pairs)
)


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    path=st.sampled_from(
        ["", "/{id}", f"/name/{NAME}.t0", "/name/large", f"/name/{NAME}.t4", "/x"]
    ),
    collection=st.sampled_from(["tables", "databases", "glossaries", "dataContracts", "users"]),
    query=queries,
    role=st.sampled_from(["admin", "reader", "nobody"]),
)
def test_direct_read_is_what_the_route_answers(
    world: World, path: str, collection: str, query: str, role: str
) -> None:
    path = f"/v1/{collection}" + path.format(id=world.ids[0])
    direct = world.direct(world.scope(path, query, role=role))

    if direct is not None:
        assert direct == world.routed(world.scope(path, query, role=role))


def test_page_that_is_to_be_compressed_is_made_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/v1/glossaries/{world.client.create('glossaries', name='some')['id']}"
    text = [{"op": "add", "path": "/description", "value": "x" * 40_000}]
    world.client.request("PATCH", path, json=text)
    made = []

    def counted(*arguments: Any, **options: Any) -> Any:
        made.append(1)
        return read_one(*arguments, **options)

    monkeypatch.setattr("api.use_cases.entity_reads.read_one", counted)
    headers = {"Authorization": f"Bearer {world.tokens['admin']}"}
    for encoding in ("gzip", "identity", "gzip"):
        given = {**headers, "Accept-Encoding": encoding}
        answer = world.client.http.get(path, headers=given)
        assert answer.headers.get("Content-Encoding") == ("gzip" if encoding == "gzip" else None)
        assert answer.json()["description"] == "x" * 40_000

    assert len(made) == 1


def test_application_is_litestars(world: World) -> None:
    assert isinstance(world.app, Litestar)
