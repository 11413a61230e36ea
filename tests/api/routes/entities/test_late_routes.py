"""Routes of a kind are there from the first request for them on."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from api.app import Application
from domain.kinds.registry import KINDS
from tests.api.conftest import Client, running

ABSENT = "01890000-0000-7000-8000-000000000000"
ALL = len(KINDS) + 1
"""Groups of routes that are registered late: those of each kind, and those of the use of all."""
ASKED = [
    ("GET", "/v1/tables"),
    ("GET", "/v1//tables/"),
    ("GET", "/v1/t%61bles"),
    ("GET", "/api/v1/tables"),
    ("GET", f"/v1/services/databaseServices/{ABSENT}"),
    ("OPTIONS", f"/v1/tables/{ABSENT}"),
    ("POST", f"/v1/tables/name/{ABSENT}"),
    ("DELETE", "/v1/tables/name/a%2Fb.c"),
    ("PATCH", "/v1/tables"),
    ("PUT", "/v1/tables/bulk"),
    ("GET", "/v1/tablesX"),
    ("GET", f"/v1/usage/table/{ABSENT}"),
    ("PUT", f"/v1/usage/table/name/{ABSENT}"),
    ("OPTIONS", "/v1/usage/compute.percentile/table/2026-01-01"),
    ("GET", "/v1/usage"),
]


def asked(client: Client, method: str, path: str) -> tuple[int, str | None, Any]:
    answer = client.request(method, path)
    told: Any = answer.content
    if answer.status_code >= 400:
        told = answer.json() | {"requestId": None}
    return answer.status_code, answer.headers.get("Allow"), told


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """An application that has registered all routes, for tests that write nothing."""
    with running(tmp_path_factory.mktemp("whole")) as client:
        app: Any = client.http.app
        asyncio.run(app.register_rest())
        assert not app.late
        yield client


@pytest.mark.parametrize(("method", "path"), ASKED)
def test_first_request_is_answered_as_those_after_it(
    client: Client, whole: Client, method: str, path: str
) -> None:
    app: Any = client.http.app
    assert isinstance(app, Application)
    assert len(app.late) == ALL

    assert asked(client, method, path) == asked(whole, method, path)


def test_routes_that_are_there_are_not_registered_again_with_the_rest(client: Client) -> None:
    first = asked(client, "GET", "/v1/tables")
    app: Any = client.http.app
    asyncio.run(app.register_rest())

    assert not app.late
    assert asked(client, "GET", "/v1/tables") == first


def test_request_registers_only_what_it_asks_for(client: Client) -> None:
    client.get("/v1/tables")
    client.get("/v1/search/query", q="a")
    app: Any = client.http.app

    assert len(app.late) == ALL - 1
    assert f"/v1/{KINDS['table'].collection}" not in app.late


def test_router_learns_of_routes_at_the_first_request_that_goes_its_way(client: Client) -> None:
    client.get("/v1/tables")
    app: Any = client.http.app
    assert app.routes == []

    assert client.request("OPTIONS", "/v1/tables").status_code == 204
    known = {route.path for route in app.routes}
    assert {"/v1/tables", "/v1/search/query", "/search"} <= known
    assert app.unmounted == []
