"""The types that fields have by the payloads of the kinds."""

import pytest

from projections.search.documents import SORTABLE
from projections.search.language.field_types import field_type, is_object


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("name", "text"),
        ("name.keyword", "text"),
        ("columns.children.dataLength", "number"),
        ("version", "number"),
        ("updatedAt", "moment"),
        ("certification.expiryDate", "moment"),
        ("lifeCycle.accessed.timestamp", "moment"),
        ("usageSummary.date", "date"),
        ("columns.tags.appliedAt", "date"),
        ("tags.appliedAt", "date"),
        ("deleted", "boolean"),
        ("isBot", "boolean"),
        ("ownerName", "text"),
        ("extension.cost", None),
        ("nothing", None),
        ("columns", None),
    ],
)
def test_field_type_follows_from_the_payloads(field, expected):
    assert field_type(field) == expected


def test_field_type_of_what_can_be_sorted_by_is_known():
    texts = {path for path, form in SORTABLE.items() if form is str}
    assert {path for path in SORTABLE if field_type(path) == "text"} == texts


def test_is_object_where_some_kind_has_one():
    assert is_object("columns")
    assert is_object("columns.children.tags")
    assert is_object("extension.anything")
    assert not is_object("columns.name")
    assert not is_object("nothing")
