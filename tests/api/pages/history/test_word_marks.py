"""Words that differ are marked, whatever the texts, within bounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.pages.history.comparison import MOST_DIFFERENCES, Marked, Piece, mark

WORDS = st.lists(st.sampled_from("abc."), max_size=12).map(" ".join)


def text(marked: Marked, *sorts: str) -> str:
    return "".join(piece.text for piece in marked if piece.sort in sorts)


@given(WORDS, WORDS)
def test_texts_are_whole_and_what_is_not_marked_is_in_both(old: str, new: str) -> None:
    before, after = mark(old, new)

    assert (text(before, "same", "changed"), text(after, "same", "changed")) == (old, new)
    assert text(before, "same") == text(after, "same")


def test_one_word_is_marked() -> None:
    assert mark("a red car", "a blue car") == (
        (Piece("same", "a "), Piece("changed", "red"), Piece("same", " car")),
        (Piece("same", "a "), Piece("changed", "blue"), Piece("same", " car")),
    )


def test_long_runs_are_folded() -> None:
    run = " ".join(f"w{number}" for number in range(100))

    before, after = mark(f"{run} old", f"{run} new")

    assert [piece.sort for piece in before] == ["same", "folded", "same", "changed"]
    assert before[:3] == after[:3]
    kept = len(text(before, "same").split())
    assert int(before[1].text) + kept == 100


def test_texts_with_little_in_common_are_marked_whole() -> None:
    old, new = "what the shop knows of people is here", "the average price in dollars of sales"

    assert mark(old, new) == ((Piece("changed", old),), (Piece("changed", new),))


@pytest.mark.parametrize("words", [MOST_DIFFERENCES, 50_000])
def test_texts_that_differ_too_much_are_marked_whole(words: int) -> None:
    old, new = "a " * words, "b " * words

    assert mark(old, new) == ((Piece("changed", old),), (Piece("changed", new),))
