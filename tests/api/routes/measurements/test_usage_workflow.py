"""Reports of a run of OpenMetadata's usage workflow: queries, joins, costs and ranks."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from domain.machine import clock
from domain.measurements.bounds import Bounds
from domain.measurements.opening import measurements_at
from domain.measurements.reports import COST, Point
from tests.api.conftest import Client, RunFilled, database_of, running_under

NOW = int(time.time() * 1_000)
TODAY = datetime.fromtimestamp(NOW / 1_000, UTC).date()
SCHEMA = "service.database.schema"
COLUMNS = [
    {"name": "id", "dataType": "INT"},
    {"name": "who", "dataType": "STRUCT", "children": [{"name": "a.b", "dataType": "INT"}]},
]


TABLES = ("orders", "customers")


def fill(client: Client) -> None:
    """Create a schema with two tables."""
    client.schema()
    for name in TABLES:
        client.table(name, columns=COLUMNS)


@pytest.fixture(autouse=True)
def clock_that_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps it the day of `TODAY`, though a run of all tests may last beyond midnight."""
    monkeypatch.setattr(clock, "now", lambda: NOW)


@pytest.fixture
def client(tmp_path: Path, run_filled: RunFilled) -> Iterator[Client]:
    """Such a catalog for one test."""
    with run_filled(tmp_path, fill) as started:
        yield started


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory, run_filled: RunFilled) -> Iterator[Client]:
    """Such a catalog with a query, for requests of which none changes anything."""
    with run_filled(tmp_path_factory.mktemp("unchanged"), fill) as started:
        started.create("queries", name="asked", query="SELECT 1", service="service")
        yield started


@pytest.fixture
def tables(client: Client) -> list[str]:
    """The ids of the two tables."""
    return [client.get(f"/v1/tables/name/{SCHEMA}.{name}")["id"] for name in TABLES]


def asked(client: Client) -> str:
    """The id of the query of `unchanged`."""
    found: str = client.get("/v1/queries/name/service.asked")["id"]
    return found


def query(client: Client) -> str:
    created: str = client.create("queries", query="SELECT 1", service="service")["id"]
    return created


def put(client: Client, path: str, body: Any, role: str = "bot") -> Any:
    response = client.request("PUT", path, json=body, role=role)
    assert response.status_code == 200, response.text
    return response.json()


def head(client: Client) -> int:
    position: int = client.get("/v1/system/projections")["head"]
    return position


def test_what_a_query_was_run_for_and_by_whom_is_added_once(
    client: Client, tables: list[str]
) -> None:
    client.create("users", name="ann.lee", email="ann@example.com")
    path = f"/v1/queries/{query(client)}"
    nulls = dict.fromkeys(("name", "fullyQualifiedName", "description", "deleted", "href"))
    for _ in range(2):
        put(client, f"{path}/usage", [{"id": tables[0], "type": "table", **nulls}])
        put(client, f"{path}/usage", [{"id": each, "type": "table"} for each in tables * 2])
        put(client, f"{path}/users", ['"ann.lee"'])
        shown = put(client, f"{path}/usedBy", ["nightly", "nightly", "hourly"])
        stored = head(client)
    assert [each["id"] for each in shown["queryUsedIn"]] == tables
    assert [each["name"] for each in shown["users"]] == ["ann.lee"]
    assert shown["usedBy"] == ["nightly", "hourly"]
    assert shown["version"] == 0.5
    put(client, f"{path}/users", ['"ann.lee"'])
    assert head(client) == stored
    listed = client.get("/v1/queries", entityId=tables[1])["data"]
    assert [each["id"] for each in listed] == [shown["id"]]


@pytest.mark.parametrize(
    ("place", "body", "status"),
    [
        ("usage", [{"id": "00000000-0000-7000-8000-000000000000", "type": "table"}], 404),
        ("usage", ["a.b.c.d"], 400),
        ("usage", {"id": "x"}, 400),
        ("users", ["nobody"], 404),
        ("users", [{"id": "x", "colour": 1}], 400),
        ("usedBy", [1], 400),
        ("usedBy", ["x"] * 1_001, 400),
        ("usedBy", [""], 400),
        ("usedBy", [" a"], 400),
        ("usedBy", ["a\t"], 400),
        ("usedBy", ["\u0000"], 400),
        ("usedBy", ["x" * 257], 400),
    ],
)
def test_what_cannot_be_added_is_refused(
    unchanged: Client, place: str, body: Any, status: int
) -> None:
    path = f"/v1/queries/{asked(unchanged)}/{place}"
    before = head(unchanged)
    assert unchanged.ask("PUT", path, json=body)[0] == status
    assert head(unchanged) == before


def test_a_query_is_not_run_for_itself(client: Client) -> None:
    query_id = query(client)
    itself = [{"id": query_id, "type": "query"}]
    status, answer = client.ask("PUT", f"/v1/queries/{query_id}/usage", json=itself)
    assert (status, answer["message"]) == (400, "queryUsedIn may not have the query itself")
    given = {"query": "SELECT 1", "service": "service", "queryUsedIn": itself}
    assert client.ask("PUT", "/v1/queries", json=given)[0] == 400
    patch = [{"op": "add", "path": "/queryUsedIn", "value": itself}]
    headers = {"Content-Type": "application/json-patch+json"}
    path = f"/v1/queries/{query_id}"
    assert client.ask("PATCH", path, json=patch, headers=headers)[0] == 400


@pytest.mark.parametrize("key", ["usedBy", "users", "queryUsedIn"])
def test_lists_of_a_query_are_bounded_by_every_write(
    client: Client, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("domain.kinds.bodies.databases.MAX_OF_QUERY", 2)
    three: list[Any]
    if key == "usedBy":
        place, three = key, ["a", "b", "c"]
    elif key == "users":
        made = [client.create("users", name=n, email=f"{n}@example.com") for n in ("ann", "bob")]
        made.append(client.create("users", name="eve", email="eve@example.com"))
        place, three = key, [{"id": each["id"], "type": "user"} for each in made]
    else:
        ids = [client.table(name)["id"] for name in ("items", "parts", "prices")]
        place, three = "usage", [{"id": each, "type": "table"} for each in ids]
    path = f"/v1/queries/{query(client)}"
    for some in (three[:1], three[:2]):
        put(client, f"{path}/{place}", some)
    status, answer = client.ask("PUT", f"{path}/{place}", json=three[2:])
    assert (status, answer["message"]) == (400, f"{key} of a query may have 2 elements")
    body = {"query": "SELECT 2", "service": "service", key: three}
    assert client.ask("PUT", "/v1/queries", json=body)[0] == 400
    assert client.ask("POST", "/v1/queries", json=body)[0] == 400
    _, bulk = client.ask("PUT", "/v1/queries/bulk", json=[body])
    assert [each["status"] for each in bulk["failedRequest"]] == [400]
    patch = [{"op": "add", "path": f"/{key}", "value": three}]
    headers = {"Content-Type": "application/json-patch+json"}
    assert client.ask("PATCH", path, json=patch, headers=headers)[0] == 400
    assert len(client.get(path, fields=key)[key]) == 2


def joins(count: int, day: Any = TODAY) -> dict[str, Any]:
    """A report about orders, as the client sends it."""
    other = f"{SCHEMA}.customers"
    return {
        "startDate": str(day),
        "dayCount": 1,
        "columnJoins": [
            {
                "columnName": "id",
                "joinedWith": [
                    {"fullyQualifiedName": f"{other}.id", "joinCount": count},
                    {"fullyQualifiedName": f'{other}.who."a.b"', "joinCount": 1},
                ],
            }
        ],
        "directTableJoins": [{"fullyQualifiedName": other, "joinCount": 7}],
    }


def test_joins_are_counted_by_day_and_shown_of_both_sides(
    client: Client, tables: list[str]
) -> None:
    orders, customers = (f"/v1/tables/{table}" for table in tables)
    stored = head(client)
    put(client, f"{orders}/joins", joins(9))
    put(client, f"{orders}/joins", joins(4, TODAY - timedelta(days=1)))
    answer = put(client, f"{orders}/joins", joins(2))
    assert head(client) == stored
    shown = client.get(orders, fields="owners, joins")["joins"]
    assert answer["joins"] == shown
    assert shown == {
        "startDate": str(TODAY - timedelta(days=29)),
        "dayCount": 30,
        "columnJoins": [
            {
                "columnName": "id",
                "joinedWith": [
                    {"fullyQualifiedName": f"{SCHEMA}.customers.id", "joinCount": 6},
                    {"fullyQualifiedName": f'{SCHEMA}.customers.who."a.b"', "joinCount": 2},
                ],
            }
        ],
        "directTableJoins": [{"fullyQualifiedName": f"{SCHEMA}.customers", "joinCount": 14}],
    }
    back = client.get(f"/v1/tables/name/{SCHEMA}.customers", fields="joins")["joins"]
    assert [each["columnName"] for each in back["columnJoins"]] == ["id", 'who."a.b"']
    assert back["columnJoins"][0]["joinedWith"] == [
        {"fullyQualifiedName": f"{SCHEMA}.orders.id", "joinCount": 6}
    ]
    assert "joins" not in client.get(customers, fields="*")


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"startDate": str(TODAY - timedelta(days=31))}, 400),
        ({"startDate": str(TODAY + timedelta(days=2))}, 400),
        ({"dayCount": 2}, 400),
        ({"columnJoins": [{"columnName": "gone", "joinedWith": [{}]}]}, 400),
        ({"columnJoins": [{"columnName": "gone"}]}, 400),
        ({"directTableJoins": [{"fullyQualifiedName": "a.b.c", "joinCount": 1}]}, 400),
        ({"directTableJoins": [{"fullyQualifiedName": "a.b.c.d", "joinCount": 1}]}, 404),
        ({"directTableJoins": [{"fullyQualifiedName": "a.b.c.d.e", "joinCount": 1}]}, 400),
        ({"joins": []}, 400),
    ],
)
def test_wrong_joins_are_refused_whole(
    unchanged: Client, change: dict[str, Any], status: int
) -> None:
    path = f"/v1/tables/{unchanged.get(f'/v1/tables/name/{SCHEMA}.orders')['id']}"
    assert unchanged.ask("PUT", f"{path}/joins", json={**joins(1), **change})[0] == status
    assert unchanged.get(path, fields="joins")["joins"]["columnJoins"] == []


def test_joins_are_of_the_thirty_days_that_end_today(client: Client, tables: list[str]) -> None:
    path = f"/v1/tables/{tables[0]}"
    for back, count in ((-1, 1), (0, 2), (29, 4), (30, 8)):
        put(client, f"{path}/joins", joins(count, TODAY - timedelta(days=back)))
    (columns,) = client.get(path, fields="joins")["joins"]["columnJoins"]
    assert columns["joinedWith"][0]["joinCount"] == 2 + 4


def test_a_pair_that_is_named_twice_is_added_up(client: Client, tables: list[str]) -> None:
    # OpenMetadata's client has an entry for each spelling of a column in queries.
    report = joins(2)
    report["columnJoins"] *= 2
    other = {"fullyQualifiedName": f"{SCHEMA}.orders.id", "joinCount": 3}
    inner = {"fullyQualifiedName": f"{SCHEMA}.orders.who", "joinCount": 5}
    report["columnJoins"] += [
        {"columnName": "id", "joinedWith": [inner]},
        {"columnName": "who", "joinedWith": [other]},
    ]
    path = f"/v1/tables/{tables[0]}"
    shown = put(client, f"{path}/joins", report)["joins"]["columnJoins"]
    counts = {each["columnName"]: each["joinedWith"] for each in shown}
    assert [each["joinCount"] for each in counts["id"]] == [5, 4, 2]
    assert [each["joinCount"] for each in counts["who"]] == [5]
    report["columnJoins"][0]["joinedWith"][0]["joinCount"] = 2**53 - 1
    assert client.ask("PUT", f"{path}/joins", json=report)[0] == 400


def test_joins_are_bounded(client: Client, tables: list[str]) -> None:
    report = joins(1)
    report["columnJoins"][0]["joinedWith"] *= 500
    status, answer = client.ask("PUT", f"/v1/tables/{tables[0]}/joins", json=report)
    assert (status, answer["message"]) == (400, "a report may have 1000 joins")
    del report["directTableJoins"]
    assert client.ask("PUT", f"/v1/tables/{tables[0]}/joins", json=report)[0] == 200


def test_tables_that_a_report_reads_are_bounded(
    client: Client, tables: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.routes.measurements.workflow.MOST_TABLE_BYTES", 1_000)
    status, answer = client.ask("PUT", f"/v1/tables/{tables[0]}/joins", json=joins(1))
    assert (status, "1000 bytes together" in answer["message"]) == (400, True)


def test_costs_of_queries_are_shown_by_their_service(client: Client, tables: list[str]) -> None:
    one = query(client)
    other = client.create("queries", query="SELECT 2", service="service")["id"]
    stored = head(client)

    def cost(query_id: str, at: int, cost: float, count: float, duration: float | None) -> Any:
        body = {
            "timestamp": at,
            "jsonSchema": "queryCostRecord",
            "queryReference": {"id": query_id, "type": "query"},
            "cost": cost,
            "count": count,
            "totalDuration": duration,
        }
        response = client.request("POST", "/v1/queryCostRecord", json=body, role="bot")
        assert response.status_code == 200, response.text
        return response.json()

    first = cost(one, NOW - 1, 2.0, 10, 5.0)
    assert first["queryReference"]["fullyQualifiedName"].startswith("service.")
    assert cost(one, NOW - 1, 1.0, 10, 5.0)["id"] == first["id"]
    cost(one, NOW, 3.0, 2, 1.0)
    cost(other, NOW, 0.5, 4, None)
    assert head(client) == stored
    shown = client.get("/v1/queryCostRecord/service/service")
    assert shown["overallStats"] == {
        "totalCost": 18.0,
        "minCost": 0.5,
        "maxCost": 3.0,
        "avgCost": 18 / 16,
        "totalExecutionCount": 16,
    }
    assert [(each["queryText"], each["totalCost"]) for each in shown["queryGroups"]] == [
        ("SELECT 1", 16.0),
        ("SELECT 2", 2.0),
    ]
    assert (shown["queryGroups"][0]["avgDuration"], shown["queryGroups"][1]["users"]) == (0.5, [])
    client.ask("DELETE", f"/v1/queries/{one}")
    groups = client.get("/v1/queryCostRecord/service/service")["queryGroups"]
    assert [each["queryText"] for each in groups] == ["SELECT 2"]


@pytest.mark.parametrize("key", ["cost", "count", "totalDuration"])
@pytest.mark.parametrize("value", [1e308, 1.1e15, -1])
def test_costs_beyond_all_reason_are_refused(unchanged: Client, key: str, value: float) -> None:
    reference = {"id": asked(unchanged), "type": "query"}
    record = {"timestamp": NOW, "queryReference": reference, "cost": 1, "count": 1, key: value}
    status, answer = unchanged.ask("POST", "/v1/queryCostRecord", json=record)
    assert (status, f"`$.{key}`" in answer["message"]) == (400, True)
    assert "= 0" in answer["message"] or "<= 1" in answer["message"]
    shown = unchanged.get("/v1/queryCostRecord/service/service")
    assert shown["overallStats"]["totalExecutionCount"] == 0


def test_sums_of_costs_are_finite_whatever_is_stored(client: Client) -> None:
    query_id = query(client)
    service = client.get(f"/v1/queries/{query_id}")["service"]["id"]
    body = b'{"cost":1e308,"count":1e308,"totalDuration":1e308}'
    points = [Point(COST, service, NOW - back, body) for back in range(2)]
    bounds = Bounds(days=1, most_bytes=1_000_000)
    store = measurements_at(client.directory, database_of(client.directory), bounds)
    store.write(query_id, points, NOW)
    store.close()
    shown = client.get("/v1/queryCostRecord/service/service")
    assert shown["overallStats"] == {
        "totalCost": 2e18,
        "minCost": 1e9,
        "maxCost": 1e9,
        "avgCost": 1e9,
        "totalExecutionCount": 2_000_000_000,
    }


def test_use_is_ranked_among_what_was_used_that_day(client: Client, tables: list[str]) -> None:
    three = [*tables, client.table("items")["id"]]
    for table, counts in zip(three, ((5, 0), (1, 9), (1, 1)), strict=True):
        for back, count in enumerate(counts):
            use = {"date": str(TODAY - timedelta(days=back)), "count": count}
            assert client.ask("POST", f"/v1/usage/table/{table}", json=use)[0] == 200
    assert client.ask(
        "POST", "/v1/usage/database/name/service.database", json={"date": str(TODAY), "count": 99}
    )
    assert "percentileRank" not in usage(client, three[0])["dailyStats"]
    for kind in ("table", "database"):
        response = client.request(
            "POST", f"/v1/usage/compute.percentile/{kind}/{TODAY}", role="bot"
        )
        assert (response.status_code, response.content) == (201, b"")
    ranks = [
        [usage(client, table)[stats]["percentileRank"] for stats in ("dailyStats", "weeklyStats")]
        for table in three
    ]
    assert ranks == [[66.67, 33.33], [0.0, 66.67], [0.0, 0.0]]
    for day in ("today", "0001-01-01", "9999-12-31", TODAY + timedelta(days=2)):
        assert client.ask("POST", f"/v1/usage/compute.percentile/table/{day}")[0] == 400
    path = f"/v1/usage/compute.percentile/table/{TODAY}"
    assert client.ask("POST", path, json={"nonsense": 1})[0] == 400
    assert client.ask("POST", f"/v1/usage/compute.percentile/topic/{TODAY}")[0] == 404


def usage(client: Client, table: str) -> Any:
    return client.get(f"/v1/usage/table/{table}")["usage"][0]


def test_what_bots_find_out_about_accesses_is_told_once_a_day(
    client: Client, tables: list[str]
) -> None:
    path = f"/v1/tables/{tables[0]}"

    def accessed(at: int, role: str = "bot") -> Any:
        value = {"accessed": {"timestamp": at, "accessedByAProcess": "om"}}
        patch = [{"op": "add", "path": "/lifeCycle", "value": value}]
        headers = {"Content-Type": "application/json-patch+json"}
        response = client.request("PATCH", path, json=patch, role=role, headers=headers)
        assert response.status_code == 200, response.text
        return response.json()["lifeCycle"]["accessed"]["timestamp"]

    assert accessed(NOW) == NOW
    stored = head(client)
    assert accessed(NOW + 86_399_999) == NOW
    assert accessed(NOW - 86_400_001) == NOW
    assert head(client) == stored
    assert accessed(NOW + 86_400_000) == NOW + 86_400_000
    assert accessed(NOW, "admin") == NOW


def test_who_may_only_report_use_sees_no_sums(tmp_path: Path) -> None:
    with running_under(
        tmp_path,
        '[[rule]]\nrole = "admin"\nallow = ["list", "view", "create", "edit"]\n'
        '[[rule]]\nrole = "writer"\nallow = ["edit"]\n',
    ) as client:
        client.schema()
        table = client.table()["id"]
        earlier = {"date": str(TODAY - timedelta(days=1)), "count": 41}
        assert client.ask("PUT", f"/v1/usage/table/{table}", json=earlier)[0] == 200
        use = {"date": str(TODAY), "count": 1}
        for place in (table, f"name/{SCHEMA}.orders"):
            for method in ("POST", "PUT"):
                path = f"/v1/usage/table/{place}"
                answer = client.ask(method, path, json=use, role="writer")
                assert answer == (200, {"entity": {"type": "table", "id": table}, "usage": []})
        _, whole = client.ask("PUT", f"/v1/usage/table/{table}", json=use)
        assert whole["usage"][0]["weeklyStats"]["count"] == 42


def test_who_sees_no_columns_sees_no_joins(tmp_path: Path) -> None:
    with running_under(
        tmp_path,
        '[[rule]]\nrole = "admin"\nallow = ["list", "view", "create", "edit"]\n'
        '[[rule]]\nrole = "reader"\nallow = ["view", "edit"]\nwithhold = ["columns", "users"]\n'
        '[[rule]]\nrole = "writer"\nallow = ["edit"]\n',
    ) as client:
        client.schema()
        table, _ = (client.table(each, columns=COLUMNS)["id"] for each in ("orders", "customers"))
        path = f"/v1/tables/{table}"
        assert client.ask("PUT", f"{path}/joins", json=joins(1), role="reader")[0] == 403
        written = client.ask("PUT", f"{path}/joins", json=joins(1), role="writer")
        assert written == (200, {"id": table})
        assert client.ask("GET", f"{path}?fields=joins", role="reader")[0] == 403
        assert client.ask("GET", path, role="reader")[0] == 200
        record = {"timestamp": NOW, "queryReference": {"id": query(client)}, "cost": 1, "count": 1}
        answer = client.ask("POST", "/v1/queryCostRecord", json=record, role="writer")
        assert (answer[0], [*answer[1]["queryReference"]]) == (200, ["type", "id"])
        costs = "/v1/queryCostRecord/service/service"
        assert client.ask("GET", costs, role="reader")[0] == 403
        assert client.ask("GET", costs, role="admin")[0] == 200
