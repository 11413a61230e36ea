"""The gate that keeps writes from breaking an Active contract, whichever way they take."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Barrier
from typing import Any

import msgspec
import pytest

from domain.aggregate.entity import Entity
from domain.contracts.changes.rules import Perspective
from domain.errors import ConcurrentChange
from domain.importing.bulk_import import BulkImport
from domain.importing.lines import Chunk
from domain.kinds.bodies.components import Reference
from domain.kinds.registry import KINDS
from domain.writing.contract_gate import ContractBroken
from domain.writing.documents import DocumentRequest, plan_document
from tests.domain.conftest import World

CONTRACT = KINDS["dataContract"]
BOTH = [{"name": "id", "dataType": "INT"}, {"name": "at", "dataType": "DATE"}]
ONE = BOTH[:1]
REMOVE_AT = {"op": "replace", "path": "/schema", "value": ONE}
AGAIN = {"op": "replace", "path": "/schema", "value": BOTH}


def status(to: str) -> dict[str, str]:
    return {"op": "replace", "path": "/entityStatus", "value": to}


@pytest.fixture(params=[Perspective.CONSUMER, Perspective.FULL])
def gated(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[World]:
    world = World(tmp_path / "events.db", request.param)
    world.schema()
    yield world
    world.log.close()


@pytest.fixture
def table(gated: World) -> Entity:
    return gated.table("orders", columns=BOTH)


@pytest.fixture
def contract(gated: World, table: Entity) -> Entity:
    return gated.contract("promise", table, schema=BOTH, entityStatus="Active")


def put_document(
    world: World, table: Entity, object_name: str | None = None, **keys: Any
) -> Entity:
    columns = [{"name": "id", "physicalType": "INT"}]
    document = {
        "apiVersion": "v3.1.0",
        "kind": "DataContract",
        "id": "promise",
        "name": "promise",
        "status": "active",
        "schema": [{"name": "orders", "properties": columns}],
        **keys,
    }
    about = Reference(type="table", id=table.id)
    request = DocumentRequest(document=document, entity=about, object_name=object_name)
    context = world.context()
    plan = partial(plan_document, world.catalog.planner, request, context)
    return world.catalog.write(context, plan).entity


def put(world: World, table: Entity, **keys: Any) -> Entity:
    about = {"id": table.id, "type": "table"}
    return world.put("dataContract", "promise", entity=about, **keys).entity


def test_every_way_to_write_is_held_to_what_is_active(
    gated: World, table: Entity, contract: Entity
) -> None:
    line = {
        "entityType": "dataContract",
        "name": "promise",
        "entity": {"type": "table", "fullyQualifiedName": table.fqn},
        "schema": ONE,
    }
    ways: list[Callable[[], object]] = [
        lambda: gated.patch(contract, REMOVE_AT),
        lambda: put(gated, table, schema=ONE),
        lambda: put_document(gated, table),
    ]
    for way in ways:
        with pytest.raises(ContractBroken, match=r"column\.removed"):
            way()
    requests = [{"name": "promise", "entity": {"id": table.id, "type": "table"}, "schema": ONE}]
    _, (refusal,) = gated.catalog.propose_puts(CONTRACT, requests, gated.context())
    assert isinstance(refusal, ContractBroken)
    loading = BulkImport(gated.log, gated.context(), now=gated.now, gate=Perspective.CONSUMER)
    batch = loading.load(Chunk([(1, msgspec.json.encode(line))]))
    assert "column.removed" in batch.bad[0].reason
    assert gated.catalog.planner.live(CONTRACT, contract.id) == contract


def test_what_breaks_nothing_passes(gated: World, contract: Entity) -> None:
    text = {"op": "add", "path": "/description", "value": "Orders."}

    assert gated.patch(contract, text).entity.version == contract.version + 1


def test_drafts_and_tables_are_not_held(gated: World, table: Entity) -> None:
    draft = gated.contract("promise", table, schema=BOTH)

    gated.patch(draft, REMOVE_AT)
    gated.patch(table, {"op": "replace", "path": "/columns", "value": ONE})


def test_the_last_active_version_counts_when_it_is_reinstated(
    gated: World, contract: Entity
) -> None:
    gated.patch(contract, status("Deprecated"))
    gated.patch(contract, REMOVE_AT)
    gated.patch(contract, {"op": "add", "path": "/description", "value": "Less."})

    with pytest.raises(ContractBroken):
        gated.patch(contract, status("Active"))
    gated.patch(contract, AGAIN)
    assert gated.patch(contract, status("Active")).entity.status == "Active"


def test_a_deleted_contract_counts_when_it_is_made_again(
    gated: World, table: Entity, contract: Entity
) -> None:
    gated.delete(contract)

    with pytest.raises(ContractBroken):
        put(gated, table, schema=ONE)
    with pytest.raises(ContractBroken):
        gated.contract("other", table, schema=ONE, entityStatus="Active")
    other = gated.contract("other", table, schema=BOTH[::-1], entityStatus="Active")
    gated.delete(other)
    assert gated.restore(contract).entity.status == "Active"


def test_of_several_contracts_the_one_that_was_active_last_counts(tmp_path: Path) -> None:
    world = World(tmp_path / "events.db", Perspective.CONSUMER)
    table = (world.schema(), world.table("orders", columns=BOTH))[1]
    first = world.contract("first", table, schema=ONE, entityStatus="Active")
    world.delete(first)
    second = world.contract("second", table, schema=BOTH, entityStatus="Active")
    world.delete(second)

    with pytest.raises(ContractBroken, match=r"column\.removed"):
        world.restore(first)
    assert world.restore(second).entity.status == "Active"
    world.log.close()


def test_a_break_passes_with_the_version_that_announces_it(gated: World, table: Entity) -> None:
    both = [{"name": "id", "physicalType": "INT"}, {"name": "at", "physicalType": "DATE"}]
    schema = [{"name": "orders", "properties": both}]
    put_document(gated, table, version="1.2.0", schema=schema)

    for version in ("1.2.0", "1.3.0", "none", None):
        with pytest.raises(ContractBroken, match=r"major number.*over 1\.2\.0"):
            put_document(gated, table, version=version)
    put_document(gated, table, version="2.0.0")
    # What was announced is what counts from now on.
    with pytest.raises(ContractBroken, match=r"over 2\.0\.0"):
        put_document(gated, table, version="2.0.0", schema=[])


def test_a_version_that_fell_meanwhile_announces_nothing(gated: World, table: Entity) -> None:
    both = [{"name": "id", "physicalType": "INT"}, {"name": "at", "physicalType": "DATE"}]
    schema = [{"name": "orders", "properties": both}]
    for version in ("2.0.0", "5.1.0", "latest", "0.0.1"):
        held = put_document(gated, table, version=version, schema=schema)

    with pytest.raises(ContractBroken, match=r"over 5\.1\.0"):
        put_document(gated, table, version="0.1.0")
    gated.patch(held, status("Deprecated"))
    with pytest.raises(ContractBroken, match=r"over 5\.1\.0"):
        put_document(gated, table, version="5.9.0")
    gated.delete(held)
    with pytest.raises(ContractBroken, match=r"over 5\.1\.0"):
        put_document(gated, table, version="5.9.0")
    assert put_document(gated, table, version="6.0.0").status == "Active"


def test_another_schema_object_for_the_entity_breaks_the_contract(
    gated: World, table: Entity
) -> None:
    columns = [{"name": "id", "physicalType": "INT"}]
    schema = [{"name": name, "properties": columns} for name in ("orders", "other")]
    put_document(gated, table, version="1.0.0", schema=schema)

    with pytest.raises(ContractBroken, match=r"entity\.changed"):
        put_document(gated, table, "other", version="1.0.0", schema=schema)
    put_document(gated, table, version="1.0.0", schema=schema[::-1])
    assert put_document(gated, table, "other", version="2.0.0", schema=schema).status == "Active"


def test_a_document_announces_for_a_contract_that_had_none(
    gated: World, table: Entity, contract: Entity
) -> None:
    with pytest.raises(ContractBroken, match="over none"):
        put_document(gated, table)
    assert put_document(gated, table, version="1.0.0").status == "Active"


def test_the_view_decides_what_is_a_break(tmp_path: Path) -> None:
    world = World(tmp_path / "events.db", Perspective.PRODUCER)
    table = (world.schema(), world.table("orders", columns=BOTH))[1]
    contract = world.contract("promise", table, schema=BOTH, entityStatus="Active")

    contract = world.patch(contract, REMOVE_AT).entity
    with pytest.raises(ContractBroken, match="write the data"):
        world.patch(contract, AGAIN)
    world.log.close()


def test_of_two_writes_that_break_only_together_the_second_is_refused(
    gated: World, table: Entity, contract: Entity
) -> None:
    gated.patch(contract, status("Deprecated"))
    planner, catalog = gated.catalog.planner, gated.catalog

    def proposed(operation: dict[str, Any]) -> Any:
        context = gated.context()
        plan = partial(planner.patch, CONTRACT, contract.id, [operation], context)
        return catalog.propose(plan, context)

    first, second = proposed(status("Active")), proposed(REMOVE_AT)
    catalog.store.append_group([first.append])
    (refusal,) = catalog.store.append_group([second.append])
    assert isinstance(refusal, ConcurrentChange)
    catalog.stored(first)
    catalog.refused(refusal)

    with pytest.raises(ContractBroken):
        proposed(REMOVE_AT)


def test_two_writers_at_the_same_time_never_both_pass(tmp_path: Path) -> None:
    worlds = [World(tmp_path / "events.db", Perspective.CONSUMER) for _ in range(2)]
    first = worlds[0]
    table = (first.schema(), first.table("orders", columns=BOTH))[1]
    contract = first.contract("promise", table, schema=BOTH, entityStatus="Active")
    writes = [(worlds[0], status("Active")), (worlds[1], REMOVE_AT)]
    with ThreadPoolExecutor(2) as threads:
        for _ in range(20):
            first.patch(contract, status("Deprecated"), AGAIN)
            together = Barrier(2)

            def write(world: World, patch: dict[str, Any], together: Barrier = together) -> bool:
                together.wait()
                try:
                    world.patch(contract, patch)
                except ContractBroken:
                    return False
                return True

            passed = [*threads.map(write, *zip(*writes, strict=True))]

            assert sorted(passed) == [False, True]
            if passed[1]:
                first.patch(contract, AGAIN)
                first.patch(contract, status("Active"))
    for world in worlds:
        world.log.close()


def test_without_a_gate_nothing_is_held(world: World) -> None:
    table = (world.schema(), world.table("orders", columns=BOTH))[1]
    contract = world.contract("promise", table, schema=BOTH, entityStatus="Active")

    assert world.patch(contract, REMOVE_AT).entity.version > contract.version
