"""`python -m benchmarks.relevance`: how well plain-text searches find what people mean.

Judged queries over the two real catalogs are searched as the product searches them. MRR is the
mean of one over the rank of the first perfect hit, nDCG@10 weighs all hits by grade and rank;
both are 1 at best and count hits below the tenth as missed.
"""

import math
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks.figures import Figure
from benchmarks.judged import CATALOGS, SET_ASIDE, Judged, Key, entities, judged, lines
from benchmarks.workspace import Workspace, catch_up, load
from projections.search.answers.queries import SearchRequest, search
from projections.search.documents.sources import ReadSources
from projections.search.engine import SearchEngine
from projections.wiring.stores import Stores, open_stores

DEPTH = 10
PERFECT = 3
ALL = "all"


class Outcome(msgspec.Struct, frozen=True):
    """Result of one judged query."""

    query: Judged
    found: tuple[Key, ...]
    """The first ten hits."""
    reciprocal_rank: float
    ndcg: float


class Scores(msgspec.Struct, frozen=True):
    """Means over queries."""

    queries: int
    mrr: float
    ndcg: float


def evaluate(
    engine: SearchEngine, read_sources: ReadSources, queries: Sequence[Judged]
) -> list[Outcome]:
    """Search for each query as the HTTP endpoint does, and hold the hits to the judgements."""
    return [outcome(query, _found(engine, read_sources, query.text)) for query in queries]


def scores(outcomes: Sequence[Outcome]) -> dict[str, Scores]:
    """Means over all the outcomes, over each group of them, and over each category of a group."""
    groups: dict[str, list[Outcome]] = {ALL: []}
    for outcome in outcomes:
        query = outcome.query
        for name in (ALL, query.group, f"{query.group}: {query.category}"):
            groups.setdefault(name, []).append(outcome)
    return {
        name: Scores(
            len(group),
            math.fsum(each.reciprocal_rank for each in group) / len(group),
            math.fsum(each.ndcg for each in group) / len(group),
        )
        for name, group in groups.items()
    }


def measure(workspace: Workspace, large: bool) -> list[Figure]:
    """MRR and nDCG@10, over everything, by group and by category."""
    outcomes = outcomes_of(workspace)
    return [
        Figure(
            what=f"relevance, {group.queries} queries: {name}",
            measured=f"MRR {group.mrr:.3f}, nDCG@{DEPTH} {group.ndcg:.3f}",
        )
        for name, group in (scores(outcomes) if outcomes else {}).items()
    ]


def outcomes_of(workspace: Workspace) -> list[Outcome]:
    """The outcomes over a new import of the catalogs; none, with a message, without them."""
    if not all(catalog.exists() for catalog in CATALOGS):
        print("relevance: skipped, the catalogs are not in the shared data")
        return []
    stores = open_catalogs(workspace.fresh())
    try:
        with stores.engine.use() as engine:
            return evaluate(engine, sources(stores), judged(entities()))
    finally:
        stores.close()


def open_catalogs(directory: Path) -> Stores:
    """Both catalogs in the log and in the read models of a directory."""
    stores = open_stores(directory)
    for catalog in CATALOGS:
        load(stores.log, lines(catalog))
    catch_up(stores)
    return stores


def sources(stores: Stores) -> ReadSources:
    """Reads the documents of hits."""

    def read(ids: Sequence[str]) -> Mapping[str, bytes]:
        with stores.entities.use() as model:
            return model.documents(ids)

    return read


def _found(engine: SearchEngine, read_sources: ReadSources, text: str) -> tuple[Key, ...]:
    answer: Any = msgspec.json.decode(
        search(SearchRequest(q=text, size=DEPTH), engine, read_sources).body
    )
    shown = [hit["_source"] for hit in answer["hits"]["hits"]]
    return tuple((source["entityType"], source["fullyQualifiedName"]) for source in shown)


def outcome(query: Judged, found: tuple[Key, ...]) -> Outcome:
    """Hold the first ten hits of a query to its judgements."""
    grades = [query.grades.get(key, 0) for key in found]
    ideal = sorted(query.grades.values(), reverse=True)[:DEPTH]
    ranks = [rank for rank, grade in enumerate(grades, start=1) if grade == PERFECT]
    return Outcome(query, found, 1 / ranks[0] if ranks else 0.0, _gain(grades) / _gain(ideal))


def _gain(grades: Sequence[int]) -> float:
    return math.fsum(
        (2**grade - 1) / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1)
    )


def _worst(outcomes: Sequence[Outcome], count: int) -> Table:
    table = Table(title="worst queries, but for those set aside", title_justify="left")
    for heading in ("query", "category", "nDCG", "came first", "hoped for"):
        table.add_column(heading, overflow="fold")
    tuned = [outcome for outcome in outcomes if outcome.query.group != SET_ASIDE]
    for outcome in sorted(tuned, key=lambda outcome: outcome.ndcg)[:count]:
        hoped = max(outcome.query.grades.items(), key=lambda graded: graded[1])[0]
        first = " ".join(outcome.found[0]) if outcome.found else "-"
        row = outcome.query.text, outcome.query.category, f"{outcome.ndcg:.2f}"
        table.add_row(*row, first[-70:], " ".join(hoped)[-70:])
    return table


def _means(groups: Mapping[str, Scores]) -> Table:
    table = Table(title="relevance", title_justify="left")
    for heading in ("category", "queries", "MRR", f"nDCG@{DEPTH}"):
        table.add_column(heading)
    for name, group in sorted(groups.items()):
        table.add_row(name, str(group.queries), f"{group.mrr:.3f}", f"{group.ndcg:.3f}")
    return table


@click.command()
@click.option("--worst", type=click.IntRange(min=0), default=15, show_default=True)
def main(worst: int) -> None:
    """Print MRR and nDCG@10 by group and category, and the queries that go worst.

    Of the queries set aside only the means are told, so that nobody tunes on one of them.
    """
    with tempfile.TemporaryDirectory(prefix="relevance-") as directory:
        outcomes = outcomes_of(Workspace(Path(directory)))
    if outcomes:
        console = Console(width=180)
        console.print(_means(scores(outcomes)))
        console.print(_worst(outcomes, worst))


if __name__ == "__main__":
    main()
