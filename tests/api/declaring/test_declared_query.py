"""The query strings of lists, apart from the cursors that their pages differ by."""

import pytest

from api.declaring.declared_query import split_cursor


@pytest.mark.parametrize("cursor", ["after", "before"])
def test_a_cursor_at_the_end_is_split_off(cursor: str) -> None:
    query = f"limit=10&fields=owners&{cursor}=AbC-_9".encode()
    assert split_cursor(query) == (b"limit=10&fields=owners", {cursor: "AbC-_9"})
    assert split_cursor(f"{cursor}=AbC-_9".encode()) == (b"", {cursor: "AbC-_9"})


@pytest.mark.parametrize(
    "query",
    [
        b"",
        b"limit=10",
        b"after=AbC&limit=10",
        b"limit=10&after=",
        b"limit=10&after=AbC%3D",
        b"limit=10&after=AbC=",
        b"before=AbC&limit=10&after=AbC",
        b"limit=10&after=AbC&after=AbC",
        b"a%66ter=AbC&limit=10&after=AbC",
        b"limit=10&thereafter=AbC",
    ],
)
def test_any_other_query_is_left_whole(query: bytes) -> None:
    assert split_cursor(query) == (query, {})
