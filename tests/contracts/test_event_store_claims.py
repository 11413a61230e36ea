"""Promises of every event store about qualified names, in step with the events."""

import pytest
from msgspec import structs

from domain.errors import AlreadyExists, ConcurrentChange
from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.port import EventStore
from domain.event_store.writes import Expectations
from tests.contracts.recorded import changed, claim, created, deleted, purged, restored


@pytest.fixture
def family(store: EventStore) -> EventStore:
    """A parent with two children."""
    store.append(
        [created("p", "top"), created("c2", "top.two", "p"), created("c1", "top.one", "p")]
    )
    return store


def test_creation_claims_the_name(family: EventStore) -> None:
    assert family.claim("domain", "top") == claim("p", "top")
    assert family.claim("domain", "top.one") == claim("c1", "top.one", "p")
    assert family.claim_by_id("c2") == claim("c2", "top.two", "p")
    assert family.claims(parents=["p"]) == [
        claim("c1", "top.one", "p"),
        claim("c2", "top.two", "p"),
    ]
    assert family.claim("team", "top") is None
    assert family.claim("domain", "TOP") is None


def test_taken_name_is_named(family: EventStore) -> None:
    with pytest.raises(AlreadyExists) as caught:
        family.append([created("new", "top")])
    assert caught.value.message == "a name is taken: 'top'"


def test_taken_id_is_a_concurrent_change(family: EventStore) -> None:
    with pytest.raises(ConcurrentChange) as caught:
        family.append([created("p", "other")])
    assert [*caught.value.entity_ids] == ["p"]


def test_soft_delete_keeps_the_claim(family: EventStore) -> None:
    family.append([deleted("c1", 2)])
    assert family.claim("domain", "top.one") == claim("c1", "top.one", "p", deleted=True)
    assert family.claims(parents=["p"])[0] == claim("c1", "top.one", "p", deleted=True)
    with pytest.raises(AlreadyExists):
        family.append([created("new", "top.one", "p")])
    family.append([restored("c1", 3)])
    assert family.claim("domain", "top.one") == claim("c1", "top.one", "p")


@pytest.mark.parametrize("first", [[], [deleted("c1", 2)]], ids=["live", "soft-deleted"])
def test_purge_releases_the_claim(family: EventStore, first: list[RecordedEvent]) -> None:
    family.append(first)
    family.append([purged("c1", 2 + len(first))])
    assert family.claim("domain", "top.one") is None
    assert family.claim_by_id("c1") is None
    assert family.claims(parents=["p"]) == [claim("c2", "top.two", "p")]
    family.append([created("new", "top.one", "p")])
    assert family.claim("domain", "top.one") == claim("new", "top.one", "p")


def test_purge_and_creation_in_one_batch(family: EventStore) -> None:
    family.append([purged("c1", 2), created("new", "top.one", "p")])
    assert family.claim("domain", "top.one") == claim("new", "top.one", "p")


NOBODY_BELOW_P = Expectations(without_children=frozenset("p"))
NO_LIVE_BELOW_P = Expectations(without_live_children=frozenset("p"))
P_IS_LIVE = Expectations(live=frozenset("p"))

REFUSED: dict[str, tuple[list[RecordedEvent], list[RecordedEvent], Expectations]] = {
    "live but deleted": (
        [deleted("c1", 2), deleted("c2", 2), deleted("p", 2)],
        [created("new", "top.new", "p")],
        P_IS_LIVE,
    ),
    "live but purged": (
        [purged("c1", 2), purged("c2", 2), purged("p", 2)],
        [created("new", "top.new", "p")],
        P_IS_LIVE,
    ),
    "live but never there": (
        [],
        [created("new", "x.new", "x")],
        Expectations(live=frozenset("x")),
    ),
    "live but deleted in the same batch": (
        [deleted("c1", 2), deleted("c2", 2)],
        [created("new", "top.new", "p"), deleted("p", 2)],
        P_IS_LIVE,
    ),
    "no live children but one": ([deleted("c1", 2)], [deleted("p", 2)], NO_LIVE_BELOW_P),
    "no live children but one of the batch": (
        [deleted("c1", 2), deleted("c2", 2)],
        [deleted("p", 2), restored("c1", 3)],
        NO_LIVE_BELOW_P,
    ),
    "no children but a live one": ([deleted("c1", 2)], [purged("p", 2)], NOBODY_BELOW_P),
    "no children but deleted ones": (
        [deleted("c1", 2), deleted("c2", 2)],
        [purged("p", 2)],
        NOBODY_BELOW_P,
    ),
    "an answer alone": ([], [], NO_LIVE_BELOW_P),
}


@pytest.mark.parametrize(("past", "refused", "expecting"), REFUSED.values(), ids=REFUSED)
def test_append_is_refused_when_claims_are_not_as_expected(
    family: EventStore,
    past: list[RecordedEvent],
    refused: list[RecordedEvent],
    expecting: Expectations,
) -> None:
    family.append(past)
    log, children = family.read(0, 99), family.claims(parents=["p"])
    with pytest.raises(ConcurrentChange) as caught:
        family.append(refused, expecting=expecting)
    assert [*caught.value.entity_ids] == [*next(filter(None, structs.astuple(expecting)))]
    assert (family.read(0, 99), family.claims(parents=["p"])) == (log, children)


SOLE = Expectations(sole=frozenset({("domain", "p")}))


@pytest.mark.parametrize(
    ("past", "new", "stored"),
    [
        ([], [], False),
        ([deleted("c1", 2)], [], True),
        ([purged("c1", 2)], [], True),
        ([deleted("c1", 2)], [restored("c1", 3)], False),
        ([deleted("c1", 2), deleted("c2", 2)], [restored("c1", 3)], True),
        ([purged("c2", 2)], [created("new", "top.new", "p")], False),
        ([purged("c1", 2), purged("c2", 2)], [created("new", "top.new", "p")], True),
        ([deleted("c1", 2)], [deleted("c2", 2), created("new", "top.new", "p")], True),
    ],
)
def test_append_that_expects_a_sole_live_child_is_refused_beside_another(
    family: EventStore, past: list[RecordedEvent], new: list[RecordedEvent], stored: bool
) -> None:
    family.append(past)
    new = [created("x"), *new]
    log, children = family.read(0, 99), family.claims(parents=["p"])
    if stored:
        family.append(new, expecting=SOLE)
        return
    with pytest.raises(ConcurrentChange) as caught:
        family.append(new, expecting=SOLE)
    assert [*caught.value.entity_ids] == ["p"]
    assert (family.read(0, 99), family.claims(parents=["p"])) == (log, children)


def test_sole_child_counts_by_its_kind_and_its_parent(family: EventStore) -> None:
    others = frozenset({("team", "p"), ("domain", "c1"), ("domain", "nobody")})
    family.append([created("x")], expecting=Expectations(sole=others))
    with pytest.raises(ConcurrentChange) as caught:
        family.append(
            [created("y")], expecting=Expectations(sole=others | {("domain", "p"), ("team", "x")})
        )
    assert [*caught.value.entity_ids] == ["p"]


def test_every_entity_that_is_not_as_expected_is_named(family: EventStore) -> None:
    family.append([deleted("c1", 2)])
    expecting = Expectations(
        live=frozenset({"p", "c1", "x"}),
        without_live_children=frozenset({"c2"}),
        without_children=frozenset({"p"}),
    )
    with pytest.raises(ConcurrentChange) as caught:
        family.append([changed("c2", 2)], expecting=expecting)
    assert sorted(caught.value.entity_ids) == ["c1", "p", "x"]


def test_whole_family_can_be_deleted_restored_and_purged_in_one_batch(family: EventStore) -> None:
    family.append([deleted("p", 2), deleted("c1", 2), deleted("c2", 2)], expecting=NO_LIVE_BELOW_P)
    assert [child.deleted for child in family.claims(parents=["p"])] == [True, True]
    family.append([restored("c1", 3), restored("c2", 3), restored("p", 3)], expecting=P_IS_LIVE)
    assert [child.deleted for child in family.claims(parents=["p"])] == [False, False]
    family.append([purged("p", 4), purged("c1", 4), purged("c2", 4)], expecting=NOBODY_BELOW_P)
    assert (family.claim_by_id("p"), family.claims(parents=["p"])) == (None, [])


def test_claims_are_looked_up_together(family: EventStore) -> None:
    family.append([created("q", "other"), deleted("c1", 2)])
    found = family.claims(
        names=[("domain", "top.one"), ("domain", "nobody"), ("team", "top")],
        ids={"q", "c1", "nobody"},
        parents=["p", "q", "nobody"],
    )
    assert found == [
        claim("q", "other"),
        claim("c1", "top.one", "p", deleted=True),
        claim("c2", "top.two", "p"),
    ]
    assert family.claims() == []
    assert family.claims(names=[("domain", "top")] * 2, ids=["p"]) == [claim("p", "top")]


def test_live_children_are_read_page_by_page(family: EventStore) -> None:
    family.append(
        [created("c3", "top.three", "p"), created("c4", "top.zero", "p"), created("q", "other")]
    )
    family.append([created("g", "top.one.deep", "c1"), deleted("c3", 2)])
    one, two = claim("c1", "top.one", "p"), claim("c2", "top.two", "p")
    zero = claim("c4", "top.zero", "p")
    assert family.live_children("p", "domain", "", 9) == [one, two, zero]
    assert family.live_children("p", "domain", "", 2) == [one, two]
    assert family.live_children("p", "domain", "top.two", 2) == [zero]
    assert family.live_children("p", "team", "", 9) == []
    assert family.live_children("c2", "domain", "", 9) == []
