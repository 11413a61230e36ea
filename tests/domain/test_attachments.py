"""What a contract says about its table must be about columns that the table has."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from domain.bulk_import import BulkImport
from domain.errors import InvalidInput
from domain.registry import KINDS
from tests.domain.counted_store import CountedStore
from tests.domain.importing import importer

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
    batch = importer(world).load(lines(TABLE, bad, good, wide, bad))
    assert [(one.number, one.reason) for one in batch.bad] == [(2, MISSING)]
    assert (batch.created, batch.changed) == (2, 2)


@pytest.mark.parametrize("column", [ID, NAME])
def test_import_knows_the_columns_that_the_log_has(world: Any, column: Any) -> None:
    world.schema()
    world.table("t", columns=[ID])
    loading = importer(world)
    contract = {**CONTRACT, "schema": [column]}
    bad = [] if column is ID else [MISSING]
    assert [one.reason for one in loading.load(lines(contract)).bad] == bad
    # What is remembered of a table ends when a line changes it.
    wide = {**TABLE, "columns": [ID, NAME]}
    assert loading.load(lines(wide)).bad == []
    assert loading.load(lines({**CONTRACT, "schema": [ID, NAME]})).bad == []


def test_import_reads_the_columns_of_many_tables_together(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    reads = []
    for most in (100_000, 0):
        store = CountedStore(world.log)
        with monkeypatch.context() as patched:
            patched.setattr("domain.import_lookups.MOST_COLUMNS", most)
            loading = BulkImport(store, world.context(), now=world.now)  # type: ignore[arg-type]
            batch = loading.load(lines(*described))
        assert [(one.number, one.reason) for one in batch.bad] == [(n, MISSING) for n in (1, 3, 5)]
        reads.append(store.names.count("streams"))
        for name in ("t1", "t3", "t5"):
            table = world.log.claim("table", f"service.database.schema.{name}")
            (contract,) = world.log.children(table.id)
            world.catalog.delete(
                KINDS["dataContract"], contract.id, world.context(), hard=True, recursive=False
            )
    assert reads[1] - reads[0] == 5
