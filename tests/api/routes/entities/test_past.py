"""Entities as they were at a position or as of a time, and what changed between two points."""

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from domain.kinds.registry import KINDS
from projections.entities import cursors
from tests.api.conftest import Client, running_under
from tests.waiting import until

WITHHOLDING = """
[[rule]]
role = "guest"
allow = ["view", "list"]
withhold = ["owners", "columns.description", "description"]

[[rule]]
role = "admin"
allow = ["view", "list", "create", "edit", "delete"]
"""


def read(client: Client, path: str, role: str = "admin", **params: Any) -> tuple[str, Any]:
    """The position that an answer is of, and its body."""
    response = client.request("GET", path, role=role, params=params)
    assert response.status_code == 200, response.text
    return response.headers["X-Catalog-At"], response.json()


def describe(client: Client, path: str, text: str) -> int:
    """Change the description; returns the position of the change."""
    patch = [{"op": "add", "path": "/description", "value": text}]
    response = client.request("PATCH", path, json=patch)
    assert response.status_code == 200, response.text
    return int(response.headers["X-Catalog-Position"])


@pytest.fixture
def table(client: Client) -> Any:
    client.schema()
    return client.table()


def test_entities_of_all_kinds_are_as_they_were_shown(client: Client) -> None:
    # Schemathesis takes a second to import, which each process that collects tests would take.
    from tests.api.schemathesis_world import World  # noqa: PLC0415

    world, shown = World(client), list[tuple[str, dict[str, str], str, Any]]()
    for kind in KINDS.values():
        collection, entity_id = f"/v1/{kind.collection}", world.entities[kind.name]["id"]
        path = f"{collection}/{entity_id}"
        params = {"fields": ",".join(kind.optional), "include": "all"}
        for step in ("nothing", "first", "second", "delete", "restore"):
            if step == "delete":
                client.request("DELETE", path, params={"recursive": True})
            elif step == "restore":
                client.request("PUT", f"{collection}/restore", json={"id": entity_id})
            elif step != "nothing":
                describe(client, path, step)
            response = client.request("GET", path, params=params)
            position = response.headers["X-Catalog-Position"]
            shown.append((path, params, position, response.json()))
    assert len({position for *_, position, _ in shown}) > 4 * len(KINDS)
    for path, params, position, body in shown:
        assert read(client, path, at=position, **params) == (position, body)


def test_lists_of_all_kinds_are_as_they_were_shown(client: Client) -> None:
    from tests.api.schemathesis_world import World  # noqa: PLC0415

    world, shown = World(client), list[tuple[str, dict[str, Any], int, Any]]()
    head = client.services.stores.log.head
    for kind in KINDS.values():
        path, entity_id = f"/v1/{kind.collection}", world.entities[kind.name]["id"]
        everything = {"fields": ",".join(kind.optional), "include": "all", "limit": 100}
        for step in ("nothing", "change", "delete", "restore"):
            if step == "change":
                describe(client, f"{path}/{entity_id}", "changed")
            elif step == "delete":
                client.request("DELETE", f"{path}/{entity_id}", params={"recursive": True})
            elif step == "restore":
                client.request("PUT", f"{path}/restore", json={"id": entity_id})
            for params in (everything, {"limit": 0}, {"include": "deleted"}):
                body = read(client, path, at=head(), **params)[1]
                assert body == client.get(path, **params)
                shown.append((path, params, head(), body))
    for path, params, position, body in shown:
        assert read(client, path, at=position, **params) == (str(position), body)


def test_walk_of_a_list_stays_at_the_moment_of_its_first_page(client: Client, table: Any) -> None:
    for number in range(5):
        client.table(f"t{number}")
    expected = [one["name"] for one in client.get("/v1/tables")["data"]]
    position, page = read(client, "/v1/tables", limit=2, at="now")
    names = [one["name"] for one in page["data"]]
    client.table("t00")
    client.request("DELETE", f"/v1/tables/{table['id']}")
    client.request("DELETE", "/v1/tables/name/service.database.schema.t3?hardDelete=true")
    pages = [page]
    while "after" in page["paging"]:
        at, page = read(client, "/v1/tables", limit=2, after=page["paging"]["after"])
        assert at == position
        pages.append(page)
        names += [one["name"] for one in page["data"]]
    expected.remove("t3")
    assert names == expected
    assert [each["paging"]["total"] for each in pages] == [6, 5, 5]
    assert [each["paging"].get("purged") for each in pages] == [None, 1, 1]
    at, page = read(client, "/v1/tables", limit=2, before=page["paging"]["before"])
    assert (at, [one["name"] for one in page["data"]]) == (position, names[-3:-1])


def test_cursor_of_another_moment_is_refused(client: Client, table: Any) -> None:
    client.table("other")
    position, page = read(client, "/v1/tables", limit=1, at="now")
    pinned, plain = page["paging"]["after"], client.get("/v1/tables", limit=1)["paging"]["after"]
    describe(client, f"/v1/tables/{table['id']}", "later")
    earlier = int(position) - 1
    for params, said in (
        ({"after": pinned, "at": earlier}, f"at means position {earlier}"),
        ({"after": pinned, "asOf": "2026-01-01"}, "asOf means position 0"),
        ({"after": plain, "at": "now"}, "after is a cursor of the list at the present"),
        ({"after": pinned, "include": "all"}, "after is not a cursor of this list"),
        ({"before": pinned}, "before holds a cursor that belongs into after"),
        ({"at": "now", "asOf": "2026-01-01"}, "at and asOf both say which past is meant"),
        ({"asOf": ""}, "asOf: '' is no date"),
        ({"at": ""}, "at must be now, or a position"),
    ):
        status, error = client.ask("GET", "/v1/tables", params={"limit": 1, **params})
        assert (status, said in error["message"]) == (400, True), (params, error)
    for params in ({"at": position}, {"at": "now"}, {}):
        assert read(client, "/v1/tables", limit=1, after=pinned, **params)[0] == position


def test_entity_is_read_by_id_and_by_the_name_of_now(client: Client, table: Any) -> None:
    path = f"/v1/tables/{table['id']}"
    position = describe(client, path, "later") - 1
    by_name = f"/v1/tables/name/{table['fullyQualifiedName']}"
    for each in (path, by_name):
        at, past = read(client, each, at=position)
        assert (at, past) == (str(position), table)
        at, present = read(client, each, at="now")
        assert present == client.get(path) != table
        assert int(at) == client.services.stores.log.head()
        with_change = read(client, each, at=position + 1, fields="changeDescription")[1]
        assert with_change == client.get(path, fields="changeDescription")


def test_time_stands_for_the_last_position_before_what_is_later(client: Client, table: Any) -> None:
    path = f"/v1/tables/{table['id']}"
    before = table["updatedAt"]
    until(lambda: time.time_ns() // 1_000_000 > table["updatedAt"])
    describe(client, path, "later")
    later = client.get(path)["updatedAt"]
    for moment, version in ((before, 0.1), (later - 1, 0.1), (later, 0.2)):
        written = datetime.fromtimestamp(moment / 1_000, UTC).isoformat(timespec="milliseconds")
        for form in (str(moment), written, written.replace("+00:00", "Z")):
            assert read(client, path, asOf=form)[1]["version"] == version, form
    assert client.ask("GET", path, params={"asOf": str(before - 60_000)})[0] == 404


def test_soft_deleted_purged_and_unknown_entities_are_told_apart(
    client: Client, table: Any
) -> None:
    path, head = f"/v1/tables/{table['id']}", client.services.stores.log.head
    alive = head()
    client.request("DELETE", path)
    deleted = head()
    assert read(client, path, at=alive)[1] == table
    assert client.ask("GET", path, params={"at": deleted})[1]["message"] == (
        f"table instance for {table['id']} was soft-deleted at position {deleted}"
    )
    assert read(client, path, at=deleted, include="all")[1]["deleted"] is True
    for position in (0, alive - 1):
        status, error = client.ask("GET", path, params={"at": position, "include": "all"})
        assert (status, error["errorType"]) == (404, "ENTITY_NOT_FOUND")
        assert f"was not there yet at position {position}" in error["message"]
    client.request("DELETE", f"{path}?hardDelete=true")
    for params in ({"at": alive}, {"at": "now"}, {"asOf": "2026-01-01"}):
        status, error = client.ask("GET", path, params=params)
        assert (status, error["errorType"]) == (410, "ENTITY_PURGED")
    named = f"/v1/tables/name/{table['fullyQualifiedName']}"
    assert client.ask("GET", named, params={"at": alive})[0] == 404
    other = f"/v1/databases/{table['id']}"
    assert client.ask("GET", other, params={"at": alive})[0] == 404


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"at": "-1"}, "at must be now, or a position from 0 to 999999999999, got '-1'"),
        ({"at": "9" * 19}, "at must be now, or a position from 0 to 999999999999"),
        ({"at": "yesterday"}, "got 'yesterday'"),
        ({"at": "1", "asOf": "2026-01-01"}, "at and asOf both say which past is meant"),
        ({"asOf": "soon"}, "asOf: 'soon' is no date"),
        ({"asOf": "2999-01-01"}, "asOf: '2999-01-01' is yet to come"),
        ({"asOf": ""}, "asOf: '' is no date"),
        ({"at": "1", "fields": "nothing"}, "Invalid field name nothing"),
        ({"at": "now", "fields": "joins"}, "fields: the past of joins is not kept"),
    ],
)
def test_wrong_pasts_are_refused(unchanged: Client, params: dict[str, str], said: str) -> None:
    (table,) = unchanged.get("/v1/tables")["data"]
    status, error = unchanged.ask("GET", f"/v1/tables/{table['id']}", params=params)
    assert (status, said in error["message"]) == (400, True), error


@pytest.mark.parametrize(
    ("path", "fields", "named"),
    [
        ("/v1/tables", "owners,testSuite,joins", "joins, testSuite"),
        ("/v1/teams", "users", "users"),
        ("/v1/domains", "children", "children"),
    ],
)
def test_list_of_the_past_refuses_fields_without_one(
    unchanged: Client, path: str, fields: str, named: str
) -> None:
    assert "data" in unchanged.get(path, fields=fields)
    pinned = cursors.encode(
        cursors.Place("a", str(UUID(int=7))), "", backward=False, position=1
    ).decode()
    for past in ({"at": "now"}, {"asOf": "2026-01-01"}, {"after": pinned}):
        status, error = unchanged.ask("GET", path, params={"fields": fields} | past)
        assert status == 400, error
        said = error["message"]
        assert said.startswith(f"fields: the past of {named} is not kept, but of owners, ")


@pytest.mark.parametrize("path", ["/v1/tables/{id}/versions", "/v1/tables/{id}/columns"])
@pytest.mark.parametrize(("name", "value"), [("at", "1"), ("asOf", "2026-01-01")])
def test_what_has_no_past_gives_no_present_in_its_place(
    unchanged: Client, path: str, name: str, value: str
) -> None:
    (table,) = unchanged.get("/v1/tables")["data"]
    status, error = unchanged.ask("GET", path.format(id=table["id"]), params={name: value})

    assert status == 400
    assert f"unknown parameter '{name}'" in error["message"]


def test_position_that_is_not_applied_is_waited_for(tmp_path: Path) -> None:
    with running_under(tmp_path, WITHHOLDING) as client:
        client.schema()
        path = f"/v1/tables/{client.table()['id']}"
        client.services.listed.seconds = 0.05
        response = client.request("GET", path, params={"at": 10_000})
    assert (response.status_code, response.headers["Retry-After"]) == (503, "1")
    assert "this host has not applied position 10000 yet" in response.json()["message"]


def test_difference_between_two_points(client: Client, table: Any) -> None:
    path, head = f"/v1/tables/{table['id']}", client.services.stores.log.head
    created, moment = head(), table["updatedAt"]
    until(lambda: time.time_ns() // 1_000_000 > table["updatedAt"])
    describe(client, path, "first")
    describe(client, path, "second")
    client.request("DELETE", path)
    client.request("PUT", "/v1/tables/restore", json={"id": table["id"]})
    whole = {
        "from": {"position": created, "version": 0.1},
        "to": {"position": head(), "version": client.get(path)["version"]},
        "changeDescription": {
            "fieldsAdded": [{"name": "description", "newValue": "second"}],
            "fieldsUpdated": [],
            "fieldsDeleted": [],
            "previousVersion": 0.1,
        },
    }
    assert client.get(f"{path}/diff", **{"from": created}) == whole
    since = datetime.fromtimestamp(moment / 1_000, UTC).isoformat(timespec="milliseconds")
    assert client.get(f"{path}/diff", **{"from": since, "to": head()}) == whole
    same = client.get(f"{path}/diff", **{"from": "now"})["changeDescription"]
    assert same["fieldsAdded"] == same["fieldsUpdated"] == same["fieldsDeleted"] == []
    for wrong in ("0.5", "-1", "soon", "1e3", "2026-13-01", "9" * 19):
        status, error = client.ask("GET", f"{path}/diff", params={"from": wrong})
        assert (status, error["message"][:9]) == (400, "from must"), error
    assert client.ask("GET", f"{path}/diff", params={"from": "2999-01-01"})[0] == 400
    backward = client.ask("GET", f"{path}/diff", params={"from": head(), "to": created})
    assert backward[0] == 400
    assert client.ask("GET", f"{path}/diff", params={"from": 0})[0] == 404
    assert client.ask("GET", f"{path}/diff")[0] == 400
    deleted = client.get(f"{path}/diff", **{"from": created, "to": head() - 1})
    assert {"name": "deleted", "oldValue": "false", "newValue": "true"} in (
        deleted["changeDescription"]["fieldsUpdated"]
    )


def test_what_is_withheld_now_is_withheld_of_the_past(tmp_path: Path) -> None:
    with running_under(tmp_path, WITHHOLDING) as client:
        client.schema()
        columns = [{"name": "id", "dataType": "INT", "description": "key"}]
        table = client.table(description="hidden", columns=columns)
        path, head = f"/v1/tables/{table['id']}", client.services.stores.log.head()
        describe(client, path, "hidden too")
        patch = [{"op": "add", "path": "/displayName", "value": "shown"}]
        client.request("PATCH", path, json=patch)
        _, past = read(client, path, "guest", at=head)
        found = client.request("GET", f"{path}/diff", role="guest", params={"from": head})
        refused = client.request("GET", path, role="guest", params={"at": head, "fields": "owners"})
        nobody = client.request("GET", path, role="nobody", params={"at": head})
    assert "description" not in past
    assert "description" not in past["columns"][0]
    assert "hidden" not in found.text
    assert found.json()["changeDescription"]["fieldsAdded"] == [
        {"name": "displayName", "newValue": "shown"}
    ]
    assert (refused.status_code, nobody.status_code) == (403, 403)
