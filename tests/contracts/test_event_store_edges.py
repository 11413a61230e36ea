"""Promises of every event store about lineage edges: both ends find theirs, none outlives one."""

import pytest

from domain.errors import AlreadyExists, ConcurrentChange
from domain.event_store.port import EventStore
from domain.event_store.transfer import ExportReader, export
from domain.event_store.writes import Expectations
from tests.contracts.recorded import created, drawn, edge_claim, erased, purged

AB, BC, CA, AA = (
    edge_claim("e1", "a", "b"),
    edge_claim("e2", "b", "c"),
    edge_claim("e3", "c", "a"),
    edge_claim("e4", "a", "a"),
)


@pytest.fixture
def drawing(store: EventStore) -> EventStore:
    """Three entities in a circle, the first also with an edge to itself; one with a longer id."""
    store.append([created("a"), created("b"), created("c"), created("ab")])
    store.append([drawn("e1", "a", "b"), drawn("e2", "b", "c"), drawn("e3", "c", "a")])
    store.append([drawn("e4", "a", "a")])
    return store


def test_both_ends_find_their_edges(drawing: EventStore) -> None:
    assert drawing.claims(ends=["a"]) == [AA, AB, CA]
    assert drawing.claims(ends=["b"]) == [AB, BC]
    assert drawing.claims(ends=["a", "c", "nobody"]) == [AA, AB, BC, CA]
    assert drawing.claims(ends=["ab"]) == []


def test_edges_are_nobodys_children(drawing: EventStore) -> None:
    assert drawing.claims(parents=["a"]) == []
    nobody_below = Expectations(without_children=frozenset("a"))
    assert drawing.append([], expecting=nobody_below) == drawing.head()


def test_edge_is_unique_between_two_entities(drawing: EventStore) -> None:
    with pytest.raises(AlreadyExists):
        drawing.append([drawn("new", "a", "b")])
    drawing.append([drawn("new", "b", "a")])
    assert drawing.claim("lineageEdge", "b.a") == edge_claim("new", "b", "a")


def test_erased_edge_is_found_no_more(drawing: EventStore) -> None:
    drawing.append([erased("e1")])
    assert drawing.claims(ends=["b"]) == [BC]
    drawing.append([drawn("new", "a", "b")])
    assert drawing.claims(ends=["b"]) == [edge_claim("new", "a", "b"), BC]


@pytest.mark.parametrize("left", ["e1", "e2"], ids=["begins there", "ends there"])
def test_append_is_refused_while_an_edge_is_left(drawing: EventStore, left: str) -> None:
    gone = {"e1": "e2", "e2": "e1"}[left]
    end = {"e1": "a", "e2": "c"}[left]
    drawing.append([erased("e3"), erased("e4"), erased(gone)])
    expecting = Expectations(without_edges=frozenset({end, "ab"}))
    with pytest.raises(ConcurrentChange) as caught:
        drawing.append([purged(end, 2)], expecting=expecting)
    assert [*caught.value.entity_ids] == [end]
    assert drawing.claim_by_id(end) is not None
    drawing.append([purged(end, 2), erased(left)], expecting=expecting)
    assert drawing.claims(ends=["a", "b", "c"]) == []


def test_edge_and_purge_of_an_end_in_one_group_do_not_pass_each_other(store: EventStore) -> None:
    store.append([created("a"), created("b")])
    live = Expectations(live=frozenset({"a", "b"}))
    store.append([purged("b", 2)], expecting=Expectations(without_edges=frozenset("b")))
    with pytest.raises(ConcurrentChange) as caught:
        store.append([drawn("e", "a", "b")], expecting=live)
    assert [*caught.value.entity_ids] == ["b"]


def test_edges_are_found_in_a_log_that_was_exported_and_restored(
    drawing: EventStore, other_store: EventStore
) -> None:
    drawing.append([erased("e2")])
    with drawing.snapshot() as snapshot:
        lines = [*export(drawing, snapshot)]
    assert [*other_store.restore(ExportReader(lines, "file").rows())]
    assert other_store.claims(ends=["a", "b", "c"]) == [AA, AB, CA]
