"""Kinds that repeat the names of another entity come after it."""

from typing import Any

import pytest

from tests.brief_engines import brief_engine
from tests.projections.search.conftest import Catalog, make_entity

COLUMNS = [{"name": name, "dataType": "INT"} for name in ("id", "city", "street")]


@pytest.fixture(scope="module")
def catalog() -> Any:
    catalog = Catalog(brief_engine())
    for name in ("dim_addresses", "dim_calls", "dim_orders"):
        said = name.replace("_", " ")
        table = make_entity(
            name, columns=COLUMNS, description="Loaded from the platform twice a day."
        )
        contract = make_entity(
            f"{name}_contract",
            "dataContract",
            fqn=f"{table.fqn}.dataContract_{name}_contract",
            displayName=f"{said.capitalize()} contract",
            description=f"What readers of {said} can rely on. Times are in UTC.",
            entity={"type": "table", "id": table.id, "name": name, "fullyQualifiedName": table.fqn},
            schema=COLUMNS,
        )
        catalog.add(table, contract)
    yield catalog
    catalog.engine.close()


@pytest.mark.parametrize("text", ["dim", "addr", "addresses", "dim_addr", "dim_addresses"])
def test_contract_comes_after_its_table(catalog: Catalog, text: str) -> None:
    names = [hit["_source"]["name"] for hit in catalog.respond(text)["hits"]["hits"]]
    tables = [name for name in names if not name.endswith("_contract")]
    assert "dim_addresses" in tables
    assert [f"{name}_contract" in names[names.index(name) :] for name in tables] == [True] * len(
        tables
    )


def test_contract_is_found_first_where_it_is_meant(catalog: Catalog) -> None:
    for text in ("addresses contract", "dim_addresses_contract", "Dim addresses contract"):
        first = catalog.respond(text)["hits"]["hits"][0]["_source"]
        assert first["name"] == "dim_addresses_contract"
