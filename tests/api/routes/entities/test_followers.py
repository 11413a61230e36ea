"""Followers of an entity, added and removed one by one as OpenMetadata's client does."""

from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Client, running_under


@pytest.fixture
def table(client: Client) -> str:
    """The path of a table."""
    client.schema()
    return f"/v1/tables/{client.table()['id']}"


def followers(client: Client, path: str) -> list[str]:
    return [each["name"] for each in client.get(path, fields="followers")["followers"]]


def change(client: Client, method: str, path: str, body: Any = None) -> tuple[int, str | None]:
    answer = client.request(method, path, json=body)
    return answer.status_code, answer.headers.get("X-OpenMetadata-Change")


def test_follower_is_added_once_and_removed(client: Client, table: str) -> None:
    ann, bob = (client.create("users", name=name, email=f"{name}@a.de") for name in ("ann", "bob"))
    following = f"{table}/followers"

    assert change(client, "PUT", following, ann["id"]) == (200, "entityUpdated")
    assert change(client, "PUT", following, bob["id"]) == (200, "entityUpdated")
    assert change(client, "PUT", following, ann["id"]) == (200, "entityNoChange")
    assert followers(client, table) == ["ann", "bob"]
    assert client.get("/v1/tables", fields="followers")["data"][0]["followers"][1]["name"] == "bob"

    assert change(client, "DELETE", f"{following}/{ann['id']}") == (200, "entityUpdated")
    assert change(client, "DELETE", f"{following}/{ann['id']}")[0] == 404
    assert followers(client, table) == ["bob"]


def test_followers_are_listed_by_themselves(client: Client, table: str) -> None:
    ann = client.create("users", name="ann", email="ann@a.de")
    following = f"{table}/followers"
    assert client.get(following) == {"data": [], "paging": {"total": 0}}
    change(client, "PUT", following, ann["id"])
    listed = client.get(following)
    assert listed["paging"] == {"total": 1}
    assert listed["data"] == client.get(table, fields="followers")["followers"]
    assert listed["data"][0]["id"] == ann["id"]
    nobody = "/v1/tables/01890a5d-ac96-774b-bcce-b302099a8057/followers"
    assert client.ask("GET", nobody)[0] == 404


def test_followers_are_listed_to_those_who_may_see_them(tmp_path: Path) -> None:
    with running_under(
        tmp_path,
        '[[rule]]\nrole = "admin"\nallow = ["list", "view", "create", "edit"]\n'
        '[[rule]]\nrole = "reader"\nallow = ["view"]\nwithhold = ["followers"]\n',
    ) as client:
        client.schema()
        path = f"/v1/tables/{client.table()['id']}/followers"
        assert client.ask("GET", path)[0] == 200
        status, answer = client.ask("GET", path, role="reader")
        assert (status, "withheld" in answer["message"]) == (403, True)


@pytest.mark.parametrize(
    ("body", "status"),
    [("01890a5d-ac96-774b-bcce-b302099a8057", 404), (["a"], 400), (None, 400), ({"id": "a"}, 400)],
)
def test_follower_is_a_user_that_is_there(
    client: Client, table: str, body: Any, status: int
) -> None:
    assert change(client, "PUT", f"{table}/followers", body)[0] == status
    assert followers(client, table) == []
    team = client.create("teams", name="crew", teamType="Group")
    assert change(client, "PUT", f"{table}/followers", team["id"])[0] == 404


def test_kind_without_followers_has_no_such_path(client: Client) -> None:
    path = f"/v1/teams/{client.create('teams', name='crew', teamType='Group')['id']}/followers"
    assert change(client, "PUT", path, "x")[0] == 404
    assert client.ask("GET", path)[0] == 404
