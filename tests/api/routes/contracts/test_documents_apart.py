"""A document has paths of its own: no other read shows it, and no other write changes it."""

import json
from typing import Any
from urllib.parse import quote

import pytest

from domain.contracts.canonical import canonical
from domain.contracts.yaml_input import read_yaml
from tests.api.conftest import Client
from tests.api.routes.contracts.giving import made, new_table, put, served
from tests.domain.contracts.documents import FULL, MINIMAL


def test_document_is_shown_by_its_own_paths_alone(shared: Client) -> None:
    contract = made(shared, FULL.replace("hidden", "rare-word"))
    path = f"/v1/dataContracts/{contract['id']}"
    texts = [
        json.dumps(contract),
        *(shared.request("GET", f"{path}{end}").text for end in ("", "?fields=*", "/versions")),
        shared.request("GET", f"/v1/dataContracts?entity={contract['entity']['id']}").text,
        shared.request("GET", "/v1/search/query?q=rare-word").text,
    ]
    assert [text for text in texts if "rare-word" in text] == []
    assert "rare-word" in json.dumps(served(shared, contract))


@pytest.mark.parametrize(
    "patch",
    [
        [{"op": "add", "path": "/odcs", "value": {"text": "{}", "values": {}}}],
        [{"op": "remove", "path": "/odcs"}],
        [{"op": "test", "path": "/odcs/text", "value": "{}"}],
    ],
)
def test_document_cannot_be_patched(shared: Client, patch: list[Any]) -> None:
    contract = made(shared)
    status, _ = shared.ask("PATCH", f"/v1/dataContracts/{contract['id']}", json=patch)
    assert status == 400
    assert served(shared, contract) == read_yaml(FULL.encode())


def test_document_stays_when_all_of_the_contract_is_patched(shared: Client) -> None:
    contract = made(shared)
    path = f"/v1/dataContracts/{contract['id']}"
    whole = shared.get(path)
    patch = [{"op": "replace", "path": "", "value": {**whole, "displayName": "Shown"}}]
    assert shared.ask("PATCH", path, json=patch)[1]["displayName"] == "Shown"
    assert served(shared, contract) == read_yaml(FULL.encode())


def test_document_cannot_be_written_as_a_key_of_a_contract(shared: Client) -> None:
    table = new_table(shared)
    body = {"name": "c", "entity": {"id": table["id"], "type": "table"}}
    body["odcs"] = {"text": "{}", "values": {}}
    for method in ("POST", "PUT"):
        status, error = shared.ask(method, "/v1/dataContracts", json=body)
        assert (status, error["message"]) == (
            400,
            "odcs: POST or PUT the document to dataContracts/odcs",
        )


def test_document_comes_and_goes_with_its_contract(shared: Client) -> None:
    contract = made(shared)
    path = f"/v1/dataContracts/{contract['id']}"
    assert shared.ask("DELETE", path)[0] == 200
    assert shared.ask("GET", f"{path}/odcs")[0] == 404
    assert shared.ask("PUT", "/v1/dataContracts/restore", json={"id": contract["id"]})[0] == 200
    assert served(shared, contract) == read_yaml(FULL.encode())
    assert shared.ask("DELETE", f"{path}?hardDelete=true")[0] == 200
    assert shared.ask("GET", f"{path}/odcs/yaml")[0] == 404
    assert put(shared, contract["entity"], FULL).status_code == 201


def test_document_of_a_name_with_a_slash_is_found(shared: Client) -> None:
    contract = made(shared, canonical({**MINIMAL, "name": "a/odcs"}))
    assert contract["fullyQualifiedName"].endswith(".dataContract_a/odcs")
    assert served(shared, contract)["name"] == "a/odcs"
    name = quote(contract["fullyQualifiedName"], safe="")
    assert shared.get(f"/v1/dataContracts/name/{name}")["id"] == contract["id"]


def test_document_has_conditions(shared: Client) -> None:
    contract = made(shared)
    path = f"/v1/dataContracts/{contract['id']}/odcs"
    tag = shared.request("GET", path).headers["ETag"]
    for end in ("", "/yaml"):
        again = shared.request("GET", path + end, headers={"If-None-Match": tag})
        assert (again.status_code, again.content) == (304, b"")
    stale = put(shared, contract["entity"], FULL, headers={"If-Match": '"0.7"'})
    assert stale.status_code == 412
    assert put(shared, contract["entity"], FULL, headers={"If-Match": tag}).status_code == 200
    headers = {"If-None-Match": "*"}
    assert put(shared, contract["entity"], FULL, headers=headers).status_code == 412
