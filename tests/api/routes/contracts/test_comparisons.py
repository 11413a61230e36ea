"""Comparisons of documents, and of versions and proposals of a stored contract."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from api.comparisons import MOST_CHANGES
from domain.contracts.canonical import canonical
from domain.contracts.yaml_input import read_yaml
from domain.contracts.yaml_output import write_yaml
from tests.api.conftest import Client, running_under
from tests.api.routes.contracts.giving import YAML, made, new_table, put

COMPARE = "/v1/dataContracts/compare"
OLD = """
apiVersion: v3.1.0
kind: DataContract
id: compared
version: 1.0.0
status: active
schema:
  - name: orders
    properties:
      - {name: id, physicalType: INT}
      - {name: code, physicalType: VARCHAR(20), required: true}
"""
NEW = OLD.replace("(20)", "(30)").replace("- {name: id, physicalType: INT}", "- {name: at}")
AT = "schema.orders.properties"
POLICIES = """
[[rule]]
role = "admin"
allow = ["list", "view", "create", "edit", "delete"]

[[rule]]
role = "half"
allow = ["view"]

[[rule]]
role = "half"
kinds = ["dataContract"]
withhold = ["reviewers"]

[[rule]]
role = "tables"
allow = ["view"]
kinds = ["table"]
"""


def document(text: str) -> Any:
    return read_yaml(text.encode())


def both(old: str, new: str) -> dict[str, Any]:
    return {"before": document(old), "after": document(new)}


def changes(answer: Any) -> list[tuple[str, str, str]]:
    assert answer.status_code == 200, answer.text
    return [(each["rule"], each["path"], each["level"]) for each in answer.json()["changes"]]


def test_two_documents_are_compared_in_each_view(shared: Client) -> None:
    answer = shared.request("POST", COMPARE, json=both(OLD, NEW))

    assert changes(answer) == [
        ("column.removed", f"{AT}.id", "breaking"),
        ("type.widened", f"{AT}.code.physicalType", "review"),
        ("column.added", f"{AT}.at", "compatible"),
    ]
    assert answer.json()["changes"][1] == {
        "rule": "type.widened",
        "path": f"{AT}.code.physicalType",
        "level": "review",
        "consumer": "review",
        "producer": "compatible",
        "before": "VARCHAR(20)",
        "after": "VARCHAR(30)",
        "message": f"type widened: {AT}.code.physicalType from 'VARCHAR(20)' to 'VARCHAR(30)'",
    }
    assert {**answer.json(), "changes": None} == {
        "compatible": False,
        "bump": "major",
        "changes": None,
        "omitted": 0,
    }
    for perspective, word in (("producer", "column.added"), ("full", "column.removed")):
        params = {"perspective": perspective}
        answer = shared.request("POST", COMPARE, json=both(OLD, NEW), params=params)
        assert changes(answer)[0][::2] == (word, "breaking")
    longer = OLD.replace("(20)", "(30)")
    assert shared.request("POST", COMPARE, json=both(OLD, longer)).json()["compatible"]
    exact = shared.request("POST", COMPARE, json=both(OLD, longer), params={"types": "exact"})
    assert changes(exact) == [("type.changed", f"{AT}.code.physicalType", "breaking")]


def test_documents_may_be_yaml_and_the_same_has_no_changes(shared: Client) -> None:
    text = write_yaml(both(OLD, OLD.replace("1.0.0", "2.0.0")))
    answer = shared.request("POST", COMPARE, content=text, headers=YAML)

    assert answer.json() == {"compatible": True, "bump": "none", "changes": [], "omitted": 0}


def test_a_stored_contract_is_compared_with_a_proposal(shared: Client) -> None:
    contract = made(shared, OLD)
    path = f"/v1/dataContracts/{contract['id']}/compare"

    answer = shared.request("POST", path, content=canonical(document(NEW)))
    assert [each[0] for each in changes(answer)] == [
        "column.removed",
        "type.widened",
        "column.added",
    ]
    by_yaml = shared.request("POST", path, content=NEW.encode(), headers=YAML)
    assert by_yaml.json() == answer.json()
    newest = shared.request("GET", f"/v1/dataContracts/{contract['id']}").json()
    assert newest["version"] == 0.1


def test_versions_of_a_stored_contract_are_compared(shared: Client) -> None:
    contract = made(shared, OLD)
    put(shared, contract["entity"], NEW)
    patch = [{"op": "add", "path": "/effectiveUntil", "value": "2030-01-01T00:00:00Z"}]
    answer = shared.request("PATCH", f"/v1/dataContracts/{contract['id']}", json=patch)
    assert answer.json()["version"] == 0.3
    path = f"/v1/dataContracts/{contract['id']}/compare"

    def compared(**versions: str) -> list[str]:
        return [each[0] for each in changes(shared.request("POST", path, params=versions))]

    document_changes = ["column.removed", "type.widened", "column.added"]
    assert compared(**{"from": "0.1", "to": "0.2"}) == document_changes
    assert compared(**{"from": "0.2", "to": "0.1"}) == [
        "column.removed",
        "type.narrowed",
        "column.added",
    ]
    assert compared(**{"from": "0.2"}) == ["end.earlier"]
    assert sorted(compared(**{"from": "0.1"})) == sorted([*document_changes, "end.earlier"])
    assert compared(**{"from": "0.3", "to": "0.3"}) == []


def test_contracts_that_were_given_no_document_are_compared(shared: Client) -> None:
    columns = [{"name": "id", "dataType": "INT"}, {"name": "at", "dataType": "DATE"}]
    table = new_table(shared, columns=columns)
    about = {"type": "table", "id": table["id"]}
    contract = shared.create("dataContracts", name="made", entity=about, schema=columns)
    path = f"/v1/dataContracts/{contract['id']}"
    patch = [
        {"op": "remove", "path": "/schema/1"},
        {"op": "add", "path": "/semantics", "value": [RULE]},
    ]
    assert shared.request("PATCH", path, json=patch).status_code == 200

    answer = shared.request("POST", f"{path}/compare", params={"from": "0.1"})

    place = f"schema.{table['name']}.properties.at"
    assert changes(answer) == [
        ("column.removed", place, "breaking"),
        ("semantics.added", "semantics.owned", "compatible"),
    ]


RULE = {"name": "owned", "description": "x", "rule": "{}", "enabled": True}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{}", "`before` and `after`"),
        (b"[]", "the document"),
        (b'{"before": {}, "after": {}}', "kind of an ODCS document"),
        (b'{"before": {}, "after": {}, "more": 1}', "and no more"),
        (b"", "the document"),
    ],
)
def test_a_body_of_no_two_documents_is_refused(shared: Client, body: bytes, said: str) -> None:
    answer = shared.request("POST", COMPARE, content=body)

    assert answer.status_code == 400
    assert said in answer.json()["message"]


def test_what_to_compare_a_stored_contract_with_is_said_once(shared: Client) -> None:
    contract = made(shared, OLD)
    path = f"/v1/dataContracts/{contract['id']}/compare"
    text = canonical(document(OLD))

    for given in ({"params": {"from": "0.1"}, "content": text}, {}, {"params": {"to": "0.1"}}):
        answer = shared.request("POST", path, **given)
        assert answer.status_code == 400
        assert "either a document" in answer.json()["message"]
    assert shared.request("POST", path, params={"from": "9.9"}).status_code == 404
    assert shared.request("POST", path, content=text, params={"types": "x"}).status_code == 400
    unknown = path.replace(contract["id"][:8], "00000000")
    assert shared.request("POST", unknown, content=text).status_code == 404


def test_no_more_changes_are_named_than_an_answer_has_room_for(shared: Client) -> None:
    columns = [{"name": f"c{place}"} for place in range(MOST_CHANGES)]
    old = {**document(OLD), "schema": [{"name": "orders", "properties": columns}]}
    given = {"before": {**old, "own": 1}, "after": document(OLD)}

    answer = shared.request("POST", COMPARE, json=given).json()

    assert len(answer["changes"]) == MOST_CHANGES
    assert {each["level"] for each in answer["changes"]} == {"breaking"}
    assert answer["omitted"] == 3
    assert not answer["compatible"]


@pytest.fixture(scope="module")
def restricted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A catalog of callers who may not see all of a contract."""
    directory: Path = tmp_path_factory.mktemp("restricted")
    with running_under(directory, POLICIES) as client:
        client.schema()
        yield client


def test_who_may_not_see_all_of_a_contract_gets_no_verdict_on_it(restricted: Client) -> None:
    path = f"/v1/dataContracts/{made(restricted, OLD)['id']}/compare"
    given: Any = {"content": canonical(document(NEW))}

    half = restricted.request("POST", path, role="half", **given)
    assert half.status_code == 403
    assert "reviewers is withheld" in half.json()["message"]
    assert restricted.request("POST", path, role="tables", **given).status_code == 403
    assert restricted.request("POST", path, **given).status_code == 200
    # Of two documents that the caller has, nothing is withheld.
    answer = restricted.request("POST", COMPARE, role="half", json=both(OLD, NEW))
    assert answer.status_code == 200
