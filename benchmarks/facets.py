"""Facets: what the usual ones take beside the search that they are of, and each by itself.

The yardstick counts the same values of the same documents in plain Python, with all of them in
memory.
"""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence

from benchmarks.figures import Figure, seconds
from benchmarks.generate import lines
from benchmarks.search import documents, engine_query
from benchmarks.search_questions import Sample
from benchmarks.workspace import Workspace, load
from projections.search import tree
from projections.search.aggregations import Aggregation, DateHistogram, Terms
from projections.search.analysis import keyword
from projections.search.bulk_build import load as rebuild
from projections.search.documents.documents import SearchDocument
from projections.search.engine import Buckets, EngineQuery, Facet, SearchEngine
from projections.search.facets import facets
from projections.search.index.engine import WhooshEngine
from projections.search.restriction import Hidden
from projections.visibility.field_paths import indexed_path
from projections.wiring.stores import open_log

EACH_MS = {20_000: 1.0}
_QUESTIONS, _ROUNDS = 20, 15
_COLUMNS = "columns.name.keyword"
_SHAPES = ("common term", "rare term")


def measure(workspace: Workspace, large: bool) -> list[Figure]:
    """Facets of 20,000 entities, and of 200,000."""
    figures = figures_of(workspace, 20_000)
    return figures + (figures_of(workspace, 200_000) if large else [])


def figures_of(workspace: Workspace, count: int, rounds: int = _ROUNDS) -> list[Figure]:
    """All figures on a catalog of this size."""
    log = open_log(workspace.fresh())
    engine = WhooshEngine.open(workspace.fresh())
    try:
        load(log, lines(count))
        rebuild(engine, log, lambda done, total: None)
        engine.compact()
        stored = {document.id: document for document in documents(log)}
        return [
            *_beside_hits(engine, count, list(stored.values())),
            *_by_field(engine, count, stored, rounds),
        ]
    finally:
        engine.close()
        log.close()


def _beside_hits(
    engine: SearchEngine, count: int, stored: Sequence[SearchDocument]
) -> list[Figure]:
    """Searches with the usual facets, beside the same without."""
    usual = tuple(map(Facet, _usual()))
    figures = []
    for shape in Sample(stored).shapes(_QUESTIONS):
        if shape.name not in _SHAPES:
            continue
        plain, faceted = [], []
        for question in shape.questions:
            query = engine_query(question)
            with_facets = EngineQuery(tree=query.tree, kinds=query.kinds, facets=usual)
            plain.append(_milliseconds(engine, query))
            faceted.append(_milliseconds(engine, with_facets))
        figures.append(
            Figure(
                what=f"search {count:,}: {shape.name} with {len(usual)} usual facets",
                measured=f"p50 {statistics.median(faceted):.2f} ms",
                yardstick=f"p50 {statistics.median(plain):.2f} ms without facets",
                ratio=statistics.median(faceted) / statistics.median(plain),
            )
        )
    return figures


def _by_field(
    engine: SearchEngine, count: int, stored: Mapping[str, SearchDocument], rounds: int
) -> list[Figure]:
    """Each facet of everything by itself, beside the count in plain Python."""
    months = DateHistogram(name="months", field="updatedAt", interval="month")
    budget = EACH_MS.get(count)
    figures = []
    for aggregation in (*_usual(), facets.terms(_COLUMNS, facets.DEFAULT_SIZE), months):
        query = EngineQuery(tree=tree.MatchAll(), size=0, facets=(Facet(aggregation),))
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(_milliseconds(engine, query))
            if isinstance(aggregation, Terms):
                field = aggregation.field
                theirs.append(seconds(lambda field=field: _counted(stored, field)) * 1000)  # type: ignore[misc]
        (result,) = engine.search(query).facets
        assert isinstance(result, Buckets)
        p50 = statistics.median(ours)
        figures.append(
            Figure(
                what=f"facet of {count:,}: {aggregation.name}, {len(result.buckets)} buckets",
                measured=f"p50 {p50:.2f} ms",
                yardstick=f"{statistics.median(theirs):.1f} ms in plain Python" if theirs else "-",
                ratio=p50 / statistics.median(theirs) if theirs else None,
                budget="-" if budget is None else f"< {budget:g} ms",
                met=None if budget is None else p50 < budget,
            )
        )
    return figures


def _usual() -> tuple[Aggregation, ...]:
    return facets.default_aggregations(Hidden((), frozenset()))


def _milliseconds(engine: SearchEngine, query: EngineQuery) -> float:
    return seconds(lambda: engine.search(query)) * 1000


def _counted(stored: Mapping[str, SearchDocument], field: str) -> list[tuple[str, int]]:
    """The largest buckets of a field of texts."""
    path = indexed_path(field)
    counter = Counter(
        key
        for document in stored.values()
        if not document.deleted
        for key in {keyword(str(value)) for value in document.fields.get(path, ())}
    )
    return counter.most_common(facets.DEFAULT_SIZE)
