"""The part of an entity that breaking changes of its contract are about."""

import tracemalloc

import pytest

from domain.aggregate.entity import Entity
from domain.contracts.changes.reach import reach_of
from domain.contracts.changes.rules import RULES, Change, Path
from domain.impact import Reach
from tests.domain.conftest import World

COLUMNS = [{"name": "total", "dataType": "INT"}]


@pytest.fixture
def contract(world: World) -> Entity:
    world.schema()
    return world.contract("promise", world.table("orders", columns=COLUMNS), schema=COLUMNS)


def removed(*place: str) -> Change:
    return Change(RULES["column.removed"], Path(place[-1]), ("orders", *place))


def test_columns_that_readers_lose_are_named_as_those_of_the_entity(contract: Entity) -> None:
    changes = [removed("total"), removed("a.b", "c"), removed("total")]

    columns = ["s.orders.total", 's.orders."a.b".c']
    assert reach_of(changes, contract, "s.orders") == (columns, {Reach.COLUMNS})


def test_names_that_no_column_may_have_are_passed_over(contract: Entity) -> None:
    changes = [removed("n" * 1_000_000, f"c{place}") for place in range(200)]
    tracemalloc.start()
    reached = reach_of([*changes, removed("total")], contract, "s.orders")
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert reached == (["s.orders.total"], {Reach.COLUMNS})
    assert used < 10_000_000
