"""Regular expressions that the names of listed entities, or of those above them, match or not."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec
import re2

from domain.errors import InvalidInput
from domain.kinds import names
from domain.kinds.entity_kind import EntityKind

MAX_PATTERN = 4_096
"""The most characters of a regular expression."""
MAX_PROGRAM = 16_000
"""The most instructions of a compiled expression; the dearest patterns take time with them."""
_MEMORY = 4 << 20
"""Bytes that RE2 may take for a compiled expression and its remembered states."""
_COMPILED = 8
"""Number of compiled expressions that are kept."""
_MATCH, _INSTRUCTIONS = 10, 8
"""Looking up a name and matching it, once for the total and once for the page, takes as long as
reading so many entities, and as one more for so many instructions of the dearest patterns."""
_SHOWN = 80
"""Number of characters of a refused expression that the answer repeats."""


class NamePattern(msgspec.Struct, frozen=True):
    """A regular expression, and the part of a qualified name that it is about."""

    parameter: str
    text: str
    """The expression as the caller gave it."""
    depth: int
    """Number of parts of the qualified name that follow the part that is meant."""
    expression: Any
    """The compiled expression."""


class NameFilter(msgspec.Struct, frozen=True):
    """The choice of a list's entities by their names; of several patterns all decide."""

    patterns: tuple[NamePattern, ...]
    exclude: bool = False
    """True if the entities that match are the ones left out."""
    by_fqn: bool = False
    """True if qualified names are matched rather than names."""
    most_work: int = 50_000_000
    """Instructions times entities that a list may come to, some seconds for the dearest ones."""

    @property
    def identity(self) -> str:
        """Names the filter among all others."""
        given = sorted((pattern.parameter, pattern.text) for pattern in self.patterns)
        return f"{given} {self.exclude} {self.by_fqn}"

    @property
    def size(self) -> int:
        """Instructions of all patterns together."""
        return sum(pattern.expression.programsize for pattern in self.patterns)

    def admits(self, fqn: str) -> bool:
        """Return True if the list shows the entity with this qualified name.

        A pattern may match anywhere in a name, and letters count with their case.
        """
        parts = fqn.split(".") if '"' not in fqn else names.split(fqn)
        for pattern in self.patterns:
            above = parts[: len(parts) - pattern.depth]
            text = names.join(above) if self.by_fqn else "".join(above[-1:])
            if bool(pattern.expression.search(text)) == self.exclude:
                return False
        return True

    def cost(self, entities: int) -> int:
        """Return the most entities that could be read in the time that matching so many takes.

        Raises InvalidInput when that is more than a request may take.
        """
        if entities * self.size > self.most_work:
            named = ", ".join(pattern.parameter for pattern in self.patterns)
            raise InvalidInput(
                f"{named}: too large for the names of {entities} entities; shorten the regular"
                " expression, or narrow the list by another filter as well"
            )
        return entities * (_MATCH + self.size // _INSTRUCTIONS)


def name_filter(
    kind: EntityKind, given: Mapping[str, str], *, exclude: bool = False, by_fqn: bool = False
) -> NameFilter | None:
    """The filter that a kind's parameters for names mean; None when none of them has a value.

    Raises InvalidInput that says what is wrong with a regular expression.
    """
    patterns = tuple(
        NamePattern(parameter, text, kind.lists.names[parameter].depth, _compiled(parameter, text))
        for parameter, text in given.items()
        if text
    )
    return NameFilter(patterns, exclude, by_fqn) if patterns else None


@lru_cache(_COMPILED)
def _compiled(parameter: str, text: str) -> Any:
    if len(text) > MAX_PATTERN:
        raise InvalidInput(f"{parameter} has over {MAX_PATTERN} characters")
    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    options.never_capture = True
    try:
        expression = re2.compile(text, options)
    except re2.error as error:
        raise _refusal(parameter, text, _reason(error)) from None
    finally:
        re2.purge()  # its own cache is bounded by 128 expressions, not by bytes
    if expression.programsize > MAX_PROGRAM:
        raise _refusal(parameter, text, "what it repeats makes it too large")
    return expression


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else ""
    return reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)


def _refusal(parameter: str, text: str, reason: str) -> InvalidInput:
    return InvalidInput(
        f"{parameter}: {text[:_SHOWN]!r} is not a regular expression that RE2 takes: "
        f"{reason[:_SHOWN]}"
    )
