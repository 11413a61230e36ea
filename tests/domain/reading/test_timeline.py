"""Facts of each version told from a stream without a state for each, beside the states."""

from typing import Any

import msgspec

from domain.kinds.registry import KINDS
from domain.reading.history import versions
from domain.reading.timeline import TimelineChange, read_steps, read_versions


def seen(change: TimelineChange) -> tuple[str, str, str]:
    """A change as text; its values are only good while it is told."""
    values = msgspec.json.encode([change.old, change.new]).decode()
    return change.sort, "/".join(text for _, text in change.steps), values


def test_steps_are_the_versions_newest_first(world: Any) -> None:
    world.schema()
    contract = world.contract("c", world.table("t"))
    add = {"op": "add", "path": "/description", "value": "x"}
    world.patch(contract, add, {"op": "replace", "path": "/entityStatus", "value": "Active"})
    world.delete(contract)
    world.restore(contract)

    steps = read_steps(world.log, contract.id, seen, limit=10)

    assert [(step.version, step.event_types, step.changes) for step in steps] == [
        ("0.4", ("entity.restored",), ()),
        ("0.3", ("entity.soft-deleted",), ()),
        (
            "0.2",
            ("entity.status-changed", "entity.changed"),
            (
                ("updated", "entityStatus", '["Draft","Active"]'),
                ("added", "description", '[null,"x"]'),
            ),
        ),
        ("0.1", ("entity.created",), ()),
    ]
    revisions = [*versions(world.log, KINDS["dataContract"], contract.id)]
    assert [step.request_id for step in steps] == [each.request_id for each in revisions]


def test_steps_before_a_place_are_those_that_follow(world: Any) -> None:
    world.schema()
    contract = world.contract("c", world.table("t"))
    for number in range(5):
        world.patch(contract, {"op": "add", "path": "/description", "value": f"{number}"})
    whole = read_steps(world.log, contract.id, seen, limit=10)

    first = read_steps(world.log, contract.id, seen, limit=2)
    rest = read_steps(world.log, contract.id, seen, limit=10, before=first[-1].stream_version)

    assert [*first, *rest] == whole
    assert len(rest) == 4


def test_parts_go_by_their_names(world: Any) -> None:
    world.schema()
    inner = {"name": "in", "dataType": "INT"}
    columns = [{"name": "a", "dataType": "STRUCT", "children": [inner]}]
    table = world.table("t", columns=columns)
    world.patch(
        table, {"op": "add", "path": "/columns/0/children/0/description", "value": "secret"}
    )
    paths = []

    read_steps(
        world.log, table.id, lambda change: paths.append((change.keys, change.steps)), limit=1
    )

    assert paths == [
        (
            ("columns", "description"),
            (
                ("columns", "columns"),
                ("columns.name", "a"),
                ("columns.name", "in"),
                ("columns.description", "description"),
            ),
        )
    ]


def test_bodies_of_versions_are_those_of_their_states(world: Any) -> None:
    world.schema()
    contract = world.contract("c", world.table("t"))
    for number in range(4):
        world.patch(contract, {"op": "add", "path": "/description", "value": f"{number}"})
    world.delete(contract)
    states = [each.entity for each in versions(world.log, KINDS["dataContract"], contract.id)]
    wanted = ("0.1", "0.3", "0.6", "7.7")

    found = read_versions(world.log, contract.id, wanted)

    bodies = {f"0.{state.version}": (state.body, state.deleted) for state in states}
    assert {each: (found[each].body, found[each].deleted) for each in found} == {
        each: bodies[each] for each in wanted if each in bodies
    }
    assert len(found) == 3
