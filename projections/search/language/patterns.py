"""Patterns over single terms, as RE2 runs them: in time linear in the text, whatever the pattern.

A wildcard pattern, or a regular expression (`regex`), becomes the source of an RE2 expression for
one whole term. Compiled, it matches runs of terms in a text in which each term ends with
`TERM_END`; no term holds that character, and no expression made here matches it within a term.
"""

from functools import lru_cache
from typing import Any

import msgspec
import re2

from domain.errors import InvalidInput
from projections.search.analysis import fold

MAX_PATTERN = 256
"""The most characters of a pattern."""
TERM_END = "\n"
ANY = r"[^\n]"
"""RE2 source of any one character of a term."""
_MEMORY = 4 << 20
"""Bytes that RE2 may take for a compiled expression and its remembered states."""
_COMPILED = 8
"""Number of compiled expressions that are kept."""


class TermPattern(msgspec.Struct, frozen=True):
    """A pattern that matches whole terms."""

    source: str
    """RE2 source that matches one term and nothing around it."""
    pieces: tuple[str, ...] | None = None
    """The texts before, between and after the stars of a wildcard pattern without `?`."""

    def runs(self) -> Any:
        """The compiled expression; a match is a run of matching terms, each with its TERM_END."""
        return _compiled(rf"(?m)(?:^(?:{self.source})\n)+")

    def bounds(self) -> tuple[bytes, bytes] | None:
        """The least and the greatest text, in UTF-8, around all matches; None if unknown."""
        try:
            least, greatest = _compile(rf"\A(?:{self.source})").possiblematchrange(MAX_PATTERN)
        except re2.error:
            return None
        return least, greatest


def wildcard(pattern: str) -> TermPattern:
    """The terms that a wildcard pattern of `tree.Wildcard` means; letters count without case.

    Raises InvalidInput for a pattern that is too long.
    """
    if len(pattern) > 2 * MAX_PATTERN:
        raise InvalidInput(
            f"wildcard pattern {pattern[:40]!r}... has over {MAX_PATTERN} characters"
        )
    source = ""
    pieces = [""]
    literal = single = starred = False
    for character in fold(pattern):
        if literal or character not in "\\*?":
            source += re2.escape(character)
            pieces[-1] += character
            literal = starred = False
        elif character == "\\":
            literal = True
        elif character == "?":
            source += ANY
            single = True
            starred = False
        elif not starred:
            source += f"{ANY}*"
            pieces.append("")
            starred = True
    return TermPattern(source, None if single else tuple(pieces))


def _compile(source: str) -> Any:
    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    options.never_capture = True
    try:
        return re2.compile(source, options)
    finally:
        re2.purge()  # its own cache is bounded by 128 expressions, not by bytes


_compiled = lru_cache(_COMPILED)(_compile)
