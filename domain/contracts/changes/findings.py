"""The list of changes while it is made, and the walk over the keys of two mappings."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from domain.contracts.changes.rules import RULES, Change, Path
from domain.contracts.data_types import Relation
from domain.errors import cut

_LONGEST = 300
"""Characters of a value that a change shows."""
_encoder = json.JSONEncoder(ensure_ascii=False)
_NOTHING: tuple[Any, ...] = (None, [], {})
"""Values that say no more than an absent key."""


class Findings:
    """The changes between two versions that have been found so far."""

    def __init__(self, *, exact: bool, place: tuple[str, ...] = ()) -> None:
        self.exact = exact
        """True if every other spelling of a type is another type."""
        self.changes: list[Change] = []
        self.place = place
        """The place of the next changes; see `Change.place`."""

    def within(self, name: str) -> "Findings":
        """Findings that add to the same list, for changes inside an object or column."""
        inner = Findings(exact=self.exact, place=(*self.place, name))
        inner.changes = self.changes
        return inner

    def add(self, word: str, path: Path, before: Any = None, after: Any = None) -> None:
        """Record a change by the word of its rule."""
        self.changes.append(Change(RULES[word], path, self.place, _shown(before), _shown(after)))


Moves = Mapping[Relation, str]
"""Relation of what is allowed now to what was allowed -> word."""
Grade = Callable[[Findings, Path, Any, Any], None]
"""Function of findings, path, old and new value: adds the changes of the value to the findings."""
Grades = Mapping[str, str | Grade]
"""Key of a mapping -> the word for its changes, or what finds them."""


def moves(wider: str, narrower: str, unrelated: str) -> Moves:
    """The word for each relation of new limits to old ones; `restated` for the same limits."""
    return {
        Relation.SAME: "restated",
        Relation.WIDER: wider,
        Relation.NARROWER: narrower,
        Relation.UNRELATED: unrelated,
    }


def differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield each key whose values differ, with both values; None for a value that says nothing."""
    for key in dict.fromkeys((*old, *new)):
        before, after = old.get(key), new.get(key)
        if before is not after and before != after:
            before, after = or_none(before), or_none(after)
            if before is not after:
                yield key, before, after


def or_none(value: Any) -> Any:
    """Return the value, or None for a value that says no more than an absent key."""
    return None if value in _NOTHING else value


def compare_keys(
    findings: Findings,
    path: Path | None,
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    grades: Grades,
    other: str = "other.changed",
) -> None:
    """Find the changes of two mappings key by key; `other` is the word for keys not in `grades`."""
    for key, before, after in differing(old, new):
        grade = grades.get(key, other)
        if isinstance(grade, str):
            findings.add(grade, Path(key, path), before, after)
        else:
            grade(findings, Path(key, path), before, after)


def named(elements: Any, name_of: Callable[[dict[str, Any]], Any]) -> dict[str, dict[str, Any]]:
    """The mappings of a list, each under a name of its own.

    The place in the list, as `[3]`, is put behind a name that is missing, or that an earlier
    mapping has already; and again, as long as another mapping has the result.
    """
    listed = enumerate(elements if isinstance(elements, list) else ())
    mappings = [(place, each) for place, each in listed if isinstance(each, dict)]
    names = [str(name_of(each) or "") for _, each in mappings]
    taken, held = {*names}, dict[str, dict[str, Any]]()
    for name, (place, each) in zip(names, mappings, strict=True):
        unique = name
        while not unique or unique in held or (unique != name and unique in taken):
            unique = f"{unique}[{place}]"
        held[unique] = each
    return held


def compare_lists(
    findings: Findings,
    path: Path,
    lists: tuple[Any, Any],
    name_of: Callable[[dict[str, Any]], Any],
    compare: Grade,
) -> None:
    """Find the changes of the mappings of two lists, which are matched by name.

    `compare` is given each pair that differs, with None for the one that is not there.
    """
    before, after = (named(each, name_of) for each in lists)
    for name in dict.fromkeys((*before, *after)):
        if (old := before.get(name)) != (new := after.get(name)):
            compare(findings, Path(name, path), old, new)
    compare_strays(findings, path, *lists)


def member(removed: str, added: str, grades: Grades, other: str = "other.changed") -> Grade:
    """Grades an element of a list: it has come, has gone, or its keys have changed."""

    def grade(findings: Findings, path: Path, old: Any, new: Any) -> None:
        if old is None or new is None:
            findings.add(removed if new is None else added, path, old, new)
        else:
            compare_keys(findings, path, old, new, grades, other)

    return grade


def compare_strays(findings: Findings, path: Path, old: Any, new: Any) -> None:
    """Find changes of what is no mapping in lists, or no list: no rule knows it."""
    if _strays(old) != _strays(new):
        findings.add("other.changed", path, old, new)


def flag(removed: str, added: str) -> Grade:
    """Grades a value that is false where it is absent."""

    def grade(findings: Findings, path: Path, before: Any, after: Any) -> None:
        was, is_ = (_is_set(each) for each in (before, after))
        if was is None or is_ is None:
            findings.add("other.changed", path, before, after)
        else:
            word = "restated" if was == is_ else added if is_ else removed
            findings.add(word, path, before, after)

    return grade


def presence(removed: str, added: str, changed: str) -> Grade:
    """Grades a value by whether it has come, has gone, or is another one."""

    def grade(findings: Findings, path: Path, before: Any, after: Any) -> None:
        word = added if before is None else removed if after is None else changed
        findings.add(word, path, before, after)

    return grade


def _strays(elements: Any) -> list[Any]:
    if isinstance(elements, list):
        return [each for each in elements if not isinstance(each, dict)]
    return [] if elements is None else [elements]


def _is_set(value: Any) -> bool | None:
    """The boolean that a value is or writes, False for None; None for any other value."""
    if value is None or isinstance(value, bool):
        return bool(value)
    return {"true": True, "false": False}.get(str(value).lower())


def _shown(value: Any) -> Any:
    """A value for a change: lists and mappings as JSON, long texts cut, large numbers as texts."""
    if isinstance(value, dict | list):
        # Piece by piece: of a large value no more is written than is shown.
        pieces, text = _encoder.iterencode(value), ""
        while len(text) <= _LONGEST and (piece := next(pieces, None)) is not None:
            text += piece
        value = text
    elif isinstance(value, int) and abs(value) >= 2**63:
        value = str(value)
    return cut(value, _LONGEST) if isinstance(value, str) else value
