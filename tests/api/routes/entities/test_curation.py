"""Texts that people curated over HTTP survive the PUTs of a bot's token, alone and in bulk."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.conftest import Client, RunFilled, running_under

CURATED = [
    {"op": "add", "path": "/description", "value": "ours"},
    {"op": "add", "path": "/displayName", "value": "Orders"},
    {"op": "add", "path": "/tags/-", "value": {"tagFQN": "PII.Sensitive"}},
    {"op": "add", "path": "/columns/0/description", "value": "the key"},
    {"op": "add", "path": "/columns/0/displayName", "value": "Key"},
    {"op": "add", "path": "/columns/0/tags/-", "value": {"tagFQN": "PII.Sensitive"}},
]
Put = Callable[..., Any]


def sent(**values: Any) -> dict[str, Any]:
    """Return the body that a connector sends of the table."""
    return {
        "name": "orders",
        "databaseSchema": "service.database.schema",
        "description": "theirs",
        "tags": [{"tagFQN": "Tier.Tier1"}],
        "columns": [{"name": "id", "dataType": "BIGINT", "tags": []}],
        "sourceHash": "h2",
        **values,
    }


def put_one(client: Client, body: Any, role: str = "bot", query: str = "") -> str:
    """A PUT of one table; what the answer says was done."""
    response = client.request("PUT", f"/v1/tables{query}", json=body, role=role)
    assert response.status_code == 200, response.text
    change: str = response.headers["X-OpenMetadata-Change"]
    return change


def put_in_bulk(client: Client, body: Any, role: str = "bot", query: str = "") -> str:
    """A PUT of one table in bulk; what the result says was done."""
    response = client.request("PUT", f"/v1/tables/bulk{query}", json=[body], role=role)
    assert response.status_code == 200, response.text
    (item,) = response.json()["successRequest"]
    message: str = item["message"]
    return message


either_way = pytest.mark.parametrize("put", [put_one, put_in_bulk])


@pytest.fixture
def client(tmp_path: Path, run_filled: RunFilled) -> Iterator[Client]:
    """A catalog with a table that a bot made and a person described."""
    with run_filled(tmp_path, curated) as started:
        yield started


@pytest.fixture
def table(client: Client) -> str:
    """The path of that table."""
    return f"/v1/tables/{client.get('/v1/tables/name/service.database.schema.orders')['id']}"


def curated(client: Client) -> str:
    client.schema()
    for name, tag in [("PII", "Sensitive"), ("Tier", "Tier1")]:
        client.create("classifications", name=name, description="-")
        client.create("tags", name=tag, classification=name, description="-")
    made = client.table(sourceHash="h1")
    path = f"/v1/tables/{made['id']}"
    headers = {"Content-Type": "application/json-patch+json"}
    response = client.request("PATCH", path, json=CURATED, role="editor", headers=headers)
    assert response.status_code == 200, response.text
    return path


def shown(client: Client, path: str) -> tuple[Any, ...]:
    """Return what people see of the table: its own texts and tags, then those of its column."""
    entity = client.get(path, fields="*")
    (column,) = entity["columns"]
    texts = [
        (one.get("displayName"), one.get("description"), [tag["tagFQN"] for tag in one["tags"]])
        for one in (entity, column)
    ]
    return (*texts, column["dataType"])


OURS = ("Key", "the key", ["PII.Sensitive"])


@either_way
def test_bot_keeps_what_people_wrote(client: Client, table: str, put: Put) -> None:
    assert put(client, sent()) == "entityUpdated"
    assert shown(client, table) == (
        ("Orders", "ours", ["PII.Sensitive", "Tier.Tier1"]),
        OURS,
        "BIGINT",
    )


@either_way
def test_second_write_of_a_bot_stores_nothing(client: Client, table: str, put: Put) -> None:
    put(client, sent(sourceHash=None))
    head = client.get("/v1/system/projections")["head"]
    assert put(client, sent(sourceHash=None)) == "entityNoChange"
    assert client.get("/v1/system/projections")["head"] == head


@either_way
def test_same_source_hash_stores_nothing(client: Client, table: str, put: Put) -> None:
    before = client.get(table, fields="*")
    assert put(client, sent(sourceHash="h1", columns=[])) == "entityNoChange"
    assert client.get(table, fields="*") == before


@either_way
def test_override_metadata_replaces_what_people_wrote(client: Client, table: str, put: Put) -> None:
    query = "?overrideMetadata=true"
    assert put(client, sent(sourceHash="h1"), query=query) == "entityUpdated"
    assert shown(client, table) == (("Orders", "theirs", ["Tier.Tier1"]), OURS, "BIGINT")


@either_way
@pytest.mark.parametrize("query", ["", "?overrideMetadata=false", "?overrideMetadata=true"])
def test_person_replaces_whatever_is_given(
    client: Client, table: str, put: Put, query: str
) -> None:
    assert put(client, sent(sourceHash="h1"), "editor", query) == "entityUpdated"
    assert shown(client, table) == (
        ("Orders", "theirs", ["Tier.Tier1"]),
        (None, None, []),
        "BIGINT",
    )


@either_way
def test_column_that_a_bot_no_longer_sends_goes(client: Client, table: str, put: Put) -> None:
    put(client, sent(columns=[{"name": "ID", "dataType": "INT"}]))
    assert shown(client, table)[1:] == ((None, None, []), "INT")


@either_way
def test_history_says_who_wrote_which_field(client: Client, table: str, put: Put) -> None:
    put(client, sent())
    versions = [client.get(f"{table}/versions/{number}") for number in ("0.2", "0.3")]
    fields = [
        {
            change["name"]
            for sort in ("fieldsAdded", "fieldsUpdated", "fieldsDeleted")
            for change in version["changeDescription"][sort]
        }
        for version in versions
    ]
    assert [version["updatedBy"] for version in versions] == ["the-editor", "the-bot"]
    assert fields == [
        {
            "description",
            "displayName",
            "tags",
            "columns.id.description",
            "columns.id.displayName",
            "columns.id.tags",
        },
        {"tags", "columns.id.dataType", "sourceHash"},
    ]


@either_way
def test_deleted_table_comes_back_as_people_described_it(
    client: Client, table: str, put: Put
) -> None:
    before = shown(client, table)
    client.request("DELETE", table)
    assert put(client, sent(sourceHash="h1")) == "entityUpdated"
    assert shown(client, table) == before


def test_bot_is_held_to_if_match_and_to_its_idempotency_key(client: Client, table: str) -> None:
    stale, key = {"If-Match": 'W/"0.1"'}, {"Idempotency-Key": "k", "If-Match": 'W/"0.2"'}

    def put(headers: dict[str, str], **values: Any) -> tuple[int, str | None]:
        response = client.request(
            "PUT", "/v1/tables", json=sent(**values), role="bot", headers=headers
        )
        return response.status_code, response.headers.get("X-OpenMetadata-Change")

    assert put(stale) == put(stale, sourceHash="h1") == (412, None)
    assert [put(key) for _ in range(2)] == [(200, "entityUpdated")] * 2
    assert client.get(table)["version"] == 0.3


def test_patch_of_a_bot_replaces_as_it_says(client: Client, table: str) -> None:
    patch = [{"op": "replace", "path": "/description", "value": "theirs"}]
    headers = {"Content-Type": "application/json-patch+json"}
    answer = client.request("PATCH", table, json=patch, role="bot", headers=headers)
    assert answer.json()["description"] == "theirs"


def patch(client: Client, url: str, *operations: Any, role: str = "bot") -> httpx.Response:
    headers = {"Content-Type": "application/json-patch+json"}
    return client.request("PATCH", url, json=list(operations), role=role, headers=headers)


@pytest.mark.parametrize("path", ["/description", "/displayName", "/columns/0/description"])
@pytest.mark.parametrize("empty", ["", " \n"])
def test_empty_text_that_a_bot_patches_in_replaces_none(
    client: Client, table: str, path: str, empty: str
) -> None:
    ours = {"op": "add", "path": path, "value": "ours"}
    assert patch(client, table, ours, role="editor").status_code == 200
    before = client.get(table)
    emptying = {"op": "replace", "path": path, "value": empty}

    answer = patch(client, table, emptying)
    assert answer.headers["X-OpenMetadata-Change"] == "entityNoChange"
    assert client.get(table) == before
    by_person = patch(client, table, emptying, role="editor")
    assert by_person.headers["X-OpenMetadata-Change"] == "entityUpdated"


def test_order_of_constraints_is_no_change(client: Client, table: str) -> None:
    keys = [{"constraintType": each, "columns": ["id"]} for each in ("PRIMARY_KEY", "UNIQUE")]
    setting = {"op": "add", "path": "/tableConstraints"}
    put_one(client, sent(tableConstraints=keys), "editor")
    before = client.get(table)
    assert before["tableConstraints"] == keys

    for role in ("bot", "editor"):
        turned = {**setting, "value": keys[::-1]}
        answer = patch(client, table, turned, role=role)
        assert answer.headers["X-OpenMetadata-Change"] == "entityNoChange"
        assert put_one(client, sent(tableConstraints=keys[::-1]), role) == "entityNoChange"
    assert client.get(table) == before
    assert (
        patch(client, table, {**setting, "value": keys[1:]}).json()["version"] > before["version"]
    )


def test_keys_that_a_bot_patches_in_are_nothing_new_in_its_next_write(
    client: Client, table: str
) -> None:
    put_one(client, sent())
    columns = [each | {"ordinalPosition": 1} for each in client.get(table)["columns"]]
    key = {"constraintType": "PRIMARY_KEY", "columns": ["id"]}
    patch = [
        {"op": "add", "path": "/tableConstraints", "value": [key]},
        {"op": "replace", "path": "/columns", "value": columns},
    ]
    headers = {"Content-Type": "application/json-patch+json"}
    client.request("PATCH", table, json=patch, role="bot", headers=headers)
    with_key, without = ({"tableConstraints": keys, "sourceHash": "h3"} for keys in ([key], []))

    assert put_one(client, sent(**with_key)) == "entityNoChange"
    assert put_one(client, sent(**without)) == "entityUpdated"
    assert "tableConstraints" not in client.get(table)


POLICIES = """
[[rule]]
role = "admin"
allow = ["list", "view", "search", "create", "edit", "delete", "operate", "audit"]

[[rule]]
role = "editor"
allow = ["view", "edit"]

[[rule]]
role = "crawler"
allow = ["view", "create", "edit"]
withhold = ["owners"]
bot = true
"""


def test_role_of_the_policies_may_be_that_of_a_bot(tmp_path: Path) -> None:
    with running_under(tmp_path, POLICIES) as client:
        path = curated(client)
        ann = client.create("users", name="ann", email="ann@example.com")
        owners = [{"op": "add", "path": "/owners", "value": [{"id": ann["id"], "type": "user"}]}]
        headers = {"Content-Type": "application/json-patch+json"}
        client.request("PATCH", path, json=owners, headers=headers)

        refused = client.request("PUT", "/v1/tables", json=sent(owners=[]), role="crawler")
        done = put_one(client, sent(), role="crawler")

        assert (refused.status_code, done) == (403, "entityUpdated")
        assert shown(client, path)[0][1] == "ours"
        assert [owner["name"] for owner in client.get(path, fields="owners")["owners"]] == ["ann"]


def test_bot_is_told_which_of_its_labels_were_left_out(client: Client, table: str) -> None:
    exclusive = {"name": "PII", "description": "-", "mutuallyExclusive": True}
    assert client.request("PUT", "/v1/classifications", json=exclusive).status_code == 200
    client.create("tags", name="None", classification="PII", description="-")
    body = sent(tags=[{"tagFQN": "PII.None"}])

    response = client.request("PUT", "/v1/tables", json=body, role="bot")
    assert response.headers["X-Catalog-Dropped-Tags"] == '["PII.None of tags"]'
    told = "entityNoChange; left out, as other labels there exclude them: PII.None of tags"
    assert put_in_bulk(client, body) == told
    other = client.request("PUT", "/v1/tables", json=sent(), role="bot")
    assert "X-Catalog-Dropped-Tags" not in other.headers

    patch = [{"op": "add", "path": "/tags/-", "value": {"tagFQN": "PII.None"}}]
    headers = {"Content-Type": "application/json-patch+json"}
    refused = client.request("PATCH", table, json=patch, role="editor", headers=headers)
    assert refused.status_code == 400
    assert "'PII.Sensitive' and 'PII.None' exclude each other" in refused.json()["message"]
