"""Nesting is counted by brackets that are no part of a text."""

import pytest

from domain.json_nesting import deeper_than


@pytest.mark.parametrize(
    ("data", "limit", "at"),
    [
        (b'{"a": [1]}', 2, None),
        (b'{"a": [1]}', 1, 6),
        (b'["[[[[", {}]', 2, None),
        (b'["\\"[[[", {}]', 1, 10),
        (b"[][][]", 1, None),
        (b"[" * 100_000, 64, 64),
        (b"]]]", 0, None),
    ],
)
def test_deeper_than_finds_the_first_bracket_below_the_limit(
    data: bytes, limit: int, at: int | None
) -> None:
    assert deeper_than(data, limit) == at
