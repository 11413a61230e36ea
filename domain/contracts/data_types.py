"""Data types in any spelling, and the lattice by which one holds all values of another.

Wider is by the rules of Delta Lake's type widening (https://docs.delta.io/delta-type-widening), and
for texts and bytes by their lengths. A size, or a type of items, that is not said is the widest.
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType

import msgspec

_SHORT = 60
"""Characters of a type that is remembered."""
_LONGEST = 1_000
"""Characters of a type that is taken apart; a longer one is compared as a text."""
_DEEPEST = 8
"""Levels of `ARRAY<ARRAY<...>>` that are taken apart."""
_SPELLED = re.compile(
    r"([A-Z_][A-Z0-9_ ]*?) ?(?:\( ?(\d{1,9}(?: ?, ?\d{1,9})*|MAX) ?\))?( [A-Z ]+)?"
)
_ITEMS = re.compile(r"(ARRAY|LIST|MAP) ?<(.*)>|(?P<items>.+)\[\]", re.DOTALL)
_SPELLINGS = {
    "TINYINT": "BYTE BYTEINT",
    "SMALLINT": "SHORT INT2 INT16",
    "INT": "INTEGER INT4 INT32",
    "BIGINT": "LONG INT64",
    "DECIMAL": "NUMERIC NUMBER DEC BIGNUMERIC BIGDECIMAL",
    "FLOAT": "REAL FLOAT4 FLOAT32",
    "DOUBLE": "DOUBLE_PRECISION FLOAT8 FLOAT64",
    "BOOLEAN": "BOOL",
    "CHAR": "CHARACTER BPCHAR",
    "VARCHAR": "CHARACTER_VARYING CHAR_VARYING VARCHAR2",
    "NCHAR": "NATIONAL_CHARACTER",
    "NVARCHAR": "NVARCHAR2 NATIONAL_CHARACTER_VARYING",
    "TEXT": "STRING CLOB NTEXT NCLOB MEDIUMTEXT LONGTEXT",
    "VARBINARY": "BINARY_VARYING",
    "BYTES": "BYTEA BLOB MEDIUMBLOB LONGBLOB IMAGE",
    "TIMESTAMPNTZ": "TIMESTAMP_NTZ TIMESTAMP_WITHOUT_TIME_ZONE",
    "TIMESTAMPZ": "TIMESTAMPTZ TIMESTAMP_TZ TIMESTAMP_WITH_TIME_ZONE",
    "STRUCT": "RECORD ROW OBJECT",
    "ARRAY": "LIST",
}
_NAMES: Mapping[str, str] = MappingProxyType(
    {other: name for name, others in _SPELLINGS.items() for other in others.split()}
)
"""Spelling, with `_` for blanks -> the one name of the type."""
_NEXT = {
    "TINYINT": ("SMALLINT",),
    "SMALLINT": ("INT",),
    "INT": ("BIGINT", "DOUBLE"),
    "BIGINT": ("LARGEINT", "DECIMAL"),
    "FLOAT": ("DOUBLE",),
    "DATE": ("TIMESTAMP", "TIMESTAMPNTZ", "DATETIME"),
    "CHAR": ("VARCHAR", "NCHAR"),
    "NCHAR": ("NVARCHAR",),
    "VARCHAR": ("NVARCHAR",),
    "NVARCHAR": ("TEXT",),
    "BINARY": ("VARBINARY",),
    "VARBINARY": ("BYTES",),
}
"""Type -> the next wider ones."""
_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 20}
"""Digits that a DECIMAL needs for all values of an integer."""
_LENGTHS = frozenset(
    ["CHAR", "NCHAR", "VARCHAR", "NVARCHAR", "TEXT", "BINARY", "VARBINARY", "BYTES"]
)
_WITH_LENGTH = frozenset(["CHAR", "VARCHAR", "BINARY", "VARBINARY"])
"""Types of columns whose length is part of the type; sources give others one that says nothing."""


class Relation(StrEnum):
    """The values of a newer type compared with those of an older one."""

    SAME = "same"
    NARROWER = "narrower"
    WIDER = "wider"
    UNRELATED = "unrelated"


class DataType(msgspec.Struct, frozen=True, gc=False):
    """A data type, whatever its spelling was."""

    name: str
    sizes: tuple[int, ...] = ()
    """A length, or precision and scale; none where nothing is said."""
    items: "tuple[DataType, ...]" = ()
    """Type of an array's items, or of a map's keys and values."""

    def __str__(self) -> str:
        sizes = f"({','.join(map(str, self.sizes))})" if self.sizes else ""
        items = f"<{','.join(map(str, self.items))}>" if self.items else ""
        return self.name + sizes + items


def of_column(
    data_type: str,
    item: str | None = None,
    length: int | None = None,
    precision: int | None = None,
    scale: int | None = None,
) -> DataType:
    """The type of a column as the catalog has it; `item` is the type of an array's items."""
    name = _one_name(data_type)
    sizes: tuple[int, ...] = ()
    if name in _WITH_LENGTH and length is not None:
        sizes = (length,)
    elif name == "DECIMAL" and precision is not None:
        sizes = (precision, scale or 0)
    items = (DataType(_one_name(item)),) if name == "ARRAY" and item else ()
    return DataType(name, sizes, items)


def read_type(text: str) -> DataType:
    """The type that a text spells, of any warehouse or as a logical type of ODCS.

    A text that is no known spelling is the name of a type of its own.
    """
    return _remembered(text) if len(text) <= _SHORT else _spelled(text)


def _spelled(text: str) -> DataType:
    return _read(" ".join(text.upper().split()), _DEEPEST)


_remembered = lru_cache(4_096)(_spelled)
"""Remembers the types of short texts only: a long text may be a tree of hundreds of types."""


def relation(old: DataType, new: DataType) -> Relation:
    """The values of `new` compared with those of `old`.

    Unrelated are also types of which each holds values that the other does not.
    """
    if old == new:
        return Relation.SAME
    if old.name == new.name:
        names = Relation.SAME
    elif new.name in _wider(old.name):
        names = Relation.WIDER
    elif old.name in _wider(new.name):
        names = Relation.NARROWER
    else:
        return Relation.UNRELATED
    return both((names, _of_sizes(old, new), _of_items(old, new)))


def agrees(promised: DataType, there: DataType) -> bool:
    """Return True if what is there is no wider than what is promised, so that a reader of the
    promised type can hold all values."""
    return relation(promised, there) in (Relation.SAME, Relation.NARROWER)


def both(relations: Iterable[Relation]) -> Relation:
    """Combine the relations of the parts of two things; wider beside narrower is unrelated."""
    changes = {*relations} - {Relation.SAME}
    if len(changes) > 1:
        return Relation.UNRELATED
    return changes.pop() if changes else Relation.SAME


def of_numbers(old: float | None, new: float | None) -> Relation:
    """The relation of two upper bounds; None stands for no bound."""
    if old == new:
        return Relation.SAME
    return Relation.WIDER if new is None or (old is not None and new > old) else Relation.NARROWER


def _read(text: str, levels: int) -> DataType:
    if len(text) > _LONGEST or not levels:
        return DataType(text)
    if nested := _ITEMS.fullmatch(text):
        parts = [nested["items"]] if nested["items"] else _split(nested[2])
        items = tuple(_read(part.strip(), levels - 1) for part in parts)
        return DataType("MAP" if nested[1] == "MAP" else "ARRAY", (), items)
    spelled = _SPELLED.fullmatch(text)
    if spelled is None:
        return DataType(text)
    sizes = tuple(map(int, spelled[2].split(","))) if spelled[2] not in (None, "MAX") else ()
    name = _one_name(spelled[1] + (spelled[3] or ""))
    if name == "DECIMAL" and len(sizes) == 1:
        sizes = (*sizes, 0)
    return DataType(name, sizes)


def _split(text: str) -> list[str]:
    """The parts of a text at its commas, but for those in brackets."""
    parts, level, start = [], 0, 0
    for place, letter in enumerate(text):
        if letter in "<(":
            level += 1
        elif letter in ">)":
            level -= 1
        elif letter == "," and not level:
            parts.append(text[start:place])
            start = place + 1
    return [*parts, text[start:]]


def _one_name(spelling: str) -> str:
    name = spelling.upper().replace(" ", "_")
    return _NAMES.get(name, name)


@lru_cache(256)
def _wider(name: str) -> frozenset[str]:
    """All types that hold every value of a type, but for sizes."""
    wider = set(_NEXT.get(name, ()))
    for each in tuple(wider):
        wider |= _wider(each)
    return frozenset(wider)


def _of_sizes(old: DataType, new: DataType) -> Relation:
    if "DECIMAL" in (old.name, new.name):
        sizes = _digits(old), _digits(new)
    elif old.name == new.name or {old.name, new.name} <= _LENGTHS:
        sizes = old.sizes, new.sizes
    else:
        return Relation.SAME
    if not all(sizes):
        return of_numbers(*(0 if each else None for each in sizes))
    return both(map(of_numbers, *sizes)) if len({*map(len, sizes)}) == 1 else Relation.UNRELATED


def _digits(number: DataType) -> tuple[int, ...]:
    """The digits before and after the point; none where nothing bounds them."""
    if len(number.sizes) == 2:
        return number.sizes[0] - number.sizes[1], number.sizes[1]
    return (_DIGITS[number.name], 0) if number.name in _DIGITS else number.sizes


def _of_items(old: DataType, new: DataType) -> Relation:
    if not (old.items and new.items):
        return of_numbers(*(0 if each.items else None for each in (old, new)))
    same = len(old.items) == len(new.items)
    return both(map(relation, old.items, new.items)) if same else Relation.UNRELATED
