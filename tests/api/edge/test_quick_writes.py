"""Writes by the quick path are answered as by the way through Litestar."""

from collections.abc import Iterator
from typing import Any

import pytest

from api.app import Application
from tests.api.conftest import Client, running

ROUTED = "/v1//tables"
"""A path in a form that is not plain, so that the request goes through Litestar."""
NOBODY = "00000000-0000-7000-8000-000000000000"
TABLE = {
    "name": "orders",
    "databaseSchema": "service.database.schema",
    "columns": [{"name": "id", "dataType": "INT"}],
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator["World"]:
    with running(tmp_path_factory.mktemp("direct")) as client:
        yield World(client)


class World:
    """A table, and a look at which requests the quick path answers."""

    def __init__(self, client: Client) -> None:
        self.client = client
        client.schema()
        self.table = client.table()
        client.request("GET", "/v1/tables", role="reader")
        app: Any = client.http.app
        assert isinstance(app, Application)
        self.direct: list[bool] = []
        found = app.quick.application

        def watched(scope: Any) -> Any:
            answer = found(scope)
            self.direct.append(answer is not None)
            return answer

        app.quick.application = watched  # type: ignore[method-assign]

    def ask(self, method: str, path: str, **options: Any) -> tuple[int, dict[str, str], Any]:
        """Status, headers and body of an answer, without what differs from answer to answer."""
        response = self.client.request(method, path, **options)
        headers = dict(response.headers)
        request_id = headers.pop("x-request-id")
        return response.status_code, headers, response.text.replace(request_id, "")


SAME = (
    ("PUT", "/v1/tables", {"json": TABLE}, 200),
    ("PUT", "/v1/tables", {"json": TABLE, "headers": {"If-Match": 'W/"0.1"'}}, 200),
    ("PUT", "/v1/tables", {"json": TABLE, "headers": {"If-Match": 'W/"7.1"'}}, 412),
    ("PUT", "/v1/tables", {"json": TABLE, "headers": {"If-Match": "x"}}, 400),
    ("PUT", "/v1/tables", {"json": TABLE, "headers": {"Content-Type": "text/plain"}}, 415),
    ("PUT", "/v1/tables", {"json": TABLE, "headers": {"Idempotency-Key": "a" * 256}}, 400),
    ("PUT", "/v1/tables", {"json": TABLE, "role": "reader"}, 403),
    ("PUT", "/v1/tables", {"content": b"{"}, 400),
    ("PUT", "/v1/tables", {"json": {**TABLE, "columns": 7}}, 400),
    ("PUT", "/v1/tables", {"json": {**TABLE, "databaseSchema": "a.b.c"}}, 404),
    ("POST", "/v1/tables", {"json": TABLE}, 409),
    ("PUT", "/v1/tables/bulk", {"json": [TABLE]}, 200),
    ("PUT", "/v1/tables/restore", {"json": {"id": NOBODY}}, 404),
    ("PATCH", "/v1/tables/{id}", {"json": []}, 200),
    ("PATCH", "/v1/tables/name/service.database.schema.orders", {"json": []}, 200),
    ("PUT", "/v1/tables?overrideMetadata=true", {"json": TABLE}, 200),
    ("PUT", "/v1/tables?overrideMetadata=x", {"json": TABLE}, 400),
    ("PUT", "/v1/tables?overrideMetadat=true", {"json": TABLE}, 400),
    ("PUT", "/v1/tables", {"json": TABLE, "headers": {"Authorization": "Bearer x"}}, 401),
    ("PATCH", "/v1/tables/{id}", {"json": [{"op": "remove", "path": "/x"}]}, 400),
    ("PATCH", "/v1/tables/" + NOBODY, {"json": []}, 404),
    ("PATCH", "/v1/tables/" + "x" * 36, {"json": []}, 400),
    ("DELETE", "/v1/tables/" + NOBODY, {}, 404),
)


@pytest.mark.parametrize(("method", "path", "options", "status"), SAME)
def test_plain_write_is_answered_as_by_its_route(
    world: World, method: str, path: str, options: dict[str, Any], status: int
) -> None:
    path = path.format(id=world.table["id"])
    world.direct.clear()
    direct = world.ask(method, path, **options)
    routed = world.ask(method, path.replace("/v1/tables", ROUTED), **options)

    assert direct == routed
    assert direct[0] == status
    assert world.direct == [True, False]


def test_entity_is_created_changed_and_deleted_by_either_way(world: World) -> None:
    world.direct.clear()
    made = [
        world.ask("PUT", tables, json={**TABLE, "name": name})
        for name, tables in (("direct", "/v1/tables"), ("routed", ROUTED))
    ]
    listed = world.client.get("/v1/tables", limit=10)["data"]
    ids = {table["name"]: table["id"] for table in listed}
    changes = [{"op": "add", "path": "/description", "value": "new"}]
    for name, tables in (("direct", "/v1/tables"), ("routed", ROUTED)):
        made.append(world.ask("PATCH", f"{tables}/{ids[name]}", json=changes))
        made.append(world.ask("DELETE", f"{tables}/{ids[name]}"))

    assert [status for status, *_ in made] == [201, 201, 200, 200, 200, 200]
    assert [answer[1].keys() for answer in made[::2]] == [answer[1].keys() for answer in made[1::2]]
    assert made[0][1]["location"] == f"/v1/tables/{ids['direct']}"
    assert world.direct == [True, False, True, True, True, False, False]


@pytest.mark.parametrize(
    ("method", "path", "options"),
    [
        ("PUT", "/v1/tables/", {"json": TABLE}),
        ("PUT", "/v1//tables", {"json": TABLE}),
        ("PUT", "/v1/nothing", {"json": TABLE}),
        ("PATCH", "/v1/tables/", {"json": []}),
        ("PATCH", "/v1/tables", {"json": []}),
        ("DELETE", "/v1/tables/restore", {}),
        ("PUT", "/v1/tables", {"json": TABLE, "headers": {"Host": "a b"}}),
        ("OPTIONS", "/v1/tables", {}),
    ],
)
def test_other_write_is_left_to_litestar(
    world: World, method: str, path: str, options: dict[str, Any]
) -> None:
    world.direct.clear()
    world.ask(method, path, **options)

    assert world.direct == [False]
