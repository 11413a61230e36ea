"""The settings that OpenMetadata's profiler reads before it measures: none are kept."""

from typing import Any

import pytest

from tests.api.conftest import Client

SETTINGS = "/v1/system/settings/profilerConfiguration"


@pytest.mark.parametrize("path", [SETTINGS, f"/api{SETTINGS}"])
def test_profiler_is_told_that_nothing_is_set(empty: Client, path: str) -> None:
    told = {"config_type": "profilerConfiguration", "config_value": {"metricConfiguration": []}}
    assert empty.ask("GET", path, role="reader") == (200, told)


def test_other_settings_are_not_there(empty: Client) -> None:
    assert empty.ask("GET", "/v1/system/settings/emailConfiguration")[0] == 404


def test_settings_need_a_token_of_a_caller_who_may_view(empty: Client) -> None:
    assert empty.http.get(SETTINGS).status_code == 401
    assert empty.request("GET", SETTINGS, role="nobody").status_code == 403


def test_a_table_may_say_what_of_it_is_profiled(client: Client) -> None:
    client.schema()
    path = f"/v1/tables/{client.table()['id']}"
    config = {"profileQuery": "SELECT 1", "excludeColumns": ["id"], "sampleDataCount": None}
    for _ in range(2):
        status, table = client.ask("PUT", f"{path}/tableProfilerConfig", json=config, role="bot")
        assert (status, table["tableProfilerConfig"]) == (200, config)
        assert table["version"] == 0.2
    assert client.get(f"{path}/tableProfilerConfig")["tableProfilerConfig"] == config
    status, table = client.ask("DELETE", f"{path}/tableProfilerConfig")
    assert (status, "tableProfilerConfig" in table, table["version"]) == (200, False, 0.3)
    assert "tableProfilerConfig" not in client.get(f"{path}/tableProfilerConfig")
    assert client.ask("PUT", f"{path}/tableProfilerConfig", json=[])[0] == 400


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"unknown": 1}, "unknown field `unknown`"),
        ({"profileSample": -1}, ">= 0"),
        ({"sampleDataCount": -1}, ">= 0"),
        ({"profileSampleType": "BOGUS"}, "allowed are PERCENTAGE, ROWS"),
        ({"profileSampleConfig": {"config": {"profileSample": -1}}}, ">= 0"),
        ({"excludeColumns": ["gone"]}, "the table has no column 'gone'"),
        ({"includeColumns": [{"columnName": "gone"}]}, "the table has no column 'gone'"),
    ],
)
def test_what_no_profiler_understands_is_refused(unchanged: Client, config: Any, said: str) -> None:
    made = unchanged.get("/v1/tables/name/service.database.schema.orders")
    status, answer = unchanged.ask(
        "PUT", f"/v1/tables/{made['id']}/tableProfilerConfig", json=config, role="bot"
    )
    assert (status, said in answer["message"]) == (400, True), answer
    body = {key: made[key] for key in ("name", "columns")}
    body |= {"databaseSchema": "service.database.schema", "tableProfilerConfig": config}
    assert unchanged.ask("PUT", "/v1/tables", json=body)[0] == 400
    assert unchanged.ask("POST", "/v1/tables", json={**body, "name": "new"})[0] == 400


def test_a_configuration_outlives_the_columns_that_it_names(client: Client) -> None:
    client.schema()
    columns = [{"name": name, "dataType": "INT"} for name in ("id", "gone")]
    path = f"/v1/tables/{client.table(columns=columns)['id']}"
    sent = {
        "sampleDataCount": 50,
        "randomizedSample": False,
        "profileQuery": None,
        "excludeColumns": ["gone"],
        "includeColumns": [{"columnName": "id", "metrics": ["nullCount"]}],
        "partitioning": None,
        "computeTableMetrics": True,
        "computeColumnMetrics": True,
        "sparkTableProfilerConfig": None,
        "profileSampleConfig": {
            "sampleConfigType": "STATIC",
            "config": {
                "profileSample": 50.0,
                "profileSampleType": "PERCENTAGE",
                "samplingMethodType": None,
            },
        },
    }
    status, table = client.ask("PUT", f"{path}/tableProfilerConfig", json=sent, role="bot")
    assert (status, table["tableProfilerConfig"]) == (200, sent)
    body = {"name": "orders", "databaseSchema": "service.database.schema", "columns": columns[:1]}
    assert client.ask("PUT", "/v1/tables", json=body, role="bot")[0] == 200
    assert client.get(path)["tableProfilerConfig"]["excludeColumns"] == ["gone"]
