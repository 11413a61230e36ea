"""The lineage as it was: what a walk showed at a position is what it shows of it later."""

from typing import Any

from tests.api.conftest import Client


class Recorder:
    """Asks for lineages as they are, and later for the same at their positions."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.seen: list[tuple[str, int, Any]] = []

    def note(self, *tables: Any) -> None:
        position = self.client.services.stores.log.head()
        for table in tables:
            path = f"/v1/lineage/table/{table['id']}"
            self.seen.append((path, position, self.ask(path, {"at": position})))
            assert self.seen[-1][2] == self.ask(path, {})

    def ask(self, path: str, params: dict[str, Any]) -> Any:
        depths = {"upstreamDepth": 3, "downstreamDepth": 3}
        status, body = self.client.ask("GET", path, params={**depths, **params})
        return status, body if status == 200 else None

    def check(self, *gone: Any) -> None:
        """Ask again; entities that are gone take their edges with them."""
        ids = {each["id"] for each in gone}
        for path, position, (status, body) in self.seen:
            found = self.ask(path, {"at": position})
            if path.rpartition("/")[2] in ids:
                assert found[0] == 410
            else:
                assert found == (status, without(body, ids)), (path, position)


def without(body: Any, ids: set[str]) -> Any:
    if body is None or not ids:
        return body
    edges = {
        key: [e for e in body[key] if not ids & {e["fromEntity"], e["toEntity"]}]
        for key in ("upstreamEdges", "downstreamEdges")
    }
    return {**body, "nodes": [n for n in body["nodes"] if n["id"] not in ids], **edges}


def join(client: Client, one: Any, other: Any, method: str = "PUT", **details: Any) -> None:
    ends = {
        key: {"id": each["id"], "type": "table"}
        for key, each in (("fromEntity", one), ("toEntity", other))
    }
    edge = {**ends, "lineageDetails": details}
    response = client.request("PUT", "/v1/lineage", json={"edge": edge})
    assert response.status_code == 200, response.text


def test_walks_of_the_past_are_those_that_were_shown(client: Client) -> None:
    client.schema()
    a, b, c = (client.table(name) for name in "abc")
    tables = Recorder(client)
    tables.note(a, b, c)
    join(client, a, b, sqlQuery="select 1")
    tables.note(a, b, c)
    join(client, b, c)
    join(client, a, a)
    tables.note(a, b, c)
    join(client, a, b, sqlQuery="select '" + "x" * 10_000 + "'")
    tables.note(a, b, c)
    join(client, a, b, sqlQuery="select 2")
    client.request("DELETE", f"/v1/tables/{c['id']}")
    tables.note(a, b)
    path = f"/v1/lineage/table/{a['id']}/table/{b['id']}"
    assert client.request("DELETE", path).status_code == 200
    tables.note(a, b)
    join(client, a, b, sqlQuery="again")
    tables.note(a, b)
    tables.check()
    client.request("DELETE", f"/v1/tables/{c['id']}?hardDelete=true")
    tables.check(c)


def test_lineage_of_the_past_says_its_position_and_refuses_what_is_wrong(client: Client) -> None:
    client.schema()
    a, b = (client.table(name) for name in "ab")
    join(client, a, b)
    head = client.services.stores.log.head()
    by_name = f"/v1/lineage/table/name/{a['fullyQualifiedName']}"
    for params in ({"at": head}, {"at": "now"}):
        response = client.request("GET", by_name, params=params)
        assert response.headers["X-Catalog-At"] == str(head)
        assert [n["id"] for n in response.json()["nodes"]] == [b["id"]]
    assert client.ask("GET", by_name, params={"at": 0})[0] == 404
    assert client.ask("GET", by_name, params={"at": "soon"})[0] == 400
    assert client.ask("GET", by_name, params={"at": 1, "asOf": "2026-01-01"})[0] == 400
    client.request("DELETE", f"/v1/tables/{a['id']}")
    deleted = client.services.stores.log.head()
    status, error = client.ask("GET", by_name, params={"at": deleted})
    assert (status, "was soft-deleted at position" in error["message"]) == (404, True)
    assert client.ask("GET", by_name, params={"at": head})[0] == 200
