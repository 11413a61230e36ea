"""Requests that schemathesis makes of the OpenAPI document, and what is noted of their answers.

What is drawn differs from run to run; CATALOG_TEST_SEED repeats one.
"""

import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import schemathesis
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.config import SchemathesisConfig
from schemathesis.core.parameters import ParameterLocation
from schemathesis.engine import events, from_schema
from schemathesis.hooks import unregister
from schemathesis.specs.openapi.formats import unregister_string_format

from tests.api.conftest import Client, token
from tests.api.schemathesis_world import World

__all__ = ["SEED", "Asking", "Sample", "World", "changing", "formats", "load"]

SEED = int(os.environ.get("CATALOG_TEST_SEED") or random.SystemRandom().getrandbits(32))
FIRST, WALKED, SHARE = 3, 0.1, 0.04
"""Cases of an operation, valid and not, that admin is given anyway; the share of the operations all
of whose cases are made, which takes longer than asking; and the share of these that is asked."""
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

OF_HISTORY = ("/versions", "/versions/{version}", "/diff")
"""Endings of the paths that answer of what was deleted too."""


@contextmanager
def formats() -> Iterator[None]:
    """Have texts of our formats drawn, until the block ends."""
    for name, texts in FORMATS.items():
        schemathesis.openapi.format(name, st.sampled_from(texts))
    yield
    for name in FORMATS:
        unregister_string_format(name)


def load(client: Client, world: World) -> Any:
    """The document as schemathesis sees it."""
    config = SchemathesisConfig(seed=SEED)
    checks = config.projects.default.checks
    for check in (checks.positive_data_acceptance, checks.negative_data_rejection):
        # The entity may be of another version than If-Match says, whatever else is wrong.
        check.expected_statuses = [*check.expected_statuses, "412"]
    schema = schemathesis.openapi.from_asgi(
        "/docs/openapi.json", http_only(client.http.app), config=config
    )

    def map_case(_: Any, case: Case) -> Case:
        return world.meaningful(case)

    schema.hook(map_case)
    return schema


@contextmanager
def changing(change: Callable[[Case], object]) -> Iterator[None]:
    """Have each case changed before it is sent, until the block ends.

    A sequence lays earlier answers over a case after it was drawn.
    """

    def before_call(_: Any, case: Case, _options: Any) -> None:
        change(case)

    schemathesis.hook(before_call)
    yield
    unregister(before_call)


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
                case = recorder.cases[case_id].value
                if check.name == "use_after_free" and case.path.endswith(OF_HISTORY):
                    continue
                if check.failure_info is not None:
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
