"""Versions that announce changes."""

import pytest

from domain.contracts.changes.rules import Bump
from domain.contracts.changes.versions import announces, highest


@pytest.mark.parametrize(
    ("before", "after", "bump", "expected"),
    [
        ("1.2.3", "1.2.3", Bump.NONE, True),
        ("1.2.3", "1.2.4", Bump.PATCH, True),
        ("1.2.3", "1.2.3", Bump.PATCH, False),
        ("1.2.3", "1.2.4", Bump.MINOR, False),
        ("1.2.3", "1.3.0", Bump.MINOR, True),
        ("1.2.3", "1.9.9", Bump.MAJOR, False),
        ("1.2.3", "2.0.0", Bump.MAJOR, True),
        ("2.0.0", "1.0.0", Bump.MAJOR, False),
        ("0.2.3", "0.2.4", Bump.MAJOR, False),
        ("0.2.3", "0.3.0", Bump.MAJOR, True),
        ("v1", "v2", Bump.MAJOR, True),
        ("1.0.0", "2.0.0-rc.1+build", Bump.MAJOR, True),
        (1.0, 2, Bump.MAJOR, True),
        (None, "1.0.0", Bump.MAJOR, True),
        ("once", "0.1.0", Bump.MAJOR, True),
        (None, "0.0.1", Bump.MAJOR, False),
        ("1.0.0", None, Bump.MAJOR, False),
        ("1.0.0", "two", Bump.MAJOR, False),
        ("1.0.0", ["2"], Bump.MAJOR, False),
        ("1.0.0", "٢.0.0", Bump.MAJOR, False),
        ("1.0.0", "9" * 5_000, Bump.MAJOR, False),
    ],
)
def test_a_version_announces_what_it_rises_by(
    before: object, after: object, bump: Bump, expected: bool
) -> None:
    assert announces(before, after, bump) is expected


def test_the_highest_version_is_that_of_the_greatest_numbers() -> None:
    assert highest(["1.2.0", "once", None, "v1.10", 1.9, {"a": 1}]) == "v1.10"
    assert highest(["once", None]) is None
