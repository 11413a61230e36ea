"""Reads by the quick path are answered, logged and counted as by the way through Litestar."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from litestar import Litestar

from api.app import Application
from api.callers.tokens.issuers import Issuer
from api.callers.tokens.minting import mint
from api.edge.known_headers import KnownHeaders
from projections.entities.single_entities import read_one
from tests.api.conftest import SECRET, Client, over_files, running, running_under, token
from tests.depth import examples

pytestmark = over_files
POLICIES = """
[[rule]]
role = "admin"
allow = ["list", "view", "search", "create", "edit", "delete", "operate", "audit"]

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
    """Some tables, one of them deleted, one too large to be read at once."""

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
        for collection in ("tables", "databases", "glossaries", "dataContracts", "users"):
            client.get(f"/v1/{collection}")
        for role in self.tokens:
            self.routed(self.scope("/v1/tables", role=role))

    def scope(
        self, path: str, query: str = "", *, role: str = "admin", method: str = "GET", **more: str
    ) -> Any:
        given = {"host": "x", "authorization": f"Bearer {self.tokens[role]}", "x-request-id": "r"}
        headers = {name.replace("_", "-"): value for name, value in (given | more).items()}
        return {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
            "state": {},
        }

    def routed(self, scope: Any) -> "Answer":
        """The answer of the way through Litestar."""
        self.app.mount()
        return self._sent(scope, super(Application, self.app).__call__)

    def quick(self, scope: Any) -> "Answer | None":
        """The answer of the quick path, at once or in a task; None where Litestar must answer."""
        # A connection answers nothing but GET at once.
        if scope["method"] == "GET" and (answer := self.at_once(scope)) is not None:
            return answer
        scope["headers"] = KnownHeaders(scope["headers"])
        application = self.app.quick.application(scope)
        return None if application is None else self._sent(scope, application)

    def _sent(self, scope: Any, application: Any) -> "Answer":
        status, headers, body = 0, {}, b""

        messages = iter([{"type": "http.request", "body": b"", "more_body": False}])
        answered = asyncio.Event()

        async def receive() -> Any:
            # As a server does, which also ends whoever listens for a client that leaves.
            return next(messages, None) or (await answered.wait() and {"type": "http.disconnect"})

        async def send(message: Any) -> None:
            nonlocal status, headers, body
            if message["type"] == "http.response.start":
                status, headers = message["status"], dict(message["headers"])
            else:
                body += message.get("body", b"")
                if not message.get("more_body"):
                    answered.set()

        # In the event loop of the application, to which the turns of its callers belong.
        with self.client.http.portal() as portal:
            portal.call(self.app.edge, scope, receive, send, application)
        return Answer(status, headers, body, *_logged(scope))

    def at_once(self, scope: Any) -> "Answer | None":
        """The answer that a connection gives without a task; None where there is none."""
        answered = self.app.edge.answer(scope)
        if answered is None:
            return None
        headers = dict(answered[0].raw_headers) | {b"x-request-id": answered[1].encode()}
        return Answer(answered[0].status_code, headers, answered[0].body, *_logged(scope))


class Answer(NamedTuple):
    """An answer, and what the access line and the metrics say of its request."""

    status: int
    headers: dict[bytes, bytes]
    body: bytes
    route: str
    caller: str | None
    refusal: str


def _logged(scope: Any) -> tuple[str, str | None, str]:
    caller = scope.get("user")
    return scope["path_template"], caller and caller.name, scope["state"].get("refusal", "")


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
def test_plain_list_is_read_at_once(world: World, query: str, role: str) -> None:
    if role == "reader" and "owners" in query:
        query = query.replace("owners,", "")
    query = query.format(cursor=world.cursor)
    answer = world.at_once(world.scope("/v1/tables", query, role=role))

    assert answer is not None
    assert answer == world.routed(world.scope("/v1/tables", query, role=role))
    assert answer.status == 200


@pytest.mark.parametrize("query", ["", "fields=*", "include=all"])
@pytest.mark.parametrize("role", ["admin", "reader"])
def test_plain_entity_is_read_at_once(world: World, query: str, role: str) -> None:
    for path in (world.ids[0], f"name/{NAME}.t1"):
        answer = world.at_once(world.scope(f"/v1/tables/{path}", query, role=role))

        assert answer is not None
        assert answer == world.routed(world.scope(f"/v1/tables/{path}", query, role=role))
        assert answer.headers[b"etag"]


IN_A_TASK: tuple[tuple[str, str, dict[str, str], int], ...] = (
    ("/v1/tables", "limit=x", {}, 400),
    ("/v1/tables", "limit=-1&include=some", {}, 400),
    ("/v1/tables", "limit=2&limit=3", {}, 400),
    ("/v1/tables", "limit=null", {}, 400),
    ("/v1/tables", "limit=n%55ll", {}, 400),
    ("/v1/dataContracts", "status=%6eull", {}, 400),
    ("/v1/dataContracts", "entity=nul%6C", {}, 400),
    ("/v1/dataContracts/entity", "entityType=table", {}, 400),
    ("/v1/tables", "limit=1001", {}, 400),
    ("/v1/tables", "limit=101", {}, 200),
    ("/v1/tables", "Limit=2", {}, 400),
    ("/v1/tables", "other=2", {}, 400),
    ("/v1/tables", "fields=nothing", {}, 400),
    ("/v1/tables", "after=damaged", {}, 400),
    ("/v1/tables", "include=some", {}, 400),
    ("/v1/glossaries/{large}", "", {}, 200),
    ("/v1/glossaries/{large}", "", {"accept_encoding": "gzip"}, 200),
    ("/v1/glossaries/{large}", "", {"method": "HEAD"}, 200),
    ("/v1/tables/{deleted}", "", {}, 404),
    ("/v1/tables/" + "x" * 36, "", {}, 400),
    ("/v1/tables/name/nothing", "", {}, 404),
    ("/v1/tables", "", {"authorization": "Bearer x"}, 401),
    ("/v1/tables", "", {"authorization": "x"}, 401),
    ("/v1/tables", "", {"role": "nobody"}, 403),
    ("/v1/databases", "", {"role": "reader"}, 403),
    ("/v1/tables", "fields=owners", {"role": "reader"}, 403),
    ("/v1/tables", "", {"x_catalog_position": "x"}, 400),
    ("/v1/tables", "", {"x_catalog_position": "1"}, 200),
    ("/v1/tables", "limit=2", {"method": "HEAD"}, 200),
    ("/v1/tables/{first}", "", {"method": "HEAD"}, 200),
    ("/v1/tables/{first}", "", {"if_none_match": "*"}, 304),
    ("/v1/search/query", "q=nothing", {}, 200),
    ("/v1/search/query", "", {}, 400),
    ("/v1/search/query", "q=t1&from_=3", {}, 400),
    ("/v1/search/fieldQuery", "fieldName=name", {}, 400),
    ("/v1/search/query", "q=t1&index=other", {}, 400),
    ("/v1/audit/events", "after=-1&limit=0", {}, 400),
    ("/v1/audit/events", "entity=x&eventType=y", {}, 400),
)
"""Path, query, what else the request is made of, and the status of its answer."""


@pytest.mark.parametrize(("path", "query", "more", "status"), IN_A_TASK)
def test_plain_read_is_answered_as_by_its_route(
    world: World, path: str, query: str, more: dict[str, str], status: int
) -> None:
    path = path.format(large=world.large["id"], deleted=world.ids[-1], first=world.ids[0])
    quick = world.quick(world.scope(path, query, **more))
    routed = world.routed(world.scope(path, query, **more))

    assert quick is not None
    assert _without_time(quick) == _without_time(routed)
    assert quick.status == status


@pytest.mark.parametrize("path", ["glossaries?fields=*", "glossaries/{large}", "audit/events"])
@pytest.mark.parametrize("encoding", ["gzip", "identity"])
def test_large_answer_is_sent_as_by_its_route(world: World, path: str, encoding: str) -> None:
    path, headers = path.format(large=world.large["id"]), {"Accept-Encoding": encoding}
    quick, routed = (
        world.client.request("GET", f"{base}/{path}", headers=headers) for base in ("/v1", "/v1/")
    )

    assert quick.status_code == 200
    assert quick.content == routed.content
    assert [quick.headers.get(name) for name in SENT] == [routed.headers.get(name) for name in SENT]


SENT = ("content-type", "content-length", "content-encoding", "vary", "etag", "x-catalog-position")


def _without_time(answer: "Answer") -> "Answer":
    """An answer without the milliseconds that a search has taken."""
    if b'"took"' not in answer.body:
        return answer
    headers = {name: answer.headers[name] for name in answer.headers if name != b"content-length"}
    body = re.sub(rb'"took":\d+', b"", answer.body)
    return Answer(answer.status, headers, body, answer.route, answer.caller, answer.refusal)


@pytest.mark.parametrize(
    ("path", "query", "more"),
    [
        ("/v1/tables/", "", {}),
        ("/v1//tables", "", {}),
        ("/v1/nothing", "", {}),
        ("/v1/tables/restore", "", {}),
        ("/v1/tables/{first}/versions", "", {}),
        (f"/v1/tables/name/{NAME}%2Et1", "", {}),
        ("/v1/tables", "", {"host": "a b"}),
        ("/v1/tables", "", {"method": "OPTIONS"}),
    ],
)
def test_other_read_is_left_to_litestar(
    world: World, path: str, query: str, more: dict[str, str]
) -> None:
    path = path.format(first=world.ids[0])

    assert world.quick(world.scope(path, query, **more)) is None


def test_token_that_was_not_verified_yet_takes_a_task(world: World) -> None:
    scope = world.scope("/v1/tables")
    fresh = mint(Issuer(secret=SECRET), "somebody new", ("admin",), 600)
    scope["headers"][1] = (b"authorization", f"Bearer {fresh}".encode())
    assert world.at_once(scope) is None
    answer = world.quick(scope)
    assert answer is not None
    assert (answer.status, answer.caller) == (200, "somebody new")

    again = world.scope("/v1/tables")
    again["headers"].append(again["headers"][1])
    answer = world.quick(again)
    assert answer is not None
    assert answer.status == 401


def test_request_that_goes_on_in_a_task_takes_one_place_of_the_rate(tmp_path: Path) -> None:
    with running(tmp_path, rate_limit=1.0, rate_burst=4) as client:
        statuses = [client.request("GET", "/v1/tables?limit=101").status_code for _ in range(5)]

    assert statuses == [200, 200, 200, 200, 429]


def test_unforeseen_error_of_a_read_is_logged_and_answered_and_not_asked_again(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked = []

    def fails(*_: Any, **__: Any) -> Any:
        asked.append(1)
        raise RuntimeError("a fault")

    monkeypatch.setattr("api.use_cases.entity_reads.read_one", fails)
    path = f"/v1/tables/{world.ids[1]}"
    quick = world.quick(world.scope(path, "include=all&fields=tags"))

    assert (len(asked), len(caplog.records)) == (1, 1)
    assert quick == world.routed(world.scope(path, "include=all&fields=tags"))
    assert quick is not None
    assert quick.status == 500


def test_read_by_either_way_is_counted(world: World) -> None:
    def counted() -> float:
        text = world.client.request("GET", "/metrics").text
        route = 'catalog_request_seconds_count{method="GET",route="/v1/tables/{entity_id}"'
        lines = [line for line in text.splitlines() if line.startswith(f'{route},status="200"')]
        return float(lines[0].split()[1]) if lines else 0.0

    before = counted()
    assert world.at_once(world.scope(f"/v1/tables/{world.ids[0]}")) is not None
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
def test_quick_read_is_what_the_route_answers(
    world: World, path: str, collection: str, query: str, role: str
) -> None:
    path = f"/v1/{collection}" + path.format(id=world.ids[0])
    quick = world.quick(world.scope(path, query, role=role))

    if quick is not None:
        assert quick == world.routed(world.scope(path, query, role=role))


def test_page_that_is_to_be_compressed_is_made_once_for_each_request(
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

    # The first answer is not remembered, as it might have been asked for only once.
    assert len(made) == 2


def test_application_is_litestars(world: World) -> None:
    assert isinstance(world.app, Litestar)
