"""Documents published as datacontract-cli publishes them."""

import itertools
from typing import Any

from tests.api.conftest import Client, token

PLACE = "service.database.schema"
_numbers = itertools.count()


def new_name() -> str:
    """A name for a table, and for the document about it, that no other test has."""
    return f"published{next(_numbers)}"


def document(name: str, *objects: str, **more: Any) -> dict[str, Any]:
    """A document about tables of these names, or about one of its own name."""
    schema = [
        {"name": each, "properties": [{"name": "id", "logicalType": "integer"}]}
        for each in objects or (name,)
    ]
    return {
        "apiVersion": "v3.1.0",
        "kind": "DataContract",
        "id": f"urn:{name}",
        "version": "1.0.0",
        "status": "active",
        "schema": schema,
        **more,
    }


def about(fqn: str) -> list[dict[str, str]]:
    """Custom properties that name the entity."""
    return [{"property": "catalogEntity", "value": fqn}]


def servers(database: str = "database", schema: str = "schema") -> list[dict[str, str]]:
    return [{"server": "prod", "type": "postgres", "database": database, "schema": schema}]


def publish(
    client: Client, given: dict[str, Any], path: str | None = None, role: str = "admin", **more: Any
) -> Any:
    """The answer to a request as the CLI sends it: with X-Api-Key, and the id in the path."""
    headers = {"x-api-key": token(role), "Accept": "*/*", **more.pop("headers", {})}
    where = path or f"/api/datacontracts/{given['id']}"
    return client.http.put(where, json=given, headers=headers, **more)


def published(client: Client, given: dict[str, Any]) -> list[dict[str, Any]]:
    """The contracts that have a document after it was published."""
    answer = publish(client, given)
    assert answer.status_code == 200, answer.text
    contracts: list[dict[str, Any]] = answer.json()["contracts"]
    return contracts
