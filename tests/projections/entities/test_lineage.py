"""The walk over the lineage, held against a graph in plain Python, and within its bounds."""

import tempfile
from collections.abc import Mapping
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from domain.aggregate.entity import Entity
from domain.errors import InvalidInput, NotFound
from domain.kinds.registry import KINDS
from projections.entities.lineage import Bounds, Lineage, lineage_json, read_edge, read_lineage
from projections.entities.sqlite.bulk_load import load
from projections.entities.sqlite.file_check import check
from projections.entities.sqlite.model import open_read_model
from projections.entities.upstream_edges import UpstreamEdges
from projections.visibility.edges import EdgeSight
from tests.domain.drawing import draw, erase, redraw, reference
from tests.projections.conftest import Fixture
from tests.projections.read_models import ME

ALL = EdgeSight(frozenset(KINDS), {})
NAMES = "abcdef"
PIPELINE = "f"
"""The one of the entities that others' edges may name as their pipeline."""

Answer = dict[str, Any]


class PlainGraph:
    """Lineage as it should be: entities by name, and edges as pairs of names."""

    def __init__(self) -> None:
        self.deleted: set[str] = set()
        self.edges: dict[tuple[str, str], dict[str, Any]] = {}

    def purge(self, name: str) -> None:
        self.deleted.discard(name)
        self.edges = {ends: about for ends, about in self.edges.items() if name not in ends}

    def reached(self, root: str, depth: int, *, upstream: bool) -> dict[tuple[str, str], str]:
        """The edges within some steps, as they are shown, and the SQL of each that may be shown.

        Where several edges are shown between the same two entities, any of them may stand there.
        """
        found: dict[tuple[str, str], set[Any]] = {}
        met, level = {root}, {root}
        for _ in range(depth):
            following = set()
            for (beginning, end), about in self.edges.items():
                for node in level:
                    own, other = (end, beginning) if upstream else (beginning, end)
                    over = about["over"] and node == PIPELINE and other != node
                    if own == node or over:
                        between = (other, node) if upstream else (node, other)
                        found.setdefault(between, set()).add(about["sql"])
                        following.add(other)
            level = following - met
            met |= level
        return found  # type: ignore[return-value]


drawings = st.tuples(st.just("draw"), st.sampled_from(NAMES), st.sampled_from(NAMES), st.booleans())
operations = st.lists(
    st.one_of(
        drawings,
        st.tuples(
            st.sampled_from(["patch", "erase"]), st.sampled_from(NAMES), st.sampled_from(NAMES)
        ),
        st.tuples(st.sampled_from(["delete", "restore", "purge"]), st.sampled_from(NAMES)),
    ),
    max_size=30,
)


class Drawn(Fixture):
    """Five tables and a pipeline, and the graph that their lineage should be."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.schema()
        self.create("pipelineService", "runs", serviceType="Airflow")
        self.entities_of: dict[str, Entity] = {}
        self.graph = PlainGraph()
        self.numbers = count()
        for name in NAMES:
            self.make(name)

    def make(self, name: str) -> None:
        made = (
            self.create("pipeline", name, service="runs") if name == PIPELINE else self.table(name)
        )
        self.entities_of[name] = made.entity

    def perform(self, operation: tuple[Any, ...]) -> None:
        """Do it in the catalog and in the plain graph; what is impossible is left out."""
        action, name, *rest = operation
        graph, entity = self.graph, self.entities_of[name]
        kind = KINDS[entity.kind]
        if action in ("draw", "patch", "erase"):
            ends = name, rest[0]
            pair = entity, self.entities_of[rest[0]]
            if action == "erase" and ends in graph.edges:
                erase(self.catalog, *pair)
                del graph.edges[ends]
            elif graph.deleted.intersection(ends):
                return
            elif action == "patch" and ends in graph.edges:
                sql = f"select {next(self.numbers)}"
                redraw(self.catalog, *pair, {"op": "add", "path": "/sqlQuery", "value": sql})
                graph.edges[ends]["sql"] = sql
            elif action == "draw":
                over = rest[1] and PIPELINE not in graph.deleted
                sql = f"select {next(self.numbers)}"
                details = {"sqlQuery": sql}
                if over:
                    run = self.entities_of[PIPELINE]
                    details["pipeline"] = {"id": run.id, "type": "pipeline"}  # type: ignore[assignment]
                draw(self.catalog, *pair, **details)
                graph.edges[ends] = {"sql": sql, "over": over}
        elif action == "delete" and name not in graph.deleted:
            self.catalog.delete(kind, entity.id, ME, hard=False, recursive=False)
            graph.deleted.add(name)
        elif action == "restore" and name in graph.deleted:
            self.catalog.restore(kind, entity.id, ME)
            graph.deleted.discard(name)
        elif action == "purge":
            self.catalog.delete(kind, entity.id, ME, hard=True, recursive=False)
            graph.purge(name)
            if name == PIPELINE:
                for about in graph.edges.values():
                    about["over"] = False
            self.make(name)

    def check(self, model: Any) -> None:
        """Every answer is what the plain graph says."""
        names = {entity.id: name for name, entity in self.entities_of.items()}
        for name, entity in self.entities_of.items():
            for depths in ((1, 1), (0, 3), (2, 0)):
                ask = partial(read_lineage, model, reference(entity), ALL)
                if name in self.graph.deleted:
                    with pytest.raises(NotFound):
                        ask(upstream=depths[0], downstream=depths[1])
                    continue
                answer = ask(upstream=depths[0], downstream=depths[1])
                self.compare(name, names, answer, depths)
        for beginning, one in self.entities_of.items():
            for end, other in self.entities_of.items():
                if (beginning, end) in self.graph.edges:
                    details = read_edge(model, one.id, other.id, ALL).details
                    sql = self.graph.edges[beginning, end]["sql"]
                    assert msgspec.json.decode(details["sqlQuery"]) == sql
                else:
                    with pytest.raises(NotFound):
                        read_edge(model, one.id, other.id, ALL)

    def compare(
        self, root: str, names: Mapping[str, str], answer: Lineage, depths: tuple[int, int]
    ) -> None:
        shown: Answer = msgspec.json.decode(lineage_json(answer, ALL))
        assert (names[shown["entity"]["id"]], "truncated" in shown) == (root, False)
        nodes = {names[node["id"]]: node.get("deleted", False) for node in shown["nodes"]}
        assert len(nodes) == len(shown["nodes"])
        concerned = set()
        for key, depth, up in (
            ("upstreamEdges", depths[0], True),
            ("downstreamEdges", depths[1], False),
        ):
            due = self.graph.reached(root, depth, upstream=up)
            edges = {
                (names[edge["fromEntity"]], names[edge["toEntity"]]): edge["lineageDetails"]
                for edge in shown[key]
            }
            assert len(edges) == len(shown[key])
            assert edges.keys() == due.keys()
            for between, details in edges.items():
                assert details["sqlQuery"] in due[between]
            concerned.update(name for between in due for name in between)
        assert nodes == {name: name in self.graph.deleted for name in concerned if name != root}


@settings(max_examples=15)
@given(first=st.lists(drawings, min_size=6, max_size=16), changes=operations)
# A pipeline at which an edge begins that names it; two ways that go on two steps away.
@example([("draw", PIPELINE, "a", True)], [])
@example([("draw", *ends, False) for ends in ("ab", "ac", "bd", "ce")], [])
def test_lineage_is_what_a_plain_graph_says(
    first: list[tuple[Any, ...]], changes: list[tuple[Any, ...]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        drawn = Drawn(Path(folder))
        for operation in first:
            drawn.perform(operation)
        drawn.project()
        drawn.check(drawn.entities)
        for operation in changes:
            drawn.perform(operation)
        drawn.project()
        drawn.check(drawn.entities)
        check(drawn.entities, lambda: None)
        load(Path(folder) / "loaded.db", drawn.log, lambda done, total: None)
        loaded = open_read_model(Path(folder) / "loaded.db")
        drawn.check(loaded)
        assert loaded.digests() == drawn.entities.digests()
        loaded.close()
        drawn.close()


@pytest.fixture
def star(catalog: Fixture) -> tuple[Fixture, list[Entity]]:
    """Eight tables of which the first leads to each, and each to the first."""
    catalog.schema()
    tables = [catalog.table(f"t{number}").entity for number in range(8)]
    for other in tables[1:]:
        draw(catalog.catalog, tables[0], other, sqlQuery="select " + "1" * 1_000)
        draw(catalog.catalog, other, tables[0])
    catalog.project()
    return catalog, tables


def ask(catalog: Fixture, root: Entity, sight: EdgeSight = ALL, **options: Any) -> Lineage:
    depths = {"upstream": 3, "downstream": 3, **options}
    return read_lineage(catalog.entities, reference(root), sight, **depths)


@pytest.mark.parametrize(
    ("bounds", "upstream", "downstream"),
    [(Bounds(shown=3), 3, 3), (Bounds(seen=5), 5, 5), (Bounds(bytes=2_000), 4, 2)],
)
def test_walk_ends_at_its_bounds_and_says_so(
    star: tuple[Fixture, list[Entity]],
    bounds: Bounds,
    upstream: int,
    downstream: int,
) -> None:
    catalog, tables = star
    assert not ask(catalog, tables[0]).truncated
    found = ask(catalog, tables[0], bounds=bounds)
    assert found.truncated
    assert msgspec.json.decode(lineage_json(found, ALL))["truncated"] is True
    assert (len(found.upstream), len(found.downstream)) == (upstream, downstream)


def test_walk_ends_when_its_time_is_up(star: tuple[Fixture, list[Entity]]) -> None:
    catalog, tables = star
    bounds = Bounds(clock_every=1)
    seconds = count(0.0, bounds.seconds / 4)
    found = ask(catalog, tables[0], clock=lambda: next(seconds), bounds=bounds)
    assert found.truncated
    assert 0 < len(found.upstream) < 7


def test_whole_answer_is_not_said_to_be_cut_at_its_bound(
    star: tuple[Fixture, list[Entity]],
) -> None:
    catalog, tables = star
    # Seven edges lead away, and seven back.
    asked = partial(ask, catalog, tables[0], upstream=1, downstream=1)
    assert not asked(bounds=Bounds(shown=7)).truncated
    assert asked(bounds=Bounds(shown=6)).truncated


def test_entities_of_hidden_kinds_are_left_out_with_what_lies_behind(catalog: Fixture) -> None:
    catalog.schema()
    a, b = (catalog.table(name).entity for name in "ab")
    catalog.create("pipelineService", "runs", serviceType="Airflow")
    run = catalog.create("pipeline", "daily", service="runs").entity
    draw(catalog.catalog, a, run)
    draw(catalog.catalog, run, b)
    over = {"id": run.id, "type": "pipeline"}
    draw(catalog.catalog, b, a, pipeline=over)
    catalog.project()
    sight = EdgeSight(frozenset({"table"}), {})
    shown = msgspec.json.decode(lineage_json(ask(catalog, a, sight), sight))
    assert [node["id"] for node in shown["nodes"]] == [b.id]
    assert shown["downstreamEdges"] == []
    (edge,) = shown["upstreamEdges"]
    assert (edge["fromEntity"], "pipeline" in edge["lineageDetails"]) == (b.id, False)
    with pytest.raises(NotFound):
        read_edge(catalog.entities, a.id, run.id, sight)
    everything = msgspec.json.decode(lineage_json(ask(catalog, a), ALL))
    assert {node["id"] for node in everything["nodes"]} == {b.id, run.id}


@pytest.mark.parametrize("bounds", [Bounds(shown=6), Bounds(seen=13), Bounds(bytes=2_000)])
def test_edges_of_an_answer_beyond_the_bounds_are_refused(
    star: tuple[Fixture, list[Entity]], bounds: Bounds
) -> None:
    catalog, tables = star
    ids = [table.id for table in tables]
    with catalog.entities.edges() as reader:
        within = UpstreamEdges(reader, ALL)
        ending = {each: msgspec.json.decode(within.ending_at(each)) for each in ids}
        assert sum(map(len, ending.values())) == 14
        assert all(edge["toEntity"]["id"] == each for each in ids for edge in ending[each])
        beyond = UpstreamEdges(reader, ALL, bounds)
        with pytest.raises(InvalidInput, match="fewer hits"):
            [beyond.ending_at(each) for each in ids]
        late = UpstreamEdges(reader, ALL, Bounds(clock_every=1), count(0.0, 0.3).__next__)
        with pytest.raises(InvalidInput, match="fewer hits"):
            late.ending_at(ids[0])
