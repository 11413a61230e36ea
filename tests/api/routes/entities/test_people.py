"""The user that is signed in, and domains as a tree."""

from pathlib import Path
from typing import Any

from tests.api.conftest import Client, running_under

CALLER = "/api/v1/users/loggedInUser"


def test_user_that_is_signed_in_is_the_one_of_the_token(client: Client) -> None:
    status, answer = client.ask("GET", CALLER)
    assert (status, "the-admin" in answer["message"]) == (404, True)
    made = {role: client.create("users", name=f"the-{role}") for role in ("admin", "reader")}
    client.create("teams", name="crew", teamType="Group", users=[made["admin"]["id"]])
    for role, user in made.items():
        for _ in range(3):
            shown = client.request("GET", CALLER, role=role, params={"fields": "teams"})
            assert (shown.status_code, shown.json()["id"]) == (200, user["id"])
    assert [each["name"] for each in client.get(CALLER, fields="teams")["teams"]] == ["crew"]
    assert client.ask("GET", f"{CALLER}?fields=x")[0] == 400


def test_user_that_is_signed_in_is_shown_by_the_rules_for_users(tmp_path: Path) -> None:
    with running_under(
        tmp_path,
        '[[rule]]\nrole = "admin"\nallow = ["create"]\n'
        '[[rule]]\nrole = "reader"\nallow = ["view"]\nwithhold = ["email"]\n',
    ) as client:
        client.create("users", name="the-admin", email="me@example.com")
        client.create("users", name="the-reader", email="you@example.com")
        assert client.ask("GET", CALLER)[0] == 403
        status, shown = client.ask("GET", CALLER, role="reader")
        assert (status, shown["name"], "email" in shown) == (200, "the-reader", False)


def domains(client: Client, *names: str, **body: Any) -> None:
    for name in names:
        parent, _, own = name.rpartition(".")
        above = {"parent": parent} if parent else {}
        client.create("domains", name=own, domainType="Aggregate", **above, **body)


def tree(nodes: list[Any]) -> dict[str, Any]:
    return {node["name"]: tree(node.get("children", [])) for node in nodes}


def test_domains_are_a_tree(client: Client) -> None:
    domains(client, "sales", "sales.retail", "sales.retail.web", "sales.apps", "hr")
    shown = client.get("/api/v1/domains/hierarchy")
    assert shown["paging"] == {"total": 5}
    assert tree(shown["data"]) == {"hr": {}, "sales": {"apps": {}, "retail": {"web": {}}}}
    (top,) = (each for each in shown["data"] if each["name"] == "sales")
    assert top["children"][1]["children"][0]["fullyQualifiedName"] == "sales.retail.web"
    assert top.keys() == {"id", "name", "fullyQualifiedName", "description", "children"}
    # By name the first two: the parent of one of them is not among them.
    assert tree(client.get("/v1/domains/hierarchy", limit=2)["data"]) == {"apps": {}, "hr": {}}
    assert client.ask("GET", "/v1/domains/hierarchy?limit=0")[0] == 400
    assert client.ask("GET", "/v1/domains/hierarchy?offset=1")[0] == 400
    assert client.ask("GET", "/v1/glossaries/hierarchy")[0] == 400


def test_tree_has_as_many_levels_as_a_reader_of_json_takes(client: Client) -> None:
    names = [".".join(["d"] * depth) for depth in range(1, 53)]
    domains(client, *names)
    top = client.get("/v1/domains/hierarchy")["data"]
    # Ids of one millisecond have no order, and the names of these domains are equal.
    assert sorted(each["fullyQualifiedName"].count(".") for each in top) == [0, 50, 51]


def test_tree_is_bounded_in_characters(client: Client) -> None:
    domains(client, "a", "b", description="x" * 4_100_000)
    status, answer = client.ask("GET", "/v1/domains/hierarchy")
    assert status == 413, str(answer)[:300]
    assert "ask for less of it by `limit`" in answer["message"]
    assert len(client.get("/v1/domains/hierarchy", limit=1)["data"]) == 1


def test_tree_shows_what_a_list_shows(tmp_path: Path) -> None:
    with running_under(
        tmp_path,
        '[[rule]]\nrole = "admin"\nallow = ["create"]\n'
        '[[rule]]\nrole = "reader"\nallow = ["list"]\nwithhold = ["description", "displayName"]\n',
    ) as client:
        domains(client, "a", description="secret", displayName="secret")
        assert client.ask("GET", "/v1/domains/hierarchy")[0] == 403
        status, shown = client.ask("GET", "/v1/domains/hierarchy", role="reader")
        assert (status, tree(shown["data"]), "secret" in str(shown)) == (200, {"a": {}}, False)
