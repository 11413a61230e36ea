"""Two versions of an entity side by side: parts aligned by name, words marked, the rest folded."""

import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, Literal

import msgspec
from msgspec import Raw

from api.pages.frame.documents import formatted
from domain.errors import cut
from domain.patches import json_diff
from domain.reading import changes

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
    """`folded` stands for a part that both texts have and that is not shown."""
    text: str
    """The text; of a folded part the number of its words."""


Marked = tuple[Piece, ...]


def mark(old: str, new: str) -> tuple[Marked, Marked]:
    """The pieces of both texts in their order; if too much differs, all of both texts is marked."""
    olds, news = _word.findall(old), _word.findall(new)
    common = _common(olds, news) if len(olds) + len(news) <= MOST_WORDS else None
    if common is None or not _are_kindred(olds, news, common):
        return whole(old), whole(new)
    return _pieces(olds, [pair[0] for pair in common]), _pieces(news, [pair[1] for pair in common])


def whole(text: str) -> Marked:
    """A text as one marked piece; no piece for an empty text."""
    return (Piece("changed", text),) if text else ()


def _are_kindred(old: list[str], new: list[str], common: list[tuple[int, int]]) -> bool:
    """Return True if marks help, as texts have a third of the shorter one's words in common."""
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
    """Place in the old and in the new text of each word in runs, ascending."""
    places: list[tuple[int, int]] = []
    while runs:
        run, diagonal, runs = runs
        places += ((place, place - diagonal) for place in reversed(run))
    return places[::-1]


def _pieces(words: list[str], kept: list[int]) -> Marked:
    """Put words together to pieces; words at the places in `kept` are in the other text too."""
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


MOST_ROWS = 100
"""Rows of one page."""
MOST_CHARACTERS = 200_000
"""Characters of the texts of one page; the row that reaches them is its last."""
MOST_TEXT = 20_000
"""Characters of one text."""
MOST_VALUES = 150_000
"""Commas and opening brackets of what a key holds in both versions, so that comparing it takes
less than 50 MB; see domain.patches.json_input."""
_NAMES_SHOWN = 40
_NOT_COMPARED = ("id", "version", "updatedAt", "updatedBy")

Sort = Literal["added", "updated", "deleted", "same"]


class Row(msgspec.Struct, frozen=True):
    """A line of the comparison."""

    key: str
    """The key of the entity in which the versions are compared."""
    sort: Sort
    label: str
    """The dotted path or the name of the part that is compared."""
    old: str = ""
    new: str = ""
    names: tuple[str, ...] = ()
    """Some names of the parts that are alike in both versions."""
    count: int = 0
    """Number of parts in this row."""

    def marked(self) -> tuple[Marked, Marked]:
        """The old and the new text, with marks on what differs."""
        if self.sort == "updated":
            return mark(self.old, self.new)
        return whole(self.old), whole(self.new)


def compare(old: Mapping[str, Raw], new: Mapping[str, Raw]) -> Iterator[Row]:
    """The rows for what differs of two versions, key by key, in the order of the newer one.

    Parts between that are alike are one row. One key is decoded at a time; for a key of more than
    MOST_VALUES, a row only says that it differs.
    """
    for key in dict.fromkeys((*new, *old)):
        raws = [version[key] for version in (old, new) if key in version]
        if key in _NOT_COMPARED or (len(raws) == 2 and raws[0] == raws[1]):
            continue
        if sum(map(_values, raws)) > MOST_VALUES:
            sort: Sort = "updated" if len(raws) == 2 else "added" if key in new else "deleted"
            yield Row(key, sort, key, _uncompared(old.get(key)), _uncompared(new.get(key)))
            continue
        one, other = (
            {key: msgspec.json.decode(each[key])} if key in each else {} for each in (old, new)
        )
        if one == other:
            continue
        if _is_named(one.get(key, [])) and _is_named(other.get(key, [])):
            yield from _parts(key, one.get(key) or [], other.get(key) or [])
        else:
            yield from _fields(key, key, changes.differences(one, other))


def alike(old: Mapping[str, Raw], new: Mapping[str, Raw]) -> list[str]:
    """The keys that both versions have with the same values."""
    return [key for key in new if key in old and old[key] == new[key] and key not in _NOT_COMPARED]


def page_of(rows: Iterator[Row], start: int) -> tuple[list[Row], int, int | None]:
    """The rows of a page from row `start` on, the number of all that differ, and the next start."""
    shown: list[Row] = []
    total = characters = 0
    following = None
    for number, row in enumerate(rows):
        total += row.sort != "same"
        if number < start or following is not None:
            continue
        if len(shown) == MOST_ROWS or characters >= MOST_CHARACTERS:
            following = number
            continue
        shown.append(row)
        characters += len(row.old) + len(row.new)
    return shown, total, following


def _values(raw: Raw) -> int:
    """A number of values that a JSON text does not exceed, and that no short text exceeds."""
    text = bytes(raw)
    return text.count(b",") + text.count(b"{") + text.count(b"[")


def _uncompared(raw: Raw | None) -> str:
    return "" if raw is None else f"{len(bytes(raw)):,} bytes, too many values to be compared"


def _is_named(value: Any) -> bool:
    return isinstance(value, list) and json_diff.identities(value) is not None


def _parts(key: str, old: list[Any], new: list[Any]) -> Iterator[Row]:
    """The rows of two lists of named parts, in the order of the newer list.

    A part that only the older list has comes where it stood there.
    """
    old_ids, new_ids = json_diff.identities(old) or [], json_diff.identities(new) or []
    before, after = dict(zip(old_ids, old, strict=True)), dict(zip(new_ids, new, strict=True))
    parts = before | after
    gone: dict[str | None, list[str]] = {None: []}
    previous = None
    for identity in old_ids:
        if identity in after:
            previous = identity
        else:
            gone.setdefault(previous, []).append(identity)
    order = [*gone[None], *(part for each in new_ids for part in (each, *gone.get(each, ())))]
    for alike, group in groupby(order, lambda each: before.get(each) == after.get(each)):
        names = {each: _name(parts[each], each) for each in group}
        if alike:
            shown = tuple(names.values())[:_NAMES_SHOWN]
            yield Row(key, "same", "", names=shown, count=len(names))
            continue
        for identity, name in names.items():
            if identity not in after:
                yield Row(key, "deleted", name, old=_part_text(before[identity]))
            elif identity not in before:
                yield Row(key, "added", name, new=_part_text(after[identity]))
            else:
                difference = changes.differences(before[identity], after[identity])
                yield from _fields(key, name, difference)
    kept = [i for i in old_ids if i in after], [i for i in new_ids if i in before]
    if kept[0] != kept[1]:
        old_order, new_order = (
            _bounded("\n".join(_name(before[identity], identity) for identity in order))
            for order in kept
        )
        yield Row(key, "updated", "order", old_order, new_order)


def _fields(key: str, name: str, differences: Iterator[changes.FieldDifference]) -> Iterator[Row]:
    for each in differences:
        label = each.name if name == key else f"{name} · {each.name}"
        old = "" if each.sort == "added" else _text(each.old)
        new = "" if each.sort == "deleted" else _text(each.new)
        yield Row(key, each.sort, label, old, new)


def _name(part: Mapping[str, Any], identity: str) -> str:
    """The name of a part of an entity, for people."""
    for key in ("name", "tagFQN", "displayName"):
        if isinstance(name := part.get(key), str):
            return name
    return identity


def _part_text(part: Mapping[str, Any]) -> str:
    """A part that only one version has, in short."""
    described = part.get("dataTypeDisplay") or part.get("dataType") or part.get("labelType")
    said = [described, part.get("constraint"), part.get("description")]
    return _bounded("\n".join(str(each) for each in said if each)) or _text(part)


def _text(value: Any) -> str:
    """A value as people read it: a text as it is, anything else as JSON."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return _bounded(formatted(value, MOST_TEXT + 1))


def _bounded(text: str) -> str:
    return cut(text, MOST_TEXT)
