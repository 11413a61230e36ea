"""The definitions of connection tests: of every service type there is one, without a step."""

import pytest

from tests.api.conftest import Client

DEFINITIONS = "/v1/services/testConnectionDefinitions"


@pytest.mark.parametrize("service_type", ["Postgres", "Mysql", "dbt", "Custom.Database", "Ünü"])
@pytest.mark.parametrize("query", ["", "?fields=*", "?include=all"])
def test_every_service_type_has_a_definition_without_steps(
    empty: Client, service_type: str, query: str
) -> None:
    path = f"{DEFINITIONS}/name/{service_type}.testConnectionDefinition{query}"

    assert empty.ask("GET", path) == (200, {"name": service_type, "steps": []})
    assert empty.ask("GET", f"/api{path}", role="reader")[0] == 200


@pytest.mark.parametrize(
    "name", ["Postgres", ".testConnectionDefinition", "Postgres.testConnectionDefinitions"]
)
def test_other_name_has_no_definition(empty: Client, name: str) -> None:
    status, body = empty.ask("GET", f"{DEFINITIONS}/name/{name}")

    assert (status, body["code"], body["errorType"]) == (404, 404, "ENTITY_NOT_FOUND")
    assert body["message"] == f"testConnectionDefinition instance for {name} not found"


def test_definition_needs_a_token_of_a_caller_who_may_view(empty: Client) -> None:
    path = f"{DEFINITIONS}/name/Postgres.testConnectionDefinition"

    assert empty.http.get(path).status_code == 401
    assert empty.request("GET", path, role="nobody").status_code == 403
