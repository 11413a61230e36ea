"""The characters of a query text: where the parser is, what comes next, quotes and ranges."""

import re
from collections.abc import Mapping

from domain.errors import InvalidInput
from projections.search import tree
from projections.search.tree import Node

_SPACE = re.compile(r"\s*")
_BARE = re.compile(r"[^\s()^]+")
_LIMIT = r"(\"(?:[^\"\\]|\\.)*\"|[^\s\"\]}]+)"
_RANGE = re.compile(rf"\s*{_LIMIT}\s+TO\s+{_LIMIT}\s*([\]}}])")
_BEGUN = re.compile(rf"[\[{{]\s*{_LIMIT}\s+TO(?=[\s\]}}]|$)")
_COMPARISON = re.compile(r"([<>]=?)\s*(\"(?:[^\"\\]|\\.)*\"|[^\s()^<>=\"][^\s()^]*)")
_BOUNDS = {">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}


class Scanner:
    """`at` is the next character; `plain` turns False at the first operator."""

    def __init__(self, text: str, where: str) -> None:
        self.text = text
        self.where = where
        self.at = 0
        self.plain = True

    def error(self, why: str, at: int | None = None) -> InvalidInput:
        """The mistake with its column: that of the character `at`, or of the next one."""
        column = (self.at if at is None else at) + 1
        return InvalidInput(f"{self.where}: {why} at column {column}")

    def skip_space(self) -> None:
        """Pass over the spaces that stand here."""
        self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]

    def peek(self) -> str:
        """The next character; empty at the end."""
        return self.text[self.at : self.at + 1]

    def accept(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Match the pattern here and pass over the match as an operator; None if it fails."""
        match = pattern.match(self.text, self.at)
        if match:
            self.at = match.end()
            self.plain = False
        return match

    def quoted(self) -> str:
        """The text between the quotes that begin here, passed over; backslashes are taken off."""
        opened = self.at
        self.plain = False
        self.at += 1
        text = ""
        while (character := self.peek()) != '"':
            if character == "\\":
                self.at += 1
                character = self.peek()
            if not character:
                raise self.error("unbalanced '\"'", opened)
            text += character
            self.at += 1
        self.at += 1
        return text

    def bare(self) -> str:
        """The name that stands here without quotes, passed over; raises InvalidInput for none."""
        name = _BARE.match(self.text, self.at)
        if not name:
            raise self.error("a value is expected")
        self.at = name.end()
        return name[0].replace("\\", "")

    def number(self, text: str, limit: int, what: str, at: int) -> int:
        """The whole number that a text is; raises InvalidInput, calling it `what`, over `limit`."""
        if not (text.isascii() and text.isdigit()) or len(text) > 9 or int(text) > limit:
            raise self.error(f"{what} is a whole number from 0 to {limit}", at)
        return int(text)

    def begins_range(self) -> bool:
        """Return True if the text here reads as a range, whole or not."""
        return _BEGUN.match(self.text, self.at) is not None

    def range(self, field: str) -> Node:
        """The range of the field that stands here; raises InvalidInput where it is not whole."""
        start = self.at
        if comparison := self.accept(_COMPARISON):
            return _between(field, {_BOUNDS[comparison[1]]: comparison[2]})
        opening = self.peek()
        if opening not in ("[", "{"):
            raise self.error(f"a value is expected after '{field[:80]}:{opening}'", start)
        self.at += 1
        limits = self.accept(_RANGE)
        if not limits:
            raise self.error("a range is [low TO high], with { or } to leave a bound out", start)
        bounds = {
            "gte" if opening == "[" else "gt": limits[1],
            "lte" if limits[3] == "]" else "lt": limits[2],
        }
        return _between(field, bounds)


def _between(field: str, bounds: Mapping[str, str]) -> Node:
    """The range of bounds as typed, quoted or not; `*` leaves a side open."""
    given: dict[str, str] = {}
    for side, text in bounds.items():
        if text != "*":
            bare = text[1:-1] if text[0] == '"' else text
            given[side] = re.sub(r"\\(.)", r"\1", bare)
    return tree.Range(field, **given) if given else tree.Exists(field)
