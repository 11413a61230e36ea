"""Soft deletes, restores and purges through the catalog."""

from typing import Any

import pytest

from domain.errors import NotEmpty, NotFound
from domain.kinds.registry import KINDS
from domain.writing.plans import Change

SCHEMA = "service.database.schema"


class Family:
    """A schema with two tables, one of which has a contract."""

    def __init__(self, world: Any) -> None:
        self.schema = world.schema()
        self.one, self.two = world.table("one"), world.table("two")
        self.contract = world.contract("c", self.one)


@pytest.fixture
def family(world: Any) -> Family:
    return Family(world)


def below(world: Any) -> dict[str, bool]:
    """Last part of the name -> whether it is live, from the schema down."""
    lives = world.lives()
    return {fqn.rsplit(".", 1)[-1]: live for fqn, live in lives.items() if fqn.startswith(SCHEMA)}


ALL_LIVE = {"schema": True, "one": True, "dataContract_c": True, "two": True}
ALL_DELETED = dict.fromkeys(ALL_LIVE, False)


@pytest.mark.parametrize("hard", [False, True])
def test_delete_of_a_leaf(world: Any, family: Family, hard: bool) -> None:
    outcome = world.delete(family.two, hard=hard)
    assert outcome.change == (Change.DELETED if hard else Change.SOFT_DELETED)
    assert (outcome.entity.deleted, outcome.entity.purged) == (not hard, hard)
    assert outcome.entity.version == (1 if hard else 2)
    assert (
        below(world) == ALL_LIVE | ({} if hard else {"two": False})
        if not hard
        else {name: True for name in ALL_LIVE if name != "two"}
    )


@pytest.mark.parametrize("hard", [False, True])
def test_delete_of_a_parent_needs_recursive(world: Any, family: Family, hard: bool) -> None:
    with pytest.raises(NotEmpty) as caught:
        world.delete(family.schema, hard=hard)
    assert caught.value.message == (
        f"databaseSchema '{SCHEMA}' is not empty: recursive=true deletes what is below it too"
    )
    assert below(world) == ALL_LIVE


def test_soft_delete_takes_the_contract_along(world: Any, family: Family) -> None:
    head = world.log.head()
    outcome = world.delete(family.one)
    assert (outcome.change, outcome.entity.id) == (Change.SOFT_DELETED, family.one.id)
    assert below(world) == ALL_LIVE | {"one": False, "dataContract_c": False}
    assert world.events(after=head) == [("entity.soft-deleted", name) for name in ("c", "one")]


def test_purge_takes_the_contract_along_when_it_is_recursive(world: Any, family: Family) -> None:
    with pytest.raises(NotEmpty):
        world.delete(family.one, hard=True)
    assert below(world) == ALL_LIVE
    world.delete(family.one, hard=True, recursive=True)
    assert below(world) == {"schema": True, "two": True}


def test_contract_of_a_parent_does_not_take_its_children_along(world: Any, family: Family) -> None:
    world.contract("of schema", family.schema)
    with pytest.raises(NotEmpty):
        world.delete(family.schema)
    for table in (family.one, family.two):
        world.delete(table)
    world.delete(family.schema)
    assert not any(below(world).values())


def test_contract_stays_where_it_may_not_go_along(world: Any, family: Family) -> None:
    def plan() -> Any:
        return world.catalog.planner.delete(
            KINDS["table"],
            family.one.id,
            world.context(),
            hard=False,
            recursive=False,
            attached=False,
        )

    with pytest.raises(NotEmpty):
        plan()
    world.delete(family.contract)
    assert [step.after.id for step in plan().steps] == [family.one.id]


@pytest.mark.parametrize("recursive", [False, True])
@pytest.mark.parametrize("by_put", [False, True])
def test_contract_comes_back_with_its_table(
    world: Any, family: Family, recursive: bool, by_put: bool
) -> None:
    before = world.contract("own", family.two)
    world.delete(before)
    for table in (family.one, family.two):
        world.delete(table, recursive=recursive)
    for table in (family.one, family.two):
        if by_put:
            world.put("table", table.name, databaseSchema=SCHEMA)
        else:
            world.restore(table)
    assert below(world) == ALL_LIVE | {"dataContract_own": False}


def test_recursive_soft_delete_takes_everything_below_children_first(
    world: Any, family: Family
) -> None:
    head = world.log.head()
    outcome = world.delete(family.schema, recursive=True)
    assert (outcome.change, outcome.entity.id) == (Change.SOFT_DELETED, family.schema.id)
    assert below(world) == ALL_DELETED
    assert world.events(after=head) == [
        ("entity.soft-deleted", name) for name in ("c", "two", "one", "schema")
    ]


def test_recursive_purge_frees_all_names(world: Any, family: Family) -> None:
    world.delete(family.schema, hard=True, recursive=True)
    assert below(world) == {}
    again = world.create("databaseSchema", "schema", database="service.database")
    assert (again.fqn, again.id == family.schema.id) == (SCHEMA, False)


def test_purge_of_a_soft_deleted_parent_needs_recursive(world: Any, family: Family) -> None:
    world.delete(family.schema, recursive=True)
    with pytest.raises(NotEmpty):
        world.delete(family.schema, hard=True)
    world.delete(family.schema, hard=True, recursive=True)
    assert below(world) == {}


def test_second_soft_delete_changes_nothing(world: Any, family: Family) -> None:
    world.delete(family.schema, recursive=True)
    head = world.log.head()
    outcome = world.delete(family.schema)
    assert (outcome.change, outcome.entity.version, world.log.head()) == (Change.NO_CHANGE, 2, head)


def test_soft_delete_goes_past_children_deleted_before(world: Any, family: Family) -> None:
    world.delete(family.one, recursive=True)
    world.delete(family.two)
    world.delete(family.schema)
    assert below(world) == ALL_DELETED


def test_restore_brings_back_what_was_deleted_together(world: Any, family: Family) -> None:
    world.delete(family.schema, recursive=True)
    head = world.log.head()
    outcome = world.restore(family.schema)
    assert (outcome.change, outcome.entity.version) == (Change.RESTORED, 3)
    assert below(world) == ALL_LIVE
    assert world.events(after=head)[0] == ("entity.restored", "schema")


def test_restore_leaves_what_was_deleted_before(world: Any, family: Family) -> None:
    world.delete(family.contract)
    world.delete(family.two)
    world.delete(family.schema, recursive=True)
    world.restore(family.schema)
    assert below(world) == {"schema": True, "one": True, "dataContract_c": False, "two": False}
    world.restore(family.two)
    assert below(world) == ALL_LIVE | {"dataContract_c": False}


def test_restore_of_a_subtree_deleted_before_its_parent(world: Any, family: Family) -> None:
    world.delete(family.one, recursive=True)
    world.delete(family.schema, recursive=True)
    world.restore(family.schema)
    assert below(world) == {"schema": True, "one": False, "dataContract_c": False, "two": True}
    world.restore(family.one)
    assert below(world) == ALL_LIVE


def test_two_deletes_of_one_request_id_are_told_apart(world: Any, family: Family) -> None:
    same = world.context(request_id="chosen by the client")
    world.delete(family.two, context=same)
    world.delete(family.schema, recursive=True, context=same)
    world.restore(family.schema)
    assert below(world) == ALL_LIVE | {"two": False}


def test_restore_of_what_is_not_deleted(world: Any, family: Family) -> None:
    with pytest.raises(NotFound) as caught:
        world.restore(family.schema)
    assert caught.value.message == f"databaseSchema instance for {family.schema.id} is not deleted"


def test_purged_entity_is_gone(world: Any, family: Family) -> None:
    table = family.two
    world.delete(table, hard=True)
    for call in (world.delete, world.restore, world.patch):
        with pytest.raises(NotFound) as caught:
            call(table)
        assert caught.value.message == f"table instance for {table.id} not found"


def test_put_on_a_deleted_parent_restores_what_was_deleted_with_it(
    world: Any, family: Family
) -> None:
    world.delete(family.schema, recursive=True)
    outcome = world.put("databaseSchema", name="schema", database="service.database")
    assert outcome.change == Change.UPDATED
    assert below(world) == ALL_LIVE
