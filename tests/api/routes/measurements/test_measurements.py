"""Profiles, samples and use over HTTP: what is stored, shown and withheld, and no version of it."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from api.services import open_measurements
from api.settings import Settings
from domain.event_store.opening import address_in, open_event_log
from domain.machine import clock
from domain.measurements.reports import moment_of
from domain.measurements.sweeping import sweep
from tests.api.conftest import Client, RunFilled, database_of, running, running_under

NOW = int(time.time() * 1_000)
COLUMNS = [
    {"name": "id", "dataType": "INT"},
    {
        "name": "who",
        "dataType": "STRUCT",
        "children": [{"name": "a.b", "dataType": "INT"}],
    },
]


def profile(at: int, rows: int = 3) -> dict[str, Any]:
    """A report as OpenMetadata's profiler sends it, empty keys included."""
    return {
        "tableProfile": {
            "timestamp": at,
            "columnCount": 2.0,
            "rowCount": rows,
            "sizeInByte": None,
            "createDateTime": "2024-01-01T00:00:00Z",
            "profileSampleType": "PERCENTAGE",
        },
        "columnProfile": [
            {"name": "id", "timestamp": at, "max": 7, "min": "a", "nullCount": rows},
            {"name": 'who."a.b"', "timestamp": at, "distinctCount": 1.5},
        ],
        "systemProfile": [{"timestamp": at, "operation": "INSERT", "rowsAffected": rows}],
    }


def fill(client: Client) -> None:
    """Create a table with two columns."""
    client.schema()
    client.table(columns=COLUMNS)


@pytest.fixture
def client(tmp_path: Path, run_filled: RunFilled) -> Iterator[Client]:
    with run_filled(tmp_path, fill) as started:
        yield started


@pytest.fixture
def table(client: Client) -> str:
    """The id of the table."""
    found: str = client.get("/v1/tables/name/service.database.schema.orders")["id"]
    return found


def report(client: Client, table: str, *times: int) -> None:
    for at in times:
        path = f"/v1/tables/{table}/tableProfile"
        status, answer = client.ask("PUT", path, json=profile(at), role="bot")
        assert (status, answer["id"]) == (200, table), answer


def test_profiles_come_newest_first_by_id_and_by_name(client: Client, table: str) -> None:
    report(client, table, NOW - 2_000, NOW, NOW - 1_000)
    for which in (table, "service.database.schema.orders"):
        listed = client.get(f"/v1/tables/{which}/tableProfile", startTs=NOW - 1_000, endTs=NOW)
        assert [each["timestamp"] for each in listed["data"]] == [NOW, NOW - 1_000]
        assert listed["paging"] == {"total": 2}
    assert listed["data"][0] == {
        "timestamp": NOW,
        "columnCount": 2.0,
        "rowCount": 3,
        "createDateTime": "2024-01-01T00:00:00Z",
        "profileSampleType": "PERCENTAGE",
    }


def test_pages_of_profiles_follow_each_other(client: Client, table: str) -> None:
    report(client, table, *(NOW - age for age in range(5)))
    seen, after = [], {}
    for _ in range(3):
        page = client.get(f"/v1/tables/{table}/tableProfile", limit=2, **after)
        assert page["paging"]["total"] == 5
        seen += [each["timestamp"] for each in page["data"]]
        after = {"after": page["paging"].get("after")}
    assert seen == [NOW - age for age in range(5)]
    assert after == {"after": None}


def test_profiles_of_columns_at_any_depth_and_of_operations(client: Client, table: str) -> None:
    report(client, table, NOW)
    name = "service.database.schema.orders"
    for column, found in (("id", {"max": 7, "min": "a", "nullCount": 3}), ('who."a.b"', None)):
        (got,) = client.get(f"/v1/tables/{name}.{column}/columnProfile")["data"]
        assert got["name"] == column
        assert found is None or found.items() <= got.items()
    assert client.get(f"/v1/tables/{name}.other/columnProfile")["data"] == []
    assert client.get(f"/v1/tables/{name}/systemProfile")["data"] == [
        {"timestamp": NOW, "operation": "INSERT", "rowsAffected": 3}
    ]


def test_the_newest_profiles_stand_in_the_table_and_its_columns(client: Client, table: str) -> None:
    path = f"/v1/tables/{table}/tableProfile/latest"
    assert "profile" not in client.get(path)
    report(client, table, NOW - 1, NOW)
    shown = client.get(path)
    assert shown["profile"]["timestamp"] == NOW
    who = shown["columns"][1]
    assert shown["columns"][0]["profile"]["max"] == 7
    assert who["children"][0]["profile"]["distinctCount"] == 1.5
    assert "profile" not in who


def test_a_profile_is_deleted_by_its_time(client: Client, table: str) -> None:
    report(client, table, NOW - 1, NOW)
    path = f"/v1/tables/service.database.schema.orders/column/{NOW}/profile"
    assert client.ask("DELETE", path)[0] == 200
    shown = client.get(f"/v1/tables/{table}/tableProfile/latest")
    assert shown["columns"][0]["profile"]["timestamp"] == NOW - 1
    assert shown["profile"]["timestamp"] == NOW
    assert client.ask("DELETE", path)[0] == 404


def test_measurements_make_no_event_and_no_version(client: Client, table: str) -> None:
    head = client.get("/v1/audit/events")["paging"]["head"]
    report(client, table, NOW)
    client.ask("PUT", f"/v1/tables/{table}/sampleData", json={"columns": ["id"], "rows": [[1]]})
    client.ask("PUT", f"/v1/usage/table/{table}", json={"date": "2025-01-01", "count": 1})
    assert client.get("/v1/audit/events")["paging"]["head"] == head
    assert client.get(f"/v1/tables/{table}")["version"] == 0.1


def test_samples_are_shown_to_those_who_may_see_samples_alone(client: Client, table: str) -> None:
    path = f"/v1/tables/{table}/sampleData"
    sample = {"columns": ["id", "who"], "rows": [[1, {"a": "secret row"}], [None, 2.5]]}
    status, answer = client.ask("PUT", path, json=sample, role="bot")
    assert (status, answer["sampleData"]) == (200, sample)
    assert client.get(path)["sampleData"] == sample
    for role in ("reader", "editor", "bot"):
        assert client.ask("GET", path, role=role)[0] == 403
        for other in (f"/v1/tables/{table}", f"/v1/tables/{table}?fields=*,sampleData"):
            assert "secret row" not in client.request("GET", other, role=role).text
    assert client.ask("DELETE", path, role="editor")[0] == 200
    assert "sampleData" not in client.get(path)


@pytest.mark.parametrize(
    ("path", "body", "reason"),
    [
        ("tableProfile", {}, "Object missing required field `tableProfile`"),
        ("tableProfile", {"tableProfile": {"timestamp": NOW, "x": 1}}, "unknown field `x`"),
        ("tableProfile", {"tableProfile": {"timestamp": 1}}, "must be of the last 365 days"),
        ("tableProfile", {"tableProfile": {"timestamp": NOW + 10**9}}, "must be of the last"),
        ("sampleData", {"columns": ["a", "b"], "rows": [[1]]}, "row 1 has 1 values for 2 columns"),
        ("sampleData", {"columns": [], "rows": [[]] * 10_001}, "length <= 10000"),
    ],
)
def test_reports_that_are_wrong_are_refused_by_name(
    unchanged: Client, path: str, body: Any, reason: str
) -> None:
    (table,) = unchanged.get("/v1/tables")["data"]
    status, answer = unchanged.ask("PUT", f"/v1/tables/{table['id']}/{path}", json=body)
    assert (status, reason in answer["message"]) == (400, True), answer


def test_measurements_of_what_is_not_there_are_a_404(client: Client, table: str) -> None:
    nobody = "0191ab00-0000-7000-8000-000000000009"
    assert client.ask("PUT", f"/v1/tables/{nobody}/tableProfile", json=profile(NOW))[0] == 404
    for path in ("a.b.c.d/tableProfile", "a.b.c.d.e/columnProfile", "a.b.c.d/tableProfile/latest"):
        assert client.ask("GET", f"/v1/tables/{path}")[0] == 404
    assert client.ask("GET", "/v1/tables/a.b.c.d/columnProfile")[0] == 400
    assert client.ask("GET", f"/v1/usage/table/{nobody}")[0] == 404


def test_measurements_of_a_purged_table_are_gone_at_once_and_deleted_by_a_sweep(
    client: Client, table: str
) -> None:
    report(client, table, NOW)
    path = f"/v1/tables/{table}"
    client.ask("DELETE", path)
    assert client.ask("GET", f"{path}/tableProfile")[0] == 404
    client.ask("PUT", "/v1/tables/restore", json={"id": table})
    assert len(client.get(f"{path}/tableProfile")["data"]) == 1
    assert client.ask("DELETE", f"{path}?hardDelete=true")[0] == 200
    assert client.ask("GET", f"{path}/tableProfile")[0] == 404

    log = open_event_log(address_in(client.directory, database_of(client.directory)))
    store = open_measurements(
        Settings(data=str(client.directory), database_url=database_of(client.directory))
    )
    assert store.entities() == [table]
    sweep(store, lambda ids: {claim.id for claim in log.claims(ids=ids)}, NOW, known=NOW)
    assert store.entities() == []
    store.close()
    log.close()


def test_use_is_counted_by_day_and_summed_by_week_and_month(
    client: Client, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "now", lambda: NOW)
    today = datetime.fromtimestamp(NOW / 1_000, UTC).date()
    for back, count in ((0, 5), (3, 2), (10, 1), (29, 1), (30, 9)):
        day = str(today - timedelta(days=back))
        method = "POST" if back % 2 else "PUT"
        status, answer = client.ask(
            method, f"/v1/usage/table/{table}", json={"date": day, "count": count}, role="bot"
        )
        assert status == 200, answer
    shown = client.get("/v1/usage/table/name/service.database.schema.orders", days=4)
    assert shown["entity"] == {
        "type": "table",
        "id": table,
        "name": "orders",
        "fullyQualifiedName": "service.database.schema.orders",
    }
    assert shown["usage"] == [
        {
            "date": str(today),
            "dailyStats": {"count": 5},
            "weeklyStats": {"count": 7},
            "monthlyStats": {"count": 9},
        },
        {
            "date": str(today - timedelta(days=3)),
            "dailyStats": {"count": 2},
            "weeklyStats": {"count": 2},
            "monthlyStats": {"count": 13},
        },
    ]
    past = client.get(f"/v1/usage/table/{table}", date=str(today - timedelta(days=10)))
    assert [each["dailyStats"]["count"] for each in past["usage"]] == [1]
    assert moment_of(today) <= NOW


def test_policies_decide_who_writes_and_who_sees_columns(tmp_path: Path) -> None:
    with running_under(
        tmp_path,
        '[[rule]]\nrole = "admin"\nallow = ["list", "view", "create", "edit", "sample"]\n'
        '[[rule]]\nrole = "reader"\nallow = ["view", "sample"]\nwithhold = ["columns"]\n'
        '[[rule]]\nrole = "writer"\nallow = ["edit"]\n',
    ) as client:
        client.schema()
        table = client.table(columns=COLUMNS)["id"]
        path = f"/v1/tables/{table}"
        reported = client.ask("PUT", f"{path}/tableProfile", json=profile(NOW), role="writer")
        assert reported == (200, {"id": table})
        assert client.ask("GET", f"{path}/tableProfile", role="writer")[0] == 403
        assert client.ask("PUT", f"{path}/tableProfile", json=profile(NOW), role="reader")[0] == 403
        latest = client.ask("GET", f"{path}/tableProfile/latest", role="reader")[1]
        assert (latest["profile"]["rowCount"], "columns" in latest) == (3, False)
        name = "service.database.schema.orders.id"
        for hidden in (f"/v1/tables/{name}/columnProfile", f"{path}/sampleData"):
            assert client.ask("GET", hidden, role="reader")[0] == 403


def test_measurements_are_there_after_a_restart(tmp_path: Path) -> None:
    with running(tmp_path) as client:
        client.schema()
        table = client.table(columns=COLUMNS)["id"]
        report(client, table, NOW)
    with running(tmp_path) as client:
        assert len(client.get(f"/v1/tables/{table}/tableProfile")["data"]) == 1


@pytest.mark.parametrize("moment", [10**19, 2**63, -1])
def test_no_moment_is_too_large_to_be_refused(client: Client, table: str, moment: int) -> None:
    path = "/v1/tables/service.database.schema.orders"
    for name in ("startTs", "endTs"):
        status, answer = client.ask("GET", f"{path}/tableProfile?{name}={moment}")
        assert (status, name in answer["message"]) == (400, True)
    assert client.ask("DELETE", f"{path}/table/{moment}/profile")[0] in (400, 404)


def test_conditions_and_slips_are_not_passed_over(client: Client, table: str) -> None:
    path = f"/v1/tables/{table}/tableProfile"
    for name in ("If-Match", "If-None-Match"):
        headers = {name: 'W/"0.1"'}
        status, answer = client.ask("PUT", path, json=profile(NOW), headers=headers)
        assert (status, "measurements have none" in answer["message"]) == (400, True)
    status, answer = client.ask("GET", f"{path}?startts=1")
    assert (status, "did you mean 'startTs'" in answer["message"]) == (400, True)
