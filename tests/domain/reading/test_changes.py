"""Changes between two states, in OpenMetadata's words."""

from typing import Any

import msgspec
import pytest

from domain.reading.changes import FieldDifference, differences
from domain.reading.history import revisions
from tests.domain.conftest import World

COLUMNS = [{"name": "id", "dataType": "INT"}, {"name": "a.b", "dataType": "INT"}]


def described(world: World, entity: Any) -> list[dict[str, Any] | None]:
    """The change description of each revision, oldest first."""
    found = revisions(world.log, entity.id)
    shown = (msgspec.json.encode(each.description) for each in found)
    return [msgspec.json.decode(each) for each in shown]


def description(previous: float, **changes: Any) -> dict[str, Any]:
    empty: dict[str, Any] = {"fieldsAdded": [], "fieldsUpdated": [], "fieldsDeleted": []}
    return {**empty, **changes, "previousVersion": previous}


def test_creation_changes_nothing_and_an_update_is_told_by_field(world: World) -> None:
    world.schema()
    table = world.table("t", columns=COLUMNS, description="one")
    changed = [{**COLUMNS[0], "description": "key"}, COLUMNS[1]]
    world.put("table", "t", databaseSchema="service.database.schema", columns=changed)
    world.patch(table, {"op": "replace", "path": "/description", "value": "two"})
    world.patch(table, {"op": "remove", "path": "/description"})
    created, column, updated, removed = described(world, table)

    assert created is None
    added = [{"name": "columns.id.description", "newValue": "key"}]
    assert column == description(0.1, fieldsAdded=added)
    change = [{"name": "description", "oldValue": "one", "newValue": "two"}]
    assert updated == description(0.2, fieldsUpdated=change)
    assert removed == description(0.3, fieldsDeleted=[{"name": "description", "oldValue": "two"}])


def test_soft_deletion_is_an_update_of_deleted(world: World) -> None:
    service = world.create("databaseService", "s", serviceType="Mysql")
    world.delete(service)
    world.restore(service)
    world.delete(service, hard=True)

    found = list(revisions(world.log, service.id))

    pairs = [("false", "true"), ("true", "false")]
    for revision, (old, new) in zip(found[1:3], pairs, strict=True):
        assert revision.description is not None
        (change,) = revision.description.fields_updated
        assert (change.name, change.old_value, change.new_value) == ("deleted", old, new)
    assert [each.event_types for each in found] == [
        ("entity.created",),
        ("entity.soft-deleted",),
        ("entity.restored",),
        ("entity.purged",),
    ]
    assert [each.request_id for each in found] == ["r1", "r2", "r3", "r4"]


def test_events_of_one_request_are_one_revision(world: World) -> None:
    world.schema()
    contract = world.contract("c", world.table("t"))
    add = {"op": "add", "path": "/description", "value": "x"}
    activate = {"op": "replace", "path": "/entityStatus", "value": "Active"}
    world.patch(contract, add, activate)

    _, revision = revisions(world.log, contract.id)

    assert revision.event_types == ("entity.status-changed", "entity.changed")
    assert revision.description is not None
    assert [c.name for c in revision.description.fields_added] == ["description"]
    (status,) = revision.description.fields_updated
    assert (status.name, status.old_value, status.new_value) == ("entityStatus", "Draft", "Active")


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": True}, [("updated", "a", 1, True)]),
        ({"a": [1]}, {"a": [True]}, [("updated", "a", [1], [True])]),
        ({"a": []}, {"a": []}, []),
        ({"a": {"b": 1, "c": 2}}, {"a": {"c": 2, "b": 1}}, []),
        ({"a": None}, {}, [("deleted", "a", None, None)]),
        ({"a": {"b": 1, "c.d": 2}}, {"a": {"b": 1, "c.d": 3}}, [("updated", 'a."c.d"', 2, 3)]),
        ({"a": [1, 2]}, {"a": [2]}, [("updated", "a", [1, 2], [2])]),
        (
            {"a": [{"name": "x"}, {"name": "y"}]},
            {"a": [{"name": "y", "k": 1}, {"name": "z"}]},
            [
                ("added", "a", None, [{"name": "z"}]),
                ("deleted", "a", [{"name": "x"}], None),
                ("added", "a.y.k", None, 1),
            ],
        ),
        (
            {"a": [{"name": "x"}, {"name": "y"}]},
            {"a": [{"name": "y"}, {"name": "x"}]},
            [("updated", "a", ["x", "y"], ["y", "x"])],
        ),
        (
            {"owners": [{"id": "1", "name": "ann", "type": "user"}]},
            {"owners": [{"id": "1", "name": "ann", "type": "bot"}]},
            [("updated", "owners.ann.type", "user", "bot")],
        ),
    ],
)
def test_difference_names_the_field(old: Any, new: Any, found: list[Any]) -> None:
    assert list(differences(old, new)) == [FieldDifference(*each) for each in found]
