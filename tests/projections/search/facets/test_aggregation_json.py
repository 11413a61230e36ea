"""Aggregations as JSON, and what is refused of them."""

import json
from typing import Any

import pytest

from domain.errors import InvalidInput
from projections.search.aggregations import (
    MAX_AGGREGATIONS,
    Aggregation,
    DateHistogram,
    Terms,
    TopHits,
)
from projections.search.facets.aggregation_json import parse

NAMES = {"terms": {"field": "name"}}


def read(value: Any) -> tuple[Aggregation, ...]:
    return parse(json.dumps(value).encode())


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"terms": {"field": "name"}}, Terms(name="a", field="name")),
        (
            {"terms": {"field": "tier.tagFQN.keyword", "order": {"_key": "asc"}, "size": 3}},
            Terms(name="a", field="tier.tagFQN.keyword", prefix="Tier.", order="key", size=3),
        ),
        (
            {"terms": {"field": "name", "include": "a.*", "order": {"_count": "desc"}}},
            Terms(name="a", field="name", pattern="a.*"),
        ),
        (
            {"terms": {"field": "version", "min_doc_count": 1}},
            Terms(name="a", field="version", values="numbers"),
        ),
        ({"terms": {"field": "deleted"}}, Terms(name="a", field="deleted", values="booleans")),
        ({"terms": {"field": "updatedAt"}}, Terms(name="a", field="updatedAt", values="moments")),
        ({"terms": {"field": "extension.own"}}, Terms(name="a", field="extension.own")),
        (
            {"date_histogram": {"field": "updatedAt", "calendar_interval": "1M"}},
            DateHistogram(name="a", field="updatedAt", interval="month"),
        ),
        (
            {
                "date_histogram": {
                    "field": "effectiveFrom",
                    "fixed_interval": "30d",
                    "min_doc_count": 1,
                },
                "aggregations": {"b": {"top_hits": {}}},
            },
            DateHistogram(
                name="a",
                field="effectiveFrom",
                interval=30 * 86_400_000,
                gaps=False,
                below=(TopHits(name="b"),),
            ),
        ),
        (
            {"top_hits": {"size": 1, "sort": [{"name.keyword": {"order": "desc"}}]}},
            TopHits(name="a", size=1, sort_field="name"),
        ),
        (
            {"top_hits": {"sort": "updatedAt", "_source": {"includes": ["name"]}}},
            TopHits(name="a", sort_field="updatedAt", descending=False, include=("name",)),
        ),
        (
            {"top_hits": {"sort": {"_score": "desc"}, "_source": {"excludes": "columns"}}},
            TopHits(name="a", exclude=("columns",)),
        ),
        ({"top_hits": {"_source": False}}, TopHits(name="a", sources=False)),
    ],
)
def test_aggregation_is_read(given: Any, expected: Aggregation) -> None:
    assert read({"a": given}) == (expected,)
    assert read({"aggs": {"a": given}}) == read({"aggregations": {"a": given}}) == (expected,)


def test_aggregation_may_have_any_name() -> None:
    assert [each.name for each in read({"aggs": NAMES, "Ä b.c": NAMES})] == ["aggs", "Ä b.c"]
    assert [each.name for each in read({"aggs": NAMES})] == ["aggs"]
    assert read({}) == ()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], r"expected an object of aggregations by name at \$"),
        ({"a>b": NAMES}, r"a name has 1 to 256 characters.* at \$.a>b"),
        ({"": NAMES}, "a name has 1 to 256 characters"),
        ({"a": {}}, r"expected exactly one of terms, date_histogram, top_hits at \$.a"),
        ({"a": {**NAMES, "top_hits": {}}}, "expected exactly one of"),
        ({"a": {"avg": {"field": "version"}}}, "unknown key 'avg'; known are terms"),
        ({"a": {**NAMES, "aggs": {}, "aggregations": {}}}, "mean the same: give one of them"),
        ({"a": {"terms": {}}}, r"'field' is missing at \$.a.terms"),
        ({"a": {"terms": {"field": 1}}}, r"expected a text at \$.a.terms.field"),
        ({"a": {"terms": {"field": "nmae"}}}, "no kind has a field 'nmae'; near it: name"),
        ({"a": {"terms": {"field": "columns"}}}, "columns holds objects: name a field"),
        ({"a": {"terms": {"field": "description"}}}, "is prose, of which no whole values are kept"),
        ({"a": {"terms": {"field": "id"}}}, "id is only matched whole"),
        ({"a": {"terms": {"field": "name", "size": 10_001}}}, "whole number from 0 to 10000"),
        ({"a": {"terms": {"field": "name", "order": {"_count": "asc"}}}}, 'expected {"_count"'),
        ({"a": {"terms": {"field": "name", "min_doc_count": 0}}}, "expected 1 at"),
        ({"a": {"terms": {"field": "name", "include": "(a"}}}, r"unbalanced.* at \$.a.terms.incl"),
        ({"a": {"terms": {"field": "version", "include": "1"}}}, "only texts can be chosen"),
        ({"a": {"terms": {"field": "name", "missing": "x"}}}, "unknown key 'missing'"),
        ({"a": {"date_histogram": {"field": "name"}}}, "name holds no dates and times"),
        ({"a": {"date_histogram": {"field": "updatedAt"}}}, "expected either calendar_interval or"),
        (
            {"a": {"date_histogram": {"field": "updatedAt", "calendar_interval": "2M"}}},
            "expected one of minute, hour, day, week",
        ),
        (
            {"a": {"date_histogram": {"field": "updatedAt", "fixed_interval": "1M"}}},
            "expected a number of ms, s, m, h or d",
        ),
        ({"a": {"top_hits": {"size": 101}}}, "whole number from 0 to 100"),
        ({"a": {"top_hits": {"sort": ["name", "version"]}}}, "expected one field to sort by"),
        ({"a": {"top_hits": {"sort": "columns.name"}}}, "expected one of name, displayName"),
        ({"a": {"top_hits": {"_source": ["nmae"]}}}, "no kind has a field 'nmae'"),
        ({"a": {"top_hits": {"_source": ["name.keyword"]}}}, "stands in no document"),
        ({"a": {"top_hits": {}, "aggs": {"b": NAMES}}}, "top_hits have no aggregations inside"),
        ({f"a{n}": NAMES for n in range(MAX_AGGREGATIONS + 1)}, "more than 64 aggregations in all"),
    ],
)
def test_what_is_no_aggregation_is_refused_by_its_path(given: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as refusal:
        read(given)
    assert refusal.value.message.startswith("aggregations: ")


def test_depth_and_bytes_are_bounded() -> None:
    value: Any = NAMES
    for _ in range(3):
        value = {**NAMES, "aggs": {"a": value}}
    assert read({"a": value})
    with pytest.raises(InvalidInput, match="aggregations may be 4 levels deep"):
        read({"a": {**NAMES, "aggs": {"a": value}}})
    with pytest.raises(InvalidInput, match="aggregations may have 65536 bytes"):
        parse(b" " * 70_000)
    with pytest.raises(InvalidInput, match="has the key 'a' twice"):
        parse(b'{"a": {"terms": {"field": "name"}}, "a": {}}')
