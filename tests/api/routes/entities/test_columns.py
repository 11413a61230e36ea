"""Pages of the columns of a table."""

import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.api.conftest import Client, running_under

COLUMNS: list[dict[str, Any]] = [
    {"name": "id", "dataType": "INT", "tags": [{"tagFQN": "PII.Sensitive"}]},
    {"name": "who", "dataType": "STRUCT", "children": [{"name": "age", "dataType": "INT"}]},
    {"name": "at", "dataType": "DATE", "description": "when"},
]


def table(client: Client, name: str = "b/c") -> str:
    client.schema()
    client.create("classifications", name="PII", description="-")
    client.create("tags", name="Sensitive", classification="PII", description="-")
    created: str = client.table(name, columns=COLUMNS)["id"]
    return created


def names(page: Any) -> list[str]:
    return [column["name"] for column in page["data"]]


def test_columns_come_in_pages_by_id_and_by_name(client: Client) -> None:
    entity_id = table(client)
    fqn = "service.database.schema.b/c"
    for path in (entity_id, f"name/{fqn}", f"name/{quote(fqn, safe='')}"):
        for prefix in ("/v1", "/api/v1"):
            page = client.get(f"{prefix}/tables/{path}/columns", limit=2, offset=1)
            assert names(page) == ["who", "at"]
            assert page["paging"] == {"total": 3, "offset": 1, "limit": 2}
    path = f"/v1/tables/name/{fqn}/columns"
    assert names(client.get(path)) == ["id", "who", "at"]
    assert names(client.get(path, sortBy="name")) == ["at", "id", "who"]
    assert names(client.get(path, sortOrder="desc")) == ["at", "who", "id"]
    assert client.get(path, offset=3)["data"] == []
    assert client.get(f"/v1/tables/name/{fqn}")["id"] == entity_id


def test_columns_show_what_is_asked_for(client: Client) -> None:
    path = f"/v1/tables/{table(client)}"
    first, who, at = client.get(f"{path}/columns")["data"]
    assert "tags" not in first
    assert "tags" not in who["children"][0]
    assert at["description"] == "when"
    now = int(time.time() * 1_000)
    report = {
        "tableProfile": {"timestamp": now},
        "columnProfile": [{"name": "id", "timestamp": now, "max": 7}],
    }
    assert client.ask("PUT", f"{path}/tableProfile", json=report)[0] == 200
    first, *_ = client.get(f"{path}/columns", fields="tags, profile")["data"]
    assert first["tags"][0]["tagFQN"] == "PII.Sensitive"
    assert first["profile"]["max"] == 7
    assert client.get(f"{path}/columns", fields="*")["data"][0] == first


def test_a_table_may_be_called_as_the_path_ends(client: Client) -> None:
    entity_id = table(client, "x/columns")
    path = "/v1/tables/name/service.database.schema.x"
    assert client.get(f"{path}%2Fcolumns")["id"] == entity_id
    assert client.ask("GET", f"{path}/columns")[0] == 404
    assert names(client.get(f"{path}/columns/columns")) == ["id", "who", "at"]


@pytest.mark.parametrize(
    ("query", "status"),
    [("limit=0", 400), ("limit=1001", 400), ("offset=-1", 400), ("fields=colour", 400)],
)
def test_wrong_pages_are_refused(client: Client, query: str, status: int) -> None:
    assert client.ask("GET", f"/v1/tables/{table(client)}/columns?{query}")[0] == status
    assert client.ask("GET", "/v1/tables/name/a.b.c.d/columns")[0] == 404
    assert client.ask("GET", "/v1/tables/name//columns")[0] in (400, 404)


def test_deleted_tables_show_columns_when_asked(client: Client) -> None:
    path = f"/v1/tables/{table(client)}"
    client.ask("DELETE", path)
    assert client.ask("GET", f"{path}/columns")[0] == 404
    assert len(names(client.get(f"{path}/columns", include="all"))) == 3


def test_withheld_columns_are_not_shown(tmp_path: Path) -> None:
    with running_under(
        tmp_path,
        '[[rule]]\nrole = "admin"\nallow = ["list", "view", "create", "edit"]\n'
        '[[rule]]\nrole = "reader"\nallow = ["view"]\nwithhold = ["columns"]\n'
        '[[rule]]\nrole = "bot"\nallow = ["view"]\nwithhold = ["columns.tags"]\n',
    ) as client:
        path = f"/v1/tables/{table(client)}/columns"
        assert client.ask("GET", path, role="reader")[0] == 403
        assert client.ask("GET", path, role="bot")[0] == 200
        assert client.ask("GET", f"{path}?fields=tags", role="bot")[0] == 403
