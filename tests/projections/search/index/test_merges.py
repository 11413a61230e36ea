"""Merges beside commits: nothing is lost, nothing comes back, and failures are tried again."""

import threading

import pytest

from projections.search.documents import SearchDocument
from projections.search.index.engine import WhooshEngine
from projections.search.index.format.codec import Segment
from projections.search.index.format.storage import INDEX
from projections.search.index.merge import merge_thread, tiers


def documents(*numbers, digest=1, kind="table"):
    return {
        f"id{n}": SearchDocument(
            f"id{n}", kind, False, {"name": (f"n{n}",)}, {"name": f"n{n}"}, digest * 1_000 + n
        )
        for n in numbers
    }


@pytest.fixture(params=["memory", "directory"])
def engine(request, tmp_path, monkeypatch):
    """An engine that merges only when told."""
    monkeypatch.setattr("projections.search.index.engine.next_merge", lambda segments: [])
    opened = WhooshEngine.open(None if request.param == "memory" else tmp_path / "index")
    yield opened
    opened.close()


def segments(engine):
    return list(engine._current.existing().segments.values())


def entries(engine):
    with engine.snapshot() as snapshot:
        return list(snapshot.entries())


def found(engine):
    return {document_id: digest for document_id, _, digest in entries(engine)}


def test_compact_leaves_one_segment_without_dead(engine):
    for number in range(5):
        engine.apply(documents(number, number + 1, 100), number + 1)
    engine.apply({"id3": None}, 6)
    before = found(engine)
    engine.compact()
    assert [s.doc_count_all() for s in segments(engine)] == [6]
    assert found(engine) == before == {f"id{n}": 1_000 + n for n in (0, 1, 2, 4, 5, 100)}
    assert (engine.checkpoint(), engine.count()) == (6, 6)
    engine.apply(documents(2, digest=2), 7)
    assert found(engine)["id2"] == 2_002


def test_documents_that_die_during_a_merge_stay_dead(engine):
    engine.apply(documents(1, 2, 3), 1)
    engine.apply(documents(4, 5), 2)
    done = []

    def commit_meanwhile():
        if not done:
            done.append(True)
            engine.apply({"id1": None, **documents(4, 9, digest=2)}, 3)

    engine._merge(engine._current.existing(), segments(engine), commit_meanwhile)
    assert found(engine) == {
        "id2": 1_002,
        "id3": 1_003,
        "id4": 2_004,
        "id5": 1_005,
        "id9": 2_009,
    }
    assert sorted((s.doc_count(), s.doc_count_all()) for s in segments(engine)) == [(2, 2), (3, 5)]
    assert (engine.checkpoint(), engine.count()) == (3, 5)


def test_reset_during_a_merge_leaves_nothing(engine):
    engine.apply(documents(1, 2, 3), 1)
    engine.apply(documents(4, 5), 2)
    done = []

    def reset_meanwhile():
        if not done:
            done.append(True)
            engine.reset()

    engine._merge(engine._current.existing(), segments(engine), reset_meanwhile)
    assert (engine.checkpoint(), engine.count(), segments(engine)) == (0, 0, [])


def test_merge_that_fails_loses_nothing_and_is_repeated(tmp_path, monkeypatch):
    monkeypatch.setattr(merge_thread, "_RETRY", 0.0)
    engine = WhooshEngine.open(tmp_path)
    fails = threading.Event()
    fails.set()
    real = engine._merge

    def merge(opened, group, check):
        if fails.is_set():
            raise OSError("disk full")
        real(opened, group, check)

    monkeypatch.setattr(engine, "_merge", merge)
    for number in range(tiers.MERGE_AT * 2):
        engine.apply(documents(number), number + 1)
    engine._merger.wait()
    expected = {f"id{n}": 1_000 + n for n in range(tiers.MERGE_AT * 2)}
    assert found(engine) == expected
    assert len(segments(engine)) == tiers.MERGE_AT * 2
    fails.clear()
    engine.apply({}, 99)
    engine._merger.wait()
    assert found(engine) == expected
    assert len(segments(engine)) < tiers.MERGE_AT
    engine.close()
    again = WhooshEngine.open(tmp_path)
    assert (again.rebuild_reason, again.checkpoint(), found(again)) == (None, 99, expected)
    again.close()


def test_compact_beside_merges_in_the_background_leaves_one_segment():
    engine = WhooshEngine.open(None)
    for number in range(40):
        engine.apply(documents(number), number + 1)
    engine.compact()
    assert len(segments(engine)) == 1
    assert engine.count() == 40
    engine.close()


def test_close_abandons_a_merge_and_the_next_commit_removes_its_file(tmp_path):
    engine = WhooshEngine.open(tmp_path)
    started, go_on = threading.Event(), threading.Event()
    real = engine._merger.check

    def check():
        started.set()
        assert go_on.wait(10)
        real()

    engine._merger.check = check  # type: ignore[method-assign]
    for number in range(tiers.MERGE_AT):
        engine.apply(documents(number), number + 1)
    assert started.wait(10)
    threading.Timer(0.1, go_on.set).start()
    engine.close()
    again = WhooshEngine.open(tmp_path)
    assert again.count() == tiers.MERGE_AT
    assert len(segments(again)) == tiers.MERGE_AT
    again.compact()
    assert len(list(tmp_path.glob("*.arrays"))) == 1
    again.close()


def test_many_small_commits_leave_few_segments(tmp_path):
    engine = WhooshEngine.open(tmp_path)
    for number in range(150):
        engine.apply(documents(number % 60, digest=number), number + 1)
    engine._merger.wait()
    assert engine.count() == 60
    assert len(segments(engine)) <= tiers.MAX_SEGMENTS
    expected = {f"id{n % 60}": n * 1_000 + n % 60 for n in range(150)}
    assert found(engine) == expected
    engine.close()


def test_batch_larger_than_a_segment_makes_several(engine, monkeypatch):
    monkeypatch.setattr("projections.search.index.build.inverter.MAX_DOCUMENTS", 10)
    engine.apply(documents(*range(25)), 1)
    assert sorted(s.doc_count() for s in segments(engine)) == [5, 10, 10]
    assert len(found(engine)) == 25


def test_digests_count_and_sum_per_kind(engine):
    engine.apply(documents(1, 2) | documents(3, kind="topic", digest=2**54), 1)
    engine.apply(documents(4) | {"id1": None}, 2)
    engine.apply(documents(5, kind="topic", digest=2**54), 3)
    topics = (2**54 * 1_000 + 3) + (2**54 * 1_000 + 5)
    with engine.snapshot() as snapshot:
        digests = snapshot.digests()
    assert digests == {"table": (2, 1_002 + 1_004), "topic": (2, topics % 2**64)}
    assert sorted(entries(engine))[:2] == [
        ("id2", "table", 1_002),
        ("id3", "topic", 2**54 * 1_000 + 3),
    ]


def sized(live, dead=0):
    segment = Segment(INDEX, live + dead)
    return segment.with_dead(range(dead)) if dead else segment


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([1] * 7, []),
        ([1] * 8, [1] * 8),
        ([100] * 7 + [5_000], []),
        ([100] * 5 + [150] * 3 + [5_000], [100] * 5 + [150] * 3),
        ([290_000] * 20, []),
        ([2, 5, 40, 300] * 4 + [2_500], [2, 2, 2, 2, 5, 5, 5, 5]),
    ],
)
def test_next_merge_takes_segments_of_a_size(sizes, expected):
    group = tiers.next_merge([sized(size) for size in sizes])
    assert sorted(s.doc_count() for s in group) == expected


def test_next_merge_rewrites_segments_with_many_dead():
    assert tiers.next_merge([sized(80, 20), sized(5)]) == []
    bad = sized(400_000, 110_000)
    assert tiers.next_merge([sized(5), bad]) == [bad]


def test_full_merges_fill_segments():
    group = [sized(n) for n in (200_000, 40_000, 100_000, 100_000, 249_000)]
    found = tiers.full_merges(group)
    assert [[s.doc_count() for s in some] for some in found] == [[40_000, 100_000, 100_000]]
    assert tiers.full_merges([sized(10)]) == []
    assert len(tiers.full_merges([sized(10, 1)])) == 1
