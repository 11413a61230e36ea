"""Promises of every event store about the log as a whole: pinned, moved, with gaps, damaged."""

import json
from hashlib import blake2b
from itertools import groupby
from operator import itemgetter
from typing import Any

import pytest

from domain.errors import Conflict, InvalidInput
from domain.event_store.checks import ClaimChecker, Problems, StreamReader
from domain.event_store.port import EventStore
from domain.event_store.stored import StoredRow
from domain.event_store.transfer import ExportReader, export
from domain.event_store.writes import Expectations, RememberedAnswer
from tests.contracts.conftest import OpenStore, Remove
from tests.contracts.recorded import changed, claim, created, deleted, purged, unplaced

GAPS = [7, 8, 40, 41, 1_000]
"""Positions of the log that `gapped` has."""


@pytest.fixture
def filled(store: EventStore) -> EventStore:
    """Two live entities, the second below the first, a purged one and its namesake."""
    store.append([created("p", "top"), created("c", "top.one", "p"), created("g1", "gone")])
    store.append([purged("g1", 2), changed("p", 2)])
    store.append([created("g2", "gone"), deleted("c", 2)])
    return store


def exported(store: EventStore) -> list[bytes]:
    with store.snapshot() as snapshot:
        return list(export(store, snapshot))


def restore(store: EventStore, lines: list[bytes]) -> list[int]:
    return list(store.restore(ExportReader(lines, "file").rows()))


def rows(store: EventStore) -> list[StoredRow]:
    with store.snapshot() as snapshot:
        return list(snapshot.events())


@pytest.fixture
def gapped(store: EventStore, other_store: EventStore) -> EventStore:
    """A store with the log of another one, whose positions have gaps."""
    other_store.append(
        [created("p", "top"), changed("p", 2), created("c", "top.one", "p"), created("q")]
    )
    other_store.append([changed("q", 2)])
    header, *body, _ = exported(other_store)
    placed = [
        json.dumps({**json.loads(line), "position": position}).encode() + b"\n"
        for position, line in zip(GAPS, body, strict=True)
    ]
    head = json.dumps({**json.loads(header), "head": GAPS[-1]}).encode() + b"\n"
    digest = blake2b(b"".join(placed), digest_size=32).hexdigest()
    trailer = {"count": len(placed), "head": GAPS[-1], "digest": digest}
    assert restore(store, [head, *placed, json.dumps(trailer).encode()]) == [GAPS[-1]]
    return store


def test_snapshot_gives_streams_and_claims_in_order_of_ids(filled: EventStore) -> None:
    log = rows(filled)
    with filled.snapshot() as snapshot:
        assert (snapshot.head, snapshot.count) == (filled.head(), len(log)) == (log[-1][4], 7)
        assert [row[:2] for row in log] == [
            ("p", 1),
            ("c", 1),
            ("g1", 1),
            ("g1", 2),
            ("p", 2),
            ("g2", 1),
            ("c", 2),
        ]
        by_stream = sorted(log, key=itemgetter(0, 1))
        assert list(snapshot.streams()) == by_stream
        some = [row for row in by_stream if row[0] in ("p", "c")]
        assert list(snapshot.streams(["p", "none", "c"])) == some
        assert list(snapshot.streams([])) == []
        assert list(snapshot.events(log[2][4])) == log[3:]
        claims = [
            claim("c", "top.one", "p", deleted=True),
            claim("g2", "gone"),
            claim("p", "top"),
        ]
        assert list(snapshot.claims()) == claims
        assert list(snapshot.claims(["p", "none", "c"])) == [claims[0], claims[2]]
        assert list(snapshot.claims([])) == []


def test_snapshot_does_not_move(open_shared_store: OpenStore) -> None:
    store, other = open_shared_store(), open_shared_store()
    store.append([created("a")])
    with store.snapshot() as snapshot:
        other.append([changed("a", 2), created("b")])
        assert [row[:2] for row in snapshot.events()] == [("a", 1)]
        assert [row[:2] for row in snapshot.streams()] == [("a", 1)]
        assert [one.id for one in snapshot.claims()] == ["a"]
        assert (snapshot.count, snapshot.head < other.head()) == (1, True)
    assert [row[:2] for row in rows(store)] == [("a", 1), ("a", 2), ("b", 1)]


def test_errors_of_those_who_read_a_snapshot_stay_their_own(store: EventStore) -> None:
    with pytest.raises(BrokenPipeError), store.snapshot():
        raise BrokenPipeError


def test_former_holders_are_told_in_order(filled: EventStore) -> None:
    filled.append([created("other", "gone-by")])
    assert filled.former_holders("domain", "gone") == ["g1", "g2"]
    assert filled.former_holders("domain", "top") == ["p"]
    assert filled.former_holders("team", "gone") == []


def test_restored_log_is_the_same_but_for_its_identity(
    filled: EventStore, other_store: EventStore
) -> None:
    filled.append(
        [],
        answer := RememberedAnswer(
            actor="ann", key="k", digest=b"", entity_id="p", stream_version=1, outcome="-", at=1
        ),
    )
    lines = exported(filled)
    assert restore(other_store, lines) == [filled.head()]
    assert rows(other_store) == rows(filled)
    assert other_store.claims(ids=["p", "c", "g1", "g2"]) == filled.claims(
        ids=["p", "c", "g1", "g2"]
    )
    assert exported(other_store)[1:] == lines[1:]
    assert other_store.identity() != filled.identity()
    assert (filled.answer("ann", "k"), other_store.answer("ann", "k")) == (answer, None)
    assert other_store.damage() == []


def test_log_with_events_takes_no_other(filled: EventStore, other_store: EventStore) -> None:
    other_store.append([created("x")])
    before = rows(filled)
    with pytest.raises(Conflict):
        restore(filled, exported(other_store))
    assert rows(filled) == before


NOT_WHOLE: dict[str, Any] = {
    "a stream with a gap": lambda all_rows: [each for each in all_rows if each[:2] != ("p", 1)],
    "a stream out of order": lambda all_rows: [
        (*each[:1], {1: 2, 2: 1}[each[1]] if each[0] == "p" else each[1], *each[2:])
        for each in all_rows
    ],
    "an event twice": lambda all_rows: [*all_rows, (*all_rows[0][:4], all_rows[-1][4] + 1)],
    "a position twice": lambda all_rows: [*all_rows, ("x", 1, *all_rows[0][2:4], all_rows[-1][4])],
    "a name twice": lambda all_rows: [*all_rows, ("x", 1, *all_rows[0][2:4], all_rows[-1][4] + 1)],
    "no JSON": lambda all_rows: [(*all_rows[0][:3], b"{", all_rows[0][4])],
}


@pytest.mark.parametrize("spoil", NOT_WHOLE.values(), ids=NOT_WHOLE)
def test_what_is_no_whole_log_is_not_restored(
    filled: EventStore, other_store: EventStore, spoil: Any
) -> None:
    with pytest.raises(InvalidInput):
        list(other_store.restore(iter(spoil(rows(filled)))))
    assert (rows(other_store), other_store.claim("domain", "top")) == ([], None)
    assert restore(other_store, exported(filled)) == [filled.head()]


def test_error_of_what_is_restored_leaves_nothing(
    filled: EventStore, other_store: EventStore
) -> None:
    def broken() -> Any:
        yield from rows(filled)
        raise OSError("cut")

    with pytest.raises(OSError, match="cut"):
        list(other_store.restore(broken()))
    assert rows(other_store) == []


def test_positions_may_have_gaps_everywhere(gapped: EventStore) -> None:
    log = gapped.read(0, 99)
    assert [event.position for event in log] == GAPS
    assert gapped.head() == GAPS[-1]
    assert gapped.read(8, 99) == log[2:]
    assert gapped.read(9, 2, upto=999) == log[2:4]
    assert gapped.read(41, 9, upto=999) == []
    assert list(gapped.streams([])) == []
    assert unplaced(gapped.stream("q")) == [created("q"), changed("q", 2)]
    with gapped.snapshot() as snapshot:
        assert [each[4] for each in snapshot.events(8)] == GAPS[2:]
        assert (snapshot.head, snapshot.count) == (1_000, 5)
    assert gapped.damage() == []
    first = gapped.append([changed("q", 3), changed("p", 3)])
    second = gapped.append([changed("q", 4)])
    positions = [event.position for event in gapped.read(0, 99)]
    assert positions == sorted({*positions})
    assert len(positions) == 8
    assert positions[:5] == GAPS
    assert (positions[6], positions[7]) == (first, second)
    assert gapped.damage() == []


def test_log_with_gaps_is_exported_with_them(gapped: EventStore) -> None:
    purge_all = [purged("q", 3), purged("c", 2), purged("p", 3)]
    gapped.append(purge_all, expecting=Expectations(without_children=frozenset("p")))
    assert [json.loads(line)["position"] for line in exported(gapped)[1:6]] == GAPS
    assert gapped.damage() == []


def problems(store: EventStore) -> set[int]:
    """The positions at which the checks of the log against itself and by its database complain."""
    found = Problems(100)
    with store.snapshot() as snapshot:
        reader = StreamReader(found, now=10)
        claims = ClaimChecker(snapshot.claims(), found)
        for entity_id, stream in groupby(snapshot.streams(), key=itemgetter(0)):
            claims.meet(entity_id, reader.read(stream))
        claims.finish()
    return {problem.position for problem in [*found.lowest(), *store.damage()]}


@pytest.mark.parametrize("place", range(5))
def test_removed_event_is_noticed(store: EventStore, remove: Remove, place: int) -> None:
    store.append([created("p", "top"), changed("p", 2), created("c", "top.one", "p")])
    store.append([created("q"), changed("q", 2)])
    assert problems(store) == set()
    remove(store, store.read(0, 99)[place].position)
    assert problems(store) != set()


@pytest.mark.parametrize("place", range(6))
def test_removed_event_of_a_restored_log_is_noticed(
    gapped: EventStore, remove: Remove, place: int
) -> None:
    gapped.append([changed("q", 3)])
    assert problems(gapped) == set()
    remove(gapped, gapped.read(0, 99)[place].position)
    assert problems(gapped) != set()
