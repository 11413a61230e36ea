"""Promises of every event store about names that entities had before."""

import pytest

from domain.errors import AlreadyExists, ConcurrentChange, InvalidInput
from domain.event_store.appends import prepared
from domain.event_store.port import EventStore
from domain.event_store.transfer import ExportReader, export
from domain.event_store.writes import Expectations, Unmentioned
from tests.contracts.conftest import OpenStore
from tests.contracts.recorded import changed, claim, created, deleted, purged, renamed, restored


def test_claim_is_found_by_every_name_it_had(store: EventStore) -> None:
    store.append([created("a", "one"), created("b", "one.x", "a")])

    store.append([renamed("a", 2, "two"), renamed("b", 2, "two.x")])
    store.append([renamed("a", 3, "three")])

    a = claim("a", "three", former=("one", "two"))
    b = claim("b", "two.x", "a", former=("one.x",))
    for name in ("one", "two", "three"):
        assert store.claim("domain", name) == a
    assert store.claim_by_id("a") == a
    names = [("domain", name) for name in ("one", "three", "one.x", "none")]
    assert store.claims(names=names, ids=["a"], parents=["a"]) == [a, b]
    assert store.claim("team", "one") is None
    assert store.live_children("a", "domain", "", 9) == [b]
    with store.snapshot() as snapshot:
        assert [*snapshot.claims()] == [a, b]


def test_former_name_is_nobody_elses(store: EventStore) -> None:
    store.append([created("a", "one"), created("b", "other")])
    store.append([renamed("a", 2, "two")])

    for group in ([created("c", "one")], [created("c"), created("d", "one")]):
        with pytest.raises(AlreadyExists, match="a name is taken: 'one'"):
            store.append(group)
    for name in ("one", "two"):
        with pytest.raises(AlreadyExists, match=f"a name is taken: '{name}'"):
            store.append([changed("b", 2), renamed("b", 3, name)])

    assert store.claim_by_id("b") == claim("b", "other")
    assert store.claim_by_id("c") is None
    assert store.append([created("c", "free")]) == store.head()


def test_entity_may_have_a_former_name_again(store: EventStore) -> None:
    store.append([created("a", "one"), renamed("a", 2, "two"), renamed("a", 3, "one")])

    assert store.claim_by_id("a") == claim("a", "one", former=("two",))
    assert store.claim("domain", "two") == store.claim("domain", "one")


def test_names_stay_until_the_purge(store: EventStore) -> None:
    store.append([created("a", "one"), renamed("a", 2, "two")])
    store.append([deleted("a", 3)])

    held = claim("a", "two", deleted=True, former=("one",))
    assert store.claim("domain", "one") == held

    store.append([restored("a", 4), purged("a", 5)])

    assert store.claims(names=[("domain", "one"), ("domain", "two")], ids=["a"]) == []
    store.append([created("b", "one"), created("c", "two")])
    assert store.claim("domain", "one") == claim("b", "one")


def test_refused_rename_leaves_nothing(store: EventStore) -> None:
    store.append([created("a", "one")])
    before = store.epoch()
    with pytest.raises(ConcurrentChange):
        store.append([renamed("a", 3, "two")])

    assert store.claim_by_id("a") == claim("a", "one")
    assert store.claim("domain", "two") is None
    assert store.append([changed("a", 2)], epoch=before) == store.head()


def test_append_that_was_planned_by_other_names_is_refused(open_shared_store: OpenStore) -> None:
    store, other = open_shared_store(), open_shared_store()
    store.append([created("a", "one"), created("b")])
    other.append([changed("b", 2)])
    before, elsewhere = store.epoch(), other.epoch()

    store.append([renamed("a", 2, "two")], epoch=before)

    for each, epoch in ((store, before), (other, elsewhere)):
        with pytest.raises(ConcurrentChange, match="something was renamed"):
            each.append([created("c", "one.c", "a")], epoch=epoch)
        assert each.epoch() != epoch
    assert other.append([created("c", "two.c", "a")], epoch=other.epoch()) == store.head()


def test_mentioning_finds_entities_by_texts_in_their_events(store: EventStore) -> None:
    store.append([created("a", "one"), created("b", "one.x", "a"), created("c", "once")])
    store.append([changed("c", 2)])

    assert store.mentioning([b'"one"', b'"one.']) == ({"a", "b"}, 4)
    assert store.mentioning([b'"none"']) == (set(), 4)
    assert store.mentioning([b'"one"', b'"one.'], after=1) == ({"b"}, 4)
    assert store.mentioning([b'"one"'], after=4) == (set(), 4)


def test_append_that_expects_no_mention_is_refused_after_one(store: EventStore) -> None:
    store.append([created("a", "one"), created("b")])
    expected = Expectations(unmentioned=Unmentioned(store.head(), (b'"one"', b'"one.')))
    rename = prepared([renamed("a", 2, "two")], expecting=expected)
    store.append([changed("b", 2)])
    store.append([created("c", "one.c", "a")])

    (result,) = store.append_group([rename])

    assert isinstance(result, ConcurrentChange)
    assert [*result.entity_ids] == ["a"]
    assert store.claim_by_id("a") == claim("a", "one")
    expected = Expectations(unmentioned=Unmentioned(store.head(), (b'"one"', b'"one.')))
    assert store.append([renamed("a", 2, "two")], expecting=expected) == store.head()


def test_names_follow_from_an_export(store: EventStore, other_store: EventStore) -> None:
    other_store.append([created("a", "one"), created("b", "other")])
    other_store.append([renamed("a", 2, "two"), renamed("a", 3, "three")])
    other_store.append([purged("b", 2), created("c", "other")])
    with other_store.snapshot() as snapshot:
        lines = [*export(other_store, snapshot)]

    assert [*store.restore(ExportReader(lines, "file").rows())] == [6]

    assert store.claim("domain", "one") == claim("a", "three", former=("one", "two"))
    assert store.claim("domain", "other") == claim("c", "other")
    assert store.former_holders("domain", "other") == ["b", "c"]
    assert store.former_holders("domain", "two") == ["a"]


def test_log_in_which_a_former_name_is_taken_is_not_restored(
    store: EventStore, other_store: EventStore
) -> None:
    other_store.append([created("a", "one"), renamed("a", 2, "two"), purged("a", 3)])
    other_store.append([created("b", "one")])
    with other_store.snapshot() as snapshot:
        rows = [row for row in snapshot.events() if row[2] != "entity.purged"]

    with pytest.raises(InvalidInput, match="comes twice"):
        [*store.restore(iter(rows))]
