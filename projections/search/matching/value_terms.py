"""The terms that say that a document has a whole value in a field."""

from functools import lru_cache

from projections.search.analysis import keyword
from projections.search.language.field_texts import is_whole
from projections.search.matching.query_values import as_number
from projections.search.matching.terms import (
    EXACT,
    NUMBER,
    SEPARATOR,
    TEXT,
    WHOLE,
    sortable,
    whole_term,
)
from projections.visibility.field_paths import indexed_path

_REMEMBERED, _LONGEST = 4_096, 256
"""Values of which the terms are remembered, and the characters of the longest of them."""

ValueTerms = tuple[tuple[str, bytes], ...]
"""Fields of the index, each with a term of it."""


def value_terms(field: str, value: str) -> ValueTerms:
    """The terms of a value of a field; of a field of texts the last one is a word in TEXT."""
    return _remembered(field, value) if len(value) <= _LONGEST else _terms(field, value)


def _terms(field: str, value: str) -> ValueTerms:
    path = indexed_path(field)
    if is_whole(path):
        return ((WHOLE, whole_term(path, value)),)
    whole = keyword(value)
    terms = [(EXACT, f"{path}.keyword{SEPARATOR}{whole}")]
    if whole in ("true", "false"):
        terms.append((EXACT, f"{path}{SEPARATOR}{whole}"))
    if (number := as_number(value)) is not None:
        terms.append((EXACT, f"{path}{SEPARATOR}{NUMBER}{sortable(number)}"))
    if not field.endswith(".keyword"):
        terms.append((TEXT, f"{path}{SEPARATOR}{whole}"))
    return tuple((name, term.encode()) for name, term in terms)


_remembered = lru_cache(_REMEMBERED)(_terms)
"""Segment after segment is asked for the same terms."""
