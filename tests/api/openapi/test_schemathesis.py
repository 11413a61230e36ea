"""Every operation of the OpenAPI document under each role, with all checks of schemathesis.

`make test` asks those of one kind alone, a deep run all of them. Admin is given a sample of the
coverage phase, which goes through what each schema allows and forbids, and sequences of requests;
one request of each operation is then made by every role.
What is drawn differs from run to run; CATALOG_TEST_SEED repeats one.
"""

import json
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest
import schemathesis
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.config import SchemathesisConfig
from schemathesis.core.parameters import ParameterLocation
from schemathesis.engine import events, from_schema
from schemathesis.specs.openapi.formats import unregister_string_format

from api.callers.policies import DEFAULT_RULES
from domain.kinds.registry import KINDS
from tests.api.conftest import Client, running_under, token
from tests.api.schemathesis_world import World
from tests.depth import first_alone

SEED = int(os.environ.get("CATALOG_TEST_SEED") or random.SystemRandom().getrandbits(32))
FIRST, WALKED, SHARE = 3, 0.1, 0.04
"""Cases of an operation, valid and not, that admin is given anyway; the share of the operations all
of whose cases are made, which takes longer than asking; and the share of these that is asked."""
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
FORMATS = {
    "query-text": ("", "*", "orders", "name:orders", "tab* AND NOT x", '"two words"~1', "(a OR b)"),
    "query-filter": (
        '{"query":{"match_all":{}}}',
        '{"query":{"bool":{"must":[{"term":{"name":"x"}}],"must_not":{"exists":{"field":"y"}}}}}',
    ),
    "aggregations": (
        '{"types":{"terms":{"field":"serviceType","size":3},"aggs":{"best":{"top_hits":{}}}}}',
        '{"aggs":{"time":{"date_histogram":{"field":"updatedAt","calendar_interval":"day"}}}}',
    ),
    "countable-field": ("name", "serviceType", "tags.tagFQN", "entityType", "owners.name"),
    "source-field": ("name", "owners.name"),
    "term-regex": ("", ".*", ".*or.*", "table.*", "[a-z]+"),
    "field-path": ("name", "displayName", "columns.name", "name,description"),
    "name-regex": ("", "orders", "^(fact|dim)_.*$", "(a)|(b)", "\\\\.s", "[^x]{1,3}", "(?i)ORDERS"),
    # A cursor belongs to one list with its filters; the tests of lists follow real ones.
    "page-cursor": ("",),
}
"""Format -> texts that have it, for what no pattern describes."""

COLLECTIONS = [kind.collection for kind in KINDS.values()]
BELOW = (
    "(/[^a-z]|/name/|/restore|/bulk|/deleteStale|/entity|/executable|/testCaseResults/"
    "|/logicalTestCases|$)"
)
PARTS = {
    **{f"kinds-{part}": rf"^/v1/({'|'.join(COLLECTIONS[part::5])}){BELOW}" for part in range(5)},
    "others": "^/(v1/(search/|audit|lineage|system|usage|queryCost|metadata|services/test)"
    "|healthz|readyz|metrics)",
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
def world(client: Client) -> World:
    return World(client)


@pytest.fixture(scope="module", autouse=True)
def formats() -> Iterator[None]:
    for name, texts in FORMATS.items():
        schemathesis.openapi.format(name, st.sampled_from(texts))
    yield
    for name in FORMATS:
        unregister_string_format(name)


def load(client: Client, world: World) -> Any:
    """The document as schemathesis sees it."""
    config = SchemathesisConfig(seed=SEED)
    acceptance = config.projects.default.checks.positive_data_acceptance
    # The entity may be of another version than If-Match says.
    acceptance.expected_statuses = [*acceptance.expected_statuses, "412"]
    schema = schemathesis.openapi.from_asgi(
        "/docs/openapi.json", http_only(client.http.app), config=config
    )

    def map_case(_: Any, case: Case) -> Case:
        return world.meaningful(case)

    schema.hook(map_case)
    return schema


class Asking:
    """One phase of schemathesis over some operations, as admin."""

    def __init__(self, schema: Any, phase: str, examples: int) -> None:
        self.schema = schema
        headers = {"Authorization": f"Bearer {token('admin')}"}
        schema.config.update(headers=headers, continue_on_failure=True)
        schema.config.generation.update(max_examples=examples, no_shrink=True, database="none")
        schema.config.phases.update(phases=[phase])
        self.answers: dict[str, Counter[int]] = {}
        self.failures: list[str] = []

    def run(self) -> None:
        """Ask, and note what was answered and what was wrong with it."""
        for event in from_schema(self.schema).execute():
            if isinstance(event, events.ScenarioFinished):
                self._note(event.recorder)
            elif isinstance(event, events.NonFatalError):
                self.failures.append(f"{event.label}: {event.info}")
            assert not isinstance(event, events.FatalError), event

    def report(self) -> str:
        """Describe what was wrong, and the way to see it again."""
        return "\n\n".join((f"CATALOG_TEST_SEED={SEED}", *self.failures))

    def _note(self, recorder: Any) -> None:
        for case_id, interaction in recorder.interactions.items():
            label = recorder.cases[case_id].value.operation.label
            self.answers.setdefault(label, Counter())[interaction.response.status_code] += 1
        for case_id, checks in recorder.checks.items():
            for check in checks:
                if check.failure_info is not None:
                    case = recorder.cases[case_id].value
                    answer = recorder.interactions[case_id].response.content[:1_000]
                    self.failures.append(
                        f"{case.operation.label} {check.name}: {check.failure_info.failure.message}"
                        f"\n{case!r}\n{answer!r}"
                    )


def http_only(app: Any) -> Any:
    """The application without its lifespan, which the client keeps.

    Schemathesis would start it once more, in a loop of its own, and never end it: whatever it
    left open then was told to whichever test came next.
    """

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            raise NotImplementedError
        await app(scope, receive, send)

    return serve


def has_another_header(case: Case) -> bool:
    """True if the only fault of a case is a header that nobody declares.

    HTTP has such headers passed over (RFC 9110, 5.1). Schemathesis knows, unless another header is
    declared to be a number, whose digits it takes for a text then.
    """
    wrong: Any = case.meta and case.meta.phase.data
    return bool(
        wrong
        and wrong.parameter_location is ParameterLocation.HEADER
        and wrong.description == "Object with unexpected properties"
    )


class Sample:
    """The first cases of each operation, valid and not, and a sample of all those of some."""

    def __init__(self, schema: Any) -> None:
        self._cases_of: Callable[..., Iterator[Case]] = schema.iter_coverage_cases
        self._chance = random.Random(SEED)
        self.first: dict[str, list[Case]] = {}
        """Operation -> its first cases."""

    def cases(
        self, operation: Any, *, generation_modes: list[GenerationMode], **options: Any
    ) -> Iterator[Case]:
        """The cases of an operation that are asked."""

        def made(modes: list[GenerationMode]) -> Iterator[Case]:
            cases = self._cases_of(operation, generation_modes=modes, **options)
            return (case for case in cases if not has_another_header(case))

        first = self.first[operation.label] = []
        for mode in generation_modes:
            for case in islice(made([mode]), FIRST):
                first.append(case)
                yield case
        if self._chance.random() < WALKED:
            everything = made(generation_modes)
            yield from (case for case in everything if self._chance.random() < SHARE)

    def one_of_each(self) -> Iterator[Case]:
        """A case of each operation, about something that is still there."""
        for cases in self.first.values():
            yield self._chance.choice(cases)


@pytest.mark.parametrize("part", first_alone(SMALL, *PARTS.values()), ids=["glossaries", *PARTS])
def test_operations_answer_each_role_as_documented(client: Client, world: World, part: str) -> None:
    schema = load(client, world).include(path_regex=part)
    sample = Sample(schema)
    schema.iter_coverage_cases = sample.cases
    asking = Asking(schema, "coverage", 1)
    asking.run()

    assert asking.failures == [], asking.report()
    labels = {operation.ok().label for operation in schema.get_all_operations()}
    answers = {label: asking.answers.get(label, Counter()) for label in labels}
    undone = {label: seen for label, seen in answers.items() if not any(s < 300 for s in seen)}
    assert undone == {}, f"CATALOG_TEST_SEED={SEED}"

    assert set(sample.first) == labels
    for case in sample.one_of_each():
        world.meaningful(case)
        for role in ROLES:
            case.call_and_validate(headers={"Authorization": f"Bearer {token(role)}"})


def test_each_operation_is_in_one_part(client: Client, world: World) -> None:
    documented = client.http.get("/docs/openapi.json").json()["paths"]
    count = sum(len(by_method) for by_method in documented.values())
    parts = [load(client, world).include(path_regex=part) for part in PARTS.values()]
    labels = [each.ok().label for part in parts for each in part.get_all_operations()]
    assert len(labels) == len(set(labels)) == count


@pytest.mark.deep
def test_sequences_answer_as_documented(client: Client, world: World) -> None:
    asking = Asking(load(client, world), "stateful", 20)
    asking.run()

    assert asking.failures == [], asking.report()
    assert len(asking.answers) > 10


def test_operations_need_a_token_but_the_declared_ones(client: Client, world: World) -> None:
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
