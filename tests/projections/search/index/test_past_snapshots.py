"""Snapshots of a commit as of positions: which documents hold, and which snapshots are kept."""

import threading

from projections.search.documents.documents import HOLDS_STILL, SearchDocument
from projections.search.index.build.inverter import Inverter
from projections.search.index.evaluate.past_snapshots import KEPT, PastSnapshots
from projections.search.index.evaluate.segments import SegmentView, Snapshot


def view(name: str, *spans: tuple[int, int]) -> SegmentView:
    """A segment with a document for each span of positions."""
    inverter = Inverter()
    for number, (since, until) in enumerate(spans):
        fields = {"name": (f"n{number}",)}
        sort = {"name": f"n{number}"}
        inverter.add(
            SearchDocument(f"{name}{number}", "table", False, fields, sort, 1, since, until)
        )
    return SegmentView(name, inverter.finish())


def held(snapshot: Snapshot) -> set[str]:
    """The ids of the documents that live in a snapshot."""
    return {
        view.stored(doc_id).id
        for view in snapshot.views
        for doc_id in range(view.size)
        if view.live is None or view.live[doc_id]
    }


def test_document_holds_from_its_position_until_that_of_the_next_state() -> None:
    current = view("a", (3, HOLDS_STILL), (1, HOLDS_STILL))
    replaced = view("b", (1, 2), (2, 3))
    past = PastSnapshots([current, replaced])
    assert [held(past.at(position)) for position in range(4)] == [
        set(),
        {"a1", "b0"},
        {"a1", "b1"},
        {"a0", "a1"},
    ]
    assert [past.at(position).documents for position in range(4)] == [0, 2, 2, 2]
    # What is remembered of a segment serves all positions, and one that is whole serves as it is.
    assert [each.name for each in past.at(3).views] == ["a"]
    assert past.at(3).views[0] is current
    assert past.at(1).views[0].memory is current.memory


def test_dead_document_holds_at_no_position() -> None:
    one = view("a", (1, 2), (1, 3))
    dead = one.with_dead(one.arrays["until"] == 3)
    past = PastSnapshots([dead])
    assert [held(past.at(position)) for position in range(3)] == [set(), {"a0"}, set()]


def test_last_snapshots_are_kept_whoever_asks() -> None:
    past = PastSnapshots([view("a", *[(n, HOLDS_STILL) for n in range(50)])])
    first = past.at(1)
    for position in range(2, 1 + KEPT):
        past.at(position)
    assert past.at(1) is first
    for position in range(2, 2 + KEPT):
        past.at(position)
    assert past.at(1) is not first

    wrong: list[int] = []

    def ask() -> None:
        for position in range(50):
            if past.at(position).documents != position + 1:
                wrong.append(position)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
