"""Answers end where they are full, and tell what they leave out."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.mcp.answers import OVERHEAD, Cursors, Room, fill, short, text_of
from domain.errors import InvalidInput


@given(st.lists(st.text(max_size=300), max_size=60))
def test_every_row_is_on_one_page_and_no_page_is_larger_than_it_may_be(rows: list[str]) -> None:
    most = OVERHEAD + 1_000
    seen: list[str] = []
    place: int | None = 0
    while place is not None:
        shown, place = fill(Room(most), rows[place:], place)
        assert len(shown) == 1 or len(msgspec.json.encode(shown).decode()) <= 1_000 + 2
        seen += shown
        assert place is None or place == len(seen)
    assert seen == rows


def test_text_that_is_cut_tells_its_length_and_goes_on() -> None:
    written = "".join(chr(0x61 + n % 26) for n in range(10_000))
    parts = [text_of("description", written, start) for start in (0, 4_000, 8_000)]
    assert "".join(each.text for each in parts) == written
    assert [each.characters for each in parts] == [10_000] * 3
    assert text_of("description", "short").characters is msgspec.UNSET
    assert short("description", written, 10) == "abcdefghij… [10,000 characters]"


class Seals:
    """Seals that only the same purpose opens, as those of sessions."""

    def seal(self, purpose: str, value: bytes) -> str:
        return f"{purpose}|{value.hex()}"

    def open(self, purpose: str, text: str) -> tuple[bytes, bytes] | None:
        before, _, value = text.rpartition("|")
        return (bytes.fromhex(value), b"") if before == purpose else None

    def cursors(self, caller: str = "ann", tool: str = "list_columns", given: Any = "x") -> Cursors:
        return Cursors(self.seal, self.open, caller, tool, given)


def test_cursor_goes_on_for_the_same_call_alone() -> None:
    seals = Seals()
    cursor = seals.cursors().made(17, 100)
    assert isinstance(cursor, str)
    assert seals.cursors().read(cursor) == (17, 100)
    assert seals.cursors().made(17, None) is msgspec.UNSET
    for other in (
        seals.cursors(caller="bob"),
        seals.cursors(tool="get_lineage"),
        seals.cursors(given="y"),
    ):
        with pytest.raises(InvalidInput, match="another caller"):
            other.read(cursor)
