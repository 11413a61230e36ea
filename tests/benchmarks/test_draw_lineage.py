"""The made-up catalog has lineage as a shop has it, and the catalog takes all of it."""

import json
from collections import defaultdict
from contextlib import closing
from pathlib import Path

from benchmarks.direct_catalog import DirectCatalog
from benchmarks.draw_lineage import draw
from benchmarks.generate import lines
from benchmarks.sample.lineage import Edge, edges
from domain.event_store.opening import open_event_log
from tests.benchmarks.test_generate import imported

COUNT = 500


def drawn(count: int = COUNT) -> list[Edge]:
    return [*edges(map(json.loads, lines(count)))]


def test_every_edge_is_taken_once_its_ends_are_imported(tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    imported(path, list(lines(COUNT)))
    made = drawn()
    with closing(open_event_log(path)) as log:
        for _ in range(2):
            draw(DirectCatalog(log), made)
            # The same once more stores nothing.
            assert log.head() == COUNT + len(made)


def test_an_extract_leads_over_staging_and_marts_to_a_dashboard() -> None:
    ends: defaultdict[str, list[str]] = defaultdict(list)
    for edge in drawn():
        ends[edge.beginning["fullyQualifiedName"]].append(edge.end["fullyQualifiedName"])

    def longest(name: str) -> int:
        return 1 + max((longest(each) for each in ends[name]), default=0)

    assert max(longest(name) for name in [*ends] if "_events" in name) == 6


def test_edges_name_columns_pipelines_and_every_schema() -> None:
    made = drawn()
    details = [edge.details for edge in made]
    kinds = {(edge.beginning["type"], edge.end["type"]) for edge in made}
    assert {("topic", "table"), ("table", "table"), ("table", "dashboard")} < kinds
    assert sum("pipeline" in each for each in details) > 10
    assert sum("columnsLineage" in each for each in details) > len(made) / 2
    schemas = [
        line["fullyQualifiedName"]
        for line in map(json.loads, lines(COUNT))
        if line["entityType"] == "databaseSchema"
    ]
    reached = {edge.end["fullyQualifiedName"].rpartition(".")[0] for edge in made}
    # The catalog ends before the last schema has tables.
    assert {*schemas[:-1]} <= reached


def test_larger_catalogs_have_more_edges() -> None:
    assert len(drawn(4 * COUNT)) > 3 * len(drawn())
