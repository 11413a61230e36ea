"""The canonical text in which a given document is recorded: JSON that loses nothing of it.

Order of keys, nulls, empty values, `1` beside `1.0` and whole numbers of any size are as they were
given. Two documents are equal when their canonical texts are.
"""

import json
import math
from typing import Any

from domain.errors import InvalidInput, shown
from domain.patches import json_input

Document = dict[str, Any]
"""A document as Python has it: of dict, list, str, int, float, bool and None."""

MAX_BYTES = 4_000_000
"""Bytes that a document may have as it is given, and as a canonical text."""
MAX_DIGITS = 1_000
"""Characters of a number."""


def read_json(data: bytes) -> Document:
    """The document that a JSON text holds.

    Raises InvalidInput for a text that is no JSON object, is larger or deeper than is allowed, or
    has a key twice in one object.
    """
    check_size(len(data))
    json_input.decode(data, dict[str, Any], "the document")
    # Msgspec makes floats of large whole numbers; the standard library's reader is exact.
    document: Document = json.loads(data, parse_int=_integer, parse_float=finite)
    return document


def canonical(document: Document) -> str:
    """The canonical text of a document; raises InvalidInput when it has more than MAX_BYTES."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    check_size(len(text.encode()))
    return text


def read_canonical(text: str) -> Document:
    """The document of a canonical text."""
    document: Document = json.loads(text)
    return document


def check_size(size: int) -> None:
    """Raise InvalidInput for more bytes than a document may have."""
    if size > MAX_BYTES:
        raise InvalidInput(f"a document may have {MAX_BYTES} bytes, got {size} or more")


def finite(text: str) -> float:
    """The number that a text writes; raises InvalidInput for one that is too large for a float."""
    value = float(text)
    if not math.isfinite(value):
        raise InvalidInput(f"the number {shown(text)} is none that JSON can write")
    return value


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise InvalidInput(f"a number may have {MAX_DIGITS} digits, got {len(text)}")
    return int(text)
