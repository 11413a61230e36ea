"""Regular expressions over names: what they match, how they are bounded, what is refused."""

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from domain.errors import InvalidInput
from domain.kinds import names
from domain.kinds.registry import KINDS
from projections.entities.name_filters import NameFilter, name_filter

TABLE = KINDS["table"]
part = st.text("ab.\"'", min_size=1, max_size=4)


def made(kind: str = "table", *, exclude: bool = False, **patterns: str) -> NameFilter:
    wanted = name_filter(KINDS[kind], patterns, exclude=exclude)
    assert wanted is not None
    return wanted


def test_no_pattern_is_no_filter() -> None:
    assert name_filter(TABLE, {}) is None
    assert name_filter(TABLE, {"tableRegex": ""}, exclude=True) is None


@pytest.mark.parametrize(
    ("kind", "parameter", "matched"),
    [
        ("table", "tableRegex", "orders"),
        ("table", "databaseSchemaRegex", "shop"),
        ("table", "databaseRegex", "sales"),
        ("databaseSchema", "databaseSchemaRegex", "shop"),
        ("databaseSchema", "databaseRegex", "sales"),
        ("database", "databaseRegex", "sales"),
    ],
)
def test_parameter_is_about_one_name(kind: str, parameter: str, matched: str) -> None:
    depth = ["database", "databaseSchema", "table"].index(kind)
    fqn = ".".join(["mysql", "sales", "shop", "orders"][: 2 + depth])

    assert made(kind, **{parameter: f"^{matched}$"}).admits(fqn)
    assert not made(kind, **{parameter: "mysql"}).admits(fqn)


@given(st.lists(part, min_size=4, max_size=4))
def test_name_is_matched_as_it_is_and_qualified_name_as_it_is_written(given: list[str]) -> None:
    fqn = names.join(given)
    for depth, parameter in enumerate(("tableRegex", "databaseSchemaRegex", "databaseRegex")):
        name, above = given[-1 - depth], names.join(given[: 4 - depth])
        literal, qualified = f"^{re2.escape(name)}$", f"^{re2.escape(above)}$"
        assert made(**{parameter: literal}).admits(fqn)
        by_fqn = name_filter(TABLE, {parameter: qualified}, by_fqn=True)
        assert by_fqn is not None
        assert by_fqn.admits(fqn)


def test_of_several_patterns_each_decides() -> None:
    both = {"tableRegex": "^dim_", "databaseSchemaRegex": "shop"}

    assert made(**both).admits("s.d.shop.dim_a")
    assert not made(**both).admits("s.d.shop.fact_a")
    assert not made(**both).admits("s.d.hr.dim_a")
    assert made(exclude=True, **both).admits("s.d.hr.fact_a")
    assert not made(exclude=True, **both).admits("s.d.hr.dim_a")


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(", "missing ): ("),
        ("[a", "missing ]: [a"),
        ("a**b{", "bad repetition operator: **"),
        ("(?!temp).*", "invalid perl operator: (?!"),
        (r"(a)\1", r"invalid escape sequence: \1"),
        ("a{2000}", "invalid repetition size: {2000}"),
    ],
)
def test_what_re2_does_not_take_is_refused(pattern: str, reason: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        made(tableRegex=pattern)

    expected = f"tableRegex: {pattern!r} is not a regular expression that RE2 takes: {reason}"
    assert str(refused.value) == expected


def test_patterns_are_bounded() -> None:
    with pytest.raises(InvalidInput, match="tableRegex has over 4096 characters"):
        made(tableRegex="a" * 4_097)
    with pytest.raises(InvalidInput, match="what it repeats makes it too large"):
        made(tableRegex="((a.b.c{9}){9}){9}" * 15)
    assert made(tableRegex="a" * 4_096).size > 4_000


def test_work_of_a_list_is_bounded() -> None:
    wanted = made(tableRegex="orders", databaseRegex="sales")
    wanted = replace(wanted, most_work=10 * wanted.size)

    assert wanted.cost(10) == 10 * (10 + wanted.size // 8)
    with pytest.raises(InvalidInput) as refused:
        wanted.cost(11)
    assert str(refused.value) == (
        "tableRegex, databaseRegex: too large for the names of 11 entities; shorten the regular"
        " expression, or narrow the list by another filter as well"
    )
