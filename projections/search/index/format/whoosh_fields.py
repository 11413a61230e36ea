"""The fields that Whoosh sees: how texts of a query become terms, and what hits are sorted by.

`words` and the paths of search documents take queries apart as the engine does, so that Whoosh's
query parser finds the same. A path is no field of its own in the index: `terms_reader` gives the
part of the lexicons that belongs to a path, and what the parts of a name next to each other find.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cmp_to_key
from typing import Any

import numpy as np
from whoosh import columns, fields, formats, query
from whoosh.analysis import Analyzer, Token

from projections.search.analysis import fold, keyword, single_token, stem, tokens
from projections.search.language.field_types import field_type, is_whole
from projections.search.language.field_values import is_matched_whole
from projections.search.matching.terms import EXACT, NEXT, NUMBER, SEPARATOR, as_moment, sortable
from projections.visibility.field_paths import indexed_path

SortKey = tuple[bool, Any]
"""True if the value is missing, so that it comes last, and the value."""


class SortColumn(columns.Column):  # type: ignore[misc]
    """Values that documents are sorted and grouped by; every segment has them."""

    reversible = True


class SortColumnReader(columns.ColumnReader):  # type: ignore[misc]
    """The values of a column in one segment; missing ones come last in either direction."""

    def __init__(self, value_of: Callable[[int], Any], count: int) -> None:
        """`value_of` gives the value of a document by its number, None where there is none."""
        self._value_of = value_of
        self._doccount = count
        self._reverse = False

    def __getitem__(self, docnum: int) -> SortKey:
        value = self._value_of(docnum)
        if value is None:
            return True, ""
        return False, _descending(value) if self._reverse else value

    def set_reverse(self) -> None:
        """Sort in descending order from now on."""
        self._reverse = True


_descending: Callable[[Any], Any] = cmp_to_key(lambda one, other: (one < other) - (one > other))
"""A key by which larger values come before smaller ones; the value itself is its `obj`."""


def plain_value(key: SortKey) -> Any:
    """The value of a sort key, None where it is missing."""
    missing, value = key
    return None if missing else getattr(value, "obj", value)


class Places(formats.Positions):  # type: ignore[misc]
    """Positions as the arrays hold them, 4 bytes each."""

    def decode_positions(self, valuestring: bytes) -> list[int]:
        """The positions of a term in one document."""
        positions: list[int] = np.frombuffer(valuestring, np.int32).tolist()
        return positions

    def decode_frequency(self, valuestring: bytes) -> int:
        """Return the frequency of a term in one document."""
        return len(valuestring) // 4

    def encode(self, poslist: list[int]) -> bytes:
        """Positions as bytes, 4 for each."""
        return np.array(poslist, np.int32).tobytes()


class WordAnalyzer(Analyzer):  # type: ignore[misc]
    """The tokens of names and sentences as the index has them: parts, their stems, whole names.

    For queries the parts alone, which are what a phrase consists of.
    """

    def __call__(self, value: str, mode: str = "", **wanted: Any) -> Iterator[Token]:
        """Tokens with position, and with the characters that they stand for in composed texts."""
        analysed = tokens(value)
        folded = fold(value)
        wholes = defaultdict(list)
        for whole, position in analysed.wholes:
            wholes[position].append(whole)
        end = 0
        for position, part in enumerate(analysed.parts):
            start = max(end, folded.find(part, end))
            end = start + len(part)
            yield _token(part, position, start, mode)
            if mode != "query":
                if (root := stem(part)) != part:
                    yield _token(root, position, start, mode, len(part))
                for whole in wholes[position]:
                    yield _token(whole, position, start, mode)


def _token(text: str, position: int, start: int, mode: str, size: int | None = None) -> Token:
    token = Token(positions=True, chars=True, boosts=True, mode=mode)
    token.original = token.text = text
    token.pos, token.boost, token.stopped = position, 1.0, False
    token.startchar, token.endchar = start, start + (len(text) if size is None else size)
    return token


class ReadyTerms(fields.FieldType):  # type: ignore[misc]
    """A field whose terms are given as `terms` makes them."""

    def __init__(self, *, positions: bool = False, analyzer: Analyzer | None = None) -> None:
        form = Places() if positions else formats.Existence()
        super().__init__(form, analyzer, scorable=positions, multitoken_query="or")

    def process_text(self, qstring: str, mode: str = "", **kwargs: Any) -> Iterator[str]:
        """The text as it is, which Whoosh's parser then looks for."""
        yield qstring

    def to_bytes(self, value: str | bytes) -> bytes:
        """The bytes of a term, as the index holds them."""
        return value.encode(errors="surrogateescape") if isinstance(value, str) else value

    def from_bytes(self, value: bytes) -> str:
        """The text of a term from its bytes."""
        return value.decode(errors="surrogateescape")


class Words(ReadyTerms):
    """A field of words, which Whoosh's parser looks for as the engine does."""

    def __init__(self) -> None:
        super().__init__(positions=True, analyzer=WordAnalyzer())
        self.vector = self.format

    def process_text(
        self, qstring: str, mode: str = "", *, tokenize: bool = True, **kwargs: Any
    ) -> Iterator[str]:
        """The terms any of which a document must have: the word, its stem, its parts in order.

        Patterns are not taken apart, but folded.
        """
        if not tokenize:
            yield fold(qstring)
            return
        analysed = tokens(qstring)
        if name := single_token(qstring, analysed):
            yield from dict.fromkeys((name, stem(name)))
        if len(analysed.parts) > 1:
            yield NEXT.join(analysed.parts)

    def to_bytes(self, value: str | bytes) -> bytes:
        """The bytes of a term, as the index holds them."""
        if isinstance(value, str):
            value = value if NEXT in value else fold(value)
        return super().to_bytes(value)


class PathWords(Words):
    """The words of a path, and its whole values."""

    def __init__(self, *, sortable: bool = False) -> None:
        super().__init__()
        self.stored = sortable
        self.set_sortable(SortColumn() if sortable else None)

    def process_text(self, qstring: str, mode: str = "", **kwargs: Any) -> Iterator[str]:
        """The terms that Whoosh looks for when a text is given for the field."""
        whole = () if kwargs.get("tokenize") is False else (keyword(qstring),)
        yield from dict.fromkeys((*super().process_text(qstring, mode, **kwargs), *whole))

    from_column_value = staticmethod(plain_value)


class WholeValues(PathWords):
    """The whole values of a path, each of which is one term."""

    def __init__(self, *, sortable: bool = False) -> None:
        super().__init__(sortable=sortable)
        self.analyzer = self.vector = None

    def process_text(self, qstring: str, mode: str = "", **kwargs: Any) -> Iterator[str]:
        """The terms that Whoosh looks for when a text is given for the field."""
        yield keyword(qstring)

    def to_bytes(self, value: str | bytes) -> bytes:
        """The bytes of a term, as the index holds them."""
        return keyword(value).encode() if isinstance(value, str) else value


class Figures(PathWords):
    """The numbers of a path, moments among them: those that equal one, or lie in a range."""

    def self_parsing(self) -> bool:
        """True: the field itself makes queries of texts."""
        return True

    def parse_query(self, fieldname: str, qstring: str, boost: float = 1.0) -> query.Query:
        """The value as written: a number, a date, true or false."""
        number = as_moment(qstring)
        return query.Term(fieldname, qstring if number is None else repr(number), boost=boost)

    def parse_range(
        self,
        fieldname: str,
        start: str | None,
        end: str | None,
        startexcl: bool,
        endexcl: bool,
        boost: float = 1.0,
    ) -> query.Query:
        """The numbers or dates between the bounds; Whoosh makes an error query of ValueError."""
        prefix = f"{indexed_path(fieldname)}{SEPARATOR}{NUMBER}"
        bounds = []
        for bound in (start, end):
            number = None if bound is None else as_moment(bound)
            if bound is not None and number is None:
                raise ValueError(f"{fieldname} is compared with numbers or dates, not {bound!r}")
            bounds.append(None if number is None else prefix + sortable(number))
        low, high = bounds
        after_all = prefix[:-1] + chr(ord(NUMBER) + 1)
        return query.TermRange(
            EXACT, low or prefix, high or after_all, startexcl, endexcl or not high, boost=boost
        )


class Stored(fields.STORED):  # type: ignore[misc]
    """A value that is stored and sorted by, and not searched."""

    def __init__(self) -> None:
        super().__init__()
        self.set_sortable(SortColumn())

    from_column_value = staticmethod(plain_value)


def path_field(path: str, *, sortable: bool) -> PathWords:
    """The field of a path as written in a query."""
    if is_matched_whole(path) or is_whole(indexed_path(path)):
        return WholeValues(sortable=sortable)
    if field_type(path) in ("number", "moment"):
        return Figures(sortable=sortable)
    return PathWords(sortable=sortable)
