"""Cursors are opaque, bound to their list and direction, and never half-understood."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import InvalidInput
from domain.kinds.ids import new_id
from projections.entities.cursors import Place, decode, encode, is_pinned, position_of

names = st.text(st.characters(codec="utf-8", min_codepoint=32), min_size=1, max_size=256)


positions = st.none() | st.integers(0, 2**63 - 1)


@given(name=names, inclusive=st.booleans(), backward=st.booleans(), position=positions)
def test_cursor_round_trips_every_place(
    name: str, inclusive: bool, backward: bool, position: int | None
) -> None:
    place = Place(name, new_id(), inclusive)

    cursor = encode(place, "list", backward=backward, position=position).decode()

    assert decode(cursor, "list", backward=backward) == (place, position)
    assert (position_of(cursor), is_pinned(cursor)) == (position, position is not None)


@given(
    text=st.text(max_size=200)
    | st.binary(max_size=100).map(lambda b: b.decode("latin-1"))
    | st.text("AE=_", min_size=10, max_size=50)
)
def test_cursor_of_any_text_is_refused(text: str) -> None:
    position = position_of(text)
    assert position is None or is_pinned(text)
    with pytest.raises(InvalidInput):
        decode(text, "list", backward=False)


@given(name=names, data=st.data())
def test_cursor_with_one_changed_character_is_refused(name: str, data: st.DataObject) -> None:
    cursor = encode(Place(name, new_id()), "list", backward=False).decode()
    at = data.draw(st.integers(0, len(cursor) - 1))
    letter = data.draw(st.sampled_from("abcXYZ019-_").filter(lambda c: c != cursor[at]))

    with pytest.raises(InvalidInput):
        decode(cursor[:at] + letter + cursor[at + 1 :], "list", backward=False)


@pytest.mark.parametrize("cut", [0, 1, 5, 20, -1])
def test_cursor_truncated_is_refused(cut: int) -> None:
    cursor = encode(Place("orders", new_id()), "list", backward=False).decode()

    with pytest.raises(InvalidInput, match="not a cursor of this list"):
        decode(cursor[:cut], "list", backward=False)


def test_cursor_of_another_list_is_refused() -> None:
    cursor = encode(Place("orders", new_id()), "tables", backward=False).decode()

    with pytest.raises(InvalidInput, match="not a cursor of this list"):
        decode(cursor, "contracts", backward=False)


def test_cursor_of_the_other_direction_is_refused_by_name() -> None:
    cursor = encode(Place("orders", new_id()), "list", backward=False).decode()

    with pytest.raises(InvalidInput, match="before holds a cursor that belongs into after"):
        decode(cursor, "list", backward=True)
