"""POST, PUT, PATCH, DELETE and restore: statuses, headers, bodies, errors."""

import re
import time
from typing import Any

import pytest

from domain.kinds.ids import new_id
from tests.api.conftest import Client

TABLE = "service.database.schema.orders"


def error(answer: tuple[int, Any]) -> tuple[int, str]:
    """Status and error type; the body's code is the status."""
    status, body = answer
    assert body["code"] == status
    return status, body["errorType"]


def test_create_answers_201_with_location_and_etag(client: Client) -> None:
    body = {"name": "service", "serviceType": "Mysql"}
    response = client.request("POST", "/v1/services/databaseServices", json=body)
    created = response.json()

    assert response.status_code == 201
    assert re.fullmatch(r'W/"0\.1-[0-9a-f]{8}"', response.headers["ETag"])
    assert response.headers["X-OpenMetadata-Change"] == "entityCreated"
    assert response.headers["Location"] == f"/v1/services/databaseServices/{created['id']}"
    assert client.get(response.headers["Location"]) == created
    assert {
        key: created[key] for key in ("name", "fullyQualifiedName", "version", "updatedBy")
    } == {
        "name": "service",
        "fullyQualifiedName": "service",
        "version": 0.1,
        "updatedBy": "the-admin",
    }


def test_create_of_a_taken_name_is_409(client: Client) -> None:
    client.schema()
    body = {"name": "schema", "database": "service.database"}

    answer = client.ask("POST", "/v1/databaseSchemas", json=body)

    assert error(answer) == (409, "ENTITY_ALREADY_EXISTS")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"name":"t","databaseSchema":"service.database.schema","colour":1}', "colour"),
        (
            b'{"name":"t","databaseSchema":"service.database.schema",'
            b'"columns":[{"name":"a","dataType":"INT","size":1}]}',
            "size",
        ),
        (b'{"name":"t"}', "databaseSchema"),
        (b'{"name":"","databaseSchema":"service.database.schema"}', "1 to 256 characters"),
        (b'{"name":1,"databaseSchema":"service.database.schema"}', "$.name"),
        (b"[]", "Expected `object`"),
        (b"{", "truncated"),
        (b"", "truncated"),
        (b"\xff", "not as expected"),
        (
            b'{"name":"t","databaseSchema":"service.database.schema","name":"u"}',
            "the body has the key 'name' twice in one object",
        ),
        (
            b'{"name":"t","databaseSchema":"service.database.schema",'
            b'"columns":[{"name":"a","dataType":"INT","tags":[],"tags":[]}]}',
            "the body has the key 'tags' twice in one object",
        ),
        (b"[" * 65 + b"]" * 65, "Expected `object`"),
        (b'{"name":' + b"[" * 64 + b"]" * 64 + b"}", "the body may be 64 levels deep"),
    ],
)
def test_create_names_what_is_wrong_with_a_body(
    unchanged: Client, content: bytes, said: str
) -> None:
    status, body = unchanged.ask("POST", "/v1/tables", content=content)

    assert (status, body["errorType"]) == (400, "BAD_REQUEST")
    assert said in body["message"]


def test_create_under_a_missing_parent_is_404(client: Client) -> None:
    body = {"name": "t", "databaseSchema": "no.such.schema"}

    assert error(client.ask("POST", "/v1/tables", json=body)) == (404, "ENTITY_NOT_FOUND")


def test_put_creates_then_changes_then_does_nothing(client: Client) -> None:
    body = {"name": "service", "serviceType": "Mysql", "description": "one"}
    path = "/v1/services/databaseServices"

    answers = [
        client.request("PUT", path, json=values)
        for values in (body, {**body, "description": "two"}, {**body, "description": "two"})
    ]

    assert [a.status_code for a in answers] == [201, 200, 200]
    assert [a.headers["X-OpenMetadata-Change"] for a in answers] == [
        "entityCreated",
        "entityUpdated",
        "entityNoChange",
    ]
    assert [a.json()["version"] for a in answers] == [0.1, 0.2, 0.2]


def test_patch_minds_if_match(client: Client) -> None:
    client.schema()
    path = f"/v1/tables/{client.table()['id']}"
    patch = [{"op": "add", "path": "/description", "value": "x"}]

    fresh = client.request("PATCH", path, json=patch, headers={"If-Match": 'W/"0.1"'})
    stale = client.ask("PATCH", path, json=patch, headers={"If-Match": 'W/"0.1"'})
    wrong = client.ask("PATCH", path, json=patch, headers={"If-Match": "yesterday"})
    absent = client.ask("PATCH", path, json=patch, headers={"If-None-Match": "*"})
    older = client.ask("PATCH", path, json=patch, headers={"If-None-Match": 'W/"0.1"'})
    both = {"If-Match": "*", "If-None-Match": "*"}
    never = client.ask("PATCH", path, json=patch, headers=both)

    assert (fresh.status_code, fresh.json()["version"]) == (200, 0.2)
    assert error(absent) == error(never) == (412, "PRECONDITION_FAILED")
    assert error(older) == (400, "BAD_REQUEST")
    assert error(stale) == (412, "PRECONDITION_FAILED")
    assert error(wrong) == (400, "BAD_REQUEST")


def test_patch_adds_to_arrays_that_are_not_there_yet(client: Client) -> None:
    client.create("classifications", name="PII", description="Personal.")
    client.create("tags", name="Email", classification="PII", description="Addresses.")
    client.schema()
    table = client.table()
    patch = [{"op": "add", "path": "/tags/0", "value": {"tagFQN": "PII.Email"}}]

    status, body = client.ask("PATCH", f"/v1/tables/{table['id']}", json=patch)

    assert status == 200
    assert [tag["tagFQN"] for tag in body["tags"]] == ["PII.Email"]


@pytest.mark.parametrize(
    "patch",
    [
        [{"op": "replace", "path": "/id", "value": "x"}],
        [{"op": "replace", "path": "/name", "value": "x"}],
        [{"op": "replace", "path": "/databaseSchema", "value": "x"}],
        [{"op": "remove", "path": "/nothing"}],
        [{"op": "jump", "path": "/name"}],
        [{"op": "add", "path": "/colour", "value": 1}],
        {"op": "add"},
        ["add"],
    ],
)
def test_patch_that_cannot_be_is_refused(unchanged: Client, patch: Any) -> None:
    table = unchanged.get(f"/v1/tables/name/{TABLE}")

    status, body = unchanged.ask("PATCH", f"/v1/tables/{table['id']}", json=patch)

    assert status in (400, 404), body
    assert unchanged.get(f"/v1/tables/{table['id']}") == table


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            b'[{"op":"test","path":"/name","path":"/description","value":"x"}]',
            "a JSON Patch has the key 'path' twice in one object",
        ),
        (
            b'[{"op":"add","path":"/extension","value":{"a":1,"a":2}}]',
            "a JSON Patch has the key 'a' twice in one object",
        ),
        (
            b'[{"op":"add","path":"/extension","value":' + b"[" * 63 + b"]" * 63 + b"}]",
            "a JSON Patch may be 64 levels deep",
        ),
    ],
)
def test_patch_says_what_is_wrong_with_its_json(
    unchanged: Client, content: bytes, said: str
) -> None:
    table = unchanged.get(f"/v1/tables/name/{TABLE}")

    status, body = unchanged.ask("PATCH", f"/v1/tables/{table['id']}", content=content)

    assert (status, body["errorType"], body["message"]) == (400, "BAD_REQUEST", said)
    assert unchanged.get(f"/v1/tables/{table['id']}") == table


def test_body_that_is_never_closed_is_refused_soon(empty: Client) -> None:
    content = b"[" + b"[]," * 90 + b'"' + b'\\"' * 30_000
    started = time.process_time()

    assert error(empty.ask("POST", "/v1/tables", content=content)) == (400, "BAD_REQUEST")
    assert time.process_time() - started < 2


def test_write_that_would_make_an_entity_too_large_is_413(client: Client) -> None:
    path = "/v1/services/databaseServices"
    body = {"name": "s", "serviceType": "Mysql"}
    first = client.create("services/databaseServices", **body, description="x" * 6_000_000)

    status, answer = client.ask("PUT", path, json={**body, "displayName": "x" * 5_000_000})

    assert (status, answer["errorType"]) == (413, "PAYLOAD_TOO_LARGE")
    assert answer["message"] == (
        "an entity may take 10000000 bytes, and this one would take 11000011 or more"
    )
    assert client.get(f"{path}/{first['id']}")["version"] == 0.1


def test_patch_of_status_follows_the_machine(client: Client) -> None:
    client.schema()
    entity = {"id": client.table()["id"], "type": "table"}
    contract = client.create("dataContracts", name="c", entity=entity)
    path = f"/v1/dataContracts/{contract['id']}"

    def to(status: str) -> tuple[int, Any]:
        patch = [{"op": "replace", "path": "/entityStatus", "value": status}]
        return client.ask("PATCH", path, json=patch)

    assert contract["entityStatus"] == "Draft"
    assert to("Active")[1]["entityStatus"] == "Active"
    assert error(to("Draft")) == (409, "INVALID_TRANSITION")
    assert error(to("Broken")) == (400, "BAD_REQUEST")
    assert client.get(path)["entityStatus"] == "Active"


def test_delete_softly_then_restore(client: Client) -> None:
    client.schema()
    path = f"/v1/tables/{client.table()['id']}"

    gone = client.request("DELETE", path)
    assert (gone.status_code, gone.json()["deleted"]) == (200, True)
    assert client.ask("GET", path)[0] == 404
    assert client.get(path, include="deleted") == gone.json()
    assert client.get("/v1/tables")["paging"] == {"total": 0}

    back = client.request("PUT", "/v1/tables/restore", json={"id": gone.json()["id"]})
    assert back.headers["X-OpenMetadata-Change"] == "entityRestored"
    assert back.json()["version"] == 0.3
    assert client.get(path) == back.json()
    assert client.ask("PUT", "/v1/tables/restore", json={"id": gone.json()["id"]})[0] == 404


def test_delete_with_children_needs_recursive(client: Client) -> None:
    client.schema()
    table = client.table()
    schema = client.get("/v1/databaseSchemas")["data"][0]
    path = f"/v1/databaseSchemas/{schema['id']}"

    refused = client.ask("DELETE", path)
    done = client.ask("DELETE", f"{path}?recursive=true&hardDelete=true")

    assert error(refused) == (400, "BAD_REQUEST")
    assert "orders" not in refused[1]["message"]
    assert done[0] == 200
    assert client.ask("GET", f"/v1/tables/{table['id']}?include=all")[0] == 404


def test_delete_by_name(client: Client) -> None:
    client.schema()
    table = client.table()

    assert client.ask("DELETE", f"/v1/tables/name/{table['fullyQualifiedName']}")[0] == 200
    assert client.ask("DELETE", "/v1/tables/name/no.such")[0] == 404
    assert client.ask("DELETE", f"/v1/tables/{new_id()}")[0] == 404
    assert client.ask("DELETE", f"/v1/tables/{table['id']}?hardDelete=maybe")[0] == 400


def test_idempotency_key_repeats_the_first_answer(client: Client) -> None:
    path, headers = "/v1/services/databaseServices", {"Idempotency-Key": "once"}
    body = {"name": "service", "serviceType": "Mysql"}
    first = client.request("POST", path, json=body, headers=headers)
    changed = client.request("PUT", path, json={**body, "description": "later"})

    again = client.request("POST", path, json=body, headers=headers)
    other = client.ask("POST", path, json={**body, "name": "other"}, headers=headers)

    assert changed.json()["version"] == 0.2
    assert (again.status_code, again.json()) == (201, first.json())
    assert again.headers["ETag"] == first.headers["ETag"]
    assert error(other) == (409, "CONFLICT")


def test_write_is_in_the_next_list(client: Client) -> None:
    client.schema()
    for number in range(20):
        client.table(f"t{number:02}")
        assert client.get("/v1/tables", limit=0)["paging"]["total"] == number + 1


def test_delete_by_name_is_idempotent_under_a_key(client: Client) -> None:
    client.schema()
    path = f"/v1/tables/name/{client.table()['fullyQualifiedName']}?hardDelete=true"
    headers = {"Idempotency-Key": "once"}

    answers = [client.request("DELETE", path, headers=headers) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].json() == answers[1].json()


def test_wrong_parameter_is_named_as_it_was_given(client: Client) -> None:
    status, body = client.ask("DELETE", f"/v1/tables/{new_id()}?hardDelete=maybe")

    assert (status, body["message"]) == (400, "hardDelete must be true or false, got 'maybe'")


def test_request_id_is_recorded_only_when_it_is_fit(client: Client) -> None:
    client.schema()
    assert (
        client.request(
            "DELETE",
            "/v1/databaseSchemas/name/service.database.schema",
            headers={"X-Request-Id": "x" * 1_000},
        ).status_code
        == 200
    )
