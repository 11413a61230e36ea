"""Operations of the OpenAPI document, asked with generated requests: no 5xx, no surprise.

The kinds share their handlers, so those with the most rules of their own stand for all.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case
from schemathesis.specs.openapi.checks import (
    negative_data_rejection,
    positive_data_acceptance,
)

from tests.api.conftest import running, token

pytestmark = [
    # The ASGI test client that schemathesis brings leaves its streams to the collector.
    pytest.mark.filterwarnings("ignore:Unclosed <MemoryObject:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

ASKED = r"^/(v1/(dataContracts|tables|glossaryTerms|search|audit|system)|healthz|metrics)"


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with running(tmp_path_factory.mktemp("api")) as client:
        client.schema()
        orders = client.table()
        client.create("dataContracts", name="c", entity={"id": orders["id"], "type": "table"})
        schema = schemathesis.openapi.from_asgi("/docs/openapi.json", client.http.app)
        yield schema.include(path_regex=ASKED)


@pytest.mark.parametrize(("role", "examples"), [("admin", 8), ("reader", 3), ("nobody", 1)])
def test_operations_answer_as_documented(api: Any, role: str, examples: int) -> None:
    asked = []
    for result in api.get_all_operations():
        operation = result.ok()

        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def ask(case: Case) -> None:
            case.call_and_validate(
                headers={"Authorization": f"Bearer {token(role)}"},
                # What a schema cannot say (a cursor of another list, say) is refused although
                # it satisfies it.
                excluded_checks=[negative_data_rejection, positive_data_acceptance],
            )

        ask()
        asked.append(operation.label)

    assert len(asked) > 30
