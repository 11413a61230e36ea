"""Members of a team: set by its create requests, recorded with the members, shown in the team."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from api.commands import main
from tests.api.conftest import Client, environment_of, running, running_under
from tests.waiting import until

NOBODY = "00000000-0000-7000-8000-000000000000"


def user(client: Client, name: str, **body: Any) -> str:
    """The id of a new user."""
    found: str = client.create("users", name=name, email=f"{name}@example.com", **body)["id"]
    return found


def put(client: Client, role: str = "admin", **body: Any) -> Any:
    """The answer to a PUT of a team, as OpenMetadata's client sends it."""
    given = {"name": "crew", "teamType": "Group", "children": None, "owners": None, **body}
    return client.request("PUT", "/api/v1/teams", json=given, role=role)


def teams_of(client: Client, name: str) -> list[str]:
    found = client.get(f"/v1/users/name/{name}", fields="teams")
    return [each["name"] for each in found.get("teams", [])]


def members(client: Client, field: str, name: str = "crew") -> list[str]:
    return [each["name"] for each in client.get(f"/v1/teams/name/{name}", fields=field)[field]]


def test_create_request_has_users_and_teams_join(client: Client) -> None:
    client.create("teams", name="all", teamType="Department")
    ann, bob = user(client, "ann", teams=["all"]), user(client, "bob")
    shift = client.create("teams", name="shift", teamType="Group")["id"]
    made = client.create(
        "teams", name="crew", teamType="Department", users=[ann, bob, ann], children=[shift]
    )
    assert {"users", "children"}.isdisjoint(made)
    assert (teams_of(client, "ann"), teams_of(client, "bob")) == (["all", "crew"], ["crew"])
    (parent,) = client.get(f"/v1/teams/{shift}", fields="parents")["parents"]
    assert (parent["id"], parent["type"]) == (made["id"], "team")
    assert members(client, "users") == ["ann", "bob"]
    assert members(client, "children") == ["shift"]
    assert [each["name"] for each in client.get("/v1/users", team="crew")["data"]] == ["ann", "bob"]
    assert "users" not in client.get("/v1/teams/name/crew", fields="*")

    # The members have events by the request, as if they had been patched.
    (newest,) = client.get("/v1/audit/events", order="desc", limit=1)["data"]
    events = client.get("/v1/audit/events", requestId=newest["requestId"])["data"]
    assert sorted((each["kind"], each["eventType"]) for each in events) == [
        ("team", "entity.changed"),
        ("team", "entity.created"),
        ("user", "entity.changed"),
        ("user", "entity.changed"),
    ]


def test_put_adds_members_once_and_removes_none(client: Client) -> None:
    ann, bob = user(client, "ann"), user(client, "bob")
    assert put(client, users=[ann]).status_code == 201
    head = client.get("/v1/system/projections")["head"]
    for users in ([ann], [{"id": ann, "type": "user"}], ["ann"], [], None):
        answer = put(client, users=users, role="bot")
        assert (answer.status_code, answer.json()["version"]) == (200, 0.1)
    assert client.get("/v1/system/projections")["head"] == head
    assert put(client, users=[bob], role="bot").status_code == 200
    assert members(client, "users") == ["ann", "bob"]


def test_teams_of_one_bulk_request_join_each_other(client: Client) -> None:
    ann = user(client, "ann")
    teams = [
        {"name": "inner", "teamType": "Group", "users": [ann]},
        {"name": "outer", "teamType": "Department", "children": ["inner"], "users": [ann]},
    ]
    answer = client.request("PUT", "/v1/teams/bulk", json=teams, role="bot").json()
    assert answer["numberOfRowsPassed"] == 2, answer
    assert teams_of(client, "ann") == ["inner", "outer"]
    assert members(client, "children", "outer") == ["inner"]

    many = [{**teams[0], "users": [ann] * 600}, {**teams[1], "users": [ann] * 600}]
    status, refused = client.ask("PUT", "/v1/teams/bulk", json=many)
    assert (status, refused["message"]) == (
        400,
        "a bulk request may have 1000 elements in users and children, got 1201",
    )


def test_lines_of_an_import_have_members_as_requests_have(tmp_path: Path) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text(
        '{"entityType": "user", "name": "ann"}\n'
        '{"entityType": "team", "name": "crew", "teamType": "Group", "users": ["ann"]}\n'
    )
    data, told = str(tmp_path / "data"), []
    for _ in range(2):
        done = CliRunner().invoke(
            main, ["import", str(lines), "--data", data], env=environment_of(tmp_path / "data")
        )
        told.append(done.output.splitlines()[-1])
    assert ["2 created" in told[0], "2 unchanged" in told[1]] == [True, True], told
    with running(tmp_path / "data") as client:
        until(lambda: client.ask("GET", "/v1/teams")[0] == 200)
        assert members(client, "users") == ["ann"]


@pytest.mark.parametrize(
    ("given", "status", "says"),
    [
        ({"users": [NOBODY]}, 404, "users: user instance for"),
        ({"users": ["nobody"]}, 404, "users: user instance for 'nobody' not found"),
        ({"users": [{"type": "team", "id": NOBODY}]}, 400, "users.type must be user"),
        ({"children": ["nobody"]}, 404, "children: team instance for 'nobody' not found"),
        ({"children": ["crew"]}, 400, "children may not have the team itself"),
        ({"users": ["x"] * 1_001}, 400, "users of a request may have 1000 elements, got 1001"),
        ({"users": "ann"}, 400, "users"),
    ],
)
def test_wrong_members_are_refused_with_the_whole_request(
    empty: Client, given: dict[str, Any], status: int, says: str
) -> None:
    head = empty.get("/v1/system/projections")["head"]
    answer = put(empty, **given)
    assert (answer.status_code, says in answer.json()["message"]) == (status, True), answer.text
    assert empty.get("/v1/system/projections")["head"] == head


def test_patch_of_members_says_where_they_are_patched(client: Client) -> None:
    ann, crew = user(client, "ann"), put(client).json()["id"]
    patch = [{"op": "add", "path": "/users/-", "value": {"id": ann, "type": "user"}}]
    status, answer = client.ask("PATCH", f"/v1/teams/{crew}", json=patch)
    assert (status, answer["message"]) == (
        400,
        "users follows from what is said of each user: patch that",
    )


def test_members_are_changed_by_those_who_may_edit_them(tmp_path: Path) -> None:
    rule = '[[rule]]\nrole = "{}"\nallow = ["view", "create", "edit"]\n'
    with running_under(
        tmp_path,
        '[[rule]]\nrole = "admin"\nallow = ["list", "view", "create", "edit", "operate"]\n'
        + rule.format("bot")
        + 'kinds = ["team"]\n'
        + rule.format("guest")
        + 'withhold = ["teams"]\n',
    ) as client:
        ann = user(client, "ann")
        assert put(client, "bot").status_code == 201
        refused = put(client, "bot", users=[ann])
        assert (refused.status_code, "edit user" in refused.json()["message"]) == (403, True)
        hidden = put(client, "guest", users=[ann])
        assert (hidden.status_code, "withheld" in hidden.json()["message"]) == (403, True)
        (item,) = client.request(
            "PUT",
            "/v1/teams/bulk",
            json=[{"name": "crew", "teamType": "Group", "users": [ann]}],
            role="guest",
        ).json()["failedRequest"]
        assert item["status"] == 403
        assert members(client, "users") == []
        path = "/v1/teams/name/crew?fields=users"
        assert "users" not in client.ask("GET", path, role="bot")[1]
        assert client.ask("GET", path, role="guest")[0] == 403
        assert put(client, users=[ann]).status_code == 200
        assert members(client, "users") == ["ann"]


def test_domains_name_those_right_below(client: Client) -> None:
    client.create("domains", name="sales", domainType="Aggregate")
    for name, parent in (("retail", "sales"), ("online", "sales"), ("apps", "sales.online")):
        client.create("domains", name=name, domainType="Aggregate", parent=parent)
    shown = client.get("/v1/domains/name/sales", fields="children")["children"]
    assert [each["fullyQualifiedName"] for each in shown] == ["sales.online", "sales.retail"]


def test_no_team_stands_below_itself(client: Client) -> None:
    client.create("teams", name="inner", teamType="Group")
    client.create("teams", name="middle", teamType="Group", children=["inner"])
    client.create("teams", name="outer", teamType="Group", children=["middle"])
    given = {"name": "inner", "teamType": "Group", "children": ["outer"]}
    answer = client.request("PUT", "/v1/teams", json=given)
    assert (answer.status_code, "would stand below itself" in answer.text) == (400, True)
    outer = client.get("/v1/teams/name/outer")["id"]
    for above in ("inner", "outer"):
        parent = {"id": client.get(f"/v1/teams/name/{above}")["id"], "type": "team"}
        patch = [{"op": "add", "path": "/parents", "value": [parent]}]
        assert client.ask("PATCH", f"/v1/teams/{outer}", json=patch)[0] == 400
    assert members(client, "children", "inner") == []
    assert members(client, "children", "outer") == ["middle"]


def test_request_adds_to_entities_of_so_many_bytes_together(client: Client) -> None:
    user(client, "ann", description="x" * 3_000_000)
    user(client, "bob")
    names = [f"t{number}" for number in range(7)]
    bulk = [{"name": name, "teamType": "Group", "users": ["ann"]} for name in names]
    bulk.append({"name": "alone", "teamType": "Group"})
    answer = client.request("PUT", "/v1/teams/bulk", json=bulk).json()
    assert (answer["numberOfRowsPassed"], answer["numberOfRowsFailed"]) == (6, 2)
    assert all("16000000 bytes" in failed["message"] for failed in answer["failedRequest"])
    assert teams_of(client, "ann") == names[:5]
    assert put(client, users=["ann", "bob"]).status_code == 201
