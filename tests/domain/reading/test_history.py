"""The versions of an entity, from its stream."""

import tracemalloc
from functools import partial
from typing import Any

import pytest

from domain.aggregate.lifecycle import format_version
from domain.contracts.exporting import document_of
from domain.errors import Conflict, NotFound
from domain.event_store.entity_reads import RecordedEvent
from domain.events import EntityChanged
from domain.kinds.bodies.components import Reference
from domain.kinds.registry import KINDS
from domain.reading.history import revisions, version, versions
from domain.writing.documents import DocumentRequest, plan_document


def shown(world: Any, entity: Any) -> list[tuple[int, object, str, bool]]:
    states = [each.entity for each in versions(world.log, KINDS[entity.kind], entity.id)]
    return [(s.version, s.value("description"), s.updated_by, s.deleted) for s in states]


def test_versions_newest_first(world: Any) -> None:
    service = world.create("databaseService", "s", serviceType="Mysql", description="one")
    world.put(
        "databaseService", "s", world.context(actor="bob"), description="two", serviceType="Mysql"
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


def test_undoing_a_document_gives_the_values_back_and_leaves_the_document(world: Any) -> None:
    world.schema()
    table = world.table("t")
    contract = world.contract("c", table, description="before")
    document = {"kind": "DataContract", "apiVersion": "v3.1.0", "id": "a"}
    document["description"] = {"purpose": "after"}
    entity = Reference(type="table", id=table.id)
    context = world.context()
    request = DocumentRequest(document=document, entity=entity)
    world.catalog.write(context, partial(plan_document, world.catalog.planner, request, context))
    last = next(versions(world.log, KINDS["dataContract"], contract.id))

    world.patch(contract, *last.undoing())

    state = next(versions(world.log, KINDS["dataContract"], contract.id)).entity
    assert state.value("description") == "before"
    assert document_of(state) == {**document, "description": {"purpose": "before"}}


def test_deleted_entity_has_versions_and_purged_has_none(world: Any) -> None:
    service = world.create("databaseService", "s", serviceType="Mysql")
    world.delete(service)
    assert shown(world, service) == [(2, None, "ann", True), (1, None, "ann", False)]
    world.delete(service, hard=True)
    with pytest.raises(NotFound) as caught:
        next(versions(world.log, KINDS["databaseService"], service.id))
    assert caught.value.message == f"databaseService instance for {service.id} not found"


def test_entity_of_another_kind_is_not_found(world: Any) -> None:
    service = world.create("databaseService", "s", serviceType="Mysql")
    with pytest.raises(NotFound):
        next(versions(world.log, KINDS["team"], service.id))


def test_undoing_a_version_gives_the_body_before_it(world: Any) -> None:
    service = world.create("databaseService", "s", serviceType="Mysql", description="one")
    before = service.body
    world.patch(
        service,
        {"op": "remove", "path": "/description"},
        {"op": "add", "path": "/displayName", "value": "S"},
    )
    last = next(versions(world.log, KINDS["databaseService"], service.id))
    assert last.undoing() == [
        {"op": "add", "path": "/description", "value": "one"},
        {"op": "remove", "path": "/displayName"},
    ]
    world.patch(service, *last.undoing())
    assert next(versions(world.log, KINDS["databaseService"], service.id)).entity.body == before


def test_what_no_patch_undoes_is_refused(world: Any) -> None:
    service = world.create("databaseService", "s", serviceType="Mysql")
    world.delete(service)
    world.restore(service)
    for step in versions(world.log, KINDS["databaseService"], service.id):
        with pytest.raises(Conflict):
            step.undoing()


@pytest.fixture
def contract(world: Any) -> Any:
    """A contract with 118 events in 79 versions, some of which have two events."""
    world.schema()
    made = world.contract("c", world.table("t"))
    for number in range(39):
        status = "Deprecated" if number % 2 else "Active"
        world.patch(
            made,
            {"op": "add", "path": "/description", "value": f"{number}"},
            {"op": "replace", "path": "/entityStatus", "value": status},
        )
        world.patch(made, {"op": "replace", "path": "/description", "value": f"{number} more"})
    return made


@pytest.mark.parametrize("bytes_held", [1, 1_000, 32 * 1024 * 1024])
def test_versions_of_a_long_stream_are_its_revisions_backwards(
    world: Any, contract: Any, bytes_held: int
) -> None:
    found = list(versions(world.log, KINDS["dataContract"], contract.id, bytes_held))

    assert len(found) == 79
    assert found == [*revisions(world.log, contract.id)][::-1]


def test_version_is_the_revision_of_that_version(world: Any, contract: Any) -> None:
    for revision in revisions(world.log, contract.id):
        text = format_version(revision.entity.version)
        assert version(world.log, KINDS["dataContract"], contract.id, text) == revision
    for text in ("8.0", "0.0", "", "0.10", "x" * 1_000):
        with pytest.raises(NotFound) as caught:
            version(world.log, KINDS["dataContract"], contract.id, text)
        assert caught.value.message.endswith(f"and version {text[:64]} not found")


def test_version_folds_nothing_that_came_later(world: Any) -> None:
    service = world.create("databaseService", "s", serviceType="Mysql")
    patch = [{"op": "remove", "path": "/description"}]
    wrong = EntityChanged(
        kind=service.kind, actor="ann", at=2_000, version=2, request_id="r", patch=patch
    )
    world.log.append([RecordedEvent(service.id, 2, wrong)])

    assert version(world.log, KINDS[service.kind], service.id, "0.1").entity == service


def test_versions_of_a_large_entity_are_not_held_together(world: Any) -> None:
    service = world.create("databaseService", "s", serviceType="Mysql")
    size, count = 100_000, 150
    for number in range(count):
        value = f"{number:03}" + "x" * size
        world.patch(service, {"op": "add", "path": "/description", "value": value})

    tracemalloc.start()
    found = sum(1 for _ in versions(world.log, KINDS[service.kind], service.id))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert found == count + 1
    # Events read together, twice: as stored and decoded; states, of each span and within it.
    assert peak < (2 * 16 + 3 * 8) * size
