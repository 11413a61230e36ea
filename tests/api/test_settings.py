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
        with pytest.raises(InvalidInput, match=f"^{variable} must be a text that is not empty, "):
            read_settings(environment, **given)


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("PORT", "70000", "a whole number from 0 to 65535"),
        ("MCP_ANSWER", "5", "a whole number from 16000 to 60000"),
        ("HISTORY_DAYS", "null", "a whole number from 1 to 36500"),
        ("HISTORY_DAYS", "x", "a whole number from 1 to 36500"),
        ("WORKER_TIMEOUT", "0.5", "a number of at least 1 and at most 3600"),
        ("RECEIVE_TIMEOUT", "0", "a number above 0 and at most 3600"),
        ("READY_LAG", "0", "a number above 0"),
        ("ACCESS_LOG", "yes", "true or false"),
        ("CONTRACT_GATE", "Full", "one of consumer, full, none, producer"),
        ("VERSION", "2.0", "a version such as 2.0.7"),
        ("DATABASE_URL", "", "a text that is not empty"),
        ("JWT_SECRET_FILE", "", "a text that is not empty"),
    ],
)
def test_wrong_value_is_refused_with_what_is_allowed(name: str, value: str, allowed: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_settings({f"CATALOG_{name}": value})

    assert refused.value.message == f"CATALOG_{name} must be {allowed}, got {value!r}"


@pytest.mark.parametrize("path", ["", "/", "/catalog"])
def test_address_for_browsers_may_have_a_path(path: str) -> None:
    url = f"http://[::1]:8585{path}"
    assert read_settings({"CATALOG_PUBLIC_URL": url}).public_url == url


@pytest.mark.parametrize(
    "url",
    [
        *("c.example.org", "ftp://c", "https://", "https://:1/", "https://c:x", "https://[c"),
        *("https://c d", "https://c/x?y", "https://c/?", "https://c#x", "https://c\n"),
    ],
)
def test_address_that_no_link_can_begin_with_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_settings({"CATALOG_PUBLIC_URL": url})

    said = f"CATALOG_PUBLIC_URL must be a URL such as https://catalog.example.org, got {url!r}"
    assert refused.value.message == said
