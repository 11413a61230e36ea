"""Two texts beside each other with the words marked that only one of them has.

The words are compared by Myers' algorithm ("An O(ND) Difference Algorithm and Its Variations"),
whose work grows with the number of differences alone, so that it can be given up in time. That of
difflib cannot, and takes a second for 4,000 words that differ.
"""

import re
from typing import Any, Literal

import msgspec

MOST_DIFFERENCES = 150
"""Words that differ beyond which two texts are no longer compared word by word."""
MOST_WORDS = 20_000
CONTEXT_WORDS = 60
"""Longer runs that both texts have are shown by their ends."""
_KEPT_WORDS = 20
"""Words shown at each end of such a run."""

_word = re.compile(r"\w+|\s+|[^\w\s]")


class Piece(msgspec.Struct, frozen=True):
    """A part of a text, and how it stands to the other text."""

    sort: Literal["same", "changed", "folded"]
    """Folded is a part that both have and that is not shown."""
    text: str
    """Of a folded part, how many words it has."""


Marked = tuple[Piece, ...]


def mark(old: str, new: str) -> tuple[Marked, Marked]:
    """The pieces of both texts in their order; where too much differs, all of them is marked."""
    olds, news = _word.findall(old), _word.findall(new)
    common = _common(olds, news) if len(olds) + len(news) <= MOST_WORDS else None
    if common is None or not _are_kindred(olds, news, common):
        return whole(old), whole(new)
    return _pieces(olds, [pair[0] for pair in common]), _pieces(news, [pair[1] for pair in common])


def whole(text: str) -> Marked:
    """A text of which all is marked."""
    return (Piece("changed", text),) if text else ()


def _are_kindred(old: list[str], new: list[str], common: list[tuple[int, int]]) -> bool:
    """Whether texts have so much in common that marks help: a third of the shorter one's words."""
    kept = sum(not old[place].isspace() for place, _ in common)
    shorter = min(sum(not word.isspace() for word in words) for words in (old, new))
    return 3 * kept >= shorter


def _common(old: list[str], new: list[str]) -> list[tuple[int, int]] | None:
    """The places of a longest sequence of words that both have; None when too much differs.

    A diagonal is the place in `old` minus that in `new`; `furthest` has how far in `old` one comes
    on each diagonal with so many differences, and the runs of common words on the way there, the
    last of them first.
    """
    furthest: dict[int, tuple[int, Any]] = {1: (0, ())}
    for differences in range(min(len(old) + len(new), MOST_DIFFERENCES) + 1):
        for diagonal in range(-differences, differences + 1, 2):
            down = diagonal == -differences or (
                diagonal != differences and furthest[diagonal - 1][0] < furthest[diagonal + 1][0]
            )
            start, runs = furthest[diagonal + 1 if down else diagonal - 1]
            start += not down
            end = start
            while end < len(old) and end - diagonal < len(new) and old[end] == new[end - diagonal]:
                end += 1
            if end > start:
                runs = (range(start, end), diagonal, runs)
            furthest[diagonal] = end, runs
            if end >= len(old) and end - diagonal >= len(new):
                return _places(runs)
    return None


def _places(runs: Any) -> list[tuple[int, int]]:
    """The places in both texts of the words in runs."""
    places: list[tuple[int, int]] = []
    while runs:
        run, diagonal, runs = runs
        places += ((place, place - diagonal) for place in reversed(run))
    return places[::-1]


def _pieces(words: list[str], kept: list[int]) -> Marked:
    """The words as pieces; those at the places in `kept` are in the other text too."""
    pieces: list[Piece] = []
    common = set(kept)
    start = 0
    for place in range(1, len(words) + 1):
        if place == len(words) or (place in common) != (start in common):
            pieces += _run(words[start:place], same=start in common)
            start = place
    return tuple(pieces)


def _run(words: list[str], *, same: bool) -> list[Piece]:
    if not same:
        return [Piece("changed", "".join(words))]
    if len(words) <= CONTEXT_WORDS:
        return [Piece("same", "".join(words))]
    folded = words[_KEPT_WORDS:-_KEPT_WORDS]
    count = sum(1 for word in folded if not word.isspace())
    return [
        Piece("same", "".join(words[:_KEPT_WORDS])),
        Piece("folded", f"{count:,}"),
        Piece("same", "".join(words[-_KEPT_WORDS:])),
    ]
