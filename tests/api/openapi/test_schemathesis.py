"""Every operation of the OpenAPI document under each role, with all checks of schemathesis.

`make test` asks those of one kind alone, a deep run all of them. Admin is given a sample of the
coverage phase, which goes through what each schema allows and forbids, and sequences of requests;
one request of each operation is then made by every role.
"""

import json
from collections import Counter
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from api.callers.policies import DEFAULT_RULES
from domain.kinds.registry import KINDS
from tests.api.conftest import Client, running_under, token
from tests.depth import first_alone

ROLES = ("editor", "reader", "nobody", "auditor", "guest")
"""Caller who is given a case of each operation, beside admin."""

POLICIES = """
[[rule]]
role = "auditor"
allow = ["audit", "operate"]

[[rule]]
role = "guest"
allow = ["list", "view", "search", "create", "edit", "delete"]
withhold = ["owners", "tags", "extension"]
"""
PUBLIC = {
    ("get", "/v1/system/version"),
    ("get", "/healthz"),
    ("get", "/readyz"),
}
COLLECTIONS = [kind.collection for kind in KINDS.values()]
BELOW = (
    "(/[^a-z]|/name/|/restore|/bulk|/deleteStale|/entity|/executable|/testCaseResults/"
    "|/logicalTestCases|/async|/hierarchy|/loggedInUser|/odcs|/compare|/validate|/badge|$)"
)
PARTS = {
    **{f"kinds-{part}": rf"^/v1/({'|'.join(COLLECTIONS[part::5])}){BELOW}" for part in range(5)},
    "others": "^/(v1/(search/|audit|diff|lineage|openlineage/|dbt/|system|usage|queryCost|metadata"
    "|services/test)|healthz|readyz|metrics|mcp$|api/)",
}
SMALL = rf"^/v1/glossaries{BELOW}"
"""The operations of a kind that has each operation, and whose bodies are soon gone through."""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    directory = tmp_path_factory.mktemp("api")
    defaults = "".join(
        f"[[rule]]\nrole = {json.dumps(rule.role)}\nallow = {json.dumps(rule.allow)}\n"
        for rule in DEFAULT_RULES
    )
    with running_under(directory, defaults + POLICIES) as started:
        yield started


@pytest.fixture(scope="module")
def asking() -> Iterator[ModuleType]:
    # Each process that collects tests would take a second to import schemathesis.
    from tests.api.openapi import asking  # noqa: PLC0415 - start-up: one process asks

    with asking.formats():
        yield asking


@pytest.fixture(scope="module")
def world(client: Client, asking: ModuleType) -> Iterator[Any]:
    world = asking.World(client)
    with asking.changing(world.refer_to_others):
        yield world


@pytest.mark.parametrize("part", first_alone(SMALL, *PARTS.values()), ids=["glossaries", *PARTS])
def test_operations_answer_each_role_as_documented(
    client: Client, asking: Any, world: Any, part: str
) -> None:
    schema = asking.load(client, world).include(path_regex=part)
    sample = asking.Sample(schema)
    schema.iter_coverage_cases = sample.cases
    admin = asking.Asking(schema, "coverage", 1)
    admin.run()

    assert admin.failures == [], admin.report()
    labels = {operation.ok().label for operation in schema.get_all_operations()}
    answers = {label: admin.answers.get(label, Counter()) for label in labels}
    undone = {label: seen for label, seen in answers.items() if not any(s < 300 for s in seen)}
    assert undone == {}, f"CATALOG_TEST_SEED={asking.SEED}"

    assert set(sample.first) == labels
    for case in sample.one_of_each():
        world.meaningful(case)
        for role in ROLES:
            case.call_and_validate(headers={"Authorization": f"Bearer {token(role)}"})


def test_each_operation_is_in_one_part(client: Client, asking: Any, world: Any) -> None:
    documented = client.http.get("/docs/openapi.json").json()["paths"]
    count = sum(len(by_method) for by_method in documented.values())
    parts = [asking.load(client, world).include(path_regex=part) for part in PARTS.values()]
    labels = [each.ok().label for part in parts for each in part.get_all_operations()]
    assert len(labels) == len(set(labels)) == count


@pytest.mark.deep
@pytest.mark.parametrize("part", PARTS.values(), ids=[*PARTS])
def test_sequences_answer_as_documented(client: Client, asking: Any, world: Any, part: str) -> None:
    # Of all operations together there are more links than hypothesis can choose among.
    schema = asking.load(client, world).include(path_regex=part)
    admin = asking.Asking(schema, "stateful", 20)
    admin.run()

    assert admin.failures == [], admin.report()
    assert len(admin.answers) > 10


def test_operations_need_a_token_but_the_declared_ones(client: Client, world: Any) -> None:
    document = client.http.get("/docs/openapi.json").json()
    given = {"{entity_id}": world.entities["table"]["id"], "{fqn}": "a", "{version}": "0.1"}
    given |= {"{entity_type}": "table", "{to_type}": "table", "{at}": "1"}
    open_to_all = set()
    for path, operations in document["paths"].items():
        url = path
        for name, value in given.items():
            url = url.replace(name, value)
        for method in operations:
            response = client.http.request(method.upper(), url)
            if response.status_code != 401:
                open_to_all.add((method, path))
            else:
                assert response.json()["errorType"] == "UNAUTHORIZED"
                assert response.headers["WWW-Authenticate"] == 'Bearer realm="catalog"'
    assert open_to_all == PUBLIC
