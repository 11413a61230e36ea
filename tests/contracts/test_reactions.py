"""What a reaction remembers in the database of the log, whichever it is."""

from domain.event_store.reactions import Attention
from domain.measurements.reports import COLUMN, RESULT, SYSTEM, TABLE, Point
from tests.contracts.conftest import OpenStore
from tests.contracts.measurement_backends import Backend

NOW = 1_700_000_000_000
ONE, TWO = "0191ab00-0000-7000-8000-000000000001", "0191ab00-0000-7000-8000-000000000002"


def test_reaction_begins_with_nothing(open_store: OpenStore) -> None:
    memory = open_store().reaction("judge")
    assert (memory.position(), memory.due(NOW, 9), memory.watching([ONE])) == (0, [], [])


def test_what_is_settled_is_there_for_another_process(open_store: OpenStore) -> None:
    memory = open_store().reaction("judge")
    memory.settle(
        7, {"a": Attention(moment=5, watches=[ONE, TWO, ONE]), "b": Attention(watches=())}
    )
    memory.settle(8, {"b": Attention(moment=4, watches=[TWO])})

    other = open_store().reaction("judge")
    assert other.position() == 8
    assert [other.due(now, 9) for now in (3, 4, 5)] == [[], ["b"], ["b", "a"]]
    assert other.due(5, 1) == ["b"]
    assert [other.watching(ids) for ids in ([ONE], [TWO, "c"], ["c"], ["\0"])] == [
        ["a"],
        ["a", "b"],
        [],
        [],
    ]


def test_what_is_settled_again_replaces_what_was_there(open_store: OpenStore) -> None:
    memory = open_store().reaction("judge")
    memory.settle(1, {"a": Attention(moment=5, watches=[ONE])})
    memory.settle(2, {"a": Attention(watches=[TWO])})
    assert (memory.due(9, 9), memory.watching([ONE]), memory.watching([TWO])) == ([], [], ["a"])
    memory.settle(3, {"a": Attention(moment=4)})
    assert (memory.due(9, 9), memory.watching([TWO])) == (["a"], ["a"])
    memory.settle(4, {"a": Attention(watches=())})
    assert (memory.due(9, 9), memory.watching([ONE, TWO])) == ([], [])


def test_reactions_know_nothing_of_each_other(open_store: OpenStore) -> None:
    store = open_store()
    store.reaction("judge").settle(5, {"a": Attention(moment=1, watches=[ONE])})
    other = store.reaction("webhooks")
    assert (other.position(), other.due(NOW, 9), other.watching([ONE])) == (0, [], [])


def test_more_ids_are_looked_up_than_one_statement_takes(open_store: OpenStore) -> None:
    memory = open_store().reaction("judge")
    memory.settle(1, {f"s{n}": Attention(watches=[f"e{n}"]) for n in range(1_200)})
    assert len(memory.watching([f"e{n}" for n in range(1_200)])) == 1_200


def test_entities_with_new_points_are_told_until_they_are_settled(backend: Backend) -> None:
    store = backend.open()
    assert store.written(9) == []
    for entity, series in ((ONE, RESULT), (TWO, SYSTEM), (TWO, COLUMN)):
        store.write(entity, [Point(series, "p" if series != RESULT else "", NOW, b"{}")], NOW)
    written = backend.open().written(9)
    assert sorted(entity for entity, _ in written) == [ONE, TWO]
    assert len(store.written(1)) == 1
    store.settle(written)
    assert store.written(9) == []


def test_point_written_since_it_was_told_is_told_again(backend: Backend) -> None:
    store = backend.open()
    store.write(ONE, [Point(RESULT, "", NOW, b"{}")], NOW)
    told = store.written(9)
    store.write(ONE, [Point(RESULT, "", NOW, b"[]")], NOW)
    store.settle(told)
    ((entity, _),) = store.written(9)
    assert entity == ONE


def test_deleted_result_is_told_and_what_no_contract_asks_for_is_not(backend: Backend) -> None:
    store = backend.open()
    store.write(ONE, [Point(TABLE, "", NOW, b"{}")], NOW)
    assert store.written(9) == []
    store.write(ONE, [Point(RESULT, "", NOW, b"{}")], NOW)
    store.settle(store.written(9))
    store.delete(ONE, RESULT, NOW)
    assert [entity for entity, _ in store.written(9)] == [ONE]
