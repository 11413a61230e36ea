"""The settings that OpenMetadata's profiler reads before it measures: none are kept."""

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
