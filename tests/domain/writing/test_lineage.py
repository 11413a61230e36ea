"""Edges between entities: drawn, changed, removed, and gone with either of their ends."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from domain.aggregate.entity import Entity
from domain.errors import AlreadyExists, ConcurrentChange, InvalidInput, NotFound, StaleVersion
from domain.kinds.bodies.lineage import MAX_MAPPINGS
from domain.kinds.registry import KINDS
from domain.writing.lineage import Ends
from domain.writing.plans import Change
from tests.domain.conftest import World
from tests.domain.drawing import (
    BOT,
    ME,
    between,
    body,
    draw,
    erase,
    erase_source,
    redraw,
    reference,
)
from tests.domain.folding import newest


@pytest.fixture
def tables(world: World) -> list[Entity]:
    world.schema()
    columns = [
        {"name": "id", "dataType": "INT"},
        {"name": "who", "dataType": "STRUCT", "children": [{"name": "age", "dataType": "INT"}]},
    ]
    return [world.table(name, columns=columns) for name in ("a", "b", "c")]


def mapping(to_column: str, *from_columns: str, **more: Any) -> dict[str, Any]:
    return {"fromColumns": list(from_columns), "toColumn": to_column, **more}


A, B = "service.database.schema.a", "service.database.schema.b"


def test_edge_is_drawn_between_two_entities(world: World, tables: list[Entity]) -> None:
    outcome = draw(world.catalog, *tables[:2], sqlQuery="select 1", source="QueryLineage")
    edge = outcome.entity
    assert outcome.change is Change.CREATED
    assert (edge.kind, edge.fqn) == ("lineageEdge", f"{tables[0].id}.{tables[1].id}")
    assert edge.value("fromEntity") == {
        "type": "table",
        "id": tables[0].id,
        "name": "a",
        "fullyQualifiedName": A,
    }
    assert edge.value("toEntity")["id"] == tables[1].id
    assert body(edge) == {
        "sqlQuery": "select 1",
        "source": "QueryLineage",
        "createdAt": edge.updated_at,
        "createdBy": "ann",
    }


def test_equal_write_stores_nothing(world: World, tables: list[Entity]) -> None:
    given = {
        "sqlQuery": "select 1",
        "columnsLineage": [mapping(f"{B}.id", f"{A}.id", function="sum")],
        "description": None,
        "updatedAt": 1,
        "createdBy": "somebody",
    }
    draw(world.catalog, *tables[:2], **given)
    head = world.log.head()
    assert draw(world.catalog, *tables[:2], **given).change is Change.NO_CHANGE
    assert draw(world.catalog, *tables[:2], BOT, **given).change is Change.NO_CHANGE
    assert world.log.head() == head


def test_write_replaces_the_details_and_keeps_who_drew_the_edge(
    world: World, tables: list[Entity]
) -> None:
    first = draw(world.catalog, *tables[:2], sqlQuery="select 1", assetEdges=3).entity
    bob = replace(ME, actor="bob")
    outcome = draw(world.catalog, *tables[:2], bob, description="daily")
    assert (outcome.change, outcome.entity.id) == (Change.UPDATED, first.id)
    assert outcome.entity.updated_by == "bob"
    assert body(outcome.entity) == {
        "description": "daily",
        "source": "Manual",
        "createdAt": first.updated_at,
        "createdBy": "ann",
    }


def test_unknown_columns_are_left_out(world: World, tables: list[Entity]) -> None:
    given = [
        mapping(f"{B}.id", f"{A}.id", f"{A}.gone", f"{A}.id"),
        mapping("who.age", "who.age", function="max"),
        mapping(f"{B}.gone", f"{A}.id"),
        mapping(f"{B}.who", f"{A}.gone"),
        mapping(f"{B}.id", f"{A}.id"),
        {"toColumn": f"{B}.id"},
        {"fromColumns": [f"{A}.id"]},
    ]
    edge = draw(world.catalog, *tables[:2], columnsLineage=given).entity
    assert edge.value("columnsLineage") == [
        mapping(f"{B}.id", f"{A}.id"),
        mapping(f"{B}.who.age", f"{A}.who.age", function="max"),
    ]
    none = draw(world.catalog, *tables[:2], columnsLineage=[mapping("no", "no")]).entity
    assert "columnsLineage" not in none.body


@pytest.mark.parametrize(
    ("details", "problem"),
    [
        ({"source": "Guessed"}, "Invalid enum value 'Guessed'"),
        ({"createdBy": 1}, "Expected `str`, got `int`"),
        ({"updatedAt": "now"}, "Expected `int | null`, got `str`"),
        ({"sql": "x"}, "lineageDetails has no key 'sql'"),
        ({"name": "x"}, "lineageDetails has no key 'name'"),
        ({"fromEntity": {}}, "lineageDetails has no key 'fromEntity'"),
        ({"columnsLineage": [{"toColumn": 1}]}, "Expected `str | null`, got `int`"),
        ({"pipeline": {"id": "x", "type": "pipeline"}}, "pipeline.id must be a UUID"),
        ({"pipeline": {"id": "x", "type": "table"}}, "pipeline.type must be pipeline or"),
    ],
)
def test_bad_details_are_refused(
    world: World, tables: list[Entity], details: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        draw(world.catalog, *tables[:2], **details)
    assert problem in caught.value.message


def test_ends_and_pipeline_must_be_live(world: World, tables: list[Entity]) -> None:
    a, b, c = tables
    draw(world.catalog, a, b)
    world.create("pipelineService", "runs", serviceType="Airflow")
    pipeline = world.create("pipeline", "daily", service="runs")
    world.delete(b)
    world.delete(pipeline)
    for beginning, end in ((a, b), (b, c)):
        with pytest.raises(NotFound):
            draw(world.catalog, beginning, end)
    with pytest.raises(NotFound):
        redraw(world.catalog, a, b, {"op": "add", "path": "/sqlQuery", "value": "x"})
    with pytest.raises(NotFound) as caught:
        draw(world.catalog, a, c, pipeline={"id": pipeline.id, "type": "pipeline"})
    assert caught.value.message.startswith("pipeline: pipeline or storedProcedure instance")
    wrong = Ends(replace_type(a, "topic"), reference(c))
    with pytest.raises(NotFound):
        world.catalog.lineage.put(wrong, {}, ME)


def replace_type(entity: Entity, kind: str) -> Any:
    ref = reference(entity)
    ref.type = kind
    return ref


def test_pipeline_is_recorded_by_its_names(world: World, tables: list[Entity]) -> None:
    world.create("pipelineService", "runs", serviceType="Airflow")
    pipeline = world.create("pipeline", "daily", service="runs")
    named = {"fullyQualifiedName": "runs.daily", "type": "pipeline"}
    edge = draw(world.catalog, *tables[:2], pipeline=named).entity
    assert edge.value("pipeline") == {
        "type": "pipeline",
        "id": pipeline.id,
        "name": "daily",
        "fullyQualifiedName": "runs.daily",
    }
    world.delete(pipeline, hard=True)
    again = draw(world.catalog, *tables[:2], pipeline={"id": pipeline.id, "type": "pipeline"})
    assert again.change is Change.NO_CHANGE


def test_patch_changes_the_details_as_shown(world: World, tables: list[Entity]) -> None:
    edge = draw(world.catalog, *tables[:2], sqlQuery="select 1").entity
    added = mapping(f"{B}.id", f"{A}.id")
    outcome = redraw(
        world.catalog,
        *tables[:2],
        {"op": "add", "path": "/columnsLineage/0", "value": added},
        {"op": "replace", "path": "/sqlQuery", "value": "select 2"},
        {"op": "test", "path": "/updatedBy", "value": "ann"},
    )
    assert outcome.change is Change.UPDATED
    assert (outcome.entity.value("columnsLineage"), outcome.entity.value("sqlQuery")) == (
        [added],
        "select 2",
    )
    assert outcome.entity.value("createdAt") == edge.updated_at
    same = redraw(
        world.catalog, *tables[:2], {"op": "add", "path": "/columnsLineage/1", "value": added}
    )
    assert same.change is Change.NO_CHANGE


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "replace", "path": "/createdBy", "value": "bob"},
        {"op": "remove", "path": "/updatedAt"},
        {"op": "add", "path": "/toEntity", "value": {}},
        {"op": "replace", "path": "", "value": []},
        {"op": "remove", "path": "/pipeline"},
    ],
)
def test_bad_patch_is_refused(
    world: World, tables: list[Entity], operation: dict[str, Any]
) -> None:
    draw(world.catalog, *tables[:2])
    with pytest.raises(InvalidInput):
        redraw(world.catalog, *tables[:2], operation)


def test_conditions_of_a_write_hold_for_edges(world: World, tables: list[Entity]) -> None:
    must_exist = replace(ME, must_exist=True)
    with pytest.raises(StaleVersion):
        draw(world.catalog, *tables[:2], must_exist)
    draw(world.catalog, *tables[:2], replace(ME, must_not_exist=True))
    with pytest.raises(StaleVersion):
        draw(world.catalog, *tables[:2], replace(ME, must_not_exist=True), sqlQuery="x")
    with pytest.raises(StaleVersion):
        draw(world.catalog, *tables[:2], replace(ME, expected_version=2), sqlQuery="x")
    draw(world.catalog, *tables[:2], replace(ME, expected_version=1), sqlQuery="x")
    with pytest.raises(StaleVersion):
        erase(world.catalog, *tables[:2], replace(ME, expected_version=1))


def test_bot_keeps_what_a_person_drew(world: World, tables: list[Entity]) -> None:
    drawn = mapping(f"{B}.id", f"{A}.id")
    draw(world.catalog, *tables[:2], description="by hand", columnsLineage=[drawn])
    parsed = mapping(f"{B}.who", f"{A}.who")
    edge = draw(
        world.catalog,
        *tables[:2],
        BOT,
        description="parsed",
        source="QueryLineage",
        sqlQuery="select 1",
        columnsLineage=[parsed, drawn],
    ).entity
    assert body(edge) == {
        "sqlQuery": "select 1",
        "columnsLineage": [drawn, parsed],
        "description": "by hand",
        "source": "Manual",
        "createdAt": edge.value("createdAt"),
        "createdBy": "ann",
    }


def test_bot_adds_no_more_mappings_than_an_edge_may_have(
    world: World, tables: list[Entity]
) -> None:
    drawn = [mapping(f"{B}.id", f"{A}.id", function=str(n)) for n in range(MAX_MAPPINGS)]
    draw(world.catalog, *tables[:2], columnsLineage=drawn)
    draw(world.catalog, *tables[:2], BOT, columnsLineage=drawn)
    parsed = mapping(f"{B}.who", f"{A}.who")
    with pytest.raises(InvalidInput, match="20000 mappings that a person drew"):
        draw(world.catalog, *tables[:2], BOT, columnsLineage=[parsed])


def test_bot_replaces_what_a_bot_found_but_for_a_description(
    world: World, tables: list[Entity]
) -> None:
    found = {"source": "ViewLineage", "columnsLineage": [mapping(f"{B}.id", f"{A}.id")]}
    draw(world.catalog, *tables[:2], BOT, **found)
    redraw(world.catalog, *tables[:2], {"op": "add", "path": "/description", "value": "mine"})
    edge = draw(world.catalog, *tables[:2], BOT, source="QueryLineage").entity
    assert (edge.value("source"), edge.value("description")) == ("QueryLineage", "mine")
    assert "columnsLineage" not in edge.body


def test_bot_keeps_the_mappings_that_a_person_patched_onto_its_edge(
    world: World, tables: list[Entity]
) -> None:
    found, mine = mapping(f"{B}.id", f"{A}.id"), mapping(f"{B}.who", f"{A}.who")
    later = mapping(f"{B}.who.age", f"{A}.who.age")
    draw(world.catalog, *tables[:2], BOT, source="ViewLineage", columnsLineage=[found])
    redraw(world.catalog, *tables[:2], {"op": "add", "path": "/columnsLineage/-", "value": mine})
    head = world.log.head()
    draw(world.catalog, *tables[:2], BOT, source="ViewLineage", columnsLineage=[found])
    assert world.log.head() == head
    edge = draw(world.catalog, *tables[:2], BOT, source="ViewLineage", columnsLineage=[later])
    assert edge.entity.value("columnsLineage") == [mine, later]
    # What a bot patches in is a bot's, and what a person takes away is nobody's.
    redraw(
        world.catalog,
        *tables[:2],
        {"op": "add", "path": "/columnsLineage/-", "value": found},
        context=BOT,
    )
    redraw(world.catalog, *tables[:2], {"op": "remove", "path": "/columnsLineage/0"})
    edge = draw(world.catalog, *tables[:2], BOT, source="ViewLineage", columnsLineage=[])
    assert "columnsLineage" not in edge.entity.body


@pytest.mark.parametrize("source", ["DbtLineage", "QueryLineage"])
def test_statement_that_a_bot_parsed_does_not_replace_the_model(
    world: World, tables: list[Entity], source: str
) -> None:
    model, changed = "select id from a where id > 3", "select id from a where id > 4"
    parsed = 'create table "d"."s"."b" as select id from a where id > ?'

    def patched(text: str) -> str:
        operation = {"op": "add", "path": "/sqlQuery", "value": text}
        edge = redraw(world.catalog, *tables[:2], operation, context=BOT).entity
        shown: str = edge.value("sqlQuery")
        return shown

    draw(world.catalog, *tables[:2], BOT, source=source, sqlQuery=model)
    kept = source == "DbtLineage"
    assert patched(parsed) == (model if kept else parsed)
    head = world.log.head()
    assert [patched(model), patched(parsed)] == [model, model if kept else parsed]
    assert (world.log.head() == head) is kept
    assert patched(changed) == changed
    by_person = {"op": "add", "path": "/sqlQuery", "value": parsed}
    assert redraw(world.catalog, *tables[:2], by_person).entity.value("sqlQuery") == parsed
    assert patched(changed) == changed


def test_write_keeps_what_its_caller_does_not_see(world: World, tables: list[Entity]) -> None:
    draw(world.catalog, *tables[:2], sqlQuery="select 1", assetEdges=3)
    ends = between(*tables[:2])
    for details in ({"assetEdges": 4}, {"assetEdges": 4, "sqlQuery": "select 2"}):
        plan = partial(world.catalog.lineage.put, ends, details, ME, ["sqlQuery"])
        edge = world.catalog.write(ME, plan).entity
        assert (edge.value("sqlQuery"), edge.value("assetEdges")) == ("select 1", 4)


def test_removed_edge_can_be_drawn_anew(world: World, tables: list[Entity]) -> None:
    first = draw(world.catalog, *tables[:2]).entity
    world.delete(tables[1])
    assert erase(world.catalog, *tables[:2]).entity.purged
    with pytest.raises(NotFound):
        erase(world.catalog, *tables[:2])
    world.restore(tables[1])
    second = draw(world.catalog, *tables[:2])
    assert second.change is Change.CREATED
    assert second.entity.id != first.id


def test_edges_of_a_source_that_end_at_an_entity_are_removed(
    world: World, tables: list[Entity]
) -> None:
    a, b, c = tables
    draw(world.catalog, a, b, source="ViewLineage")
    draw(world.catalog, c, b, source="QueryLineage")
    draw(world.catalog, b, c, source="ViewLineage")
    assert erase_source(world.catalog, b, "ViewLineage") == 1
    # In either order: ids of the same millisecond are in none.
    left = {claim.fqn for claim in world.log.claims(ends=[b.id])}
    assert left == {f"{b.id}.{c.id}", f"{c.id}.{b.id}"}
    head = world.log.head()
    assert erase_source(world.catalog, b, "ViewLineage") == 0
    assert world.log.head() == head


def test_edges_over_a_pipeline_are_removed_by_their_source(
    world: World, tables: list[Entity]
) -> None:
    a, b, c = tables
    world.create("pipelineService", "runs", serviceType="Airflow")
    pipeline = world.create("pipeline", "daily", service="runs")
    over = {"id": pipeline.id, "type": "pipeline"}
    edges = [
        draw(world.catalog, a, b, source="PipelineLineage", pipeline=over),
        draw(world.catalog, b, c, source="OpenLineage", pipeline=over),
        draw(world.catalog, a, c, source="PipelineLineage"),
        draw(world.catalog, a, pipeline, source="PipelineLineage"),
    ]
    ids = [edge.entity.id for edge in edges]
    assert erase_source(world.catalog, pipeline, "PipelineLineage", *ids) == 2
    assert {claim.id for claim in world.log.claims(ids=ids)} == {ids[1], ids[2]}


def test_purged_entity_takes_its_edges_along(world: World, tables: list[Entity]) -> None:
    a, b, c = tables
    for beginning, end in ((a, b), (b, c), (c, a), (b, b)):
        draw(world.catalog, beginning, end)
    head = world.log.head()
    world.delete(b, hard=True)
    types = sorted(type_name for type_name, _ in world.events(after=head))
    assert types == ["entity.purged"] * 4
    assert world.log.claims(ends=[b.id]) == []
    assert [claim.fqn for claim in world.log.claims(ends=[a.id])] == [f"{c.id}.{a.id}"]


def test_recursive_purge_takes_the_edges_of_all_below(world: World, tables: list[Entity]) -> None:
    for beginning, end in ((tables[0], tables[1]), (tables[2], tables[0])):
        draw(world.catalog, beginning, end)
    service = world.log.claim("databaseService", "service")
    assert service is not None
    whole = newest(world.log, service.id)
    assert whole is not None
    outside = world.create("team", "outside", teamType="Group")
    draw(world.catalog, tables[0], outside)
    world.delete(whole, hard=True, recursive=True)
    assert world.log.claims(ends=[outside.id]) == []
    assert len(world.log.live(by_name=True)) == 1


def test_soft_deletion_and_restoration_leave_edges_alone(
    world: World, tables: list[Entity]
) -> None:
    edge = draw(world.catalog, *tables[:2]).entity
    head = world.log.head()
    world.delete(tables[0])
    world.restore(tables[0])
    assert [name for name, _ in world.events(after=head)] == [
        "entity.soft-deleted",
        "entity.restored",
    ]
    assert [claim.id for claim in world.log.claims(ends=[tables[1].id])] == [edge.id]


@pytest.mark.parametrize("hard", [False, True], ids=["soft-deleted", "purged"])
def test_edge_is_not_drawn_to_what_is_deleted_at_the_same_moment(
    world: World, tables: list[Entity], hard: bool
) -> None:
    a, b, _ = tables
    proposal = world.catalog.propose(partial(world.catalog.lineage.put, between(a, b), {}, ME), ME)
    world.delete(b, hard=hard)
    (refusal,) = world.log.append_group([proposal.append])
    assert isinstance(refusal, ConcurrentChange)
    assert [*refusal.entity_ids] == [b.id]


def test_entity_is_not_purged_while_an_edge_is_drawn_to_it(
    world: World, tables: list[Entity]
) -> None:
    a, b, _ = tables
    purge = partial(
        world.catalog.planner.delete, KINDS["table"], b.id, ME, hard=True, recursive=False
    )
    proposal = world.catalog.propose(purge, ME)
    draw(world.catalog, a, b)
    (refusal,) = world.log.append_group([proposal.append])
    assert isinstance(refusal, ConcurrentChange)
    world.catalog.write(ME, purge)
    assert world.log.claims(ends=[a.id, b.id], ids=[b.id]) == []


def test_nothing_refers_to_an_edge(world: World, tables: list[Entity]) -> None:
    edge = draw(world.catalog, *tables[:2]).entity
    for ref in (
        {"id": edge.id, "type": "lineageEdge"},
        {"id": edge.id},
        {"fullyQualifiedName": edge.fqn, "type": "lineageEdge"},
    ):
        with pytest.raises(NotFound):
            world.create("dataContract", "c", entity=ref)


def test_no_edge_outlives_an_end_whoever_draws_meanwhile(
    open_world: Callable[[], World],
) -> None:
    world = open_world()
    world.schema()
    hub, *others = [world.table(f"t{number}") for number in range(7)]
    begun = threading.Barrier(3)

    def draw_all() -> None:
        mine = open_world()
        begun.wait()
        for _ in range(3):
            for other in others:
                with suppress(NotFound, AlreadyExists, ConcurrentChange):
                    draw(mine.catalog, hub, other)
                    draw(mine.catalog, other, hub)

    with ThreadPoolExecutor() as pool:
        drawing = [pool.submit(draw_all) for _ in range(2)]
        begun.wait()
        world.delete(hub, hard=True)
        for each in drawing:
            each.result()
    assert world.log.claims(ends=[hub.id], ids=[hub.id]) == []
    assert {claim.kind for claim in world.log.claims(parents=[others[0].parent_id or ""])} == {
        "table"
    }
