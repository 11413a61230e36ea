"""A field and a pattern for a whole value of it, as nodes of the query tree."""

import pytest

from domain.errors import InvalidInput
from projections.search import tree
from projections.search.language.field_values import whole_value
from projections.search.tree import Node


@pytest.mark.parametrize(
    ("field", "pattern", "node"),
    [
        ("fullyQualifiedName", "a.b", tree.Exact("fullyQualifiedName.keyword", "a.b")),
        ("name.keyword", "a*", tree.Wildcard("name.keyword", "a*")),
        ("name", "", tree.Exact("name.keyword", "")),
        ("name", "a?", tree.Wildcard("name.keyword", "a?")),
        ("name", r"a\*", tree.Wildcard("name.keyword", r"a\*")),
        ("owners.name", "ann", tree.Exact("owners.name.keyword", "ann")),
        ("columns.fullyQualifiedName", "a.b", tree.Exact("columns.fullyQualifiedName", "a.b")),
        ("id", "a-b", tree.Exact("id", "a-b")),
        ("tableType", "Vi*", tree.Wildcard("tableType.keyword", "Vi*")),
        ("tableType", "View", tree.Exact("tableType.keyword", "View")),
        ("description", "orders", tree.Exact("description", "orders")),
        ("description", "ord*", tree.Wildcard("description", "ord*")),
        ("deleted", "true", tree.Exact("deleted", "true")),
        ("version", "0.2", tree.Exact("version", "0.2")),
        ("extension.cost", "a*", tree.Wildcard("extension.cost.keyword", "a*")),
        ("upstreamLineage", "a*", tree.MatchNone()),
    ],
)
def test_value_is_looked_for_whole_where_the_field_has_wholes(
    field: str, pattern: str, node: Node
) -> None:
    assert whole_value(field, pattern) == node


@pytest.mark.parametrize(
    ("field", "pattern", "message"),
    [
        ("nmae", "a", "fieldName: no kind has a field 'nmae'; near it: name"),
        ("", "a", "fieldName: no kind has a field ''"),
        ("owners", "a", "fieldName: owners holds objects: name a field of theirs"),
        ("version", "high", "fieldValue: version is a number, got 'high'"),
        ("version", "0.*", "fieldValue: version takes a number, no pattern and no slips"),
        ("deleted", "maybe", "fieldValue: deleted is true or false, got 'maybe'"),
        ("id", "a*", "fieldValue: id is found by whole values only, not by patterns or ranges"),
        ("name", "*" + "a" * 600, "fieldValue: wildcard pattern"),
    ],
)
def test_wrong_parameter_is_named(field: str, pattern: str, message: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        whole_value(field, pattern)
    assert raised.value.message.startswith(message)
