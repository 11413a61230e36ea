"""Short names of fields in query text, and which fields they stand for."""

import pytest

from domain.errors import InvalidInput
from projections.search.language.text import parsed
from projections.search.tree import (
    Bool,
    Boosted,
    DisMax,
    Exact,
    Exists,
    Fuzzy,
    Phrase,
    Range,
    Regex,
    Term,
    Wildcard,
)
from tests.query_texts import parse

TIERS = "tags.tagFQN.keyword"


def owner(text: str) -> DisMax:
    return DisMax((Term("owners.name", text), Exact("owners.fullyQualifiedName.keyword", text)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("owner:ann", owner("ann")),
        ("owner:(ann OR ben)", Bool(should=(owner("ann"), owner("ben")))),
        (
            'domain:"Sales EU"',
            DisMax(
                (
                    Phrase("domains.name", "Sales EU"),
                    Exact("domains.fullyQualifiedName.keyword", "Sales EU"),
                )
            ),
        ),
        ('domain:"EU Sales"~2', Phrase("domains.name", "EU Sales", 2)),
        (
            "schema:shop.*",
            DisMax(
                (
                    Wildcard("databaseSchema.name", "shop.*"),
                    Wildcard("databaseSchema.fullyQualifiedName.keyword", "shop.*"),
                )
            ),
        ),
        (
            "column:email",
            DisMax(
                (
                    Term("columns.name", "email"),
                    Exact("columns.fullyQualifiedName", "email"),
                    Term("dataModel.columns.name", "email"),
                    Exact("dataModel.columns.fullyQualifiedName", "email"),
                )
            ),
        ),
        (
            "column:cust*",
            DisMax(
                (Wildcard("columns.name", "cust*"), Wildcard("dataModel.columns.name", "cust*"))
            ),
        ),
        ("service:shpo~1", Fuzzy("service.name", "shpo", 1)),
        ("database:/s.*/", Regex("database.name", "s.*")),
        ("database:[a TO b]", Range("database.name", gte="a", lte="b")),
        ("owner:*", Exists("owners")),
        ("_exists_:owner", Exists("owners")),
        ("_exists_:column", DisMax((Exists("columns"), Exists("dataModel.columns")))),
        ("tag:PII", Term("tags.tagFQN", "PII")),
        ("tags:PII.Sensitive", Term("tags.tagFQN", "PII.Sensitive")),
        ("_exists_:tag", Exists("tags")),
        ("_exists_:tags", Exists("tags")),
        ("tier:Tier1", Exact(TIERS, "Tier.Tier1")),
        ("tier:tier.tier1", Exact(TIERS, "tier.tier1")),
        ('tier:"Tier1"', Exact(TIERS, "Tier.Tier1")),
        ("tier:*1", Wildcard(TIERS, "Tier.*1")),
        ("tier:*", Wildcard(TIERS, "Tier.*")),
        ("_exists_:tier", Wildcard(TIERS, "Tier.*")),
        ("tier:Tire1~1", Fuzzy(TIERS, "Tier.Tire1", 1)),
        ("tier:/tier[12]/", Regex(TIERS, r"tier\.(tier[12])")),
        # Some kind has these for a field.
        ("_exists_:schema", Exists("schema")),
        ("_exists_:service", Exists("service")),
        # With more behind them they are no short names.
        ("service.name:shop", Term("service.name", "shop")),
        ("tier.tagFQN:x", Term("tier.tagFQN", "x")),
    ],
)
def test_short_name_stands_for_the_fields_that_are_meant(text: str, expected: object) -> None:
    assert parse(text) == expected


def test_tiers_have_no_ranges() -> None:
    with pytest.raises(InvalidInput, match="tier is found by names of tiers, and has no ranges at"):
        parse("tier:[Tier1 TO Tier2]")


def test_short_name_is_shown_as_it_is_written() -> None:
    assert parsed("owner:ann").written == Term("owner", "ann")


def test_text_is_kept_as_it_is_written_beside_what_it_means() -> None:
    both = parsed("(owner:ann OR version:1)^2 -tier:Gold")
    assert both.node == parse("(owner:ann OR version:1)^2 -tier:Gold")
    assert both.written != both.node
    either = Bool(should=(Term("owner", "ann"), Term("version", "1")))
    assert both.written == Bool(must=(Boosted(either, 2.0),), must_not=(Term("tier", "Gold"),))
    assert not both.plain
