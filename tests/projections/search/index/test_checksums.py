"""A large index is served while it is summed, and refused as soon as it is known to be damaged."""

import os
import threading

import pytest

from domain.errors import StoreUnavailable
from projections.feeding.port import Damaged
from projections.search.documents.documents import SearchDocument
from projections.search.engine import EngineQuery
from projections.search.index.commit.checksums import WARNING
from projections.search.index.engine import WhooshEngine
from projections.search.index.format.arrays import unpack
from projections.search.index.format.storage import MANIFEST, Directory
from projections.search.tree import MatchAll, Term
from tests.commits import commit
from tests.waiting import until

EVERYTHING = EngineQuery(tree=MatchAll(), size=1_000)
THREAD = "search-checksums"


class Large(Directory):
    """A directory of which every file counts as large."""

    summed_at_once = 0
    retry_seconds = 0


class GatedSums(Large):
    """A directory in which the sums of the segments that it has are made once `go_on` is set."""

    def __init__(self, path):
        super().__init__(path)
        self.held = {file.name for file in path.glob("*.arrays")}
        self.go_on = threading.Event()
        self.asked = threading.Event()
        """Set once a segment is being summed."""

    def crc(self, name, go_on=lambda: None):
        if name in self.held:
            self.asked.set()
            while not self.go_on.wait(0.01):
                go_on()
        return super().crc(name, go_on)


def documents(*numbers):
    return {
        f"id{n}": SearchDocument(f"id{n}", "table", False, {"name": ("word",)}, {"name": f"n{n}"})
        for n in numbers
    }


def ids(engine, query=EVERYTHING):
    return {hit.id for hit in engine.search(query).hits}


def segment_file(path):
    """The largest segment of an index."""
    return max(path.glob("*.arrays"), key=lambda file: file.stat().st_size)


def damage(path):
    """Turn a byte of the ids, which all of the index can be read with all the same."""
    file = segment_file(path)
    data = bytearray(file.read_bytes())
    at = data.index(b"id1")
    data[at + 2] ^= 0x0B
    file.write_bytes(data)


@pytest.fixture
def path(tmp_path):
    """An index of two segments."""
    made = tmp_path / "index"
    engine = WhooshEngine.open(made)
    commit(engine, documents(*range(1, 7)), 3)
    commit(engine, documents(7), 4)
    engine.close()
    return made


@pytest.fixture
def storage(path):
    made = GatedSums(path)
    yield made
    made.go_on.set()


@pytest.fixture(params=[False, True], ids=["reader", "writer"])
def engine(request, storage):
    """An engine that opened the index and has summed nothing but the table of contents."""
    made = WhooshEngine(storage, writable=request.param)
    yield made
    storage.go_on.set()
    made.close()


def sum_all(storage, engine):
    """Let the thread come to its end, whatever it finds."""
    storage.go_on.set()
    with pytest.raises(Damaged, match="checksum"):
        engine.check(lambda: None)


def test_first_answers_come_before_the_segments_are_summed(storage, engine):
    assert ids(engine) == {f"id{n}" for n in range(1, 8)}
    assert (engine.checkpoint(), engine.count()) == (4, 7)
    assert storage.asked.wait(30)


def test_snapshot_waits_until_all_is_summed(storage, engine):
    assert engine.count() == 7
    threading.Timer(0.1, storage.go_on.set).start()
    with engine.snapshot() as snapshot:
        assert storage.go_on.is_set()
        assert len(list(snapshot.entries())) == 7


def test_check_of_a_whole_index_says_nothing(storage, engine):
    storage.go_on.set()
    engine.check(lambda: None)
    assert engine.count() == 7


def test_check_is_ended_by_what_it_calls(engine):
    class Ended(Exception):
        pass

    def end():
        raise Ended

    with pytest.raises(Ended):
        engine.check(end)


def test_damage_is_refused_from_the_moment_that_it_is_known(path, storage, engine):
    damage(path)
    assert engine.count() == 7
    assert "id1" not in ids(engine)  # what was answered before nobody could know to be wrong
    sum_all(storage, engine)
    asked = {
        "search": lambda: engine.search(EVERYTHING),
        "checkpoint": engine.checkpoint,
        "fingerprint": engine.checkpoint_and_fingerprint,
        "count": engine.count,
        "snapshot": lambda: engine.snapshot().__enter__(),
        "compact": engine.compact,
    }
    for _ in range(2):
        for ask in asked.values():
            with pytest.raises(Damaged, match="checksum"):
                ask()


def test_search_that_ends_after_damage_became_known_is_refused(path, storage, engine):
    damage(path)
    condition = Term("name", "word")
    assert engine.count() == 7

    class Reached(Term):
        """A condition on which the index turns out damaged while it is looked for."""

        @property
        def field(self):
            if not storage.go_on.is_set():
                sum_all(storage, engine)
            return condition.field

    with pytest.raises(Damaged):
        engine.search(EngineQuery(tree=Reached("name", "word")))


def test_damage_that_was_known_is_not_served_after_a_restart(path, storage, engine):
    damage(path)
    assert engine.count() == 7
    sum_all(storage, engine)
    for _ in range(2):
        reader = WhooshEngine(Large(path), writable=False)
        with pytest.raises(StoreUnavailable, match="checksum"):
            reader.search(EVERYTHING)
        reader.close()
    engine.close()
    writer = WhooshEngine.open(path)
    assert "checksum" in writer.rebuild_reason
    assert (writer.checkpoint(), writer.count()) == (0, 0)
    commit(writer, documents(9), 1)
    writer.close()
    assert [file.name for file in path.glob(f"*{WARNING}")] == []
    reader = WhooshEngine(Large(path), writable=False)
    assert ids(reader) == {"id9"}
    reader.close()


def test_two_processes_find_damage_each_for_itself(path, storage, engine):
    damage(path)
    other = GatedSums(path)
    second = WhooshEngine(other, writable=False)
    assert (engine.count(), second.count()) == (7, 7)
    sum_all(storage, engine)
    assert second.count() == 7
    sum_all(other, second)
    with pytest.raises(Damaged):
        second.search(EVERYTHING)
    second.close()


SIZES = {
    "cut": lambda data: data[: len(data) // 2],
    "cut in the middle": lambda data: data[:64] + data[128:],
    "a byte too long": lambda data: data + b"\0",
    "empty": lambda data: b"",
}


@pytest.mark.parametrize("change", SIZES)
def test_file_of_another_size_is_refused_before_the_first_answer(path, engine, change):
    file = segment_file(path)
    file.write_bytes(SIZES[change](file.read_bytes()))
    with pytest.raises(StoreUnavailable, match=f"size of {file.name} is wrong"):
        engine.search(EVERYTHING)


def test_damaged_table_of_contents_is_refused_before_the_first_answer(path, engine):
    (file,) = path.glob("*.toc")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(StoreUnavailable, match="checksum"):
        engine.search(EVERYTHING)


def test_index_of_an_earlier_version_is_summed_before_the_first_answer(path, storage, engine):
    manifest = path / MANIFEST
    data = manifest.read_bytes()
    manifest.write_bytes(data[: data.index(b',"sizes"')] + b"}")
    damage(path)
    storage.go_on.set()
    with pytest.raises(StoreUnavailable, match="checksum"):
        engine.search(EVERYTHING)


def test_arrays_that_are_misread_while_they_are_summed_say_so(path, storage, engine):
    file = segment_file(path)
    data = bytearray(file.read_bytes())
    for name, array in unpack(data).items():
        if name.endswith(".ids"):
            array.fill(2**30)
    file.write_bytes(data)
    assert engine.count() == 7
    with pytest.raises(StoreUnavailable, match="misread"):
        engine.search(EngineQuery(tree=Term("name", "word")))
    sum_all(storage, engine)


def test_commit_while_summing_does_not_hide_damage(path, storage):
    damage(path)
    damaged = segment_file(path).name
    engine = WhooshEngine(storage, writable=True)
    commit(engine, documents(8), 5)
    assert engine.count() == 8
    storage.go_on.set()
    with pytest.raises(Damaged, match=damaged):
        engine.check(lambda: None)
    engine.close()
    reader = WhooshEngine(Large(path), writable=False)
    with pytest.raises(StoreUnavailable, match=damaged):
        reader.search(EVERYTHING)
    reader.close()


def test_merge_waits_for_the_sums_and_makes_nothing_of_what_is_damaged(path, storage):
    damage(path)
    engine = WhooshEngine(storage, writable=True)
    assert engine.count() == 7
    before = {file.name for file in path.glob("*.arrays")}
    threading.Timer(0.1, storage.go_on.set).start()
    with pytest.raises(Damaged):
        engine.compact()
    assert {file.name for file in path.glob("*.arrays")} == before
    engine.close()


def test_merge_while_summing_goes_on_once_all_is_found_right(path, storage):
    engine = WhooshEngine(storage, writable=True)
    assert engine.count() == 7
    threading.Timer(0.1, storage.go_on.set).start()
    engine.compact()
    assert len(list(path.glob("*.arrays"))) == 1
    assert ids(engine) == {f"id{n}" for n in range(1, 8)}
    engine.close()


def test_files_that_another_process_merges_away_are_no_damage(path, storage):
    reader = WhooshEngine(storage, writable=False)
    assert reader.count() == 7
    assert storage.asked.wait(30)
    writer = WhooshEngine.open(path)
    writer.compact()
    writer.close()
    storage.go_on.set()
    reader.check(lambda: None)
    assert ids(reader) == {f"id{n}" for n in range(1, 8)}
    reader.close()


@pytest.mark.parametrize("failures", [1, 100])
def test_file_that_cannot_be_read_is_tried_again_before_it_counts_as_damaged(path, failures):
    left = [failures]

    class Unreadable(Large):
        def crc(self, name, go_on=lambda: None):
            if name.endswith(".arrays") and left[0]:
                left[0] -= 1
                raise OSError("input/output error")
            return super().crc(name, go_on)

    reader = WhooshEngine(Unreadable(path), writable=False)
    if failures == 1:
        reader.check(lambda: None)
    else:
        with pytest.raises(Damaged, match="input/output error"):
            reader.check(lambda: None)
    reader.close()


def test_close_while_summing_ends_the_thread(storage, engine):
    assert engine.count() == 7
    assert storage.asked.wait(30)
    engine.close()
    assert [thread for thread in threading.enumerate() if thread.name == THREAD] == []
    with pytest.raises(StoreUnavailable, match="closed"):
        engine.check(lambda: None)


def test_wait_for_the_sums_ends_when_the_engine_is_closed(storage, engine):
    assert engine.count() == 7
    assert storage.asked.wait(30)
    threading.Timer(0.1, engine.close).start()
    with pytest.raises(StoreUnavailable, match="closed"):
        engine.check(lambda: None)


def test_directory_that_cannot_be_written_keeps_damage_refused(path):
    class ReadOnly(Large):
        def create_file(self, name, **kwargs):
            raise PermissionError("read-only")

    damage(path)
    reader = WhooshEngine(ReadOnly(path), writable=False)
    with pytest.raises(Damaged):
        reader.check(lambda: None)
    with pytest.raises(Damaged):
        reader.search(EVERYTHING)
    reader.close()


class Misreading(Term):
    """A condition whose evaluation meets an array that is not as it must be."""

    @property
    def field(self):
        raise IndexError("beyond the end of the array")


MISREADING = EngineQuery(tree=Misreading("name", "word"))


def test_file_that_is_cut_while_it_is_served_is_refused_and_not_read(path, storage, engine):
    storage.go_on.set()
    engine.check(lambda: None)
    assert "id1" in ids(engine)
    os.truncate(segment_file(path), 100)
    refused = []

    def is_refused():
        try:
            engine.revision()
        except Damaged as error:
            refused.append(error.message)
        return bool(refused)

    until(is_refused)
    for ask in (lambda: engine.search(EVERYTHING), engine.count):
        with pytest.raises(Damaged, match=r"size of .* is wrong"):
            ask()


def test_damage_that_is_met_after_the_sums_is_looked_for_once_more(path, storage, engine):
    storage.go_on.set()
    engine.check(lambda: None)
    damage(path)

    with pytest.raises(StoreUnavailable, match="misread"):
        engine.search(MISREADING)
    with pytest.raises(Damaged, match="checksum"):
        engine.check(lambda: None)
    with pytest.raises(Damaged, match="checksum"):
        engine.search(EVERYTHING)


def test_error_of_the_program_has_files_summed_once_and_is_shown_then(storage, engine):
    storage.go_on.set()
    engine.check(lambda: None)

    with pytest.raises(StoreUnavailable, match="misread"):
        engine.search(MISREADING)
    engine.check(lambda: None)
    with pytest.raises(IndexError, match="beyond the end"):
        engine.search(MISREADING)
