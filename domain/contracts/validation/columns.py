"""Promised columns held against those of an entity, at all depths."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from domain.aggregate.entity import Entity
from domain.contracts.data_types import DataType, agrees, of_column
from domain.contracts.validation.results import MOST_NAMED, SchemaValidation
from domain.kinds.entity_kind import EntityKind

Column = Mapping[str, Any]
"""A column or field, as JSON has it."""
UNKNOWN = "UNKNOWN"
"""Type of a column of which a document says none."""
SIZES = ("arrayDataType", "dataLength", "precision", "scale")
"""Keys of a column that its type is made of, beside `dataType`."""
_LISTS = ("columns", "fields", "schemaFields")
"""Last keys of the paths to columns and fields; other parts, such as tasks, have no types."""


def paths_to_columns(kind: EntityKind) -> tuple[str, ...]:
    """The paths of a body that lead to columns, or fields, with types; none of many kinds."""
    return tuple(path for path in kind.body.parts if path.rpartition(".")[2] in _LISTS)


def columns_of(kind: EntityKind, entity: Entity) -> list[Column]:
    """The columns or fields of an entity, the inner ones as `children`."""
    columns: list[Column] = []
    for path in paths_to_columns(kind):
        first, _, below = path.partition(".")
        held = entity.value(first)
        if below:
            held = (held or {}).get(below)
        columns += held or ()
    return columns


class Difference(msgspec.Struct, frozen=True, gc=False):
    """A promised column that the entity lacks, or has with another type."""

    path: str
    promised: DataType
    there: DataType | None
    """Type of the entity's column; None where the entity has no such column."""


class Agreement(msgspec.Struct, frozen=True):
    """Promised columns beside those of an entity, the inner ones by their paths."""

    promised: int
    differences: tuple[Difference, ...]
    """The columns that differ, in the order in which they are promised."""
    twice: tuple[str, ...]
    """Paths that are promised more than once."""
    unpromised: int
    """Number of columns of the entity that the contract does not promise."""

    @property
    def agreeing(self) -> int:
        """Promised columns that are there, with their type, and promised once."""
        return self.promised - len({*self.twice, *(each.path for each in self.differences)})


def agreement(promised: Iterable[Column], there: Iterable[Column]) -> Agreement:
    """Compare promised columns with those of an entity.

    A type agrees with what is promised where it is the same, or narrower; a column of which no type
    is promised agrees with any.
    """
    # Objects that the collector passes over: it would hold all threads for as many others.
    wanted, held = dict[str, DataType](), {path: _type(each) for path, each in by_path(there)}
    twice: dict[str, None] = {}
    for path, column in by_path(promised):
        if path in wanted:
            twice[path] = None
        wanted[path] = _type(column)
    differences = tuple(
        Difference(path, data_type, held.get(path))
        for path, data_type in wanted.items()
        if path not in held or not (data_type.name == UNKNOWN or agrees(data_type, held[path]))
    )
    missing = sum(1 for each in differences if each.there is None)
    return Agreement(
        len(wanted), differences, tuple(twice), unpromised=len(held) - len(wanted) + missing
    )


def compare(
    promised: Iterable[Column], there: Iterable[Column], *, strict: bool
) -> SchemaValidation:
    """The validation of promised columns; with `strict` a type that does not agree fails."""
    compared = agreement(promised, there)
    missing = [each.path for each in compared.differences if each.there is None]
    other = {
        each.path: f"{each.path}: expected {each.promised}, got {each.there}"
        for each in compared.differences
        if each.there is not None
    }
    failed = {*missing, *compared.twice, *(other if strict else ())}
    return SchemaValidation(
        passed=compared.promised - len(failed),
        failed=len(failed),
        total=compared.promised,
        failed_fields=missing[:MOST_NAMED],
        duplicate_fields=[*compared.twice[:MOST_NAMED]],
        type_mismatch_fields=[*other.values()][:MOST_NAMED],
    )


def by_path(columns: Iterable[Column], above: str = "") -> Iterator[tuple[str, Column]]:
    """Path and column, at all depths, each column before those inside it."""
    for column in columns:
        path = above + column["name"]
        yield path, column
        yield from by_path(column.get("children") or (), f"{path}.")


def _type(column: Column) -> DataType:
    return of_column(column["dataType"], *(column.get(key) for key in SIZES))
