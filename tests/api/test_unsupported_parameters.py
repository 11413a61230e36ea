"""Parameters of OpenMetadata's lists that this catalog does not know are refused, not ignored."""

import pytest

from api.declaring.unsupported_parameters import UNSUPPORTED
from api.use_cases.list_parameters import list_parameters
from domain.kinds.registry import KINDS
from tests.api.conftest import Client

EVERY = [(kind, name) for kind, names in UNSUPPORTED.items() for name in names]


@pytest.mark.parametrize(("kind", "name"), EVERY)
def test_unsupported_parameter_of_a_list_is_400(empty: Client, kind: str, name: str) -> None:
    for value in ("x", "", "null"):
        status, body = empty.ask("GET", f"/v1/{KINDS[kind].collection}?{name}={value}")

        assert (status, body["errorType"]) == (400, "BAD_REQUEST")
        assert body["message"].startswith(
            f"{name} narrows or orders this list in OpenMetadata, but not here"
        )


@pytest.mark.parametrize(("kind", "name"), EVERY)
def test_unsupported_parameter_may_have_the_value_that_narrows_nothing(
    empty: Client, kind: str, name: str
) -> None:
    allowed = UNSUPPORTED[kind][name]
    if allowed is not None:
        for value in (allowed, allowed.title()):
            assert empty.get(f"/v1/{KINDS[kind].collection}?{name}={value}")["data"] == []
        twice = empty.ask("GET", f"/v1/{KINDS[kind].collection}?{name}={allowed}&{name}=x")
        assert twice[0] == 400


def test_unsupported_parameters_are_named_and_told_what_is_accepted(empty: Client) -> None:
    asked = "/v1/tables?includeEmptyTestSuite=false"

    assert empty.ask("GET", asked)[1]["message"] == (
        "includeEmptyTestSuite narrows or orders this list in OpenMetadata, but not here;"
        " only 'true' is accepted"
    )
    assert empty.ask("GET", "/v1/users?isBot=true")[1]["message"] == (
        "isBot narrows or orders this list in OpenMetadata, but not here"
    )


def test_unsupported_parameters_are_those_of_their_lists_alone(empty: Client) -> None:
    assert {"table", "container", "user", "team", "tag"} < {kind for kind, _ in EVERY}
    for kind, name in EVERY:
        assert name not in list_parameters(KINDS[kind])
    refused = empty.ask("GET", "/v1/tables?isBot=true")
    assert refused[0] == 400
    assert refused[1]["message"].startswith("unknown parameter 'isBot': this list takes limit, ")
    # Of a single read it narrows nothing.
    assert empty.ask("GET", "/v1/users/name/nobody?isBot=true")[0] == 404
