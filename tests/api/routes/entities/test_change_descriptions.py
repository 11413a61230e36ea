"""Changes made by a write, as its answer describes them."""

from pathlib import Path
from typing import Any

from tests.api.conftest import Client, running_under


def patch(client: Client, table: Any, *operations: Any, **options: Any) -> Any:
    path = f"/v1/tables/{table['id']}"
    response = client.request("PATCH", path, json=operations, **options)
    assert response.status_code == 200, response.text
    return response.json()


DESCRIBED = {
    "fieldsAdded": [{"name": "description", "newValue": "first"}],
    "fieldsUpdated": [],
    "fieldsDeleted": [],
    "previousVersion": 0.1,
}


def test_patch_and_put_say_what_they_changed(client: Client) -> None:
    client.schema()
    table = client.table()
    assert "changeDescription" not in table
    added = patch(client, table, {"op": "add", "path": "/description", "value": "first"})
    assert added["changeDescription"] == DESCRIBED
    body = {
        "name": "orders",
        "databaseSchema": "service.database.schema",
        "columns": [{"name": "id", "dataType": "INT", "description": "the key"}],
    }
    put = client.request("PUT", "/v1/tables", json=body).json()
    assert put["changeDescription"] == {
        "fieldsAdded": [{"name": "columns.id.description", "newValue": "the key"}],
        "fieldsUpdated": [],
        "fieldsDeleted": [],
        "previousVersion": 0.2,
    }
    # As the history has it.
    for version, shown in ((0.2, added), (0.3, put)):
        assert client.get(f"/v1/tables/{table['id']}/versions/{version}") == shown


def test_write_that_changes_nothing_describes_no_change(client: Client) -> None:
    client.schema()
    table = client.table(description="x")
    assert "changeDescription" not in patch(
        client, table, {"op": "add", "path": "/description", "value": "x"}
    )


def test_repeated_write_is_answered_as_the_first_was(client: Client) -> None:
    client.schema()
    table = client.table()
    operation = {"op": "add", "path": "/description", "value": "first"}
    first, again = (
        patch(client, table, operation, headers={"Idempotency-Key": "k"}) for _ in range(2)
    )
    assert (first, first["changeDescription"]) == (again, DESCRIBED)


def test_change_is_left_out_where_anything_is_withheld(tmp_path: Path) -> None:
    with running_under(
        tmp_path,
        """
[[rule]]
role = "admin"
allow = ["list", "view", "create", "edit"]
[[rule]]
role = "half"
allow = ["view", "edit"]
withhold = ["extension"]
[[rule]]
role = "blind"
allow = ["edit"]
""",
    ) as client:
        client.schema()
        table = client.table()
        for number, role in enumerate(("admin", "half", "blind")):
            operation = {"op": "add", "path": "/description", "value": f"{number}"}
            answer = patch(client, table, operation, role=role)
            assert ("changeDescription" in answer) is (role == "admin")


def test_single_read_shows_the_last_change_where_it_is_asked_for(client: Client) -> None:
    client.schema()
    table = client.table()
    paths = [f"/v1/tables/{table['id']}", f"/v1/tables/name/{table['fullyQualifiedName']}"]
    for path in paths:
        assert client.get(path, fields="changeDescription") == client.get(path) == table
    changed = patch(client, table, {"op": "add", "path": "/description", "value": "first"})
    for path in paths:
        plain = client.get(path)
        assert "changeDescription" not in plain
        assert client.get(path, fields="changeDescription") == changed
        assert client.get(path, fields="tags, changeDescription") == {**changed, "tags": []}
        assert plain == {key: changed[key] for key in changed if key != "changeDescription"}
    client.request("DELETE", paths[0])
    shown = client.get(paths[0], fields="changeDescription", include="deleted")
    assert shown["changeDescription"]["fieldsUpdated"] == [
        {"name": "deleted", "oldValue": "false", "newValue": "true"}
    ]


def test_single_read_leaves_the_change_out_where_anything_is_withheld(tmp_path: Path) -> None:
    with running_under(
        tmp_path,
        """
[[rule]]
role = "admin"
allow = ["list", "view", "create", "edit"]
[[rule]]
role = "half"
allow = ["view"]
withhold = ["extension"]
""",
    ) as client:
        client.schema()
        table = client.table()
        patch(client, table, {"op": "add", "path": "/description", "value": "x"})
        path = f"/v1/tables/{table['id']}?fields=changeDescription"
        assert "changeDescription" in client.ask("GET", path)[1]
        assert "changeDescription" not in client.ask("GET", path, role="half")[1]
