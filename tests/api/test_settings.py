"""Settings that are given, and those that are refused before anything is opened."""

import pytest

from api.settings import read_settings
from domain.errors import InvalidInput


def test_flags_come_before_the_environment() -> None:
    settings = read_settings({"CATALOG_HOST": "::1", "CATALOG_PORT": "1"}, host="::2", port=None)
    assert (settings.host, settings.port) == ("::2", 1)


@pytest.mark.parametrize("name", ["data", "host", "policies", "issuers", "jwks", "log_level"])
def test_empty_text_is_no_setting(name: str) -> None:
    variable = f"CATALOG_{name.upper()}"
    for environment, given in (({variable: ""}, {}), ({}, {name: ""})):
        with pytest.raises(InvalidInput, match=f"length >= 1 - at `{variable}`"):
            read_settings(environment, **given)
