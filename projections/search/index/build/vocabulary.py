"""Terms numbered in the order of first sight, and the values seen as chunks of numbered tokens.

Entities repeat each other: data types, tags, owners, column names and their descriptions. A value
is analysed once and then stands for a chunk of tokens; a document is a list of chunks.
"""

from array import array
from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from projections.search.analysis import Tokens, keyword, stem, tokens
from projections.search.documents.documents import Scalar
from projections.search.language.field_types import is_prose, is_whole
from projections.search.matching.terms import (
    PRESENT,
    SEPARATOR,
    WRITTEN,
    WRITTEN_PATHS,
    exact_term,
    whole_term,
    written_value,
)

K = TypeVar("K")
V = TypeVar("V")
_NONE = -1
_NOTHING = Tokens((), ())
PATH_WEIGHT = 8
"""A path takes as much memory as this number of values."""
_VALUE_BYTES, _TERM_BYTES = 200, 200
"""Bytes of memory that a value takes beside its characters, and that a term takes with them."""


class NumberedTerms(dict[str, int]):
    """Term -> its number."""

    def __missing__(self, term: str) -> int:
        number = self[term] = len(self)
        return number


class _Made(dict[K, V]):
    """Values by key, each made when it is first asked for."""

    def __init__(self, make: Callable[[K], V]) -> None:
        self._make = make

    def __missing__(self, key: K) -> V:
        value = self[key] = self._make(key)
        return value


_Spellings = _Made[str, int]
"""Token -> the number of the term that it is after a prefix."""


class Chunks:
    """The tokens of values: for chunk `c`, `terms[starts[c]:starts[c + 1]]` and their places."""

    def __init__(self) -> None:
        self.numbers = NumberedTerms()
        self.terms = array("I")
        self.places = array("I")
        """Twice the position of each token within its value, plus one for a stem."""
        self.starts = array("I", (0,))
        self.parts = array("I")
        """Chunk -> its number of positions."""
        self._sizes = array("I")
        """Chunk -> its number of tokens."""

    def spellings(self, prefix: str = "") -> _Spellings:
        """The numbers of tokens after a prefix, for `add`."""
        numbers = self.numbers
        return _Spellings(lambda token: numbers[prefix + token])

    def add(self, analysed: Tokens, numbers: _Spellings, whole: bool = False) -> int:
        """The chunk of these tokens; of their stems only when they are the `whole` value."""
        terms, places, parts = self.terms, self.places, analysed.parts
        if not whole:
            terms.extend(map(numbers.__getitem__, parts))
            places.extend(range(0, 2 * len(parts), 2))
        for place, part in enumerate(parts):
            if part[-1] == "s" and (root := stem(part)) != part:
                terms.append(numbers[root])
                places.append(2 * place + 1)
        for longer, place in analysed.wholes:
            terms.append(numbers[longer])
            places.append(2 * place)
        self._sizes.append(len(terms) - self.starts[-1])
        self.starts.append(len(terms))
        self.parts.append(len(parts))
        return len(self.parts) - 1

    def arrays(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64]]:
        """Terms, places and starts as they are now."""
        return np.array(self.terms), np.array(self.places), np.array(self.starts, np.int64)

    def part_counts(self) -> NDArray[np.int64]:
        """Chunk -> its number of positions."""
        return np.array(self.parts, np.int64)

    def count(self, chunks: Iterable[int]) -> int:
        """Return the number of tokens of the chunks together."""
        return sum(map(self._sizes.__getitem__, chunks))


class _Values:
    """The values seen in all paths, with their terms. Paths refer to this object, it to no path."""

    def __init__(self) -> None:
        self.characters = 0
        """Number of characters of the remembered values."""
        self.exact = NumberedTerms()
        """The terms of whole values."""
        self.exact_of = array("i")
        """Chunk of `text` -> number of its term in `exact`, -1 when there is none."""
        self.written_of = array("i")
        """Chunk of `text` -> number of the term of its value as written, -1 when there is none."""
        self.text = Chunks()
        """The chunks of the values of all paths."""

    def add(
        self,
        term: str | None,
        analysed: Tokens,
        numbers: _Spellings,
        whole: bool = False,
        written: str | None = None,
    ) -> int:
        """The chunk of a value with its exact term, and that of the value as it is written."""
        self.exact_of.append(_NONE if term is None else self.exact[term])
        self.written_of.append(_NONE if written is None else self.exact[written])
        return self.text.add(analysed, numbers, whole)


class Path(dict[Scalar, int]):
    """Value of one path -> its chunk, made when it is first asked for."""

    def __init__(self, path: str, values: _Values) -> None:
        self.path = path
        self.present = values.exact[PRESENT + path]
        """Number of the term in `exact` that says that the path has a value."""
        self.whole = is_whole(path)
        self._refers = path.endswith(".id")
        self._digests: dict[tuple[Scalar, ...], bytes] = {}
        self._prose = is_prose(path)
        self._is_written = path in WRITTEN_PATHS
        self._values = values
        self._numbers = values.text.spellings(path + SEPARATOR)
        self._scalars: dict[tuple[type, Scalar], int] = {}

    def __missing__(self, value: Scalar) -> int:
        if isinstance(value, str):
            chunk = self[value] = self._of_text(value)
            return chunk
        return self._of_scalar(value)  # not remembered here: 1, 1.0 and True are one key

    def digests(self, values: tuple[Scalar, ...]) -> bytes:
        """The terms in `whole` of the texts among the values."""
        known = self._digests.get(values)
        if known is None:
            texts = [value for value in values if isinstance(value, str)]
            known = b"".join([whole_term(self.path, text) for text in texts])
            if self._refers:
                self._digests[values] = known
                self._values.characters += sum(map(len, texts))
        return known

    def _of_scalar(self, value: Scalar) -> int:
        key = (type(value), value)
        chunk = self._scalars.get(key)
        if chunk is None:
            term = exact_term(self.path, value)
            chunk = self._scalars[key] = self._values.add(term, _NOTHING, self._numbers)
        return chunk

    def _of_text(self, value: str) -> int:
        values = self._values
        values.characters += len(value)
        analysed = tokens(value, self._prose)
        if self._prose:
            return values.add(None, analysed, self._numbers)
        term = exact_term(self.path, value)
        whole = (
            len(analysed.parts) == 1 and term is not None and analysed.parts[0] == keyword(value)
        )
        written = f"{self.path}{WRITTEN}{written_value(value)}" if self._is_written else None
        return values.add(term, analysed, self._numbers, whole, written)


class SearchFieldTexts(dict[Scalar, int]):
    """Value of a search field -> its chunk of `words`; one without tokens for what is no text."""

    def __init__(self, words: Chunks, numbers: _Spellings, *, prose: bool) -> None:
        self.characters = 0
        """Number of characters of the remembered values."""
        self._words = words
        self._numbers = numbers
        self._prose = prose
        self._nothing = words.add(_NOTHING, numbers)

    def __missing__(self, value: Scalar) -> int:
        if not isinstance(value, str):
            return self._nothing
        self.characters += len(value)
        chunk = self[value] = self._words.add(tokens(value, self._prose), self._numbers)
        return chunk


class Vocabulary:
    """Everything numbered, for one or more segments.

    Nothing in a vocabulary refers back to it, so that its memory is free once it is let go, and not
    only when the garbage collector looks for cycles.
    """

    def __init__(self) -> None:
        values = self.values = _Values()
        self.paths = _Made[str, Path](lambda path: Path(path, values))
        self.words = Chunks()
        numbers = self.words.spellings()
        self.names = SearchFieldTexts(self.words, numbers, prose=False)
        """Texts of search fields that are no sentences."""
        self.sentences = SearchFieldTexts(self.words, numbers, prose=True)

    @property
    def remembered(self) -> int:
        """Number of remembered values; a path counts for PATH_WEIGHT of them."""
        return len(self.values.exact_of) + len(self.words.parts) + PATH_WEIGHT * len(self.paths)

    @property
    def bytes(self) -> int:
        """About how much memory the values and their terms take."""
        values = self.values
        characters = values.characters + self.names.characters + self.sentences.characters
        terms = len(values.exact) + len(values.text.numbers) + len(self.words.numbers)
        return characters + _VALUE_BYTES * self.remembered + _TERM_BYTES * terms
