"""Regular expressions over single terms: the subset that Lucene users know, in linear time.

Alternatives, groups, classes, `.`, `* + ? {n,m}`, `\\d`, `\\w` and `\\s`; they match whole terms,
lower-cased.
"""

from domain.errors import InvalidInput
from projections.search.language.patterns import (
    ANY,
    MAX_PATTERN,
    Automaton,
    Builder,
    CharSet,
    lower,
    single,
)

_MAX_REPEAT = 255
_RESERVED = "~&@<>#^$"
_CLASSES = {"d": "0-9", "w": "a-z0-9_", "s": " \t\n\r\f\v"}
_MAX_GROUPS = 20


def regex(pattern: str) -> Automaton:
    """The automaton of a regular expression; InvalidInput names what is wrong and where."""
    if len(pattern) > MAX_PATTERN:
        raise InvalidInput(
            f"regular expression {pattern[:40]!r}... has over {MAX_PATTERN} characters"
        )
    parser = _Parser(pattern, "regular expression")
    parser.alternatives()
    if parser.at < len(pattern):
        raise parser.error("unbalanced ')'")
    return parser.done()


class _Parser(Builder):
    """Recursive descent; a repeated piece is parsed again for each copy."""

    def peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def alternatives(self) -> None:
        entry = len(self.free) - 1
        ends: list[int] = []
        while True:
            start = self.state()
            self.free[entry].append(start)
            while self.peek() not in ("", "|", ")"):
                self.repeated()
            ends.append(len(self.free) - 1)
            if self.peek() != "|":
                break
            self.at += 1
        after = self.state()
        for end in ends:
            self.free[end].append(after)

    def repeated(self) -> None:
        begin = self.at
        entry = len(self.free) - 1
        self.atom()
        end = self.at
        low, high = self.quantifier()
        if (low, high) == (1, 1):
            return
        resume = self.at
        if low == 0:
            low = 1
            skip_from: int | None = entry
        else:
            skip_from = None
        for _ in range(low - 1):
            entry = self._again(begin, end)
        last = len(self.free) - 1
        if high is None:
            self.free[last].append(entry)
        ends = [last]
        for _ in range((high or low) - low):
            self._again(begin, end)
            ends.append(len(self.free) - 1)
        after = self.state()
        for state in ends:
            self.free[state].append(after)
        if skip_from is not None:
            self.free[skip_from].append(after)
        self.at = resume

    def _again(self, begin: int, end: int) -> int:
        here = len(self.free) - 1
        entry = self.state()
        self.free[here].append(entry)
        self.at = begin
        self.atom()
        assert self.at == end
        return entry

    def quantifier(self) -> tuple[int, int | None]:
        sign = self.peek()
        bounds: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        if sign in bounds and sign:
            self.at += 1
            found = bounds[sign]
        elif sign == "{":
            found = self._braces()
        else:
            return 1, 1
        if self.peek() in ("*", "+", "?", "{") and self.peek():
            raise self.error("a second quantifier")
        return found

    def _braces(self) -> tuple[int, int | None]:
        start = self.at
        close = self.pattern.find("}", start)
        low, comma, high = self.pattern[start + 1 : max(close, start)].partition(",")
        numbers = [text for text in (low, high) if text]
        if close < 0 or not low or not all(n.isascii() and n.isdigit() for n in numbers):
            raise self.error("a quantifier is {n}, {n,} or {n,m}")
        if any(len(n) > 3 or int(n) > _MAX_REPEAT for n in numbers):
            raise self.error(f"a quantifier above {_MAX_REPEAT}")
        self.at = close + 1
        upper = None if comma and not high else int(high or low)
        if upper is not None and (upper < int(low) or upper == 0):
            raise self.error("a quantifier's bounds are the wrong way round", start)
        return int(low), upper

    def atom(self) -> None:
        character = self.peek()
        if character == "(":
            self._group()
            return
        if character in ("*", "+", "?", "{"):
            raise self.error(f"nothing to repeat before {character!r}")
        if character in _RESERVED:
            raise self.error(f"{character!r} is not supported, escape it to mean the character")
        self.at += 1
        if character == ".":
            self.take(ANY)
        elif character == "[":
            self.take(self._class())
        elif character == "\\":
            self.take(self._escaped())
        else:
            self.take(single(character))

    def _group(self) -> None:
        opened = self.at
        self.at += 1
        self.depth += 1
        if self.depth > _MAX_GROUPS:
            raise self.error("groups are nested too deeply")
        self.alternatives()
        if self.peek() != ")":
            raise self.error("unbalanced '('", opened)
        self.depth -= 1
        self.at += 1

    def _escaped(self) -> CharSet:
        character = self.peek()
        if not character:
            raise self.error("nothing after the backslash")
        self.at += 1
        if character.lower() in _CLASSES:
            return _char_set(_CLASSES[character.lower()], character.isupper())
        if character.isascii() and character.isalnum():
            raise self.error(f"unknown escape \\{character}", self.at - 2)
        return single(character)

    def _class(self) -> CharSet:
        opened = self.at - 1
        negated = self.peek() == "^"
        self.at += negated
        single: set[str] = set()
        ranges: list[tuple[str, str]] = []
        while self.peek() != "]" or not (single or ranges):
            low = self._class_character(opened)
            if self.peek() == "-" and self.pattern[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                high = self._class_character(opened)
                if high < low:
                    raise self.error(f"range {low}-{high} is the wrong way round", opened)
                ranges.append((low, high))
            else:
                single.add(low)
        self.at += 1
        return negated, frozenset(single), tuple(ranges)

    def _class_character(self, opened: int) -> str:
        if self.peek() == "\\":
            self.at += 1
        character = self.peek()
        if not character:
            raise self.error("unbalanced '['", opened)
        self.at += 1
        return lower(character)


def _char_set(spec: str, negated: bool) -> CharSet:
    single, ranges, at = set(), [], 0
    while at < len(spec):
        if spec[at + 1 : at + 2] == "-":
            ranges.append((spec[at], spec[at + 2]))
            at += 3
        else:
            single.add(spec[at])
            at += 1
    return negated, frozenset(single), tuple(ranges)
