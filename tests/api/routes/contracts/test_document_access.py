"""Who may give and see documents of contracts, and which parts of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from domain.contracts.canonical import canonical
from domain.contracts.yaml_input import read_yaml
from tests.api.conftest import Client, running_under
from tests.api.routes.contracts.giving import ODCS, YAML, made, new_table, of, put, served
from tests.domain.contracts.documents import FULL

ROLES = {
    "admin": {"post": 201, "put": 200, "get": 200, "judge": 200},
    "editor": {"post": 201, "put": 200, "get": 200, "judge": 200},
    "bot": {"post": 201, "put": 200, "get": 200, "judge": 200},
    "reader": {"post": 403, "put": 403, "get": 200, "judge": 200},
    "scraper": {"post": 403, "put": 403, "get": 403, "judge": 403},
    "nobody": {"post": 403, "put": 403, "get": 403, "judge": 403},
}


@pytest.mark.parametrize("role", ROLES)
def test_each_role_may_do_what_it_may_do_with_contracts(shared: Client, role: str) -> None:
    contract = made(shared)
    text = FULL.encode()
    for end, body_type in (("", "application/json"), ("/yaml", "application/yaml")):
        body = canonical(read_yaml(text)).encode() if not end else text
        request: dict[str, Any] = {
            "role": role,
            "content": body,
            "headers": {"Content-Type": body_type},
        }
        params = of(new_table(shared))
        post = shared.request("POST", ODCS + end, params=params, **request)
        params = of(contract["entity"])
        put_answer = shared.request("PUT", ODCS + end, params=params, **request)
        path = f"/v1/dataContracts/{contract['id']}/odcs{end}"
        name = f"/v1/dataContracts/name/{contract['fullyQualifiedName']}/odcs{end}"
        gets = [shared.request("GET", each, role=role) for each in (path, name)]
        answers = {"post": post, "put": put_answer, "get": gets[0]}
        statuses = {key: each.status_code for key, each in answers.items()}
        assert statuses | {"judge": ROLES[role]["judge"]} == ROLES[role]
        assert gets[1].status_code == ROLES[role]["get"]
    for done in ("parse", "validate"):
        judged = shared.request(
            "POST",
            f"{ODCS}/{done}/yaml",
            role=role,
            content=text,
            headers=YAML,
            params=of(contract["entity"]) if done == "validate" else {},
        )
        assert judged.status_code == ROLES[role]["judge"]


POLICIES = """
[[rule]]
role = "admin"
allow = ["list", "view", "search", "create", "edit", "delete"]

[[rule]]
role = "guest"
allow = ["list", "view", "search", "create", "edit", "delete"]
withhold = [{}]

[[rule]]
role = "contracts"
allow = ["list", "view", "search", "create", "edit", "delete"]
kinds = ["dataContract"]
"""
WITHHELD = {
    '"odcs.servers.password"': ("servers", "password"),
    '"odcs.price"': ("price",),
    '"sla"': ("slaProperties",),
    '"description"': ("description",),
    '"security.policies"': ("roles",),
    '"owners"': ("team",),
    '"schema.description"': ("schema",),
}


@pytest.mark.parametrize("paths", WITHHELD)
def test_what_is_withheld_of_a_contract_is_withheld_of_its_document(
    tmp_path: Path, paths: str
) -> None:
    with running_under(tmp_path, POLICIES.format(paths)) as client:
        client.schema()
        contract = made(client)
        document = read_yaml(FULL.encode())
        first, *below = WITHHELD[paths]
        for each in document[first] if below else ():
            each.pop(below[0], None)
        expected = {key: value for key, value in document.items() if key != first or below}
        if paths == '"security.policies"':
            del expected["schema"][1]["properties"][1]["classification"]
        assert served(client, contract, role="guest") == expected
        tags = [
            client.request("GET", f"/v1/dataContracts/{contract['id']}/odcs", role=role)
            for role in ("admin", "guest")
        ]
        assert tags[0].headers["ETag"] != tags[1].headers["ETag"]

        refused = put(client, contract["entity"], FULL, role="guest")
        assert (refused.status_code, refused.json()["errorType"]) == (403, "FORBIDDEN")
        assert "withheld from your roles" in refused.json()["message"]
        assert served(client, contract) == read_yaml(FULL.encode())


def test_keys_at_every_depth_of_the_schema_are_withheld(tmp_path: Path) -> None:
    policies = POLICIES.format('"odcsQualityRules", "odcs.schema.properties.businessName"')
    with running_under(tmp_path, policies) as client:
        client.schema()
        contract = made(client)
        shown = json.dumps(served(client, contract, role="guest"))
        assert "quality" not in shown
        assert "businessName" not in shown
        whole = json.dumps(served(client, contract))
        assert (whole.count('"quality"'), whole.count('"businessName"')) == (2, 2)


def test_whole_document_is_withheld(tmp_path: Path) -> None:
    with running_under(tmp_path, POLICIES.format('"odcs"')) as client:
        client.schema()
        contract = made(client)
        for end in ("", "/yaml"):
            path = f"/v1/dataContracts/{contract['id']}/odcs{end}"
            assert client.request("GET", path, role="guest").status_code == 403


def test_entity_that_is_not_visible_is_not_compared(tmp_path: Path) -> None:
    with running_under(tmp_path, POLICIES.format('"columns"')) as client:
        client.schema()
        table = new_table(client)
        request: dict[str, Any] = {"params": of(table), "headers": YAML, "content": FULL.encode()}
        for role in ("guest", "contracts"):
            status, _ = client.ask("POST", f"{ODCS}/validate/yaml", role=role, **request)
            assert status == 403
