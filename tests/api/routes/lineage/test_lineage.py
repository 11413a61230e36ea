"""The lineage over HTTP, in the requests of OpenMetadata's client, and what it must not tell."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.api.conftest import Client, running_under

POLICIES = """
[[rule]]
role = "admin"
allow = ["list", "view", "search", "create", "edit", "delete", "audit"]

[[rule]]
role = "bot"
bot = true
allow = ["list", "view", "search", "create", "edit", "delete"]

[[rule]]
role = "reader"
allow = ["list", "view"]

[[rule]]
role = "tables"
kinds = ["table", "lineageEdge"]
allow = ["view", "create", "edit", "delete", "audit"]

[[rule]]
role = "auditor"
allow = ["audit"]
[[rule]]
role = "auditor"
kinds = ["table", "lineageEdge"]
allow = ["view"]

[[rule]]
role = "unrelated"
kinds = ["table", "pipeline"]
allow = ["view", "create", "edit", "delete", "audit"]

[[rule]]
role = "masked"
allow = ["view", "create", "edit"]
withhold = ["columns"]

[[rule]]
role = "deaf"
kinds = ["lineageEdge"]
allow = ["create", "edit"]
[[rule]]
role = "deaf"
kinds = ["table"]
allow = ["view"]

[[rule]]
role = "careful"
allow = ["view", "search"]
withhold = ["columns"]

[[rule]]
role = "finder"
kinds = ["table"]
allow = ["view", "search"]
"""
A, B = "service.database.schema.a", "service.database.schema.b/c"
MAPPING = {"fromColumns": [f"{A}.id"], "toColumn": f"{B}.id"}
NOBODY = "00000000-0000-7000-8000-000000000000"


class Shop:
    """Two tables and a pipeline."""

    def __init__(self, client: Client) -> None:
        self.client = client
        client.schema()
        self.a, self.b = (client.table(name) for name in ("a", "b/c"))
        client.create("services/pipelineServices", name="runs", serviceType="Airflow")
        self.run = client.create("pipelines", name="daily", service="runs")

    def edge(self, *, beginning: Any = None, end: Any = None, **details: Any) -> dict[str, Any]:
        """The body with which the client draws an edge; like the client's, with nulls."""
        beginning, end = beginning or ("table", self.a), end or ("table", self.b)
        ends = {
            key: {"id": entity["id"], "type": kind, "name": None, "deleted": None}
            for key, (kind, entity) in (("fromEntity", beginning), ("toEntity", end))
        }
        nulls = dict.fromkeys(("sqlQuery", "columnsLineage", "pipeline", "createdAt", "updatedBy"))
        given = {**nulls, "source": "Manual", **details}
        return {"edge": {**ends, "description": None, "lineageDetails": given}}

    def draw(self, role: str = "admin", **details: Any) -> Any:
        response = self.client.request("PUT", "/v1/lineage", role=role, json=self.edge(**details))
        assert response.status_code == 200, response.text
        return response

    def lineage(self, path: str, role: str = "admin") -> Any:
        response = self.client.request("GET", f"/v1/lineage/{path}", role=role)
        assert response.status_code == 200, response.text
        return response.json()

    @property
    def between(self) -> str:
        return f"table/{self.a['id']}/table/{self.b['id']}"

    @property
    def named(self) -> str:
        return f"table/name/{quote(A, safe='')}/table/name/{quote(B, safe='')}"


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with running_under(tmp_path, POLICIES) as client:
        yield Shop(client)


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """A shop for requests that are all refused."""
    with running_under(tmp_path_factory.mktemp("unchanged"), POLICIES) as client:
        yield Shop(client)


def reference(kind: str, entity: Any, **more: Any) -> dict[str, Any]:
    keys = ("id", "name", "fullyQualifiedName")
    return {"type": kind, **{key: entity[key] for key in keys}, **more}


def test_pipeline_named_by_nothing_is_refused(shop: Shop) -> None:
    edge = shop.edge(pipeline="")
    refused = shop.client.request("PUT", "/v1/lineage", role="admin", json=edge)
    assert refused.status_code == 404, refused.text
    assert "pipeline: " in refused.json()["message"]
    assert shop.lineage(f"table/{shop.a['id']}")["downstreamEdges"] == []


def test_edge_is_drawn_and_shown_from_both_ends(shop: Shop) -> None:
    drawn = shop.draw(sqlQuery="select 1", columnsLineage=[MAPPING], source="QueryLineage")
    assert drawn.headers["X-OpenMetadata-Change"] == "entityCreated"
    details = drawn.json()
    assert details == {
        "sqlQuery": "select 1",
        "columnsLineage": [MAPPING],
        "source": "QueryLineage",
        "createdAt": details["createdAt"],
        "createdBy": "the-admin",
        "updatedAt": details["createdAt"],
        "updatedBy": "the-admin",
    }
    step = {
        "fromEntity": shop.a["id"],
        "toEntity": shop.b["id"],
        "lineageDetails": details,
    }
    assert shop.lineage(f"table/{shop.a['id']}?upstreamDepth=1&downstreamDepth=1") == {
        "entity": reference("table", shop.a),
        "nodes": [reference("table", shop.b)],
        "upstreamEdges": [],
        "downstreamEdges": [step],
    }
    assert shop.lineage(f"table/name/{quote(B, safe='')}") == {
        "entity": reference("table", shop.b),
        "nodes": [reference("table", shop.a)],
        "upstreamEdges": [step],
        "downstreamEdges": [],
    }
    none = shop.lineage(f"table/{shop.a['id']}?downstreamDepth=0")
    assert (none["nodes"], none["downstreamEdges"]) == ([], [])
    for path in (f"{shop.a['id']}/{shop.b['id']}", shop.named):
        assert shop.lineage(f"getLineageEdge/{path}") == {"edge": details}


def test_equal_write_stores_nothing(shop: Shop) -> None:
    position = shop.draw(sqlQuery="select 1").headers["X-Catalog-Position"]
    for role in ("admin", "bot"):
        again = shop.draw(role, sqlQuery="select 1")
        assert again.headers["X-OpenMetadata-Change"] == "entityNoChange"
        assert again.headers["X-Catalog-Position"] == position


def test_client_patches_what_it_has_read(shop: Shop) -> None:
    shop.draw(sqlQuery="select 1")
    patch = [
        {"op": "add", "path": "/columnsLineage/0", "value": MAPPING},
        {"op": "add", "path": "/pipeline", "value": {"id": shop.run["id"], "type": "pipeline"}},
        {"op": "add", "path": "/sqlQuery", "value": "select 2"},
    ]
    media = {"Content-Type": "application/json-patch+json"}
    for path in (shop.between, shop.named):
        response = shop.client.request("PATCH", f"/v1/lineage/{path}", json=patch, headers=media)
        assert response.status_code == 200, response.text
        details = response.json()
        assert details["columnsLineage"] == [MAPPING]
        assert details["pipeline"] == reference("pipeline", shop.run)
        assert details["sqlQuery"] == "select 2"


def test_edge_is_written_and_removed_by_names(shop: Shop) -> None:
    ask = shop.client.ask
    assert ask("PUT", f"/v1/lineage/{shop.named}", json={"assetEdges": 2})[0] == 200
    assert shop.lineage(f"getLineageEdge/{shop.named}")["edge"]["assetEdges"] == 2
    assert ask("DELETE", f"/v1/lineage/{shop.named}")[0] == 200
    assert ask("DELETE", f"/v1/lineage/{shop.named}")[0] == 404
    assert ask("GET", f"/v1/lineage/getLineageEdge/{shop.named}")[0] == 404
    assert shop.lineage(f"table/{shop.a['id']}")["downstreamEdges"] == []


def test_edges_are_removed_by_their_source(shop: Shop) -> None:
    over = {"id": shop.run["id"], "type": "pipeline"}
    shop.draw(source="PipelineLineage", pipeline=over)
    request = shop.client.ask
    other = f"/v1/lineage/table/{shop.b['id']}/type/ViewLineage"
    assert request("DELETE", other) == (200, {"deleted": 0})
    by_pipeline = "/v1/lineage/source/name/pipeline/runs.daily/type/PipelineLineage"
    assert request("DELETE", by_pipeline) == (200, {"deleted": 1})
    shop.draw(source="ViewLineage")
    assert request("DELETE", other) == (200, {"deleted": 1})
    named = f"/v1/lineage/source/name/table/{quote(B, safe='')}/type/Manual"
    shop.draw()
    assert request("DELETE", named) == (200, {"deleted": 1})
    status, body = request("DELETE", other, headers={"If-Match": "*"})
    assert (status, body["message"].startswith("if-match means one entity")) == (400, True)


def test_pipeline_shows_what_flows_over_it(shop: Shop) -> None:
    shop.draw(pipeline={"id": shop.run["id"], "type": "pipeline"}, sqlQuery="select 1")
    shown = shop.lineage(f"pipeline/{shop.run['id']}")
    assert [node["name"] for node in shown["nodes"]] == ["a", "b/c"]
    run = shop.run["id"]
    ends = [
        [(edge["fromEntity"], edge["toEntity"]) for edge in shown[key]]
        for key in ("upstreamEdges", "downstreamEdges")
    ]
    assert ends == [[(shop.a["id"], run)], [(run, shop.b["id"])]]


def test_soft_deleted_entity_is_shown_as_deleted_and_has_no_lineage_of_its_own(shop: Shop) -> None:
    shop.draw()
    path = f"/v1/tables/{shop.b['id']}"
    shop.client.request("DELETE", path)
    shown = shop.lineage(f"table/{shop.a['id']}")
    assert shown["nodes"] == [reference("table", shop.b, deleted=True)]
    assert shop.client.ask("GET", f"/v1/lineage/table/{shop.b['id']}")[0] == 404
    assert shop.client.ask("PUT", "/v1/lineage", json=shop.edge(sqlQuery="x"))[0] == 404
    shop.client.request("PUT", "/v1/tables/restore", json={"id": shop.b["id"]})
    assert shop.lineage(f"table/{shop.a['id']}")["nodes"] == [reference("table", shop.b)]


def test_purged_entity_takes_its_edges_along(shop: Shop) -> None:
    shop.draw()
    response = shop.client.request(
        "DELETE", f"/v1/tables/{shop.b['id']}", params={"hardDelete": True}
    )
    assert response.status_code == 200, response.text
    assert shop.lineage(f"table/{shop.a['id']}") == {
        "entity": reference("table", shop.a),
        "nodes": [],
        "upstreamEdges": [],
        "downstreamEdges": [],
    }


def test_conditions_and_repetitions_hold_for_edges(shop: Shop) -> None:
    request = shop.client.request
    headers = {"If-None-Match": "*", "Idempotency-Key": "k"}
    body = shop.edge(sqlQuery="select 1")
    first = request("PUT", "/v1/lineage", json=body, headers=headers)
    second = request("PUT", "/v1/lineage", json=body, headers=headers)
    assert (first.status_code, second.status_code) == (200, 200)
    assert second.json() == first.json()
    tag = request("GET", f"/v1/lineage/getLineageEdge/{shop.named}").headers["ETag"]
    assert tag == first.headers["ETag"] == second.headers["ETag"]
    path = f"/v1/lineage/{shop.between}"
    patch = [{"op": "add", "path": "/description", "value": "x"}]
    assert request("PATCH", path, json=patch, headers={"If-Match": tag}).status_code == 200
    assert request("DELETE", path, headers={"If-Match": tag}).status_code == 412


@pytest.mark.parametrize(
    ("change", "status", "said"),
    [
        ({"fromEntity": {}}, 400, "edge.fromEntity: a reference needs its `type` here"),
        ({"fromEntity": {"type": "king", "id": NOBODY}}, 400, "edge.fromEntity.type is no kind"),
        ({"toEntity": {"type": "table"}}, 400, "edge.toEntity: a reference needs `id` or"),
        ({"toEntity": {"type": "table", "id": "x"}}, 400, "id must be a UUID"),
        ({"toEntity": {"type": "table", "id": NOBODY}}, 404, "toEntity: "),
        ({"toEntity": {"type": "lineageEdge", "id": NOBODY}}, 400, "edge.toEntity.type is no"),
        ({"toEntity": {"type": "topic", "fullyQualifiedName": "x"}}, 404, "toEntity: topic"),
        ({"toEntity": {"type": 1}}, 400, "edge.toEntity: Expected"),
        ({"toEntity": "table"}, 400, "Expected `object`, got `str` - at `$.edge.toEntity`"),
        ({"sql": "x"}, 400, "Object contains unknown field `sql` - at `$.edge`"),
        ({"lineageDetails": {"sql": "x"}}, 400, "lineageDetails has no key 'sql'"),
        ({"lineageDetails": {"columnsLineage": {}}}, 400, "lineageEdge: Expected"),
        ({"lineageDetails": {"source": "x"}}, 400, "lineageEdge: Invalid enum value 'x'"),
    ],
)
def test_wrong_edge_is_named(
    unchanged: Shop, change: dict[str, Any], status: int, said: str
) -> None:
    body = {"edge": {**unchanged.edge()["edge"], **change}}
    answer = unchanged.client.ask("PUT", "/v1/lineage", json=body)
    assert (answer[0], answer[1]["message"][: len(said)]) == (status, said)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", f"king/{NOBODY}", 404),
        ("GET", "table/x", 400),
        ("GET", f"table/{NOBODY}", 404),
        ("GET", "table/name/nowhere", 404),
        ("GET", f"lineageEdge/{NOBODY}", 404),
        ("GET", f"table/{NOBODY}?upstreamDepth=4", 400),
        ("GET", f"table/{NOBODY}?downstreamDepth=-1", 400),
        ("GET", f"getLineageEdge/{NOBODY}/{NOBODY}", 404),
        ("GET", "getLineageEdge/x/y", 400),
        ("GET", "getLineageEdge/table/name/x/table/name", 404),
        ("PUT", "table/name/x", 404),
        ("PUT", "table/name/x/table/name/y/z", 404),
        ("PATCH", f"table/{NOBODY}/king/{NOBODY}", 404),
        ("DELETE", f"table/{NOBODY}/type/Guessed", 400),
        ("DELETE", f"table/{NOBODY}/type/Manual", 404),
        ("DELETE", "source/name/table/x/type", 404),
        ("DELETE", "source/name/table/%ff/type/Manual", 400),
    ],
)
def test_wrong_path_is_a_clear_refusal(empty: Client, method: str, path: str, status: int) -> None:
    body: Any = {"PUT": {}, "PATCH": []}.get(method)
    answer = empty.ask(method, f"/v1/lineage/{path}", json=body)
    assert (answer[0], "message" in answer[1]) == (status, True)


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("table/name/x", "GET, HEAD, OPTIONS"),
        ("table/name/x%2Fy", "GET, HEAD, OPTIONS"),
        ("table/name/x/table/name/y", "DELETE, OPTIONS, PATCH, PUT"),
        (f"table/{NOBODY}/table/{NOBODY}", "DELETE, OPTIONS, PATCH"),
        ("", "OPTIONS, POST, PUT"),
    ],
)
def test_methods_are_those_of_the_form_of_a_path(empty: Client, path: str, methods: str) -> None:
    response = empty.request("OPTIONS", f"/v1/lineage/{path}".rstrip("/"))
    assert (response.status_code, response.headers["Allow"]) == (204, methods)


def test_lineage_needs_permissions_for_edges_and_for_both_kinds(shop: Shop) -> None:
    shop.draw(end=("pipeline", shop.run))
    shop.draw(sqlQuery="select 1")
    ask, a = shop.client.ask, f"/v1/lineage/table/{shop.a['id']}"
    assert ask("GET", a, role="unrelated")[0] == 403
    assert ask("PUT", "/v1/lineage", role="unrelated", json=shop.edge())[0] == 403
    assert ask("DELETE", f"/v1/lineage/{shop.between}", role="reader")[0] == 403
    assert ask("PUT", "/v1/lineage", role="reader", json=shop.edge())[0] == 403
    shown = shop.lineage(f"table/{shop.a['id']}", role="tables")
    assert [node["name"] for node in shown["nodes"]] == ["b/c"]
    assert [edge["toEntity"] for edge in shown["downstreamEdges"]] == [shop.b["id"]]
    to_pipeline = shop.edge(end=("pipeline", shop.run))
    assert ask("PUT", "/v1/lineage", role="tables", json=to_pipeline)[0] == 403
    assert ask("GET", f"/v1/lineage/pipeline/{shop.run['id']}", role="tables")[0] == 403
    hidden = f"/v1/lineage/getLineageEdge/{shop.a['id']}/{shop.run['id']}"
    missing = f"/v1/lineage/getLineageEdge/{shop.a['id']}/{NOBODY}"
    refusals = [ask("GET", path, role="tables") for path in (hidden, missing)]
    assert [status for status, _ in refusals] == [404, 404]
    assert refusals[0][1]["message"].replace(shop.run["id"], NOBODY) == refusals[1][1]["message"]


def test_edges_of_hidden_kinds_are_not_removed_by_source(shop: Shop) -> None:
    shop.draw(beginning=("pipeline", shop.run))
    shop.draw()
    path = f"/v1/lineage/table/{shop.b['id']}/type/Manual"
    assert shop.client.ask("DELETE", path, role="tables") == (200, {"deleted": 1})
    left = shop.lineage(f"table/{shop.b['id']}")["upstreamEdges"]
    assert [edge["fromEntity"] for edge in left] == [shop.run["id"]]


def test_what_a_caller_may_not_see_is_neither_shown_nor_overwritten(shop: Shop) -> None:
    over = {"id": shop.run["id"], "type": "pipeline"}
    shop.draw(sqlQuery="select 1", columnsLineage=[MAPPING], pipeline=over, description="d")
    path = f"getLineageEdge/{shop.a['id']}/{shop.b['id']}"
    assert not {"sqlQuery", "columnsLineage"} & shop.lineage(path, "masked")["edge"].keys()
    assert "pipeline" not in shop.lineage(path, "tables")["edge"]

    ask = shop.client.ask
    naming = shop.edge(columnsLineage=[])
    assert ask("PUT", "/v1/lineage", role="masked", json=naming)[0] == 403
    test = [{"op": "test", "path": "/sqlQuery", "value": "select 1"}]
    assert ask("PATCH", f"/v1/lineage/{shop.between}", role="masked", json=test)[0] == 403
    gone = [{"op": "remove", "path": "/pipeline"}]
    assert ask("PATCH", f"/v1/lineage/{shop.between}", role="tables", json=gone)[0] == 403
    shop.draw("tables", description="new", sqlQuery="select 2", columnsLineage=[MAPPING])
    kept = shop.lineage(path)["edge"]
    assert (kept["sqlQuery"], kept["pipeline"]["id"]) == ("select 2", shop.run["id"])
    assert "sqlQuery" not in shop.draw("masked", description="newer").json()
    kept = shop.lineage(path)["edge"]
    assert (kept["sqlQuery"], kept["columnsLineage"]) == ("select 2", [MAPPING])
    assert (kept["description"], "pipeline" in kept) == ("newer", False)
    assert shop.draw("deaf", description="x", sqlQuery="y").json() == {}


def test_auditors_see_the_edges_of_both_ends(shop: Shop) -> None:
    shop.draw(sqlQuery="select 1")
    shop.draw(role="bot", sqlQuery="select 2")
    shop.draw(end=("pipeline", shop.run))
    shop.client.request("DELETE", f"/v1/lineage/{shop.between}")
    shop.client.request("DELETE", f"/v1/pipelines/{shop.run['id']}", params={"hardDelete": True})

    def events(role: str = "admin", **params: Any) -> list[tuple[str, str, str]]:
        answer = shop.client.request("GET", "/v1/audit/events", role=role, params=params).json()
        return [
            (each["eventType"], each["actor"], each["fullyQualifiedName"].partition(".")[2])
            for each in answer["data"]
            if each["kind"] == "lineageEdge"
        ]

    b, run = shop.b["id"], shop.run["id"]
    between = [
        ("entity.created", "the-admin", b),
        ("entity.changed", "the-bot", b),
        ("entity.purged", "the-admin", b),
    ]
    over = [("entity.created", "the-admin", run), ("entity.purged", "the-admin", run)]
    assert events(lineageOf=b) == between
    assert events(lineageOf=run) == over
    assert sorted(events(lineageOf=shop.a["id"])) == sorted(between + over)
    assert events(lineageOf=shop.a["id"], actor="the-bot") == between[1:2]
    assert events(kind="table", lineageOf=b) == []
    assert events(lineageOf=NOBODY) == []
    assert sorted(events(kind="lineageEdge")) == sorted(between + over)
    # Who may not audit pipelines does not learn of edges to them, nor any edge without the kind.
    assert events("tables", lineageOf=shop.a["id"]) == between
    assert events("unrelated", lineageOf=shop.a["id"]) == []
    # Nor does who may audit pipelines without seeing them.
    assert events("auditor", lineageOf=shop.a["id"]) == between


def test_auditors_see_no_pipeline_of_an_edge_that_they_may_not_view(shop: Shop) -> None:
    over = {"id": shop.run["id"], "type": "pipeline"}
    shop.draw(pipeline=over, sqlQuery="select 1")
    shop.draw(sqlQuery="select 2")
    shop.draw(pipeline=over, sqlQuery="select 2")

    def events(role: str) -> list[Any]:
        params = {"lineageOf": shop.a["id"]}
        return shop.client.request("GET", "/v1/audit/events", role=role, params=params).json()[
            "data"
        ]

    created, *changes = events("admin")
    assert created["body"]["pipeline"]["name"] == "daily"
    assert [[each["path"] for each in change["patch"]] for change in changes] == [
        ["/pipeline", "/sqlQuery"],
        ["/pipeline"],
    ]
    for role in ("auditor", "tables"):
        created, *changes = events(role)
        assert created["body"].keys() >= {"sqlQuery", "fromEntity"}
        assert "pipeline" not in created["body"]
        assert [[each["path"] for each in change["patch"]] for change in changes] == [
            ["/sqlQuery"],
            [],
        ]


def hit_of(shop: Shop, name: str, fields: str | None, role: str = "admin") -> Any:
    """The document of a table in a search, once it is found."""
    given = {"q": f'name.keyword:"{name}"', "include_source_fields": fields}
    shop.client.search_until(lambda found: found["hits"]["hits"], q=given["q"])
    path = "/v1/search/query"
    answer = shop.client.request("GET", path, params=given, role=role)
    assert answer.status_code == 200, answer.text
    return answer.json()["hits"]["hits"][0]["_source"]


def test_search_documents_show_the_edges_that_end_at_them(shop: Shop) -> None:
    over = {"id": shop.run["id"], "type": "pipeline"}
    shop.draw(sqlQuery="select 1", columnsLineage=[MAPPING], pipeline=over)
    shop.draw(beginning=("pipeline", shop.run))
    whole = hit_of(shop, "b/c", "upstreamLineage")["upstreamLineage"]
    ends = [(edge["fromEntity"]["fullyQualifiedName"], edge["toEntity"]["id"]) for edge in whole]
    assert sorted(ends) == [("runs.daily", shop.b["id"]), (A, shop.b["id"])]
    (edge,) = (edge for edge in whole if edge["fromEntity"]["type"] == "table")
    assert edge.keys() >= {"pipeline", "sqlQuery", "columns", "source"}
    assert (edge["columns"], edge["pipeline"]["id"]) == ([MAPPING], shop.run["id"])

    narrow = hit_of(shop, "b/c", "id,upstreamLineage.fromEntity.id")
    assert narrow["id"] == shop.b["id"]
    assert {each["fromEntity"]["id"] for each in narrow["upstreamLineage"]} == {
        shop.a["id"],
        shop.run["id"],
    }
    assert hit_of(shop, "a", "upstreamLineage") == {"upstreamLineage": []}
    assert "upstreamLineage" not in hit_of(shop, "b/c", None)
    path = f"/v1/search/get/table_search_index/doc/{shop.b['id']}"
    assert shop.client.get(path)["upstreamLineage"] == whole

    assert shop.client.request("DELETE", f"/v1/lineage/{shop.between}").status_code == 200
    left = hit_of(shop, "b/c", "upstreamLineage")["upstreamLineage"]
    assert [edge["fromEntity"]["id"] for edge in left] == [shop.run["id"]]


def test_search_documents_show_no_edge_that_a_caller_may_not_see(shop: Shop) -> None:
    shop.draw(sqlQuery="select 1", columnsLineage=[MAPPING])
    shop.draw(beginning=("pipeline", shop.run))
    seen = hit_of(shop, "b/c", "upstreamLineage", "careful")["upstreamLineage"]
    assert len(seen) == 2
    assert not any({"sqlQuery", "columns"} & edge.keys() for edge in seen)
    assert hit_of(shop, "b/c", "id,upstreamLineage", "finder") == {"id": shop.b["id"]}
