"""Merges beside commits: nothing is lost, nothing comes back, and failures are tried again."""

import threading
from functools import partial

import pytest

from domain.errors import StoreUnavailable
from projections.search.documents.documents import SearchDocument
from projections.search.engine import DocumentChanges
from projections.search.index.build.inverter import Inverter
from projections.search.index.commit.commit_follower import CommitFollower
from projections.search.index.commit.commit_writer import CommitWriter
from projections.search.index.engine import WhooshEngine
from projections.search.index.format.codec import Segment
from projections.search.index.format.storage import INDEX, Directory
from projections.search.index.merge import merge_thread
from tests.commits import commit


def documents(*numbers, digest=1, kind="table"):
    return {
        f"id{n}": SearchDocument(
            f"id{n}", kind, False, {"name": (f"n{n}",)}, {"name": f"n{n}"}, digest * 1_000 + n
        )
        for n in numbers
    }


@pytest.fixture
def storage(tmp_path):
    (tmp_path / "index").mkdir()
    return Directory(tmp_path / "index")


@pytest.fixture
def engine(storage, monkeypatch):
    """An engine that merges only when told."""
    monkeypatch.setattr("projections.search.index.engine.next_merge", lambda segments: [])
    opened = WhooshEngine(storage, writable=True)
    opened.reset()
    yield opened
    opened.close()


@pytest.fixture
def writer(storage):
    """Return a writer of an index that begins empty; it merges only when told."""
    made = CommitWriter(storage, CommitFollower(storage))
    made.reset()
    yield made
    made.close()


def opened(storage):
    """The newest commit as another process opens it."""
    return CommitFollower(storage).existing()


def segments(storage):
    return list(opened(storage).segments.values())


def entries(engine):
    with engine.snapshot() as snapshot:
        return list(snapshot.entries())


def held(entries):
    """Id -> digest."""
    return {document_id: digest for document_id, _, digest in entries}


def found(engine):
    return held(entries(engine))


def test_compact_leaves_one_segment_without_dead(engine, storage):
    for number in range(5):
        commit(engine, documents(number, number + 1, 100), number + 1)
    commit(engine, {"id3": None}, 6)
    before = found(engine)
    engine.compact()
    assert [s.size for s in segments(storage)] == [6]
    assert found(engine) == before == {f"id{n}": 1_000 + n for n in (0, 1, 2, 4, 5, 100)}
    assert (engine.checkpoint(), engine.count()) == (6, 6)
    commit(engine, documents(2, digest=2), 7)
    assert found(engine)["id2"] == 2_002


def test_documents_that_die_during_a_merge_stay_dead(writer, storage):
    writer.apply(DocumentChanges(documents(1, 2, 3), 1, (0, ""), "one"))
    writer.apply(DocumentChanges(documents(4, 5), 2, (1, "one"), "two"))
    done = []

    def commit_meanwhile():
        if not done:
            done.append(True)
            writer.apply(
                DocumentChanges({"id1": None, **documents(4, 9, digest=2)}, 3, (2, "two"), "three")
            )

    writer.merge(opened(storage), segments(storage), commit_meanwhile)
    newest = opened(storage)
    assert held(newest.entries()) == {
        "id2": 1_002,
        "id3": 1_003,
        "id4": 2_004,
        "id5": 1_005,
        "id9": 2_009,
    }
    sizes = sorted((s.doc_count(), s.size) for s in newest.segments.values())
    assert sizes == [(2, 2), (3, 5)]
    assert (newest.checkpoint, newest.snapshot.documents) == ((3, "three"), 5)


def test_reset_during_a_merge_leaves_nothing(writer, storage):
    writer.apply(DocumentChanges(documents(1, 2, 3), 1, (0, ""), "one"))
    writer.apply(DocumentChanges(documents(4, 5), 2, (1, "one"), "two"))
    done = []

    def reset_meanwhile():
        if not done:
            done.append(True)
            writer.reset()

    writer.merge(opened(storage), segments(storage), reset_meanwhile)
    newest = opened(storage)
    assert (newest.checkpoint, newest.snapshot.documents) == ((0, ""), 0)
    assert list(newest.segments) == []


class BeginsMergeAtList(Directory):
    """A directory in which a merge creates its file between a commit's last step and its look."""

    def __init__(self, path):
        super().__init__(path)
        self.begin_merge = None

    def list(self):
        begin, self.begin_merge = self.begin_merge, None
        if begin is not None:
            begin()
        return super().list()


def test_commit_keeps_the_file_of_a_merge_that_began_beside_it(tmp_path):
    storage = BeginsMergeAtList(tmp_path)
    writer = CommitWriter(storage, CommitFollower(storage))
    writer.reset()
    writer.apply(DocumentChanges(documents(1, 2, 3), 1, (0, ""), "one"))
    writer.apply(DocumentChanges(documents(4, 5), 2, (1, "one"), "two"))
    created, go_on, failures = threading.Event(), threading.Event(), []

    def wait():
        created.set()
        assert go_on.wait(60)

    def merge(found):
        try:
            writer.merge(found, list(found.segments.values()), wait)
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=merge, args=[opened(storage)])

    def begin_merge():
        thread.start()
        assert created.wait(60)

    storage.begin_merge = begin_merge
    writer.apply(DocumentChanges(documents(6), 3, (2, "two"), "three"))
    go_on.set()
    thread.join(60)
    assert failures == []
    newest = opened(storage)
    assert sorted(s.size for s in newest.segments.values()) == [1, 5]
    assert held(newest.entries()) == {f"id{n}": 1_000 + n for n in range(1, 7)}
    writer.close()


class BesideMerges(Directory):
    """A directory in which a merge does something before it writes."""

    def __init__(self, path, before_merge):
        super().__init__(path)
        self._before_merge = before_merge

    def create_file(self, name, **kwargs):
        if threading.current_thread().name == "merges":
            self._before_merge()
        return super().create_file(name, **kwargs)


def test_merge_that_fails_loses_nothing_and_is_repeated(tmp_path):
    fails = threading.Event()
    fails.set()

    def fail():
        if fails.is_set():
            raise OSError("disk full")

    engine = WhooshEngine(BesideMerges(tmp_path, fail), writable=True)
    engine.merges.retry_seconds = 0.0
    engine.reset()
    for number in range(merge_thread.MERGE_AT * 2):
        commit(engine, documents(number), number + 1)
    engine.merges.wait()
    expected = {f"id{n}": 1_000 + n for n in range(merge_thread.MERGE_AT * 2)}
    assert found(engine) == expected
    assert len(segments(Directory(tmp_path))) == merge_thread.MERGE_AT * 2
    fails.clear()
    commit(engine, {}, 99)
    engine.merges.wait()
    assert found(engine) == expected
    assert len(segments(Directory(tmp_path))) < merge_thread.MERGE_AT
    engine.close()
    again = WhooshEngine.open(tmp_path)
    assert (again.rebuild_reason, again.checkpoint(), found(again)) == (None, 99, expected)
    again.close()


def test_compact_beside_merges_in_the_background_leaves_one_segment(storage):
    engine = WhooshEngine(storage, writable=True)
    engine.reset()
    for number in range(40):
        commit(engine, documents(number), number + 1)
    engine.compact()
    assert len(segments(storage)) == 1
    assert engine.count() == 40
    engine.close()


def test_close_abandons_a_merge_and_the_next_commit_removes_its_file(tmp_path):
    started, go_on = threading.Event(), threading.Event()

    def wait():
        started.set()
        assert go_on.wait(60)

    engine = WhooshEngine(BesideMerges(tmp_path, wait), writable=True)
    engine.reset()
    for number in range(merge_thread.MERGE_AT):
        commit(engine, documents(number), number + 1)
    assert started.wait(60)
    threading.Timer(0.1, go_on.set).start()
    engine.close()
    again = WhooshEngine.open(tmp_path)
    assert again.count() == merge_thread.MERGE_AT
    assert len(segments(Directory(tmp_path))) == merge_thread.MERGE_AT
    again.compact()
    assert len(list(tmp_path.glob("*.arrays"))) == 1
    again.close()


def test_many_small_commits_leave_few_segments(tmp_path):
    engine = WhooshEngine.open(tmp_path)
    for number in range(150):
        commit(engine, documents(number % 60, digest=number), number + 1)
    engine.merges.wait()
    assert engine.count() == 60
    assert len(segments(Directory(tmp_path))) <= merge_thread.MAX_SEGMENTS
    expected = {f"id{n % 60}": n * 1_000 + n % 60 for n in range(150)}
    assert found(engine) == expected
    engine.close()


def test_small_segments_are_merged_beside_a_merge_of_large_ones(tmp_path):
    started, go_on = threading.Event(), threading.Event()

    def wait_first():
        if not started.is_set():
            started.set()
            assert go_on.wait(60)

    engine = WhooshEngine(BesideMerges(tmp_path, wait_first), writable=True)
    engine.reset()
    large = 600 * merge_thread.MERGE_AT
    for low in range(0, large, 600):
        commit(engine, documents(*range(low, low + 600)), low + 600)
    assert started.wait(60)
    small = 2 * merge_thread.MAX_SEGMENTS + 20
    for number in range(large, large + small):
        commit(engine, documents(number), number + 1)
    sizes = sorted(s.doc_count() for s in segments(Directory(tmp_path)))
    assert sizes[-merge_thread.MERGE_AT :] == [600] * merge_thread.MERGE_AT
    assert sum(sizes) == engine.count() == large + small
    assert len(sizes) <= 2 * merge_thread.MAX_SEGMENTS
    go_on.set()
    engine.merges.wait()
    assert large in [s.doc_count() for s in segments(Directory(tmp_path))]
    assert found(engine) == {f"id{n}": 1_000 + n for n in range(large + small)}
    engine.close()


def test_batch_larger_than_a_segment_makes_several(engine, storage, writer):
    writer.make_inverter = partial(Inverter, max_documents=10)
    writer.apply(DocumentChanges(documents(*range(25)), 1, (0, "")))
    assert sorted(s.doc_count() for s in segments(storage)) == [5, 10, 10]
    assert len(found(engine)) == 25


def test_commits_share_an_inverter(writer):
    made = []

    def make_inverter():
        made.append(Inverter())
        return made[-1]

    writer.make_inverter = make_inverter
    writer.apply(DocumentChanges(documents(1), 1, (0, "")))
    writer.apply(DocumentChanges(documents(2, 3), 2, (1, "")))
    assert len(made) == 1


def test_documents_of_a_failed_commit_are_not_in_the_next_one(writer, storage):
    def replaced():
        yield documents(2)["id2"]
        raise StoreUnavailable("the log cannot be read")

    writer.apply(DocumentChanges(documents(1), 1, (0, "")))
    with pytest.raises(StoreUnavailable, match="the log cannot be read"):
        writer.apply(DocumentChanges(documents(3), 2, (1, ""), replaced=replaced()))
    writer.apply(DocumentChanges(documents(4), 2, (1, "")))
    assert held(opened(storage).entries()) == {"id1": 1_001, "id4": 1_004}
    assert [s.is_past for s in segments(storage)] == [False, False]


def test_digests_count_and_sum_per_kind(engine):
    commit(engine, documents(1, 2) | documents(3, kind="topic", digest=2**54), 1)
    commit(engine, documents(4) | {"id1": None}, 2)
    commit(engine, documents(5, kind="topic", digest=2**54), 3)
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
        ([1] * 3, []),
        ([1] * 4, [1] * 4),
        ([100] * 3 + [5_000], []),
        ([2, 511, 40, 300, 512, 5_000], [2, 40, 300, 511]),
        ([3] * 3 + [512] * 3 + [4_096] * 3, []),
        ([3] * 3 + [512] * 3 + [4_095] + [4_096] * 3, [512] * 3 + [4_095]),
        ([290_000] * 20, []),
    ],
)
def test_next_merge_takes_segments_of_a_size(sizes, expected):
    group = merge_thread.next_merge([sized(size) for size in sizes])
    assert sorted(s.doc_count() for s in group) == expected


def test_next_merge_rewrites_segments_with_many_dead():
    assert merge_thread.next_merge([sized(80, 20), sized(5)]) == []
    bad = sized(400_000, 110_000)
    assert merge_thread.next_merge([sized(5), bad]) == [bad]


def test_full_merges_fill_segments():
    group = [sized(n) for n in (200_000, 40_000, 100_000, 100_000, 249_000)]
    found = merge_thread.full_merges(group)
    assert [[s.doc_count() for s in some] for some in found] == [[40_000, 100_000, 100_000]]
    assert merge_thread.full_merges([sized(10)]) == []
    assert len(merge_thread.full_merges([sized(10, 1)])) == 1
