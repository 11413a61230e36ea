"""Statements of a contract about its table must be about columns that the table has."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from domain.errors import InvalidInput
from domain.importing.bulk_import import BulkImport, LineReport
from domain.importing.lines import Chunk
from domain.kinds.registry import KINDS
from domain.writing.bulk_put import Done
from domain.writing.plans import Change
from tests.domain.counted_store import CountedStore
from tests.domain.imported_lines import chunks, importer, load_all
from tests.domain.older_log import add_twin

ID, NAME = ({"name": name, "dataType": "INT"} for name in ("id", "name"))
MISSING = (
    "Schema validation failed. The following fields specified in the data contract do not exist in"
    " the table: name"
)


def refusal(act: Callable[..., Any], *args: Any, **values: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        act(*args, **values)
    return caught.value.message


def reference(table: Any) -> dict[str, str]:
    return {"type": table.kind, "id": table.id}


def test_schema_names_columns_of_the_table(world: Any) -> None:
    world.schema()
    table = world.table("t", columns=[ID])
    assert refusal(world.contract, "c", table, schema=[ID, NAME]) == MISSING
    put = world.put
    assert refusal(put, "dataContract", "c", entity=reference(table), schema=[NAME]) == MISSING
    contract = world.contract("c", table, schema=[ID])
    add = {"op": "add", "path": "/schema/-", "value": NAME}
    assert refusal(world.patch, contract, add) == MISSING
    world.put("table", "t", databaseSchema="service.database.schema", columns=[ID, NAME])
    assert world.patch(contract, add).entity.version == 2


def test_schema_that_is_not_touched_may_name_columns_that_are_gone(world: Any) -> None:
    world.schema()
    table = world.table("t", columns=[ID, NAME])
    contract = world.contract("c", table, schema=[ID, NAME])
    world.put("table", "t", databaseSchema="service.database.schema", columns=[ID])
    described = world.patch(contract, {"op": "add", "path": "/description", "value": "x"})
    assert described.entity.version == 2
    again = {"entity": reference(table), "schema": [ID, NAME], "entityStatus": "Active"}
    assert world.put("dataContract", "c", **again).entity.status == "Active"
    remove = {"op": "remove", "path": "/schema/0"}
    assert refusal(world.patch, contract, remove) == MISSING


def test_columns_of_a_data_model_of_dashboards_count_and_other_kinds_have_none(world: Any) -> None:
    world.create("dashboardService", "looker", serviceType="Looker")
    given = {"service": "looker", "dataModelType": "LookMlView", "columns": [ID]}
    model = world.create("dashboardDataModel", "m", **given)
    assert refusal(world.contract, "c", model, schema=[NAME]) == MISSING.replace(
        "the table", "the dashboardDataModel"
    )
    dashboard = world.create("dashboard", "d", service="looker")
    assert world.contract("c", dashboard, schema=[NAME]).version == 1


def lines(*entities: dict[str, Any]) -> list[tuple[int, bytes]]:
    return [(number, msgspec.json.encode(each)) for number, each in enumerate(entities, 1)]


TABLE = {
    "entityType": "table",
    "name": "t",
    "fullyQualifiedName": "service.database.schema.t",
    "databaseSchema": "service.database.schema",
    "columns": [ID],
}
CONTRACT = {
    "entityType": "dataContract",
    "name": "c",
    "fullyQualifiedName": "service.database.schema.t.dataContract_c",
    "entity": {"type": "table", "fullyQualifiedName": "service.database.schema.t"},
}


def test_import_knows_the_columns_that_earlier_lines_give(world: Any) -> None:
    world.schema()
    wide = {**TABLE, "columns": [ID, NAME]}
    good, bad = ({**CONTRACT, "schema": [column]} for column in (ID, NAME))
    batch = importer(world).load(Chunk(lines(TABLE, bad, good, wide, bad)))
    assert [(one.number, one.reason) for one in batch.bad] == [(2, MISSING)]
    assert (batch.created, batch.changed) == (2, 2)


@pytest.mark.parametrize("column", [ID, NAME])
def test_import_knows_the_columns_that_the_log_has(world: Any, column: Any) -> None:
    world.schema()
    world.table("t", columns=[ID])
    loading = importer(world)
    contract = {**CONTRACT, "schema": [column]}
    bad = [] if column is ID else [MISSING]
    assert [one.reason for one in loading.load(Chunk(lines(contract))).bad] == bad
    # What is remembered of a table ends when a line changes it.
    wide = {**TABLE, "columns": [ID, NAME]}
    assert loading.load(Chunk(lines(wide))).bad == []
    assert loading.load(Chunk(lines({**CONTRACT, "schema": [ID, NAME]}))).bad == []


def test_import_reads_the_columns_of_many_tables_together(world: Any) -> None:
    world.schema()
    described = []
    for number in range(6):
        world.table(f"t{number}", columns=[ID, NAME] if number % 2 else [ID])
        fqn = f"service.database.schema.t{number}"
        contract = {
            **CONTRACT,
            "fullyQualifiedName": f"{fqn}.dataContract_c",
            "entity": {"type": "table", "fullyQualifiedName": fqn},
            "schema": [NAME],
        }
        described.append(contract)
    store = CountedStore(world.log)
    loading = BulkImport(store, world.context(), now=world.now)  # type: ignore[arg-type]
    batch = loading.load(Chunk(lines(*described)))
    assert [(one.number, one.reason) for one in batch.bad] == [(n, MISSING) for n in (1, 3, 5)]
    assert store.names == ["claims", "streams", "having_live", "append_group"]


def test_entity_has_one_live_contract(world: Any) -> None:
    world.schema()
    table, other = world.table("t"), world.table("other")
    first = world.contract("first", table)
    said = f"A data contract already exists for entity 'table' with ID {table.id}"
    assert refusal(world.contract, "second", table) == said
    assert refusal(world.put, "dataContract", "second", entity=reference(table)) == said
    assert world.contract("second", other).version == 1
    assert world.put("dataContract", "first", entity=reference(table), description="x")
    assert world.restore(world.delete(first).entity).entity.deleted is False

    world.delete(first)
    second = world.contract("second", table)
    assert refusal(world.restore, first) == said
    assert refusal(world.put, "dataContract", "first", entity=reference(table)) == said
    world.delete(second, hard=True)
    assert world.restore(first).entity.deleted is False


def test_import_refuses_a_second_contract(world: Any) -> None:
    world.schema()
    second = {
        **CONTRACT,
        "name": "d",
        "fullyQualifiedName": "service.database.schema.t.dataContract_d",
    }
    batch = importer(world).load(Chunk(lines(TABLE, CONTRACT, second, CONTRACT)))
    table = world.log.claim("table", "service.database.schema.t")
    said = f"A data contract already exists for entity 'table' with ID {table.id}"
    assert batch.bad == [LineReport(3, said)]
    assert (batch.created, batch.unchanged) == (2, 1)
    assert importer(world).load(Chunk(lines(second))).bad == [LineReport(1, said)]

    (first,) = world.log.claims(parents=[table.id])
    context = world.context()
    world.catalog.delete(KINDS["dataContract"], first.id, context, hard=False, recursive=False)
    back = importer(world).load(Chunk(lines(second, CONTRACT)))
    assert (back.created, back.bad) == (1, [LineReport(2, said)])


def test_bulk_put_refuses_a_second_contract(world: Any) -> None:
    world.schema()
    one, two = world.table("one"), world.table("two")
    world.contract("there", two)
    requests = [
        {"name": name, "entity": reference(table)}
        for name, table in (("a", one), ("b", one), ("c", two), ("a", one))
    ]
    context = world.context()
    _, results = world.catalog.until_stored(
        lambda: world.catalog.propose_puts(KINDS["dataContract"], requests, context)
    )
    assert [one.change if isinstance(one, Done) else one.message for one in results] == [
        Change.CREATED,
        f"A data contract already exists for entity 'table' with ID {one.id}",
        f"A data contract already exists for entity 'table' with ID {two.id}",
        Change.NO_CHANGE,
    ]


def test_import_of_second_contracts_takes_one_append_for_a_chunk(world: Any) -> None:
    world.schema()
    tables, first, second = [], [], []
    for number in range(6):
        fqn = f"service.database.schema.t{number}"
        entity = {"type": "table", "fullyQualifiedName": fqn}
        tables.append({**TABLE, "name": f"t{number}", "fullyQualifiedName": fqn})
        for name, made in (("c", first), ("d", second)):
            named = {"name": name, "fullyQualifiedName": f"{fqn}.dataContract_{name}"}
            made.append({**CONTRACT, **named, "entity": entity})
    # Of some tables both are in one chunk, or in two that follow each other, or far apart.
    file = [*tables, first[0], second[0], first[1], *first[2:], *second[1:]]
    store = CountedStore(world.log)
    loading = BulkImport(store, world.context(), now=world.now)  # type: ignore[arg-type]
    loaded = [batch for _, batch in load_all(loading, chunks(*file, size=3))]
    assert [one.number for batch in loaded for one in batch.bad] == [8, 14, 15, 16, 17, 18]
    assert sum(batch.created for batch in loaded) == 12
    # The last chunk has nothing to append.
    assert store.names.count("append_group") == 5
    assert store.names.count("append") == 0


def test_contracts_from_before_the_rule_stay_as_they_are(world: Any) -> None:
    world.schema()
    table = world.table("t")
    first = world.contract("c", table)
    fqn = "service.database.schema.t.dataContract_d"
    twin = add_twin(world.log, first.id, "d", fqn)
    second = {**CONTRACT, "name": "d", "fullyQualifiedName": fqn}
    assert importer(world).load(Chunk(lines(CONTRACT, second))).unchanged == 2
    changed = world.put("dataContract", "d", entity=reference(table), description="x")
    assert (changed.entity.id, changed.change) == (twin, Change.UPDATED)
    describe = {"op": "add", "path": "/description", "value": "y"}
    assert world.patch(first, describe).change == Change.UPDATED

    # Both go with their table and come back with it; one that went alone does not.
    world.delete(table)
    world.restore(table)
    assert (world.lives()[first.fqn], world.lives()[fqn]) == (True, True)
    world.delete(first)
    said = f"A data contract already exists for entity 'table' with ID {table.id}"
    assert refusal(world.restore, first) == said
    world.delete(table)
    world.restore(table)
    assert (world.lives()[first.fqn], world.lives()[fqn]) == (False, True)
