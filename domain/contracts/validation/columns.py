"""Promised columns held against those of an entity, at all depths."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from domain.aggregate.entity import Entity
from domain.contracts.data_types import DataType, agrees, of_column
from domain.contracts.validation.results import MOST_NAMED, SchemaValidation
from domain.kinds.entity_kind import EntityKind

Column = Mapping[str, Any]
"""A column or field, as JSON has it."""
_UNKNOWN = "UNKNOWN"
"""Type of a column of which a document says none."""
_LISTS = ("columns", "fields", "schemaFields")
"""Last keys of the paths to columns and fields; other parts, such as tasks, have no types."""


def paths_to_columns(kind: EntityKind) -> tuple[str, ...]:
    """The paths of a body that lead to columns, or fields, with types; none of many kinds."""
    return tuple(path for path in kind.body.parts if path.rpartition(".")[2] in _LISTS)


def columns_of(kind: EntityKind, entity: Entity) -> list[Column]:
    """The columns or fields of an entity, the inner ones as `children`."""
    found: list[Column] = []
    for path in paths_to_columns(kind):
        first, _, below = path.partition(".")
        held = entity.value(first)
        if below:
            held = (held or {}).get(below)
        found += held or ()
    return found


def compare(
    promised: Iterable[Column], there: Iterable[Column], *, strict: bool
) -> SchemaValidation:
    """The validation of promised columns; with `strict` a type that does not agree fails."""
    # Dicts, as many small objects at once would have the collector hold all threads.
    wanted, held = dict[str, DataType](), dict(_types(there, ""))
    twice: list[str] = []
    for path, data_type in _types(promised, ""):
        if path in wanted:
            twice.append(path)
        wanted[path] = data_type
    missing = [path for path in wanted if path not in held]
    other = {
        path: f"{path}: expected {data_type}, got {held[path]}"
        for path, data_type in wanted.items()
        if path in held and data_type.name != _UNKNOWN and not agrees(data_type, held[path])
    }
    failed = {*missing, *twice, *(other if strict else ())}
    return SchemaValidation(
        passed=len(wanted) - len(failed),
        failed=len(failed),
        total=len(wanted),
        failed_fields=missing[:MOST_NAMED],
        duplicate_fields=[*dict.fromkeys(twice)][:MOST_NAMED],
        type_mismatch_fields=[*other.values()][:MOST_NAMED],
    )


def _types(columns: Iterable[Column], above: str) -> Iterator[tuple[str, DataType]]:
    """Path of each column -> its type."""
    for column in columns:
        path = above + column["name"]
        sizes = (column.get(key) for key in ("arrayDataType", "dataLength", "precision", "scale"))
        yield path, of_column(column["dataType"], *sizes)
        yield from _types(column.get("children") or (), f"{path}.")
