"""Names that `fields` of lists and single reads accepts, and what they add."""

from pathlib import Path

import pytest

from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS
from domain.openmetadata.entity_properties import known_properties
from tests.api.conftest import Client, running_under


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_every_property_may_be_named(empty: Client, kind: EntityKind) -> None:
    fields = ",".join(sorted(known_properties(kind.name)))

    answer = empty.get(f"/v1/{kind.collection}", fields=fields)

    assert answer == {"data": [], "paging": {"total": 0}}


def test_property_without_a_value_adds_nothing(client: Client) -> None:
    client.schema()
    table = client.table(sourceHash="abc")
    one = f"/v1/tables/{table['id']}"

    shown = client.get(one, fields="sourceHash,customMetrics,testSuite,profile,queries")

    assert shown == table
    assert shown["sourceHash"] == "abc"
    listed = client.get("/v1/tables", fields="owners,customMetrics,sampleData")["data"]
    assert listed == client.get("/v1/tables", fields="owners")["data"]
    named = f"/v1/tables/name/{table['fullyQualifiedName']}"
    assert client.get(named, fields="testSuite, sourceHash") == table


@pytest.mark.parametrize(
    ("field", "near"),
    [
        ("colums", "columns"),
        ("Owners", "owners, owner"),
        ("custom_metrics", "customMetrics"),
        ("tag", "tags"),
        ("sourcehash", "sourceHash, sourceUrl"),
    ],
)
def test_misspelt_field_is_400_and_names_near_ones(empty: Client, field: str, near: str) -> None:
    for path in ("/v1/tables", "/v1/tables/name/a.b.c.d"):
        status, body = empty.ask("GET", f"{path}?fields=owners,{field}")

        assert (status, body["errorType"]) == (400, "BAD_REQUEST")
        assert body["message"] == f"fields: Invalid field name {field}: did you mean {near}?"


def test_field_of_another_kind_is_400(empty: Client) -> None:
    status, body = empty.ask("GET", "/v1/classifications?fields=columns")

    assert status == 400
    assert body["message"].startswith("fields: Invalid field name columns; allowed are owners")


def test_long_wrong_field_is_cut_short_in_the_answer(empty: Client) -> None:
    status, body = empty.ask("GET", f"/v1/tables?fields={'x' * 5_000}")

    assert status == 400
    assert body["message"].startswith(f"fields: Invalid field name {'x' * 64}; allowed are ")


def test_withheld_field_may_not_be_named_though_every_answer_has_it(tmp_path: Path) -> None:
    with running_under(
        tmp_path,
        '[[rule]]\nrole="some"\nallow=["view", "list"]\nwithhold=["description", "sourceUrl"]\n',
    ) as client:
        for field in ("description", "sourceUrl"):
            assert client.ask("GET", f"/v1/tables?fields={field}", role="some")[0] == 403
        assert client.ask("GET", "/v1/tables?fields=sourceHash,joins", role="some")[0] == 200
