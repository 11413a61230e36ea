"""The terms of the index, and which field of it holds what.

Four fields hold everything, so that the schema does not depend on what entities contain: `exact`
has whole values as `path.keyword␟value`, of some paths as `path.written␟value␞Value` too, numbers
as `path␟#hex`, booleans, and a term per path that is present; `whole` has digests of values that
are only matched whole, as ids are; `text` has the tokens of each path as `path␟token` with
positions; `words` has the tokens of the kinds' search fields for queries that name no field.
"""

import math
import struct
import sys
from functools import lru_cache
from hashlib import blake2b
from typing import TypeGuard

from domain.errors import InvalidInput
from projections.search import tree
from projections.search.analysis import keyword
from projections.search.documents.documents import Scalar
from projections.search.language import dates
from projections.search.language.field_types import is_whole
from projections.visibility.field_paths import indexed_path

WHOLE, EXACT, TEXT, WORDS = "whole", "exact", "text", "words"
SEPARATOR = "\x1f"
KEYWORD = f".keyword{SEPARATOR}"
"""The mark between a path and a whole value in `exact`."""
PRESENT = "\x1e"
WRITTEN = f".written{SEPARATOR}"
"""The mark between a path and a whole value as it is written."""
WRITTEN_PATHS = frozenset(
    {"service.name", "owners.name", "tags.tagFQN", "domains.fullyQualifiedName", "entityStatus"}
)
"""Paths of which whole values are kept as they are written, beside the folded ones."""
NEXT = "\x1d"
"""Between words that stand next to each other, in terms that Whoosh asks for and no index has."""
NUMBER = "#"
MAX_SLOP = 10_000
"""Places by which the words of a phrase are moved in all at most, whatever a query asks for."""
VALUE_GAP = 128
"""Positions between two values, more than any slop, so that no phrase spans them."""
MAX_KEYWORD = 4_096
"""Longer texts are found by their words only."""
WHOLE_SIZE = 8
"""Bytes of a term of `whole`."""
_REMEMBERED, _LONGEST = 4_096, 256
"""Values of which the terms are remembered, and the characters of the longest of them."""

ValueTerms = tuple[tuple[str, bytes], ...]
"""Fields of the index, each with a term of it."""


def exact_term(path: str, value: Scalar) -> str | None:
    """The term of a value of the path in `exact`; None for a text that is too long for one."""
    if not isinstance(value, str):
        return scalar_term(path, value)
    if len(value) > MAX_KEYWORD:
        return None
    return f"{path}{KEYWORD}{keyword(value)}"


def written_value(value: str) -> str:
    """A whole value for buckets in the order of the folded values; see `as_written`."""
    folded = keyword(value)
    return f"{folded}{PRESENT}{value}" if len(value) <= MAX_KEYWORD // 2 else folded


def as_written(value: str) -> str:
    """The text that `written_value` was made of; the folded one where it was too long."""
    return value.rpartition(PRESENT)[2]


def whole_term(path: str, value: str) -> bytes:
    """The term of a text of a path that `is_whole`, in `whole`."""
    text = f"{path}{SEPARATOR}{keyword(value)}"
    return blake2b(text.encode(), digest_size=WHOLE_SIZE).digest()


def scalar_term(path: str, value: int | float | bool) -> str:
    """The exact term of a number or boolean."""
    if isinstance(value, bool):
        return f"{path}{SEPARATOR}{'true' if value else 'false'}"
    return f"{path}{SEPARATOR}{NUMBER}{sortable(_as_float(value))}"


def finite(value: float) -> float:
    """A number as engines sort by it; what is too large for one is the largest one."""
    return max(-sys.float_info.max, min(sys.float_info.max, _as_float(value) + 0.0))


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def sortable(number: float) -> str:
    """Hexadecimal digits in the order of the numbers."""
    bits: int = struct.unpack(">Q", struct.pack(">d", number + 0.0))[0]
    bits = bits ^ 0xFFFFFFFFFFFFFFFF if bits >> 63 else bits | 1 << 63
    return f"{bits:016x}"


def number_in(digits: bytes) -> float:
    """The number that a term says in hexadecimal digits, as `sortable` wrote it.

    A number too large for a float comes back as the largest one.
    """
    bits = int(digits, 16)
    bits = bits ^ 1 << 63 if bits >> 63 else bits ^ 0xFFFFFFFFFFFFFFFF
    return finite(struct.unpack(">d", struct.pack(">Q", bits))[0])


def as_number(text: str) -> float | None:
    """The finite number that a text of a query is, None when it is none."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None


def as_moment(text: str) -> float | None:
    """A number as it is, a date or time in milliseconds since 1970 (UTC unless it says)."""
    number = as_number(text)
    return dates.moment(text) if number is None else number


def value_terms(field: str, value: str) -> ValueTerms:
    """The terms of a value of a field; of a field of texts the last one is a word in TEXT."""
    return _remembered(field, value) if len(value) <= _LONGEST else _terms(field, value)


def _terms(field: str, value: str) -> ValueTerms:
    path = indexed_path(field)
    if is_whole(path):
        return ((WHOLE, whole_term(path, value)),)
    whole = keyword(value)
    terms = [(EXACT, f"{path}{KEYWORD}{whole}")]
    if whole in ("true", "false"):
        terms.append((EXACT, f"{path}{SEPARATOR}{whole}"))
    if (number := as_number(value)) is not None:
        terms.append((EXACT, f"{path}{SEPARATOR}{NUMBER}{sortable(number)}"))
    if not field.endswith(".keyword"):
        terms.append((TEXT, f"{path}{SEPARATOR}{whole}"))
    return tuple((name, term.encode()) for name, term in terms)


_remembered = lru_cache(_REMEMBERED)(_terms)
"""Segment after segment is asked for the same terms."""


def refuse_whole(field: str | None) -> None:
    """Raise InvalidInput for a field whose values are only matched whole."""
    if field is not None and is_whole(indexed_path(field)):
        raise InvalidInput(f"{field[:80]} is only matched whole: give a complete value")


def takes_whole(field: str | None) -> TypeGuard[str]:
    """True for a field, as a query writes it, of which texts are compared as whole values only."""
    return field is not None and (field.endswith(".keyword") or is_whole(indexed_path(field)))


Bounds = list[tuple[str, str]]
"""Sides of a range, such as `gt`, each with its bound."""


def term_ranges(node: tree.Range) -> list[tuple[str, Bounds]]:
    """Return the beginnings of the terms of `exact` in a range, and their bounds after that.

    Texts are compared with whole values, and with numbers where all bounds are numbers or dates.
    Raises InvalidInput for a field that has no ranges.
    """
    refuse_whole(node.field)
    path = indexed_path(node.field)
    bounds = [
        (side, bound)
        for side in ("gt", "gte", "lt", "lte")
        if (bound := getattr(node, side)) is not None
    ]
    ranges = [(path + KEYWORD, [(side, keyword(bound)) for side, bound in bounds])]
    numbers = [(side, as_moment(bound)) for side, bound in bounds]
    encoded = [(side, sortable(number)) for side, number in numbers if number is not None]
    if len(encoded) == len(bounds):
        ranges.append((f"{path}{SEPARATOR}{NUMBER}", encoded))
    return ranges
