"""Documents given to contracts of tables, and read back."""

import itertools
import json
from typing import Any
from urllib.parse import quote

from domain.contracts.canonical import canonical
from domain.contracts.yaml_input import read_yaml
from tests.api.conftest import Client
from tests.domain.contracts.documents import FULL

ODCS = "/v1/dataContracts/odcs"
YAML = {"Content-Type": "application/yaml"}
_numbers = itertools.count()


def of(table: dict[str, Any], **more: str) -> dict[str, str]:
    """The parameters that name the entity of a contract."""
    return {"entityId": table["id"], "entityType": "table", **more}


def new_table(client: Client, **keys: Any) -> dict[str, Any]:
    table: dict[str, Any] = client.table(f"orders{next(_numbers)}", **keys)
    return table


def put(client: Client, table: dict[str, Any], text: str, **more: Any) -> Any:
    """The answer to a PUT of a document in YAML."""
    headers = {**YAML, **more.pop("headers", {})}
    role = more.pop("role", "admin")
    params = of(table, **more)
    return client.request(
        "PUT", f"{ODCS}/yaml", content=text.encode(), headers=headers, params=params, role=role
    )


def made(client: Client, text: str = FULL, **keys: Any) -> dict[str, Any]:
    """A contract that was given a document."""
    answer = put(client, new_table(client, **keys), text)
    assert answer.status_code == 201, answer.text
    contract: dict[str, Any] = answer.json()
    return contract


def served(client: Client, contract: dict[str, Any], role: str = "admin") -> dict[str, Any]:
    """The document of a contract, which all four ways to read it have alike."""
    collection = "/v1/dataContracts"
    name = quote(contract["fullyQualifiedName"], safe="")
    places = [f"{collection}/{contract['id']}/odcs", f"{collection}/name/{name}/odcs"]
    answers = [client.request("GET", each, role=role) for each in places]
    answers += [client.request("GET", f"{each}/yaml", role=role) for each in places]
    assert [each.status_code for each in answers] == [200] * 4
    types = [each.headers["Content-Type"] for each in answers]
    assert types == ["application/json"] * 2 + ["application/yaml"] * 2
    texts = {answers[0].text, answers[1].text}
    texts |= {canonical(read_yaml(each.content)) for each in answers[2:]}
    (text,) = texts
    document: dict[str, Any] = json.loads(text)
    return document
