"""GET of lists and single entities: parameters, envelopes, errors."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from api.answers.responses import LOOP_BYTES
from api.callers.limits import Streams
from api.services import UNSENT_BYTES, UNSENT_BYTES_EACH
from domain.kinds.ids import new_id
from domain.kinds.registry import KINDS
from tests.api.conftest import Client, over_files, running, running_under, without_reads

BAD_PARAMETERS = [
    ("limit=-1", "limit must be a whole number >= 0, got '-1'"),
    ("limit=1000001", "limit must be a whole number <= 1000000, got '1000001'"),
    ("limit=1.5", "limit must be a whole number, got '1.5'"),
    ("limit=abc", "limit must be a whole number, got 'abc'"),
    ("limit=", "limit must be a whole number, got ''"),
    (
        "status=Broken",
        "status must be one of Draft, Active, Deprecated, got 'Broken'",
    ),
    (
        "include=some",
        "include must be one of non-deleted, deleted, all, got 'some'",
    ),
    ("entity=12", "entity: Invalid UUID, got '12'"),
    (
        "fields=owners,bogus",
        "fields: Invalid field name bogus; allowed are owners, reviewers, extension,"
        " latestResult, verdict",
    ),
]


@pytest.mark.parametrize(("query", "message"), BAD_PARAMETERS)
def test_list_names_a_wrong_parameter(empty: Client, query: str, message: str) -> None:
    status, body = empty.ask("GET", f"/v1/dataContracts?{query}")

    assert (status, body) == (400, {"code": 400, "errorType": "BAD_REQUEST", "message": message})


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_list_of_every_kind_is_empty_at_first(empty: Client, kind: Any) -> None:
    for query in (
        "",
        *(f"?{name}=x" for name in kind.list_filters if name not in kind.lists.by_id),
    ):
        assert empty.get(f"/v1/{kind.collection}{query}") == {"data": [], "paging": {"total": 0}}
    over = empty.ask("GET", f"/v1/{kind.collection}?limit={kind.lists.limit + 1}")
    assert over[0] == 400


def test_list_refuses_cursors_that_are_not_its_own(client: Client) -> None:
    client.schema()
    for name in "abc":
        client.table(name)
    cursor = client.get("/v1/tables", limit=1)["paging"]["after"]

    for query in (
        f"after={cursor}&before={cursor}",
        f"after={cursor[:-2]}",
        f"after={cursor}x",
        "after=%00%ff",
        f"after={'A' * 10_000}",
    ):
        assert client.ask("GET", f"/v1/tables?{query}")[0] == 400, query
    assert client.ask("GET", f"/v1/dataContracts?after={cursor}")[0] == 400
    assert client.ask("GET", f"/v1/tables?include=all&after={cursor}")[0] == 400
    assert client.ask("GET", f"/v1/tables?before={cursor}")[0] == 400
    assert client.ask("GET", f"/v1/tables?limit=2&after={cursor}")[0] == 200
    assert client.ask("GET", "/v1/tables?after=&before=")[0] == 200


def test_queries_are_listed_by_service_and_by_the_entity_that_they_use(client: Client) -> None:
    client.schema()
    table = client.table("orders")
    for name, used in (("one", [{"id": table["id"], "type": "table"}]), ("two", [])):
        client.create("queries", name=name, query="SELECT 1", service="service", queryUsedIn=used)

    def listed(**parameters: str) -> list[str]:
        return [query["name"] for query in client.get("/v1/queries", **parameters)["data"]]

    assert listed(service="service") == ["one", "two"]
    assert listed(entityId=table["id"]) == ["one"]
    assert listed(entityId=table["id"], service="service") == ["one"]
    assert client.ask("GET", "/v1/queries?entityId=service.database.schema.orders")[0] == 400


def test_list_takes_owner_for_owners(client: Client) -> None:
    user = client.create("users", name="ann", email="ann@example.com")
    client.schema()
    client.table("orders", owners=[{"id": user["id"], "type": "user"}])

    item = client.get("/v1/tables", fields="owner")["data"][0]

    assert [owner["name"] for owner in item["owners"]] == ["ann"]
    assert "owner" not in item


def test_entity_is_read_by_id_and_by_name(client: Client) -> None:
    client.schema()
    table = client.table('a/b "c".d//Ж%2F')
    name = table["fullyQualifiedName"]
    path = "".join(f"%{byte:02X}" for byte in name.encode())

    by_id = client.request("GET", f"/v1/tables/{table['id']}")
    by_name = client.request("GET", f"/v1/tables/name/{path}")

    assert by_id.json() == by_name.json() == table
    assert by_name.headers["ETag"] == by_id.headers["ETag"]
    assert int(by_id.headers["X-Catalog-Position"]) == 4


def test_entity_that_is_not_there_is_404(empty: Client) -> None:
    unknown = new_id()

    assert empty.ask("GET", f"/v1/tables/{unknown}") == (
        404,
        {
            "code": 404,
            "errorType": "ENTITY_NOT_FOUND",
            "message": f"table instance for {unknown} not found",
        },
    )
    assert empty.ask("GET", "/v1/tables/name/no.such.table")[0] == 404
    assert empty.ask("GET", "/v1/tables/not-a-uuid")[0] == 400
    assert empty.ask("GET", "/v1/tables/name/%FF")[0] == 400


def test_versions_are_kept_newest_first(client: Client) -> None:
    client.schema()
    table = client.table()
    patch = [{"op": "add", "path": "/description", "value": "All orders."}]
    changed = client.request("PATCH", f"/v1/tables/{table['id']}", json=patch).json()

    answer = client.get(f"/v1/tables/{table['id']}/versions")

    assert answer["entityType"] == "table"
    added = [{"name": "description", "newValue": "All orders."}]
    description = {"fieldsAdded": added, "fieldsUpdated": [], "fieldsDeleted": []}
    changed["changeDescription"] = {**description, "previousVersion": 0.1}
    assert [json.loads(version) for version in answer["versions"]] == [changed, table]
    assert client.get(f"/v1/tables/{table['id']}/versions/0.2") == changed
    assert client.get(f"/v1/tables/{table['id']}/versions/0.1") == table
    assert client.ask("GET", f"/v1/tables/{table['id']}/versions/0.9")[0] == 404
    assert client.ask("GET", f"/v1/tables/{new_id()}/versions")[0] == 404


def test_long_history_is_streamed_as_a_short_one_is_sent(client: Client) -> None:
    service = client.create("services/databaseServices", name="s", serviceType="Mysql")
    path = f"/v1/services/databaseServices/{service['id']}"
    for number in range(7):
        value = f'"{number}é' + "x" * 100_000
        patch = [{"op": "add", "path": "/description", "value": value}]
        assert client.ask("PATCH", path, json=patch)[0] == 200
        answer = client.request("GET", f"{path}/versions")
        assert ("Content-Length" in answer.headers) == (number < 1)

    shown = [client.request("GET", f"{path}/versions/0.{n}").text for n in range(8, 0, -1)]
    assert [json.loads(version)["version"] for version in shown] == [
        0.8,
        0.7,
        0.6,
        0.5,
        0.4,
        0.3,
        0.2,
        0.1,
    ]
    whole = {"entityType": "databaseService", "versions": shown}
    assert answer.content == msgspec.json.encode(whole)
    head = client.request("HEAD", f"{path}/versions")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["Content-Type"] == "application/json"


def test_page_of_many_bytes_is_streamed(client: Client) -> None:
    client.schema()
    for name in "abcdefg":
        client.table(name, description=name + "x" * 200_000)
    plain = {"Accept-Encoding": "identity"}
    small = client.request("GET", "/v1/tables?limit=1", headers=plain)
    large = client.request("GET", "/v1/tables?limit=6", headers=plain)

    assert [item["name"] for item in large.json()["data"]] == [*"abcdef"]
    assert (small.headers["Content-Length"], "Content-Length" in large.headers) == (
        str(len(small.content)),
        False,
    )
    cursor = large.json()["paging"]["after"]
    assert [item["name"] for item in client.get("/v1/tables", after=cursor)["data"]] == ["g"]
    head = client.request("HEAD", "/v1/tables?limit=6")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["Content-Type"] == "application/json"


def test_large_entity_is_cut_for_whom_a_field_is_withheld(tmp_path: Path) -> None:
    with running_under(
        tmp_path,
        '[[rule]]\nrole="admin"\nallow=["view", "create"]\n'
        '[[rule]]\nrole="some"\nallow=["view"]\nwithhold=["columns.description"]\n',
    ) as client:
        client.schema()
        columns = [
            {"name": f"c{number}", "dataType": "INT", "description": "x" * 10_000}
            for number in range(60)
        ]
        table = client.table(columns=columns)
        path = f"/v1/tables/{table['id']}"
        whole = client.request("GET", path)
        cut = client.request("GET", path, role="some")

    assert [column.pop("description") for column in table["columns"]] == ["x" * 10_000] * 60
    assert cut.json() == table
    for name in ("X-Catalog-Position", "Content-Type"):
        assert cut.headers[name] == whole.headers[name]
    # What is cut is known by another tag, which begins as that of the whole does.
    state = whole.headers["ETag"].removesuffix('"')
    assert re.fullmatch(re.escape(state) + r'-[0-9a-f]{8}"', cut.headers["ETag"])


def test_streamed_list_refuses_a_cursor_that_is_not_its_own(empty: Client) -> None:
    for query in ("after=AAAA", "before=AAAA", "after=AAAA&before=AAAA"):
        status, body = empty.ask("GET", f"/v1/dataContracts?limit=5000&{query}")
        assert (status, body["errorType"]) == (400, "BAD_REQUEST")


def test_name_of_a_root_entity_may_be_given_bare(client: Client) -> None:
    user = client.create("users", name="ann.lee", email="ann@example.com")

    assert user["fullyQualifiedName"] == '"ann.lee"'
    assert client.get("/v1/users/name/ann.lee") == client.get("/v1/users/name/%22ann.lee%22")
    assert client.ask("DELETE", "/v1/users/name/ann.lee")[0] == 200


def test_resource_that_only_openmetadata_has_is_404(empty: Client) -> None:
    assert empty.ask("GET", "/v1/tables/entity")[0] == 404


@over_files
def test_large_entity_is_read_in_turn_and_a_small_one_at_once(tmp_path: Path) -> None:
    # Without a place for heavy reads, what is read on the event loop alone is answered.
    with running(tmp_path, services=without_reads()) as client:
        client.schema()
        for name, size in (("small", 100_000), ("large", LOOP_BYTES // 2)):
            table = client.table(name, description="x" * size)
            paths = (f"/v1/tables/{table['id']}", f"/v1/tables/name/{table['fullyQualifiedName']}")
            for path in paths:
                status, body = client.ask("GET", path)
                assert (status, body.get("errorType")) == (
                    (200, None) if name == "small" else (429, "LIMITS_EXCEPTION")
                )
        assert client.ask("GET", f"/v1/tables/{new_id()}")[0] == 404


def test_large_answers_being_sent_are_streams_of_their_caller(tmp_path: Path) -> None:
    none = Streams(0, UNSENT_BYTES_EACH, UNSENT_BYTES)
    with running(tmp_path, services={"streams": none}) as client:
        client.schema()
        small, large = (
            client.table(name, description=name + " x" * size)
            for name, size in (("small", 1), ("large", LOOP_BYTES // 2))
        )
        client.search_until(lambda answer: answer["hits"]["total"]["value"] == 2, q="x", size=0)

        statuses = [
            client.ask("GET", path)[0]
            for path in (
                f"/v1/tables/{small['id']}",
                f"/v1/tables/{large['id']}",
                f"/v1/tables/{small['id']}/versions",
                f"/v1/tables/{large['id']}/versions",
                f"/v1/tables/{small['id']}/versions/0.1",
                f"/v1/tables/{large['id']}/versions/0.1",
                "/v1/search/query?q=small",
                "/v1/search/query?q=large",
            )
        ]

    assert statuses == [200, 429] * 4
