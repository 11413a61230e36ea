"""Terms numbered in the order of first sight, and the values seen as chunks of numbered tokens.

Entities repeat each other: data types, tags, owners, column names and their descriptions. A value
is analysed once and then stands for a chunk of tokens; a document is a list of chunks.
"""

from array import array
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from projections.search.analysis import Tokens, keyword, stem, tokens
from projections.search.documents import Scalar, is_prose, is_whole
from projections.search.index.format.terms import PRESENT, SEPARATOR, exact_term, whole_term

_NONE = -1
_NOTHING = Tokens((), ())
PATH_WEIGHT = 8
"""Values that take as much memory as a path."""


class NumberedTerms(dict[str, int]):
    """Term -> its number."""

    def __missing__(self, term: str) -> int:
        number = self[term] = len(self)
        return number


class _Spellings(dict[str, int]):
    """Token -> the number of the term that it is after a prefix."""

    def __init__(self, numbers: NumberedTerms, prefix: str) -> None:
        self._numbers = numbers
        self._prefix = prefix

    def __missing__(self, token: str) -> int:
        number = self[token] = self._numbers[self._prefix + token]
        return number


class Chunks:
    """The tokens of values: for chunk `c`, `terms[starts[c]:starts[c + 1]]` and their places."""

    def __init__(self) -> None:
        self.numbers = NumberedTerms()
        self.terms = array("I")
        self.places = array("I")
        """Twice the position within the value, and one more for a stem."""
        self.starts = array("I", (0,))
        self.parts = array("I")
        """Chunk -> its number of positions."""

    def spellings(self, prefix: str = "") -> _Spellings:
        """The numbers of tokens after a prefix, for `add`."""
        return _Spellings(self.numbers, prefix)

    def add(self, found: Tokens, numbers: _Spellings, whole: bool = False) -> int:
        """The chunk of these tokens; of their stems only when they are the `whole` value."""
        terms, places, parts = self.terms, self.places, found.parts
        if not whole:
            terms.extend(map(numbers.__getitem__, parts))
            places.extend(range(0, 2 * len(parts), 2))
        for place, part in enumerate(parts):
            if part[-1] == "s" and (root := stem(part)) != part:
                terms.append(numbers[root])
                places.append(2 * place + 1)
        for longer, place in found.wholes:
            terms.append(numbers[longer])
            places.append(2 * place)
        self.starts.append(len(terms))
        self.parts.append(len(parts))
        return len(self.parts) - 1

    def arrays(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64]]:
        """Terms, places and starts as they are now."""
        return np.array(self.terms), np.array(self.places), np.array(self.starts, np.int64)

    def part_counts(self) -> NDArray[np.int64]:
        """Chunk -> its number of positions."""
        return np.array(self.parts, np.int64)

    def sizes(self) -> NDArray[np.int64]:
        """Chunk -> its number of tokens."""
        starts = np.array(self.starts, np.int64)
        return starts[1:] - starts[:-1]


class Remembering(dict[Scalar, int]):
    """Text -> chunk, made when it is first asked for."""

    def __init__(self, of_text: Callable[[str], int], of_scalar: Callable[[Scalar], int]) -> None:
        self._of_text = of_text
        self._of_scalar = of_scalar

    def __missing__(self, value: Scalar) -> int:
        if isinstance(value, str):
            chunk = self[value] = self._of_text(value)
            return chunk
        return self._of_scalar(value)  # not remembered here: 1, 1.0 and True are one key


class Path:
    """What is known of one path."""

    __slots__ = (
        "_digests",
        "_numbers",
        "_prose",
        "_refers",
        "_scalars",
        "_vocabulary",
        "chunks",
        "path",
        "present",
        "whole",
    )

    def __init__(self, path: str, vocabulary: "Vocabulary") -> None:
        self.path = path
        self.present = vocabulary.exact[PRESENT + path]
        """Number of the term in `exact` that says that the path has a value."""
        self.whole = is_whole(path)
        self._refers = path.endswith(".id")
        self._digests: dict[tuple[Scalar, ...], bytes] = {}
        self._prose = is_prose(path)
        self._vocabulary = vocabulary
        self._numbers = vocabulary.text.spellings(path + SEPARATOR)
        self._scalars: dict[tuple[type, Scalar], int] = {}
        self.chunks = Remembering(self._of_text, self._of_scalar)
        """Value -> chunk."""

    def digests(self, values: tuple[Scalar, ...]) -> bytes:
        """The terms in `whole` of the texts among the values."""
        known = self._digests.get(values)
        if known is None:
            texts = [value for value in values if isinstance(value, str)]
            known = b"".join([whole_term(self.path, text) for text in texts])
            if self._refers:
                self._digests[values] = known
                self._vocabulary.size += sum(map(len, texts))
        return known

    def _of_scalar(self, value: Scalar) -> int:
        key = (type(value), value)
        chunk = self._scalars.get(key)
        if chunk is None:
            term = exact_term(self.path, value)
            chunk = self._scalars[key] = self._vocabulary.add(term, _NOTHING, self._numbers)
        return chunk

    def _of_text(self, value: str) -> int:
        vocabulary = self._vocabulary
        vocabulary.size += len(value)
        found = tokens(value, self._prose)
        if self._prose:
            return vocabulary.add(None, found, self._numbers)
        term = exact_term(self.path, value)
        whole = len(found.parts) == 1 and term is not None and found.parts[0] == keyword(value)
        return vocabulary.add(term, found, self._numbers, whole)


class Vocabulary:
    """Everything numbered, for one or more segments."""

    def __init__(self) -> None:
        self.size = 0
        """Characters of the values remembered."""
        self.exact = NumberedTerms()
        self.exact_of = array("i")
        """Chunk of `text` -> number of its term in `exact`, -1 when there is none."""
        self.text = Chunks()
        self.words = Chunks()
        self.paths = _Paths(self)
        self._word_numbers = self.words.spellings()
        nothing = self.words.add(_NOTHING, self._word_numbers)
        self.names = Remembering(partial(self._words, prose=False), lambda value: nothing)
        """Text that is no sentence -> chunk of `words`; a chunk without tokens for all else."""
        self.sentences = Remembering(partial(self._words, prose=True), lambda value: nothing)

    @property
    def remembered(self) -> int:
        """Number of values, those included that the paths weigh."""
        return len(self.exact_of) + len(self.words.parts) + PATH_WEIGHT * len(self.paths)

    def add(self, term: str | None, found: Tokens, numbers: _Spellings, whole: bool = False) -> int:
        """The chunk of a value with its exact term."""
        self.exact_of.append(_NONE if term is None else self.exact[term])
        return self.text.add(found, numbers, whole)

    def _words(self, value: str, *, prose: bool) -> int:
        self.size += len(value)
        return self.words.add(tokens(value, prose), self._word_numbers)


class _Paths(dict[str, Path]):
    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary

    def __missing__(self, path: str) -> Path:
        found = self[path] = Path(path, self._vocabulary)
        return found
