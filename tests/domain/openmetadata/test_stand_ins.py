"""Keys that clients cannot do without are shown, with something in their place."""

from typing import Any

import pytest

from domain.kinds.registry import KINDS
from domain.openmetadata.document import stand_ins


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("table", "n", {"columns": []}),
        ("storedProcedure", "n", {"storedProcedureCode": {}}),
        ("dashboardDataModel", "n", {"columns": []}),
        ("mlmodel", "n", {"algorithm": "mlmodel"}),
        ("searchIndex", "n", {"fields": []}),
        ("user", "ada.l", {"email": "ada.l@example.org"}),
        ("user", "x" * 65, {"email": "unknown@example.org"}),
        ("user", "\u0410\u0434\u0430 \u041b", {"email": "unknown@example.org"}),
        ("team", "n", {}),
    ],
)
def test_stand_ins_are_what_clients_cannot_do_without(
    kind: str, name: str, expected: dict[str, Any]
) -> None:
    assert dict(stand_ins(kind, name)) == expected


def test_kinds_that_clients_cannot_read_without_a_description() -> None:
    described = {kind for kind in KINDS if stand_ins(kind, "n") == {"description": ""}}
    assert described == {
        "domain",
        "dataProduct",
        "classification",
        "tag",
        "glossary",
        "glossaryTerm",
    }
    assert all(stand_ins(kind, "n").keys() <= KINDS[kind].keys for kind in KINDS)
