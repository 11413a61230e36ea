"""The edges of the lineage that a statement means, between datasets by their names."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from domain.openlineage.facets import Told
from domain.openlineage.outputs import MOST_DATASETS
from domain.openlineage.statements import DatasetName, Lineage, MadeOf, Output

MOST_EDGES = 10_000
"""Edges of one event."""


class Mapping(Struct, frozen=True, array_like=True):
    """Columns at the beginning of an edge, of which a column at its end is made."""

    to_column: str
    from_columns: tuple[str, ...]
    function: str | None = None


class SaidEdge(Struct, frozen=True, array_like=True):
    """The statement that one dataset is made of another one."""

    source: DatasetName
    target: DatasetName
    mappings: tuple[Mapping, ...] | None = None
    """The columns that flow over the edge; None where nothing is said of columns."""


def within_bounds(lineage: Lineage, told: Told) -> Lineage:
    """Cut a lineage to its first MOST_DATASETS datasets: the events of a run may name more."""
    known = set[DatasetName]()

    def fits(name: DatasetName) -> bool:
        if len(known) < MOST_DATASETS:
            known.add(name)
        if name in known:
            return True
        told.add(f"datasets left out: what is said of a run may name {MOST_DATASETS:,}")
        return False

    outputs = [
        Output(
            each.name,
            None if each.columns is None else tuple(c for c in each.columns if fits(c.source)),
            None if each.sources is None else tuple(filter(fits, each.sources)),
        )
        for each in lineage.outputs
        if fits(each.name)
    ]
    return Lineage(
        tuple(filter(fits, lineage.inputs)), tuple(outputs), lineage.sql, lineage.symlinks
    )


def without_columns(lineage: Lineage) -> Lineage:
    """The lineage between the same datasets, without what is said of columns."""
    outputs = (
        each
        if each.columns is None
        else msgspec.structs.replace(
            each, columns=tuple(dict.fromkeys(MadeOf("", made.source, "") for made in each.columns))
        )
        for each in lineage.outputs
    )
    return msgspec.structs.replace(lineage, outputs=tuple(outputs))


def alone_in(lineage: Lineage, edges: Sequence[SaidEdge]) -> tuple[DatasetName, ...]:
    """The datasets of a lineage that no edge begins or ends at."""
    named = {end for edge in edges for end in (edge.source, edge.target)}
    every = dict.fromkeys((*lineage.inputs, *(each.name for each in lineage.outputs)))
    return tuple(name for name in every if name not in named)


def edges_of(lineage: Lineage, told: Told) -> list[SaidEdge]:
    """The edges that a lineage means, each once, none from a dataset to itself.

    Sources that are stated explicitly count alone. Else an output is made of what its columns are
    made of, and of each input that the columns of no output are made of.
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
                mappings = _mappings(of_source) if of_source else ()
                yield SaidEdge(source, output.name, mappings or None)


def _mappings(made: list[MadeOf]) -> tuple[Mapping, ...]:
    """The mappings of one edge: one for each column at its end and each function that makes it."""
    columns: defaultdict[tuple[str, str | None], dict[str, None]] = defaultdict(dict)
    for each in made:
        if each.column:
            columns[each.column, each.function][each.field] = None
    return tuple(Mapping(to, tuple(fields), function) for (to, function), fields in columns.items())
