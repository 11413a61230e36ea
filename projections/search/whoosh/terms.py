"""Search documents to the terms of the index.

Three fields hold everything, so that the schema does not depend on what entities contain:
`exact` has whole values as `path.keyword␟value`, numbers as `path␟#hex`, booleans, and a term per
path that is present; `text` has the tokens of each path as `path␟token` with positions; `words`
has the tokens of the kinds' search fields, weighted, for queries that name no field.
"""

import struct
from array import array

from domain.registry import KINDS
from projections.search.documents import Scalar, SearchDocument, is_prose, is_whole
from projections.search.whoosh.analysis import keyword, stem, tokens

SEPARATOR = "\x1f"
PRESENT = "\x1e"
STEM = "\x1d"
NUMBER = "#"
VALUE_GAP = 128
"""Positions between two values, more than any slop, so that no phrase spans them."""
MAX_KEYWORD = 4_096

Positions = dict[str, list[int]]


class Terms:
    """The terms of one document."""

    def __init__(self, document: SearchDocument) -> None:
        self.exact: set[str] = set()
        self.text: Positions = {}
        self.words: Positions = {}
        self.weights: dict[str, float] = {}
        self.length = 0
        """Tokens in `words`."""
        for path, values in document.fields.items():
            self._add_path(path, values)
        self._add_words(document)

    def _add_path(self, path: str, values: tuple[Scalar, ...]) -> None:
        exact = self.exact
        exact.add(PRESENT + path)
        prose, whole = is_prose(path), is_whole(path)
        at = 0
        for value in dict.fromkeys(values):
            if not isinstance(value, str):
                exact.add(scalar_term(path, value))
                continue
            if not prose and len(value) <= MAX_KEYWORD:
                exact.add(f"{path}.keyword{SEPARATOR}{keyword(value)}")
                if whole:
                    continue
            found = tokens(value, prose)
            if prose or len(found.parts) > 1:
                at = _add(self.text, path + SEPARATOR, found.parts, found.wholes, at)
                if prose:
                    for word in found.parts:
                        if (root := stem(word)) != word:
                            self.text.setdefault(f"{path}{SEPARATOR}{STEM}{root}", [])

    def _add_words(self, document: SearchDocument) -> None:
        at = 0
        fields = document.fields
        for field in KINDS[document.kind].search:
            values = fields.get(field.path, ())
            if field.path == "displayName" and values == fields.get("name"):
                continue
            prose = is_prose(field.path)
            for value in dict.fromkeys(values):
                if not isinstance(value, str):
                    continue
                found = tokens(value, prose)
                at = _add(self.words, "", found.parts, found.wholes, at)
                self.length += len(found.parts)
                names = [*found.parts, *(whole for whole, _ in found.wholes)]
                if prose:
                    roots = [STEM + root for word in found.parts if (root := stem(word)) != word]
                    for root in roots:
                        self.words.setdefault(root, [])
                    names += roots
                for name in names:
                    self.weights[name] = self.weights.get(name, 0.0) + field.boost


def _add(
    target: Positions,
    prefix: str,
    parts: tuple[str, ...],
    wholes: tuple[tuple[str, int], ...],
    at: int,
) -> int:
    """Add a text's tokens from position `at` on; the position for the next text."""
    for place, part in enumerate(parts, at):
        target.setdefault(prefix + part, []).append(place)
    for whole, place in wholes:
        target.setdefault(prefix + whole, []).append(at + place)
    return at + len(parts) + VALUE_GAP


def scalar_term(path: str, value: int | float | bool) -> str:
    """The exact term of a number or boolean."""
    if isinstance(value, bool):
        return f"{path}{SEPARATOR}{'true' if value else 'false'}"
    return f"{path}{SEPARATOR}{NUMBER}{sortable(float(value))}"


def sortable(number: float) -> str:
    """Hexadecimal digits in the order of the numbers."""
    bits: int = struct.unpack(">Q", struct.pack(">d", number + 0.0))[0]
    bits = bits ^ 0xFFFFFFFFFFFFFFFF if bits >> 63 else bits | 1 << 63
    return f"{bits:016x}"


def pack(positions: list[int]) -> bytes:
    """Positions as they are stored with a posting; never empty, Whoosh drops empty values."""
    return array("I", positions).tobytes() or b"\0"


def unpack(value: bytes) -> "array[int]":
    """The positions of a posting."""
    found: array[int] = array("I")
    if len(value) > 1:
        found.frombytes(value)
    return found
