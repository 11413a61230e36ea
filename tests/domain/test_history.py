"""The versions of an entity, from its stream."""

from typing import Any

import pytest

from domain.errors import NotFound
from domain.history import versions
from domain.registry import KINDS


def shown(world: Any, entity: Any) -> list[tuple[int, object, str, bool]]:
    states = [each.entity for each in versions(world.log, KINDS[entity.kind], entity.id)]
    return [(s.version, s.value("description"), s.updated_by, s.deleted) for s in states]


def test_versions_newest_first(world: Any) -> None:
    service = world.create("databaseService", "s", serviceType="Mysql", description="one")
    world.put(
        "databaseService", "s", world.caller(actor="bob"), description="two", serviceType="Mysql"
    )
    world.put("databaseService", "s", description="two", serviceType="Mysql")
    world.delete(service)
    world.restore(service)
    assert shown(world, service) == [
        (4, "two", "ann", False),
        (3, "two", "ann", True),
        (2, "two", "bob", False),
        (1, "one", "ann", False),
    ]


def test_events_that_share_a_version_are_one_version(world: Any) -> None:
    world.schema()
    contract = world.contract("c", world.table("t"))
    add = {"op": "add", "path": "/description", "value": "x"}
    activate = {"op": "replace", "path": "/entityStatus", "value": "Active"}
    world.patch(contract, add, activate)
    states = [each.entity for each in versions(world.log, KINDS["dataContract"], contract.id)]
    assert [(s.version, s.status, s.value("description")) for s in states] == [
        (2, "Active", "x"),
        (1, "Draft", None),
    ]


def test_deleted_entity_has_versions_and_purged_has_none(world: Any) -> None:
    service = world.create("databaseService", "s", serviceType="Mysql")
    world.delete(service)
    assert shown(world, service) == [(2, None, "ann", True), (1, None, "ann", False)]
    world.delete(service, hard=True)
    with pytest.raises(NotFound) as caught:
        versions(world.log, KINDS["databaseService"], service.id)
    assert caught.value.message == f"databaseService instance for {service.id} not found"


def test_entity_of_another_kind_is_not_found(world: Any) -> None:
    service = world.create("databaseService", "s", serviceType="Mysql")
    with pytest.raises(NotFound):
        versions(world.log, KINDS["team"], service.id)
