"""Routes of a kind are there from the first request for them on."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from api.app import Application
from domain.kinds.registry import KINDS
from tests.api.conftest import Client, running

ABSENT = "01890000-0000-7000-8000-000000000000"
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
]


def asked(client: Client, method: str, path: str) -> tuple[int, str | None, Any]:
    answer = client.request(method, path)
    told: Any = answer.content
    if answer.status_code >= 400:
        told = answer.json() | {"requestId": None}
    return answer.status_code, answer.headers.get("Allow"), told


@pytest.mark.parametrize(("method", "path"), ASKED)
def test_first_request_is_answered_as_those_after_it(tmp_path: Path, method, path) -> None:
    with running(tmp_path) as client:
        app: Any = client.http.app
        assert isinstance(app, Application)
        assert len(app.late) == len(KINDS)
        first = asked(client, method, path)
        asyncio.run(app.register_rest())

        assert not app.late
        assert asked(client, method, path) == first


def test_request_registers_only_what_it_asks_for(tmp_path: Path) -> None:
    with running(tmp_path) as client:
        client.get("/v1/tables")
        client.get("/v1/search/query", q="a")
        app: Any = client.http.app

        assert len(app.late) == len(KINDS) - 1
        assert f"/v1/{KINDS['table'].collection}" not in app.late
