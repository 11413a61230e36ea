"""Regular expressions over single terms: the subset that Lucene users know, as RE2 runs it.

Alternatives, groups, classes, `.`, `* + ? {n,m}`, `\\d`, `\\w` and `\\s`; they match whole terms,
and letters without regard to case. What is not in the subset is refused by name and place, and
what is in it becomes the source of an expression of RE2, or of Lucene, character by character.
"""

import re
from collections.abc import Callable

import msgspec
import re2

from domain.errors import InvalidInput
from projections.search.analysis import fold
from projections.search.language.patterns import ANY, MAX_PATTERN, TermPattern

MAX_PROGRAM = 16_000
"""Instructions of a compiled expression; what RE2 does for a byte may grow with them."""
_MAX_REPEAT = 255
_MAX_GROUPS = 20
_RESERVED = "~&@<>#^$"
_QUANTIFIERS = "*+?{"
_CLASSES = {"d": "0-9", "w": "a-z0-9_", "s": " "}
"""The characters of terms in each class; each control is a space in terms."""
_ESCAPED = re.compile(r"(\\.)", re.DOTALL)
_MEANT_BY_LUCENE = re.compile(r"[^A-Za-z0-9_\x80-\U0010ffff]")


def lucene_escaped(text: str) -> str:
    """The regular expression of exactly this text, as Lucene reads it."""
    return _MEANT_BY_LUCENE.sub(lambda sign: "\\" + sign[0], text)


class _Dialect(msgspec.Struct, frozen=True):
    """The words with which the source of an expression is written."""

    escape: Callable[[str], str]
    any_character: str
    group: str
    """The opening of a group."""
    excluded: str
    """The characters that each negated class excludes beside its members."""
    nothing: str
    """The source of an empty alternative."""


_RE2 = _Dialect(re2.escape, ANY, "(?:", r"\n", "")
_LUCENE = _Dialect(lucene_escaped, ".", "(", "", "()")


def regex(pattern: str) -> TermPattern:
    """The terms that a regular expression means; InvalidInput says what is wrong with it."""
    if len(pattern) > MAX_PATTERN:
        raise InvalidInput(
            f"regular expression {pattern[:40]!r}... has over {MAX_PATTERN} characters"
        )
    made = TermPattern(_source(pattern, _RE2))
    try:
        fits = made.runs().programsize <= MAX_PROGRAM
    except re2.error:  # of what the parser makes, RE2 refuses nothing but the size
        fits = False
    if not fits:
        raise InvalidInput(
            f"regular expression {pattern[:80]!r}: the pattern is too large, as what it repeats "
            f"comes to more than RE2 takes (1,000 times, repetitions within repetitions multiplied)"
        )
    return made


def lucene(pattern: str) -> str:
    """The source of a regular expression for Lucene; raises InvalidInput as `regex` does."""
    regex(pattern)
    return _source(pattern, _LUCENE)


def _source(pattern: str, dialect: _Dialect) -> str:
    parser = _Parser(pattern, dialect)
    source = parser.alternatives()
    if parser.at < len(parser.text):
        raise parser.error("unbalanced ')'")
    return source


class _Parser:
    """Reads an expression by recursive descent and gives the source that means the same."""

    def __init__(self, pattern: str, dialect: _Dialect) -> None:
        self.text = "".join(
            part if part.startswith("\\") else fold(part) for part in _ESCAPED.split(pattern)
        )
        """The expression with its letters as terms have them; `at` is the next character."""
        self.at = 0
        self._pattern = pattern
        self._dialect = dialect
        self._depth = 0

    def error(self, why: str, at: int | None = None) -> InvalidInput:
        column = (self.at if at is None else at) + 1
        return InvalidInput(
            f"regular expression {self._pattern[:80]!r}: {why} at character {column}"
        )

    def alternatives(self) -> str:
        """The source of what stands up to the end, or up to a `)` that was not opened here."""
        branches = [""]
        while (character := self._peek()) not in ("", ")"):
            if character == "|":
                self.at += 1
                branches.append("")
            else:
                branches[-1] += self._atom() + self._quantifier()
        return "|".join(branch or self._dialect.nothing for branch in branches)

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _atom(self) -> str:
        character = self._peek()
        if character == "(":
            return self._group()
        if character in _QUANTIFIERS:
            raise self.error(f"nothing to repeat before {character!r}")
        if character in _RESERVED:
            raise self.error(f"{character!r} is not supported, escape it to mean the character")
        self.at += 1
        match character:
            case ".":
                return self._dialect.any_character
            case "[":
                return self._class()
            case "\\":
                return self._escaped()
        return self._dialect.escape(character)

    def _group(self) -> str:
        opened = self.at
        self.at += 1
        self._depth += 1
        if self._depth > _MAX_GROUPS:
            raise self.error("groups are nested too deeply")
        inner = self.alternatives()
        if self._peek() != ")":
            raise self.error("unbalanced '('", opened)
        self._depth -= 1
        self.at += 1
        return f"{self._dialect.group}{inner})"

    def _quantifier(self) -> str:
        start = self.at
        sign = self._peek()
        if not sign or sign not in _QUANTIFIERS:
            return ""
        if sign == "{":
            self._braces()
        else:
            self.at += 1
        end = self.at
        if (after := self._peek()) and after in _QUANTIFIERS:
            raise self.error("a second quantifier")
        return self.text[start:end]

    def _braces(self) -> None:
        start = self.at
        close = self.text.find("}", start)
        low, comma, high = self.text[start + 1 : max(close, start)].partition(",")
        bounds = [text for text in (low, high) if text]
        if close < 0 or not low or not all(n.isascii() and n.isdigit() for n in bounds):
            raise self.error("a quantifier is {n}, {n,} or {n,m}")
        if any(len(n) > 3 or int(n) > _MAX_REPEAT for n in bounds):
            raise self.error(f"a quantifier above {_MAX_REPEAT}")
        self.at = close + 1
        upper = None if comma and not high else int(high or low)
        if upper is not None and (upper < int(low) or upper == 0):
            raise self.error("a quantifier's bounds are the wrong way round", start)

    def _escaped(self) -> str:
        character = self._peek()
        if not character:
            raise self.error("nothing after the backslash")
        self.at += 1
        if character.lower() in _CLASSES:
            return self._set(_CLASSES[character.lower()], negated=character.isupper())
        if character.isascii() and character.isalnum():
            raise self.error(f"unknown escape \\{character}", self.at - 2)
        return f"{self._dialect.group}{self._dialect.escape(fold(character))})"

    def _class(self) -> str:
        opened = self.at - 1
        negated = self._peek() == "^"
        self.at += negated
        members = ""
        while self._peek() != "]" or not members:
            low = self._class_character(opened)
            members += self._dialect.escape(low)
            if self._peek() == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                high = self._class_character(opened)
                if high < low:
                    raise self.error(f"range {low}-{high} is the wrong way round", opened)
                members += f"-{self._dialect.escape(high)}"
        self.at += 1
        return self._set(members, negated=negated)

    def _class_character(self, opened: int) -> str:
        escaped = self._peek() == "\\"
        self.at += escaped
        character = self._peek()
        if not character:
            raise self.error("unbalanced '['", opened)
        self.at += 1
        lowered = fold(character) if escaped else character
        return lowered if len(lowered) == 1 else character

    def _set(self, members: str, *, negated: bool) -> str:
        """The source of a class of characters, which never holds the end of a term."""
        return f"[^{members}{self._dialect.excluded}]" if negated else f"[{members}]"
