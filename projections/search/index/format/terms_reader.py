"""Terms and postings for Whoosh: those of the four fields, and of a path those that are its own.

A path has the tokens of its values in `text`, the whole values and the booleans in `exact`, each
after the path and a separator; together they are the lexicon of a field named as the path. A path
that is only matched whole has digests in `whole`, which are looked up and never listed.
"""

from collections.abc import Iterator, Sequence
from functools import reduce
from heapq import merge
from itertools import groupby, pairwise
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from whoosh.codec import base
from whoosh.matching import ListMatcher
from whoosh.reading import TermInfo, TermNotFound

from projections.search.index.format.arrays import Arrays, Inverted, distinct
from projections.search.index.format.schema import FIELDS
from projections.search.language.field_types import is_whole
from projections.search.language.field_values import is_matched_whole
from projections.search.matching.terms import (
    EXACT,
    KEYWORD,
    NEXT,
    NUMBER,
    SEPARATOR,
    TEXT,
    WHOLE,
    value_terms,
)
from projections.search.matching.weights import HIGHEST, K1
from projections.visibility.field_paths import indexed_path

_NEXT = NEXT.encode()


class _Part(msgspec.Struct, frozen=True):
    """The terms of a lexicon that begin with a prefix, from one number up to another."""

    inverted: Inverted
    prefix: bytes
    low: int
    high: int

    def terms_from(self, start: bytes) -> Iterator[bytes]:
        """The terms without the prefix, from the first that is not before `start`."""
        first = max(self.low, self.inverted.first(self.prefix + start))
        for number in range(first, self.high):
            yield self.inverted.term(number)[len(self.prefix) :]


class _Postings(msgspec.Struct, frozen=True):
    """The documents of a term."""

    ids: NDArray[np.int32]
    """(documents,): their numbers, ascending."""
    weights: NDArray[np.float64]
    """(documents,): how often the term occurs, as BM25 counts it; see `_weights`."""
    values: list[bytes] | None
    """The positions in each document, 4 bytes each; None where none are kept."""


class TermsReader(base.TermsReader):  # type: ignore[misc]
    """The inverted indexes of a segment as Whoosh asks for them."""

    def __init__(self, arrays: Arrays) -> None:
        self._fields = {name: Inverted.of(arrays, name) for name in FIELDS}

    def _parts(self, field: str) -> list[_Part]:
        """Return the parts of the lexicon of a field; none for one that is only matched whole."""
        if field in self._fields:
            inverted = self._fields[field]
            return [_Part(inverted, b"", 0, inverted.size)]
        path = indexed_path(field)
        if is_whole(path):
            return []
        parts = [self._part(EXACT, f"{path}{KEYWORD}")]
        if not is_matched_whole(field):
            parts.append(self._part(TEXT, path + SEPARATOR))
            scalars = self._part(EXACT, path + SEPARATOR)
            _, after_numbers = scalars.inverted.span(scalars.prefix + NUMBER.encode())
            low = min(max(scalars.low, after_numbers), scalars.high)
            parts.append(msgspec.structs.replace(scalars, low=low))
        return parts

    def _part(self, field: str, prefix: str) -> _Part:
        inverted = self._fields[field]
        return _Part(inverted, prefix.encode(), *inverted.span(prefix.encode()))

    def _places(self, field: str, term: bytes) -> list[tuple[Inverted, int]]:
        """Return the places of the term: lexicons with its number in each."""
        terms: Sequence[tuple[str, bytes]] = ((field, term),)
        if field not in self._fields:
            terms = value_terms(field, term.decode(errors="replace"))
            if is_matched_whole(field):
                terms = terms[:1]
        places = [(self._fields[name], self._fields[name].find(known)) for name, known in terms]
        return [(inverted, number) for inverted, number in places if number >= 0]

    def __contains__(self, term: tuple[str, bytes]) -> bool:
        try:
            return bool(self._postings(*term))
        except KeyError:
            return False

    def cursor(self, fieldname: str, fieldobj: Any) -> "Cursor":
        """A cursor over the terms of a field, at the first term."""
        return Cursor(self, fieldname, fieldobj)

    def terms(self) -> Iterator[tuple[str, bytes]]:
        """All pairs of field and term, in order."""
        for field in sorted(self._fields):
            yield from self.terms_from(field, b"")

    def terms_from(self, fieldname: str, prefix: bytes) -> Iterator[tuple[str, bytes]]:
        """The field's terms that are not before `prefix`."""
        parts = [part.terms_from(prefix) for part in self._parts(fieldname)]
        if len(parts) == 1:
            return ((fieldname, term) for term in parts[0])
        return ((fieldname, term) for term, _ in groupby(merge(*parts)))

    def items(self) -> Iterator[tuple[tuple[str, bytes], TermInfo]]:
        """All pairs of field and term with their figures, in order."""
        for field, term in self.terms():
            yield (field, term), self.term_info(field, term)

    def items_from(
        self, fieldname: str, prefix: bytes
    ) -> Iterator[tuple[tuple[str, bytes], TermInfo]]:
        """A field's terms that are not before `prefix`, with their figures."""
        for field, term in self.terms_from(fieldname, prefix):
            yield (field, term), self.term_info(field, term)

    def term_info(self, fieldname: str, text: bytes) -> TermInfo:
        """Figures of a term; KeyError when no document has it."""
        return _info(self._postings(fieldname, text))

    def matcher(self, fieldname: str, text: bytes, format_: Any, scorer: Any = None) -> ListMatcher:
        """The postings of a term; raises TermNotFound when no document has the term."""
        try:
            postings = self._postings(fieldname, text)
        except KeyError as error:
            raise TermNotFound(f"no term {text!r} in {fieldname}") from error
        return ListMatcher(
            postings.ids.tolist(),
            weights=postings.weights.tolist(),
            values=postings.values,
            format=format_,
            scorer=scorer,
            term=(fieldname, text),
            terminfo=_info(postings),
        )

    def _postings(self, field: str, term: bytes) -> _Postings:
        """The documents of a term; KeyError when there are none."""
        if _NEXT in term and field not in (EXACT, WHOLE):  # whose terms may hold any byte
            return self._together(field, term)
        places = self._places(field, term)
        if not places:
            raise KeyError((field, term))
        some = [_read(inverted, number) for inverted, number in places]
        if len(some) == 1 and (field in self._fields or some[0].values is not None):
            return some[0]
        ids = distinct(np.concatenate([postings.ids for postings in some]))
        weights = np.zeros(len(ids))
        values = [b""] * len(ids)
        for postings in some:
            at = ids.searchsorted(postings.ids)
            np.maximum.at(weights, at, postings.weights)
            for place, value in zip(at.tolist(), postings.values or (), strict=False):
                values[place] = value
        return _Postings(ids, weights, values)

    def _together(self, field: str, term: bytes) -> _Postings:
        """The documents in which the words of the term stand next to each other."""
        words = [self._postings(field, word) for word in term.split(_NEXT)]
        ids: list[int] = []
        weights: list[float] = []
        values: list[bytes] = []
        for docnum in reduce(np.intersect1d, [postings.ids for postings in words]).tolist():
            at = [int(postings.ids.searchsorted(docnum)) for postings in words]
            places = [
                np.frombuffer(postings.values[place], np.int32) - word
                for word, (postings, place) in enumerate(zip(words, at, strict=True))
                if postings.values is not None
            ]
            begins = reduce(np.intersect1d, places)
            if len(places) == len(words) and len(begins):
                ids.append(docnum)
                weights.append(min(float(p.weights[i]) for p, i in zip(words, at, strict=True)))
                values.append(begins.astype(np.int32).tobytes())
        if not ids:
            raise KeyError((field, term))
        return _Postings(np.array(ids, np.int32), np.array(weights), values)

    def terms_of(self, field: str, docnum: int) -> Iterator[tuple[str, float]]:
        """The terms of a field that a document has, with their weights."""
        for part in self._parts(field):
            inverted = part.inverted
            low, high = int(inverted.starts[part.low]), int(inverted.starts[part.high])
            places = np.flatnonzero(inverted.ids[low:high] == docnum) + low
            numbers = inverted.starts.searchsorted(places, "right") - 1
            weights = _weights(inverted, places)
            for number, weight in zip(numbers.tolist(), weights.tolist(), strict=True):
                yield inverted.term(number)[len(part.prefix) :].decode(), weight

    def indexed_field_names(self) -> list[str]:
        """The names of the fields in the file."""
        return list(self._fields)


def _read(inverted: Inverted, number: int) -> _Postings:
    place = inverted.postings(number)
    values = None
    if inverted.position_starts is not None and inverted.positions is not None:
        bounds = inverted.position_starts[place.start : place.stop + 1].tolist()
        positions = inverted.positions
        values = [positions[low:high].tobytes() for low, high in pairwise(bounds)]
    return _Postings(inverted.ids[place], _weights(inverted, place), values)


def _weights(inverted: Inverted, places: slice | NDArray[np.int64]) -> NDArray[np.float64]:
    """Return weights from which Whoosh's BM25F makes the impacts again.

    An impact is 255 tf / (tf + K1); the half keeps the highest one finite.
    """
    if inverted.impacts is None:
        return np.ones(len(inverted.ids[places]))
    impacts = inverted.impacts[places].astype(np.float64)
    weights: NDArray[np.float64] = K1 * impacts / (HIGHEST + 0.5 - impacts)
    return weights


def _info(postings: _Postings) -> TermInfo:
    return TermInfo(
        weight=float(postings.weights.sum()),
        df=len(postings.ids),
        minlength=1,
        maxlength=1,
        maxweight=float(postings.weights.max()),
        minid=int(postings.ids[0]),
        maxid=int(postings.ids[-1]),
    )


class Cursor(base.FieldCursor):  # type: ignore[misc]
    """Walks the terms of a field."""

    def __init__(self, reader: TermsReader, fieldname: str, fieldobj: Any) -> None:
        self._reader = reader
        self._fieldname = fieldname
        self._field = fieldobj
        self.first()

    def first(self) -> str | None:
        """Go to the first term; returns the term."""
        return self.find(b"")

    def find(self, string: str | bytes) -> str | None:
        """Go to the first term that is not before a text; returns the term."""
        self._terms = self._reader.terms_from(self._fieldname, self._field.to_bytes(string))
        return self.next()

    def next(self) -> str | None:
        """Go to the next term; returns the term, None after the last."""
        self._term = next((term for _, term in self._terms), None)
        return self.text()

    def text(self) -> str | None:
        """The term that the cursor stands on, None after the last."""
        return None if self._term is None else str(self._field.from_bytes(self._term))

    def is_valid(self) -> bool:
        """Return True if the cursor stands on a term."""
        return self._term is not None
