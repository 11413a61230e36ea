"""Definitions of custom properties, as OpenMetadata's client makes them, and what they hold."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from api.commands import main
from tests.api.conftest import Client, environment_of, running, running_under
from tests.waiting import until

TYPES = "/api/v1/metadata/types"
RANK = {"values": ["gold", "silver"], "multiSelect": False}


def define(client: Client, name: str, type_name: str, config: Any = None, **more: Any) -> Any:
    """The answer to the client's definition of a property of tables, its first questions included.

    `more` has a role, or other keys of the body.
    """
    role = more.pop("role", "admin")
    entity = client.get(f"{TYPES}/name/{more.pop('kind', 'table')}", category="field")
    property_type = client.get(f"{TYPES}/name/{type_name}", category="field")
    body = {
        "name": name,
        "displayName": None,
        "description": f"The {name}.",
        "propertyType": {"id": property_type["id"], "type": "type", "name": None, "href": None},
        "customPropertyConfig": None if config is None else {"config": config},
        **more,
    }
    return client.request("PUT", f"{TYPES}/{entity['id']}", json=body, role=role)


def properties(client: Client, kind: str = "table") -> list[str]:
    shown = client.get(f"{TYPES}/name/{kind}", fields="customProperties")["customProperties"]
    return [each["name"] for each in shown]


def put(client: Client, role: str = "admin", query: str = "", **extension: Any) -> tuple[int, Any]:
    """Put the table of the schema with an extension: the status, and the message or the value."""
    body = {
        "name": "orders",
        "databaseSchema": "service.database.schema",
        "columns": [{"name": "id", "dataType": "INT"}],
        "extension": extension,
    }
    status, answer = client.ask("PUT", f"/v1/tables{query}", json=body, role=role)
    return status, answer.get("message", answer.get("extension"))


def test_properties_are_defined_replaced_and_shown(client: Client) -> None:
    first = define(client, "rank", "enum", RANK)
    assert (first.status_code, first.headers["X-OpenMetadata-Change"]) == (201, "entityCreated")
    assert define(client, "age", "integer").status_code == 200
    assert properties(client) == ["age", "rank"]
    assert properties(client, "topic") == []
    again = define(client, "rank", "enum", RANK)
    assert again.headers["X-OpenMetadata-Change"] == "entityNoChange"

    wider = {"values": ["gold", "silver", "bronze"]}
    shown = define(client, "rank", "enum", wider, displayName="Rank").json()
    (age, rank) = shown["customProperties"]
    assert (rank["displayName"], rank["customPropertyConfig"]) == ("Rank", {"config": wider})
    field = client.get(f"{TYPES}/name/integer")
    assert age == {
        "name": "age",
        "description": "The age.",
        "propertyType": {
            "type": "type",
            "id": field["id"],
            "name": "integer",
            "fullyQualifiedName": "integer",
        },
    }
    stored = client.get(f"{TYPES}/name/table", fields="customProperties")
    assert stored == {key: value for key, value in shown.items() if key != "changeDescription"}
    assert (stored["version"], stored["category"], stored["nameSpace"]) == (0.3, "entity", "data")

    events = client.get("/v1/audit/events", kind="type")["data"]
    assert [(each["eventType"], each["fullyQualifiedName"]) for each in events] == [
        ("entity.created", "table"),
        ("entity.changed", "table"),
        ("entity.changed", "table"),
    ]


def test_properties_are_patched_and_removed(client: Client) -> None:
    path = f"{TYPES}/{client.get(f'{TYPES}/name/table')['id']}"
    removal = [{"op": "remove", "path": "/customProperties/0"}]
    status, answer = client.ask("PATCH", path, json=removal)
    assert (status, "has no custom property yet" in answer["message"]) == (404, True)
    define(client, "age", "integer")
    define(client, "rank", "enum", RANK)
    texts = [{"op": "replace", "path": "/customProperties/1/description", "value": "Its rank."}]
    shown = client.ask("PATCH", path, json=texts)[1]
    assert shown["customProperties"][1]["description"] == "Its rank."
    assert client.ask("PATCH", path, json=removal)[0] == 200
    assert properties(client) == ["rank"]
    wrong = [{"op": "remove", "path": "/customProperties/0/customPropertyConfig"}]
    assert client.ask("PATCH", path, json=wrong)[0] == 400
    renamed = [{"op": "replace", "path": "/customProperties/0/name", "value": "order"}]
    status, answer = client.ask("PATCH", path, json=renamed)
    assert (status, "'order' is not defined" in answer["message"]) == (400, True)
    assert properties(client) == ["rank"]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"propertyType": {"name": "int"}}, "must be one of string, markdown"),
        ({"propertyType": {"name": "enum"}}, "needs an object with `values`"),
        ({"name": "a/b"}, "name"),
        ({"name": ""}, "name"),
        ({"unheard": 1}, "unheard"),
        ({"propertyType": None}, "propertyType"),
    ],
)
def test_definitions_that_are_wrong_are_refused(
    client: Client, body: dict[str, Any], says: str
) -> None:
    path = f"{TYPES}/{client.get(f'{TYPES}/name/table')['id']}"
    given = {"name": "rank", "propertyType": {"name": "string"}, **body}
    status, answer = client.ask("PUT", path, json=given)
    assert (status, says in answer["message"]) == (400, True), answer
    assert properties(client) == []


def test_only_kinds_with_an_extension_have_properties(client: Client) -> None:
    refused = define(client, "rank", "string", kind="team")
    assert (refused.status_code, "kinds that have are" in refused.json()["message"]) == (400, True)
    field = client.get(f"{TYPES}/name/string")["id"]
    body = {"name": "rank", "propertyType": {"name": "string"}}
    assert client.ask("PUT", f"{TYPES}/{field}", json=body)[0] == 400


def test_values_are_held_to_their_definitions_on_every_write(client: Client) -> None:
    client.schema()
    define(client, "rank", "enum", RANK)
    expected = "extension.rank of a table must be a list of at most one of 'gold', 'silver', got {}"
    assert put(client, rank=["bronze"]) == (400, expected.format("a list"))
    assert put(client, rank="gold") == (400, expected.format("'gold'"))
    # What no definition is about is taken as it is, as ever.
    assert put(client, rank=["gold"], cost={"any": 1})[0] == 201
    table = client.get("/v1/tables/name/service.database.schema.orders")["id"]
    patch = [{"op": "add", "path": "/extension/rank", "value": ["copper"]}]
    status, answer = client.ask("PATCH", f"/v1/tables/{table}", json=patch)
    assert (status, answer["message"]) == (400, expected.format("a list"))
    removed = [{"op": "remove", "path": "/extension/rank"}]
    assert client.ask("PATCH", f"/v1/tables/{table}", json=removed)[0] == 200
    assert put(client, rank=None)[0] == 200
    tables = [
        {"name": name, "databaseSchema": "service.database.schema", "columns": [], "extension": of}
        for name, of in (("one", {"rank": ["gold"]}), ("two", {"rank": 7}))
    ]
    done = client.ask("PUT", "/v1/tables/bulk", json=tables)[1]
    assert [each["request"][-3:] for each in done["successRequest"]] == ["one"]
    assert done["failedRequest"] == [
        {"request": "two", "status": 400, "message": expected.format("7")}
    ]
    # Other kinds have other properties.
    assert client.create("domains", name="a", domainType="Aggregate", extension={"rank": 7})


def test_values_from_before_a_definition_stay_until_they_change(client: Client) -> None:
    client.schema()
    assert put(client, rank="high", note=1)[0] == 201
    define(client, "rank", "enum", RANK)
    assert put(client, rank="high", note=2) == (200, {"rank": "high", "note": 2})
    assert put(client, rank="low", note=2)[0] == 400
    define(client, "rank", "string")
    assert put(client, rank="low", note=2)[0] == 200


def test_value_of_a_bot_that_gives_way_is_not_held(client: Client) -> None:
    client.schema()
    define(client, "rank", "enum", RANK)
    assert put(client, "bot", rank="gold")[0] == 400
    assert put(client, rank=["gold"])[0] == 201
    assert put(client, "bot", rank="silver") == (200, {"rank": ["gold"]})
    assert put(client, "bot", "?overrideMetadata=true", rank="silver")[0] == 400


def test_lines_of_an_import_are_held_too(tmp_path: Path) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text(
        "".join(
            f'{{"entityType":"domain","name":"{name}","domainType":"Aggregate",'
            f'"extension":{{"age":{age}}}}}\n'
            for name, age in (("good", "1"), ("bad", '"old"'))
        )
    )
    data = tmp_path / "data"
    data.mkdir()
    with running(data) as client:
        define(client, "age", "integer", kind="domain")
    done = CliRunner().invoke(
        main, ["import", str(lines), "--data", str(data)], env=environment_of(data)
    )
    assert (done.exit_code, "1 created" in done.output) == (1, True), done.output
    assert "extension.age of a domain must be a whole number, got 'old'" in done.output
    with running(data) as client:
        until(lambda: client.ask("GET", "/v1/domains")[0] == 200)
        assert properties(client, "domain") == ["age"]


def test_properties_are_defined_by_those_who_may(tmp_path: Path) -> None:
    with running_under(
        tmp_path,
        '[[rule]]\nrole = "admin"\nallow = ["list", "view", "create", "edit"]\n'
        '[[rule]]\nrole = "reader"\nallow = ["view", "edit"]\nkinds = ["type", "table"]\n'
        '[[rule]]\nrole = "bot"\nallow = ["view", "create", "edit"]\nkinds = ["table"]\n'
        '[[rule]]\nrole = "guest"\nallow = ["view", "create", "edit"]\n'
        'withhold = ["customProperties", "extension"]\n',
    ) as client:
        for role in ("reader", "bot"):
            assert define(client, "age", "integer", role=role).status_code == 403
        assert define(client, "age", "integer", role="guest").status_code == 403
        assert define(client, "age", "integer").status_code == 201
        path = f"{TYPES}/name/table?fields=customProperties"
        for role in ("reader", "bot"):
            assert len(client.ask("GET", path, role=role)[1]["customProperties"]) == 1
        assert client.ask("GET", path, role="guest")[0] == 403
        whole = client.ask("GET", f"{TYPES}/name/table?fields=*", role="guest")
        assert (whole[0], "customProperties" in whole[1]) == (200, False)
