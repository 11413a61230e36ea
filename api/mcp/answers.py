"""Answers within bounds: what does not fit is told, and a cursor goes on behind what fits.

An answer is counted in the characters of its JSON. Lists end between elements, a text is cut with
its whole length told, and a field that finds no room is named with its size.
"""

from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType

from api.mcp.cleaning import plain, prose
from domain.errors import InvalidInput

MOST_TEXT = 4_000
"""Characters of one text in an answer; `text_from` goes on behind them."""
READ_TEXT = 200_000
"""Characters of one text that are cleaned, so that they can be read; its length tells of more."""
MOST_SHORT = 1_000
"""Characters of a value in a list, such as the description of a column."""
OVERHEAD = 1_200
"""Characters of an answer that are kept free for its cursor and its fixed fields."""
_CODE = frozenset(
    {
        "code",
        "expression",
        "metricExpression",
        "query",
        "rawSql",
        "schemaDefinition",
        "schemaText",
        "sql",
        "sqlQuery",
        "storedProcedureCode",
        "taskSQL",
    }
)
"""Keys of texts that people see as code, in which nothing is markup."""

R = TypeVar("R")
Seal = Callable[[str, bytes], str]
Open = Callable[[str, str], tuple[bytes, bytes] | None]


class Text(msgspec.Struct, frozen=True, omit_defaults=True):
    """A text that somebody wrote: data, whatever it says."""

    field: str
    text: str
    characters: int | UnsetType = UNSET
    """Length of the whole text in characters, if `text` is a part of it."""


class Answer(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The fields of all answers."""

    position: int
    """Position of the log that the answer is of."""
    request_id: str
    cursor: str | UnsetType = UNSET


def characters(encoded: bytes | Raw) -> int:
    """The number of characters of a JSON text."""
    return len(bytes(encoded).decode())


def cleaned(field: str, text: str) -> str:
    """A text as agents see it; the last part of the dotted `field` tells code from prose."""
    text = text[:READ_TEXT]
    return plain(text) if field.rpartition(".")[2] in _CODE else prose(text)


def short(field: str, text: str, most: int = MOST_SHORT) -> str:
    """A text for a list, cut to `most` characters; a cut one ends with the length of the whole."""
    shown = cleaned(field, text)
    if len(shown) <= most and len(text) <= READ_TEXT:
        return shown
    return f"{shown[:most]}… [{max(len(shown), len(text)):,} characters]"


def text_of(field: str, text: str, start: int = 0, most: int = MOST_TEXT) -> Text:
    """The part of a text from `start` on, with the length of the whole if the part is not all."""
    shown = cleaned(field, text)
    whole = len(shown) if len(text) <= READ_TEXT else len(text)
    part = shown[start : start + most]
    return Text(field, part, UNSET if len(part) == whole else whole)


class Room:
    """The characters that an answer has left."""

    def __init__(self, most: int) -> None:
        self.left = most - OVERHEAD

    def spend(self, encoded: bytes | Raw) -> None:
        """Take the characters of what is shown in any case."""
        self.left -= characters(encoded)

    def take(self, encoded: bytes | Raw) -> bool:
        """Take the characters of an element and its comma, if they fit."""
        size = characters(encoded) + 1
        if size > self.left:
            return False
        self.left -= size
        return True


def fill(room: Room, rows: Iterable[R], start: int = 0) -> tuple[list[R], int | None]:
    """The rows that fit, and the number of the first that does not; None where all of them fit.

    `start` is the number of the first of `rows`. At least one row is always given, or paging would
    never end; so the caller has to bound each row.
    """
    shown: list[R] = []
    for number, row in enumerate(rows, start):
        if not room.take(msgspec.json.encode(row)) and shown:
            return shown, number
        shown.append(row)
    return shown, None


class Cursors:
    """Cursors of one tool and its arguments for one caller, which nobody else can go on with."""

    def __init__(self, seal: Seal, opened: Open, caller: str, tool: str, arguments: Any) -> None:
        """`arguments` are those of the call without its cursor; `seal` and `opened` take a purpose
        and a value."""
        self._seal = seal
        self._open = opened
        asked = msgspec.msgpack.encode((caller, tool, arguments))
        self._purpose = f"mcp {blake2b(asked, digest_size=16).hexdigest()}"

    def made(self, position: int, place: int | str | None) -> str | UnsetType:
        """The cursor that goes on at a place in what is shown as of a position."""
        if place is None:
            return UNSET
        return self._seal(self._purpose, msgspec.msgpack.encode((position, place)))

    def read(self, cursor: str) -> tuple[int, int | str]:
        """The position and the place of a cursor; raises InvalidInput for one of another call."""
        opened = self._open(self._purpose, cursor)
        if opened is None:
            raise InvalidInput(
                "the cursor is of another caller, or of another call: give it with the arguments"
                " of the call that it came from, or leave it out to begin again"
            )
        return msgspec.msgpack.decode(opened[0], type=tuple[int, int | str])
