"""The query strings of lists, apart from the cursors that their pages differ by."""

import pytest

from api.declaring.declared_query import DeclaredQuery, query, split_cursor
from domain.errors import InvalidInput


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


@pytest.mark.parametrize(
    ("given", "wrong"),
    [(b"q=%ff%fe", "%FF"), (b"q=a+%ED%A0%80", "%ED"), (b"%C3=1&q=%c3%28", "%C3")],
)
def test_bytes_that_are_no_text_are_refused(given: bytes, wrong: str) -> None:
    declared = DeclaredQuery({"q": query(str, "Words.", "")})
    with pytest.raises(InvalidInput, match=f"q must be UTF-8, but {wrong} in it"):
        declared.values({"query_string": given, "path": "/v1/search/query"})
    for others in (b"", b"%C3=%ff&"):
        asked = {"query_string": others + b"q=%C3%A9+%2B", "path": "/"}
        assert declared.values(asked) == {"q": "é +"}
