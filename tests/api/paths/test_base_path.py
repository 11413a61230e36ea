"""The API below `/api/v1`, where OpenMetadata's clients look for it: as below `/v1`."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.api.conftest import Client, body_of, running, running_under
from tests.depth import examples

NAME = "service.database.schema.orders"
_LIST_OF_TABLES = re.compile(r"(/+api)?/+v1/+tables/*(\?|$)")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator["World"]:
    with running(tmp_path_factory.mktemp("base_path")) as client:
        yield World(client)


class World:
    """A table, another one that is deleted, and a glossary with slashes in its name."""

    def __init__(self, client: Client) -> None:
        self.client = client
        client.schema()
        self.table = client.table()
        gone = client.table("gone")
        client.request("DELETE", f"/v1/tables/{gone['id']}")
        client.create("glossaries", name="a/v1//b", description="x" * 40_000)
        client.search_until(lambda a: a["hits"]["total"]["value"] == 5, q="*")

    def told(self, method: str, path: str, **options: Any) -> tuple[int, Any, Any]:
        """Status, headers and body of an answer, but for what no two answers share."""
        headers = {"X-Request-Id": "mine", **options.pop("headers", {})}
        answer = self.client.request(method, path, headers=headers, **options)
        found = dict(answer.headers)
        text = answer.text
        if "/search/" in path and answer.status_code == 200 and method == "GET":
            text = {key: value for key, value in answer.json().items() if key != "took"}
            found.pop("content-length", None)
        elif _LIST_OF_TABLES.match(unquote(path)) and answer.status_code == 200:
            # Below `/api/v1` its items show their columns as well.
            found.pop("content-length", None)
            if text:
                text = answer.json()
                for item in text["data"]:
                    item.pop("columns", None)
        return answer.status_code, found, text


READS = (
    ("GET", "/v1/tables"),
    ("GET", "/v1/tables?limit=1&fields=columns"),
    ("GET", "/v1/tables?limit=101"),
    ("GET", "/v1/tables?limit=1001"),
    ("GET", "/v1/tables?limit=x"),
    ("GET", "/v1/tables?Limit=1"),
    ("GET", "/v1/tables?fields=nothing"),
    ("GET", "/v1//tables"),
    ("GET", "/v1/tables/"),
    ("GET", "/v1/tables/{id}"),
    ("GET", "/v1/tables/{id}?fields=*"),
    ("GET", "/v1/tables/{id}/versions"),
    ("GET", "/v1/tables/{id}/versions/0.1"),
    ("GET", f"/v1/tables/name/{NAME}"),
    ("GET", "/v1/tables/name/nothing"),
    ("GET", "/v1/glossaries/name/a%2Fv1%2F%2Fb"),
    ("GET", "/v1/glossaries/name/a/v1//b"),
    ("GET", "/v1/services/databaseServices"),
    ("GET", "/v1/search/query?q=orders"),
    ("GET", "/v1/search/query?q=(orders"),
    ("GET", "/v1/audit/events?limit=2"),
    ("GET", "/v1/system/version"),
    ("HEAD", "/v1/tables"),
    ("OPTIONS", "/v1/tables/{id}"),
    ("POST", "/v1/tables"),
    ("DELETE", "/v1/tables/nothing"),
)


@pytest.mark.parametrize("role", ["admin", "reader", "nobody"])
@pytest.mark.parametrize(("method", "path"), READS)
def test_same_answer_below_both_paths(world: World, method: str, path: str, role: str) -> None:
    path = path.format(id=world.table["id"])

    assert world.told(method, f"/api{path}", role=role) == world.told(method, path, role=role)


def test_caller_is_asked_for_a_token_below_both_paths(world: World) -> None:
    plain, prefixed = (
        world.told("GET", path, headers={"Authorization": "Bearer x"})
        for path in ("/v1/tables", "/api/v1/tables")
    )

    assert plain[0] == 401
    assert prefixed == plain


def test_writes_answer_the_same_below_both_paths(world: World) -> None:
    item = f"/v1/tables/{world.table['id']}"
    patch = [{"op": "add", "path": "/name", "value": "orders"}]
    writes: tuple[tuple[str, str, Any], ...] = (
        ("PUT", "/v1/glossaries", {"name": "a/v1//b", "description": "x" * 40_000}),
        ("PUT", "/v1/glossaries/bulk", [{"name": "a/v1//b", "description": "x" * 40_000}]),
        ("POST", "/v1/glossaries", {"name": "a/v1//b", "description": "x"}),
        ("POST", "/v1/glossaries", {"name": "c", "descriptio": "x"}),
        ("PATCH", item, patch),
        ("PATCH", f"/v1/tables/name/{NAME}", patch),
    )
    for method, path, body in writes:
        plain = world.told(method, path, json=body)

        assert world.told(method, f"/api{path}", json=body) == plain
        assert plain[0] in (200, 400, 409)


def test_location_stays_below_the_path_that_was_asked(world: World) -> None:
    # A base that ends in a slash gives two of them.
    for number, base in enumerate(("", "/api", "/api/")):
        body = {"name": f"made{number}", "description": "x"}
        made = world.client.request("POST", f"{base}/v1/glossaries", json=body)

        assert made.headers["Location"] == f"{base.rstrip('/')}/v1/glossaries/{made.json()['id']}"
        assert world.client.request("GET", made.headers["Location"]).json() == made.json()


def test_write_repeated_below_the_other_path_is_answered_as_the_first(world: World) -> None:
    def post(base: str) -> Any:
        return world.client.request(
            "POST",
            f"{base}/v1/glossaries",
            json={"name": "once", "description": "x"},
            headers={"Idempotency-Key": "once"},
        )

    first, second = post("/api"), post("")

    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json() == second.json()
    assert first.headers["Location"] == f"/api{second.headers['Location']}"


@pytest.mark.parametrize(
    ("method", "path", "said"),
    [
        ("GET", "/api/v1/nothing", "Not Found: GET /api/v1/nothing"),
        ("GET", "/v1/nothing", "Not Found: GET /v1/nothing"),
        ("PATCH", "/api/v1/tables", "Method Not Allowed: PATCH /api/v1/tables"),
        ("GET", "/api/v1/tables/restore", "Method Not Allowed: GET /api/v1/tables/restore"),
        ("GET", "/api/v1", "Not Found: GET /api/v1"),
        ("GET", "/api/api/v1/tables", "Not Found: GET /api/api/v1/tables"),
        ("GET", "/api/v1/api/v1/tables", "Not Found: GET /api/v1/api/v1/tables"),
        ("GET", "/api/v2/tables", "Not Found: GET /api/v2/tables"),
        ("GET", "/api/healthz", "Not Found: GET /api/healthz"),
        ("GET", "/apis/v1/tables", "Not Found: GET /apis/v1/tables"),
        ("GET", "/api/v1x/tables", "Not Found: GET /api/v1x/tables"),
    ],
)
def test_error_names_the_path_that_was_asked(
    world: World, method: str, path: str, said: str
) -> None:
    answer = world.client.request(method, path)

    assert answer.status_code == (405 if "Allowed" in said else 404)
    # Below a collection the routes that there are follow.
    message, _, routes = body_of(answer)["message"].partition("; ")
    assert (message, bool(routes)) == (said, "Allowed" in said)


def test_both_paths_count_as_one_route(world: World) -> None:
    def counted() -> float:
        text = world.client.request("GET", "/metrics").text
        assert "/api" not in text
        route = 'catalog_request_seconds_count{method="GET",route="/v1/tables",status="200"}'
        return sum(float(line.split()[1]) for line in text.splitlines() if line.startswith(route))

    before = counted()
    for path in ("/v1/tables", "/api/v1/tables", "/api/v1/tables?limit=101"):
        world.client.get(path)

    assert counted() == before + 3


def test_both_paths_share_the_rate_of_a_caller(tmp_path: Path) -> None:
    with running(tmp_path, rate_limit=0.001, rate_burst=4) as client:
        statuses = [
            client.request("GET", f"{base}/v1/tables").status_code
            for base in ("", "/api", "", "/api", "/api")
        ]

    assert statuses == [200, 200, 200, 200, 429]


segments = st.sampled_from(
    (
        *("tables", "glossaries", "services", "databaseServices", "search", "query"),
        *("{id}", "name", NAME, "gone", "versions", "restore"),
        *("v1", "api", "", "%2F", "%61pi", "%zz", "a b", "é"),
    )
)
paths = st.lists(segments, max_size=5).map(lambda parts: "/".join(["/v1", *parts]))


@example("GET", "/v1/tables/%2F", "")
@settings(max_examples=examples(200), deadline=None)
@given(
    method=st.sampled_from(["GET", "OPTIONS", "PATCH", "PROPFIND"]),
    path=paths,
    query=st.sampled_from(["", "?limit=1", "?fields=*", "?q=orders", "?include=all", "?limit=no"]),
)
def test_any_path_is_answered_the_same_below_both(
    world: World, method: str, path: str, query: str
) -> None:
    path = path.replace("{id}", world.table["id"]) + query
    status, headers, text = world.told(method, path)
    prefixed = world.told(method, f"/api{path}")

    if isinstance(text, str) and f"{method} /v1" in text:
        # Not found or not allowed: the message shows the path that was asked.
        text = text.replace(f"{method} /v1", f"{method} /api/v1")
        headers["content-length"] = str(len(text.encode()))
    assert prefixed == (status, headers, text)


COLUMNS = [{"name": "id", "dataType": "INT", "fullyQualifiedName": f"{NAME}.id", "tags": []}]


def listed(client: Client, path: str, role: str = "admin") -> list[Any]:
    """The items of a list, each without what a list of tables shows below both paths."""
    response = client.request("GET", path, role=role)
    assert response.status_code == 200, response.text
    return [item.get("columns") for item in response.json()["data"]]


@pytest.mark.parametrize("query", ["", "?limit=1", "?limit=101", "?limit=1000&include=all"])
def test_lists_of_tables_show_columns_to_clients_of_openmetadata(world: World, query: str) -> None:
    client = world.client
    # Asked again and again by turns, so that no answer for one is given to the other.
    for _ in range(3):
        assert listed(client, f"/api/v1/tables{query}")[-1] == COLUMNS
        assert listed(client, f"/v1/tables{query}")[-1] is None
    assert listed(client, "/v1/tables?fields=columns") == [COLUMNS]
    assert listed(client, "/api/v1/tables?fields=owners,columns") == [COLUMNS]


def test_table_without_columns_shows_that_it_has_none(world: World) -> None:
    client = world.client
    made = client.table("bare", columns=[])
    try:
        assert listed(client, "/api/v1/tables") == [[], COLUMNS]
        assert listed(client, "/v1/tables") == [None, None]
    finally:
        client.request("DELETE", f"/v1/tables/{made['id']}?hardDelete=true")


def test_lists_of_other_kinds_show_the_same_below_both_paths(world: World) -> None:
    for path in ("databases", "databaseSchemas", "glossaries"):
        plain, prefixed = (world.client.get(f"{base}/v1/{path}")["data"] for base in ("", "/api"))
        assert plain == prefixed


def test_columns_that_are_withheld_stay_withheld(tmp_path: Path) -> None:
    with running_under(
        tmp_path,
        '[[rule]]\nrole = "admin"\nallow = ["list", "view", "create"]\n'
        '[[rule]]\nrole = "blind"\nallow = ["list"]\nwithhold = ["columns"]\n',
    ) as client:
        client.schema()
        client.table()
        for limit in (1, 101):
            for role, shown in (("admin", COLUMNS), ("blind", None), ("admin", COLUMNS)):
                assert listed(client, f"/api/v1/tables?limit={limit}", role) == [shown]
        assert client.ask("GET", "/api/v1/tables?fields=columns", role="blind")[0] == 403


def test_slash_of_a_name_stands_where_a_name_does(world: World) -> None:
    client = world.client
    client.create("services/pipelineServices", name="dagster", serviceType="Dagster")
    client.create("pipelines", name="nightly/status", service="dagster")
    moment = time.time_ns() // 1_000_000
    run = {"timestamp": moment, "executionStatus": "Successful"}
    for path in ("/v1/pipelines", "/api/v1/pipelines"):
        status = f"{path}/dagster.nightly%2Fstatus/status"
        assert client.request("PUT", status, json=run).status_code == 200
        assert client.get(status.replace("%2F", "%2f"))["data"] == [run]
        assert client.request("DELETE", f"{status}/{moment}").status_code == 200
        assert client.get(status)["data"] == []
    unknown = client.request("GET", "/v1/pipelines/dagster.nightly%2Fother/status")
    assert (unknown.status_code, "dagster.nightly/other" in unknown.json()["message"]) == (
        404,
        True,
    )
    table = client.table("a/b")
    latest = "/v1/tables/service.database.schema.a%2Fb/tableProfile/latest"
    assert client.get(latest)["id"] == table["id"]
