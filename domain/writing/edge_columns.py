"""The column mappings of a lineage edge, held to the columns that its ends have."""

from collections.abc import Iterator, Sequence

import msgspec

from domain.aggregate.entity import Entity
from domain.events import values_by_key
from domain.kinds.bodies.lineage import ColumnLineage
from domain.kinds.registry import KINDS

_CHARTS = {"dashboard": ("charts",)}
"""Kind -> keys that hold references to what stands for columns in the lineage of the kind."""


class _Part(msgspec.Struct, rename="camel"):
    fully_qualified_name: str | None = None
    children: "list[_Part] | None" = None


_parts = msgspec.json.Decoder(list[_Part])


def column_paths(kind: str) -> tuple[str, ...]:
    """The keys, or dotted paths, under which entities of a kind hold their columns."""
    return (*KINDS[kind].body.parts, *_CHARTS.get(kind, ()))


def fitting_mappings(
    mappings: Sequence[ColumnLineage], beginning: Entity, end: Entity
) -> list[ColumnLineage]:
    """The mappings between columns that there are, by their qualified names, each once.

    A mapping of a column that the catalog does not have is left out without a word, as OpenMetadata
    does it: sources may know such columns. A column may be named below its entity.
    """
    given, made = column_names(beginning), column_names(end)
    kept: dict[tuple[str | None, ...], ColumnLineage] = {}
    for mapping in mappings:
        to_column = _known(mapping.to_column, end, made)
        named = [_known(name, beginning, given) for name in mapping.from_columns or ()]
        from_columns = [name for name in dict.fromkeys(named) if name is not None]
        if to_column is not None and from_columns:
            fitting = ColumnLineage(
                from_columns=from_columns, to_column=to_column, function=mapping.function
            )
            kept[identity(fitting)] = fitting
    return [*kept.values()]


def identity(mapping: ColumnLineage) -> tuple[str | None, ...]:
    """All that a mapping says, to look it up by."""
    return (mapping.to_column, mapping.function, *(mapping.from_columns or ()))


def joined_mappings(
    before: Sequence[ColumnLineage], given: Sequence[ColumnLineage]
) -> list[ColumnLineage]:
    """The mappings that are there, then those that are added to them."""
    known = {_columns(mapping) for mapping in before}
    return [*before, *(mapping for mapping in given if _columns(mapping) not in known)]


def placed_mappings(
    before: Sequence[ColumnLineage], given: Sequence[ColumnLineage]
) -> list[ColumnLineage]:
    """The given mappings in the order of those that are there, the new ones behind them."""
    places = {_columns(mapping): place for place, mapping in enumerate(before)}
    return sorted(given, key=lambda mapping: places.get(_columns(mapping), len(places)))


def _columns(mapping: ColumnLineage) -> tuple[str | None, ...]:
    return (mapping.to_column, *sorted(mapping.from_columns or ()))


def _known(name: str | None, entity: Entity, columns: frozenset[str]) -> str | None:
    """The qualified name of a column that an entity has; None for one that it does not have."""
    if name is None or name in columns:
        return name
    below = f"{entity.fqn}.{name}"
    return below if below in columns else None


def column_names(entity: Entity) -> frozenset[str]:
    """The qualified names of an entity's columns, at all levels."""
    names: set[str] = set()
    for path in column_paths(entity.kind):
        key, _, inner = path.partition(".")
        raw = entity.body.get(key)
        if raw is not None and inner:
            raw = values_by_key(raw).get(inner)
        if raw is not None:
            names.update(_names(_parts.decode(raw)))
    return frozenset(names)


def _names(parts: Sequence[_Part] | None) -> Iterator[str]:
    for part in parts or ():
        if part.fully_qualified_name is not None:
            yield part.fully_qualified_name
        yield from _names(part.children)
