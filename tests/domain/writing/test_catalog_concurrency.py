"""Two catalogs on one file, retries after another writer, and idempotency keys."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from domain.errors import (
    AlreadyExists,
    Conflict,
    InvalidInput,
    KeyReused,
    NotFound,
    StaleVersion,
)
from domain.kinds.registry import KINDS
from domain.write_context import WriteContext
from domain.writing.plans import Change, Plan

OpenWorld = Callable[[], Any]


@pytest.fixture
def other(open_world: OpenWorld, world: Any) -> Any:
    """Another process on the same file."""
    return open_world()


def interrupt(world: Any, rival: Callable[[], object]) -> None:
    """Let the rival write once between the catalog's reading of the log and its append."""

    def once() -> None:
        world.on_clock = int
        rival()

    world.on_clock = once


def test_catalogs_see_each_other(world: Any, other: Any) -> None:
    service = world.create("databaseService", "s", serviceType="Mysql")
    assert other.put("databaseService", "s", serviceType="Postgres").entity.version == 2
    assert world.put("databaseService", "s", serviceType="Postgres").change == Change.NO_CHANGE
    other.delete(service)
    assert world.restore(service).entity.version == 4
    other.delete(service, hard=True)
    with pytest.raises(NotFound):
        world.delete(service)
    assert world.create("databaseService", "s", serviceType="Mysql").id != service.id


def test_loser_of_a_race_is_retried_on_the_new_state(world: Any, other: Any) -> None:
    service = world.create("databaseService", "s", serviceType="Mysql")
    interrupt(
        world, lambda: other.put("databaseService", "s", serviceType="Mysql", displayName="S")
    )
    outcome = world.put("databaseService", "s", serviceType="Mysql", description="d")
    assert (outcome.entity.version, outcome.entity.stream_version) == (3, 3)
    assert (outcome.entity.value("displayName"), outcome.entity.value("description")) == ("S", "d")
    assert [r.stream_version for r in world.log.stream(service.id)] == [1, 2, 3]


def test_patch_is_applied_once_when_retried(world: Any, other: Any) -> None:
    world.schema()
    contract = world.contract("c", world.table("t"))
    describe = {"op": "add", "path": "/description", "value": "x"}
    rule = {"name": "one", "description": "d", "rule": "{}", "enabled": True}
    interrupt(world, lambda: other.patch(contract, describe))
    outcome = world.patch(
        contract,
        {"op": "add", "path": "/semantics", "value": [rule]},
        {"op": "add", "path": "/semantics/-", "value": rule | {"name": "two"}},
    )
    assert [rule["name"] for rule in outcome.entity.value("semantics")] == ["one", "two"]
    assert (outcome.entity.value("description"), outcome.entity.version) == ("x", 3)


def test_edit_of_a_person_that_comes_first_is_kept_by_a_bot(world: Any, other: Any) -> None:
    service = world.create("databaseService", "s", serviceType="Mysql")
    describe = {"op": "add", "path": "/description", "value": "ours"}
    interrupt(world, lambda: other.patch(service, describe))
    bot = world.context(actor="bot", by_bot=True)
    outcome = world.put(
        "databaseService", "s", bot, serviceType="Mysql", description="theirs", displayName="S"
    )
    assert (outcome.entity.value("description"), outcome.entity.value("displayName")) == (
        "ours",
        "S",
    )
    assert (outcome.entity.version, outcome.entity.updated_by) == (3, "bot")


def test_stale_version_is_noticed_in_a_race(world: Any, other: Any) -> None:
    world.create("databaseService", "s", serviceType="Mysql")
    interrupt(world, lambda: other.put("databaseService", "s", serviceType="Postgres"))
    with pytest.raises(StaleVersion):
        world.put("databaseService", "s", world.context(expected_version=1), serviceType="Oracle")
    assert other.put("databaseService", "s", serviceType="Postgres").change == Change.NO_CHANGE


def test_create_that_loses_the_name_already_exists(world: Any, other: Any) -> None:
    interrupt(world, lambda: other.create("databaseService", "s", serviceType="Mysql"))
    with pytest.raises(AlreadyExists) as caught:
        world.create("databaseService", "s", serviceType="Postgres")
    assert caught.value.message == "a databaseService named 's' exists already"
    assert world.events() == [("entity.created", "s")]


def test_put_that_loses_the_name_changes_the_winner(world: Any, other: Any) -> None:
    interrupt(world, lambda: other.create("databaseService", "s", serviceType="Mysql"))
    outcome = world.put("databaseService", "s", serviceType="Postgres")
    assert (outcome.change, outcome.entity.version) == (Change.UPDATED, 2)


def test_child_cannot_be_created_while_its_parent_goes(world: Any, other: Any) -> None:
    service = world.create("databaseService", "s", serviceType="Mysql")
    interrupt(world, lambda: other.delete(service))
    with pytest.raises(NotFound) as caught:
        world.create("database", "d", service="s")
    assert caught.value.message == "service: databaseService instance for 's' not found"


def test_parent_cannot_go_while_its_child_is_restored(world: Any, other: Any) -> None:
    service = world.create("databaseService", "s", serviceType="Mysql")
    database = world.create("database", "d", service="s")
    world.delete(database)
    interrupt(world, lambda: other.delete(service))
    with pytest.raises(Conflict) as caught:
        world.restore(database)
    assert caught.value.message == "database 's.d' stands under 's', which is deleted"


def test_contract_that_comes_second_in_a_race_is_refused(world: Any, other: Any) -> None:
    world.schema()
    table = world.table("t")
    interrupt(world, lambda: other.contract("first", table))
    with pytest.raises(InvalidInput) as caught:
        world.contract("second", table)
    assert caught.value.message == (
        f"A data contract already exists for entity 'table' with ID {table.id}"
    )
    assert [claim.name for claim in world.log.claims(parents=[table.id])] == ["first"]


@pytest.mark.parametrize("act", ["restore", "put"])
def test_contract_comes_not_back_beside_one_that_is_made_meanwhile(
    world: Any, other: Any, act: str
) -> None:
    world.schema()
    table = world.table("t")
    first = world.contract("first", table)
    world.delete(first)
    entity = {"type": "table", "id": table.id}
    acts = {
        "restore": lambda: world.restore(first),
        "put": lambda: world.put("dataContract", "first", entity=entity, description="x"),
    }
    interrupt(world, lambda: other.contract("second", table))
    with pytest.raises(InvalidInput, match="A data contract already exists for entity 'table'"):
        acts[act]()
    assert world.lives()[first.fqn] is False


def test_of_contracts_that_threads_make_at_once_one_wins(world: Any, other: Any) -> None:
    world.schema()
    tables = [world.table(f"t{number}") for number in range(6)]
    start = threading.Barrier(4)
    outcomes: list[tuple[str, str | None]] = []

    def make(who: Any, name: str) -> None:
        for table in tables:
            start.wait(30)
            try:
                who.contract(name, table)
            except InvalidInput as error:
                outcomes.append((table.id, error.message))
            else:
                outcomes.append((table.id, None))

    threads = [
        threading.Thread(target=make, args=(who, f"{name}{number}"))
        for who, name in ((world, "a"), (other, "b"))
        for number in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = []
    for table in tables:
        said = f"A data contract already exists for entity 'table' with ID {table.id}"
        expected += [(table.id, None), *[(table.id, said)] * 3]
        assert len(world.log.claims(parents=[table.id])) == 1
    assert sorted(outcomes, key=str) == sorted(expected, key=str)


def test_recursive_delete_takes_a_child_born_meanwhile(world: Any, other: Any) -> None:
    service = world.create("databaseService", "s", serviceType="Mysql")
    interrupt(world, lambda: other.create("database", "d", service="s"))
    world.delete(service, recursive=True)
    assert world.lives() == {"s": False, "s.d": False}


def test_threads_on_two_catalogs_lose_no_change(world: Any, other: Any) -> None:
    world.create("databaseService", "s", serviceType="Mysql")
    count, errors = 20, []

    def write(who: Any, key: str) -> None:
        try:
            for number in range(count):
                who.put("databaseService", "s", serviceType="Mysql", **{key: str(number)})
        except Exception as error:
            errors.append(error)

    threads = [
        threading.Thread(target=write, args=pair)
        for pair in ((world, "displayName"), (other, "description"))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    entity = world.put("databaseService", "s", serviceType="Mysql").entity
    assert (entity.value("displayName"), entity.value("description")) == ("19", "19")
    assert (entity.version, entity.stream_version) == (1 + 2 * count, 1 + 2 * count)


def test_plan_that_takes_long_holds_no_other_write_up(world: Any) -> None:
    """Not even one of the same entity: whoever appends first wins, and the other plans again."""
    service = world.create("databaseService", "s", serviceType="Mysql")
    planning, go_on = threading.Event(), threading.Event()
    held: list[Any] = []

    def hold() -> None:
        if threading.current_thread() is slow:
            planning.set()
            assert go_on.wait(30)

    def write() -> None:
        held.append(world.put("databaseService", "s", serviceType="Mysql", description="slow"))

    def write_meanwhile() -> None:
        held.append(world.create("databaseService", "t", serviceType="Mysql"))
        held.append(world.put("databaseService", "s", serviceType="Mysql", displayName="S"))

    slow, quick = (threading.Thread(target=each) for each in (write, write_meanwhile))
    world.on_clock = hold
    slow.start()
    assert planning.wait(30)
    quick.start()
    quick.join(10)
    done_meanwhile = len(held)
    go_on.set()
    slow.join(30)
    quick.join(30)
    assert done_meanwhile == 2
    assert [r.stream_version for r in world.log.stream(service.id)] == [1, 2, 3]
    last = held[-1].entity
    assert (last.value("displayName"), last.value("description")) == ("S", "slow")


def test_threads_that_write_much_at_once_lose_no_change(world: Any) -> None:
    """Each changes an entity of its own and one that all of them change, through one cache."""
    world.create("databaseService", "shared", serviceType="Mysql", description="0")
    count, errors = 12, []

    def write(name: str) -> None:
        try:
            world.create("databaseService", name, serviceType="Mysql")
            for number in range(count):
                own = world.put(
                    "databaseService", name, serviceType="Mysql", displayName=f"{number}"
                )
                assert own.entity.version == number + 2
                world.put("databaseService", "shared", serviceType="Mysql", displayName=name)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    for name in "abcd":
        own = world.put("databaseService", name, serviceType="Mysql")
        assert (own.change, own.entity.value("displayName")) == (Change.NO_CHANGE, "11")
    shared = world.put("databaseService", "shared", serviceType="Mysql").entity
    assert shared.stream_version == len(list(world.log.stream(shared.id)))


def keyed(world: Any, key: str = "k", digest: bytes = b"1", actor: str = "ann") -> WriteContext:
    context: WriteContext = world.context(idempotency_key=key, digest=digest, actor=actor)
    return context


def test_repeated_key_answers_the_same(world: Any, other: Any) -> None:
    first = world.put("databaseService", "s", keyed(world), serviceType="Mysql")
    world.put("databaseService", "s", serviceType="Postgres")
    head = world.log.head()
    for who in (world, other):
        again = who.put("databaseService", "s", keyed(world), serviceType="Mysql")
        assert (again.entity, again.change) == (first.entity, Change.CREATED)
    assert world.log.head() == head


def test_repeated_key_answers_even_when_the_entity_is_gone(world: Any) -> None:
    service = world.create("databaseService", "s", serviceType="Mysql")
    first = world.delete(service, hard=True, context=keyed(world))
    again = world.delete(service, hard=True, context=keyed(world))
    assert (again.entity, again.change) == (first.entity, Change.DELETED)


def test_key_of_a_write_that_changed_nothing_is_remembered(world: Any) -> None:
    world.create("databaseService", "s", serviceType="Mysql")
    world.put("databaseService", "s", keyed(world), serviceType="Mysql")
    world.put("databaseService", "s", serviceType="Postgres")
    again = world.put("databaseService", "s", keyed(world), serviceType="Mysql")
    assert (again.change, again.entity.version) == (Change.NO_CHANGE, 1)
    assert world.put("databaseService", "s", serviceType="Postgres").change == Change.NO_CHANGE


def test_key_reused_for_another_request_is_refused(world: Any) -> None:
    world.put("databaseService", "s", keyed(world), serviceType="Mysql")
    with pytest.raises(KeyReused) as caught:
        world.put("databaseService", "t", keyed(world, digest=b"2"), serviceType="Mysql")
    assert caught.value.message == "this Idempotency-Key was used before for another request"
    assert world.events() == [("entity.created", "s")]


def test_keys_of_two_actors_are_two_keys(world: Any) -> None:
    world.put("databaseService", "s", keyed(world), serviceType="Mysql")
    outcome = world.put(
        "databaseService", "t", keyed(world, digest=b"2", actor="bob"), serviceType="Mysql"
    )
    assert outcome.change == Change.CREATED


def test_failed_write_leaves_its_key_free(world: Any) -> None:
    with pytest.raises(NotFound):
        world.put("database", "d", keyed(world), service="s")
    world.create("databaseService", "s", serviceType="Mysql")
    assert world.put("database", "d", keyed(world), service="s").change == Change.CREATED


def test_same_key_in_two_catalogs_at_once_writes_once(world: Any, other: Any) -> None:
    context = keyed(world)
    interrupt(world, lambda: other.put("databaseService", "s", context, serviceType="Mysql"))
    outcome = world.put("databaseService", "s", context, serviceType="Mysql")
    assert (outcome.change, world.events()) == (Change.CREATED, [("entity.created", "s")])


def test_repetition_that_overtakes_the_first_answers_as_it_did(world: Any, other: Any) -> None:
    """The first write is stored after its repetition has looked for the key in vain."""
    kind, context = KINDS["databaseService"], keyed(world)
    values = {"name": "s", "serviceType": "Mysql"}
    firsts = [lambda: other.catalog.create(kind, values, context)]

    def plan() -> Plan:
        while firsts:
            firsts.pop()()
        return world.catalog.planner.create(kind, values, context)

    outcome = world.catalog.write(context, plan)
    assert (outcome.change, world.events()) == (Change.CREATED, [("entity.created", "s")])
    with pytest.raises(AlreadyExists):
        world.catalog.create(kind, values, keyed(world, key="another"))
