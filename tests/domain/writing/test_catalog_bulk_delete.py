"""Many deletes in one transaction come to what they would come to one after the other."""

from typing import Any

import pytest

from domain.errors import CatalogError, NotEmpty, StoreUnavailable
from domain.event_store.writes import Append
from domain.kinds.registry import KINDS
from domain.writing.planning import Planner
from domain.writing.plans import Change, Plan
from tests.domain.faulty_store import FaultyStore

Results = dict[str, Change | CatalogError]


def delete_all(
    world: Any, *entities: Any, hard: bool = False, recursive: bool = True
) -> tuple[Results, Append]:
    """Delete the first of these entities in one transaction; its results and append."""
    context = world.context()
    ids = [entity.id for entity in entities]
    appends = []

    def delete(planner: Planner, entity_id: str) -> Plan:
        kind = KINDS[entities[0].kind]
        return planner.delete(kind, entity_id, context, hard=hard, recursive=recursive)

    def propose() -> Any:
        proposal, results = world.catalog.propose_deletes(ids, delete)
        appends.append(proposal.append)
        return proposal, results

    _, results = world.catalog.until_stored(propose)
    return results, appends[-1]


@pytest.mark.parametrize(("hard", "change"), [(False, Change.SOFT_DELETED), (True, Change.DELETED)])
def test_entities_go_with_what_is_below_them(world: Any, hard: bool, change: Change) -> None:
    world.schema()
    one, two, three = (world.table(name) for name in ("one", "two", "three"))
    world.contract("c", one)
    results, _ = delete_all(world, one, two, hard=hard)
    assert results == {one.id: change, two.id: change}
    assert {fqn: live for fqn, live in world.lives().items() if "schema." in fqn} == {
        three.fqn: True,
        **({} if hard else dict.fromkeys((one.fqn, two.fqn, f"{one.fqn}.dataContract_c"), False)),
    }


def test_refused_delete_leaves_the_others_alone(world: Any) -> None:
    world.schema()
    tops = [world.create("storageService", name, serviceType="S3") for name in ("a", "b")]
    world.create("container", "c", service="a")
    results, _ = delete_all(world, *tops, recursive=False)
    assert [*results] == [top.id for top in tops]
    assert isinstance(results[tops[0].id], NotEmpty)
    assert results[tops[1].id] is Change.SOFT_DELETED
    assert (world.lives()["a"], world.lives()["b"]) == (True, False)


@pytest.mark.parametrize("hard", [False, True])
def test_what_went_with_an_entity_above_it_is_deleted_once(world: Any, hard: bool) -> None:
    world.create("storageService", "s3", serviceType="S3")
    top = world.create("container", "top", service="s3")
    deep = world.create("container", "deep", parent=top.fqn)
    results, append = delete_all(world, top, deep, hard=hard)
    assert [*results.values()] == [Change.DELETED if hard else Change.SOFT_DELETED] * 2
    assert len(append.rows) == 2


@pytest.mark.parametrize("hard", [False, True])
def test_what_is_gone_already_is_no_change(world: Any, hard: bool) -> None:
    world.create("storageService", "s3", serviceType="S3")
    gone = world.create("container", "gone", service="s3")
    world.delete(gone, hard=hard)
    results, append = delete_all(world, gone)
    assert (results, len(append.rows)) == ({gone.id: Change.NO_CHANGE}, 0)


def test_transaction_is_bounded_and_takes_one_at_least(world: Any) -> None:
    world.catalog.most_events = 2
    world.create("storageService", "s3", serviceType="S3")
    top = world.create("container", "top", service="s3")
    for name in ("a", "b"):
        world.create("container", name, parent=top.fqn)
    others = [world.create("container", name, service="s3") for name in ("c", "d", "e")]
    assert [*delete_all(world, top, *others)[0]] == [top.id]
    assert [*delete_all(world, *others)[0]] == [others[0].id, others[1].id]
    # What changes nothing is looked up all the same.
    assert [*delete_all(world, *others)[0]] == [others[0].id, others[1].id]


def test_deleted_entity_comes_back_without_its_neighbours(world: Any) -> None:
    world.schema()
    one, two = world.table("one"), world.table("two")
    contract = world.contract("c", one)
    delete_all(world, one, two)
    world.restore(one)
    lives = world.lives()
    assert (lives[one.fqn], lives[contract.fqn], lives[two.fqn]) == (True, True, False)


def test_log_that_cannot_be_read_ends_the_request(world: Any) -> None:
    world.schema()
    table = world.table("one")
    world.catalog.store = FaultyStore(world.log, {"streams": [StoreUnavailable("no")]})
    with pytest.raises(StoreUnavailable):
        delete_all(world, table)
    assert world.lives()[table.fqn]
