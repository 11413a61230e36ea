"""The types that fields have by the payloads of the kinds."""

from datetime import date, datetime
from typing import get_args, get_type_hints

import msgspec
import pytest
from msgspec import structs

from domain.kinds.registry import KINDS
from projections.search.documents.documents import SORTABLE
from projections.search.language.field_types import (
    field_type,
    fields_below,
    is_object,
    moment_paths,
    near_fields,
)
from projections.search.language.openmetadata_fields import NOT_KEPT


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
        ("usageSummary.date", "moment"),
        ("effectiveFrom", "moment"),
        ("dataModel.generatedAt", "moment"),
        ("startDate", "moment"),
        ("columns.tags.appliedAt", "moment"),
        ("tags.appliedAt", "moment"),
        ("tableType", "keyword"),
        ("tableType.keyword", "keyword"),
        ("columns.children.dataType", "keyword"),
        ("schema.dataType", "keyword"),
        ("mlFeatures.dataType", "keyword"),
        ("entityStatus", "keyword"),
        ("entityType", "keyword"),
        ("serviceType", "keyword"),
        ("service.type", "keyword"),
        ("tags.labelType", "keyword"),
        ("project", "text"),
        ("mlFeatures.featureAlgorithm", "text"),
        ("algorithm", "text"),
        ("owners", "object"),
        ("tier.tagFQN", "text"),
        ("tier.name", "not kept"),
        ("descriptionStatus", "not kept"),
        ("upstreamLineage.fromEntity.id", "not kept"),
        ("deleted", "boolean"),
        ("isBot", "boolean"),
        ("ownerName", "text"),
        ("extension.cost", "undefined"),
        ("columns.extension.a.b", "undefined"),
        ("tableProfilerConfig.profileSample", "undefined"),
        ("extension", "object"),
        ("columns", "object"),
        ("nothing", None),
        ("columns.nothing", None),
        ("columns.name.first", None),
        ("connection.password", None),
        ("extension" + ".a" * 600, None),
        ("", None),
    ],
)
def test_field_type_follows_from_the_payloads(field, expected):
    assert field_type(field) == expected


def test_field_type_of_what_can_be_sorted_by_is_known():
    texts = {path for path, form in SORTABLE.items() if form is str}
    assert {path for path in SORTABLE if field_type(path) in ("text", "keyword")} == texts
    assert {field_type(path) for path in SORTABLE.keys() - texts} == {"number", "moment"}


@pytest.mark.parametrize(
    ("field", "near"),
    [
        ("entityStatuss", "entityStatus"),
        ("entitystatus", "entityStatus"),
        ("columns.nmae", "columns.name"),
        ("tagFQN", "tags.tagFQN"),
        ("ownr.name", "owners.name"),
        ("desciption", "description"),
    ],
)
def test_near_field_of_a_slip_is_the_one_that_was_meant(field, near):
    assert field_type(field) is None
    assert near_fields(field)[0] == near


def test_near_fields_of_anything_are_few_and_known():
    for field in ("zzzzzzzz", "", "\ud83e\udd86", "a" * 100_000):
        assert len(near_fields(field)) <= 3
        assert all(map(field_type, near_fields(field)))


def test_fields_below_an_object_hold_values():
    assert fields_below("certification.tagLabel.metadata") == [
        "certification.tagLabel.metadata.expiryDate"
    ]
    assert "owners.name" in fields_below("owners")
    assert all(field_type(field) != "object" for field in fields_below("columns"))


def test_every_date_of_a_payload_is_a_moment():
    """Each date and time that the Python types of a payload declare, whoever reads them."""
    dated = {path for kind in KINDS.values() for path in _dated(kind.body, "", ())}
    assert dated >= {"effectiveFrom", "usageSummary.date", "columns.tags.appliedAt"}
    assert dated <= moment_paths()
    assert {field_type(path) for path in dated} == {"moment"}


def _dated(hint, path, above):
    if hint in (date, datetime):
        yield path
    elif isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        if hint not in above:
            keys = {field.name: field.encode_name for field in structs.fields(hint)}
            for name, inner in get_type_hints(hint).items():
                if name in keys and keys[name] != "children":
                    yield from _dated(inner, f"{path}.{keys[name]}".strip("."), (*above, hint))
    else:
        for inner in get_args(hint):
            yield from _dated(inner, path, above)


def test_fields_that_are_not_kept_are_those_of_no_kind():
    kept = frozenset[str]().union(*(kind.keys for kind in KINDS.values()))
    assert not NOT_KEPT & kept
    assert not any("." in path for path in NOT_KEPT)


def test_is_object_where_some_kind_has_one():
    assert is_object("columns")
    assert is_object("columns.children.tags")
    assert is_object("extension.anything")
    assert is_object("extension")
    assert is_object("tags")
    assert not is_object("columns.name")
    assert not is_object("upstreamLineage")
    assert not is_object("nothing")
