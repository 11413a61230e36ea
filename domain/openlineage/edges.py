"""The edges of the lineage that a statement means, between datasets by their names."""

from collections import defaultdict
from collections.abc import Iterator

from msgspec import Struct

from domain.openlineage.facets import Told
from domain.openlineage.statements import DatasetName, Lineage, MadeOf

MOST_EDGES = 10_000
"""Edges of one event."""


class Mapping(Struct, frozen=True, array_like=True):
    """Columns at the beginning of an edge, of which a column at its end is made."""

    to_column: str
    from_columns: tuple[str, ...]
    function: str | None = None


class SaidEdge(Struct, frozen=True, array_like=True):
    """One dataset is made of another one."""

    source: DatasetName
    target: DatasetName
    mappings: tuple[Mapping, ...] | None = None
    """None where nothing is said of columns."""


def edges_of(lineage: Lineage, told: Told) -> list[SaidEdge]:
    """The edges that a lineage means, each once, none from a dataset to itself.

    What is told explicitly counts alone. Else an output is made of what its columns are made of,
    and of each input that the columns of no output are made of.
    """
    edges: list[SaidEdge] = []
    for edge in _all_edges(lineage):
        if len(edges) == MOST_EDGES:
            told.add(f"edges left out: an event may have {MOST_EDGES:,}")
            break
        edges.append(edge)
    return edges


def _all_edges(lineage: Lineage) -> Iterator[SaidEdge]:
    named = {made.source for output in lineage.outputs for made in output.columns or ()}
    plain = [each for each in lineage.inputs if each not in named]
    for output in lineage.outputs:
        made: defaultdict[DatasetName, list[MadeOf]] = defaultdict(list)
        for each in output.columns or ():
            made[each.source].append(each)
        sources = output.sources
        if sources is None:
            sources = tuple(dict.fromkeys((*made, *plain)))
        for source in sources:
            if source != output.name:
                of_source = made.get(source)
                yield SaidEdge(source, output.name, _mappings(of_source) if of_source else None)


def _mappings(made: list[MadeOf]) -> tuple[Mapping, ...]:
    """The mappings of one edge, one for each column at its end and what is done to it."""
    columns: defaultdict[tuple[str, str | None], dict[str, None]] = defaultdict(dict)
    for each in made:
        columns[each.column, each.function][each.field] = None
    return tuple(Mapping(to, tuple(fields), function) for (to, function), fields in columns.items())
