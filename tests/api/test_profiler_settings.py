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
