"""The index on disk: whole commits only, damage noticed, readers beside writers."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from domain.errors import StoreUnavailable
from projections.search.documents.documents import SearchDocument
from projections.search.engine import DocumentChanges, EngineQuery
from projections.search.index.commit import commit_follower
from projections.search.index.engine import WhooshEngine
from projections.search.index.format.storage import LOCK, Directory
from projections.search.tree import MatchAll
from tests.commits import commit

EVERYTHING = EngineQuery(tree=MatchAll(), size=1_000)


def documents(*numbers, word="word"):
    return {
        f"id{n}": SearchDocument(f"id{n}", "table", False, {"name": (word,)}, {"name": f"n{n}"})
        for n in numbers
    }


@pytest.fixture
def path(tmp_path):
    return tmp_path / "index"


@pytest.fixture
def filled(path):
    engine = WhooshEngine.open(path)
    commit(engine, documents(*range(1, 7)), 3)
    commit(engine, documents(6, 7), 4)
    engine.close()
    return path


def test_open_again_finds_documents_and_checkpoint(filled):
    engine = WhooshEngine.open(filled)
    assert engine.rebuild_reason is None
    assert (engine.checkpoint(), engine.count()) == (4, 7)
    engine.close()


def test_open_makes_a_directory_for_its_owner_only(filled):
    assert stat.S_IMODE(os.stat(filled).st_mode) == 0o700


def _files(path):
    return sorted(
        p for p in path.iterdir() if p.is_file() and p.name != "LOCK" and p.stat().st_size
    )


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("damage", ["flip", "truncate", "remove"])
def test_open_of_a_damaged_index_begins_anew_and_never_serves_it(filled, place, damage):
    file = _files(filled)[place]
    data = bytearray(file.read_bytes())
    if damage == "flip":
        data[len(data) // 2] ^= 0x55
        file.write_bytes(data)
    elif damage == "truncate":
        file.write_bytes(data[: len(data) // 2])
    else:
        file.unlink()
    reader = WhooshEngine.open(filled, writable=False)
    with pytest.raises(StoreUnavailable):
        reader.search(EVERYTHING)
    reader.close()
    engine = WhooshEngine.open(filled)
    assert (engine.checkpoint(), engine.count()) == (0, 0)
    commit(engine, documents(7), 1)
    assert engine.count() == 1
    engine.close()


def test_open_after_the_search_fields_changed_begins_anew(filled, monkeypatch):
    monkeypatch.setattr(commit_follower, "schema_digest", lambda: 1)
    engine = WhooshEngine.open(filled)
    assert engine.checkpoint() == 0
    assert engine.rebuild_reason == "the search index was made for other fields or kinds"
    engine.close()


def test_read_only_engine_waits_for_an_index_and_follows_it(path):
    reader = WhooshEngine.open(path, writable=False)
    assert reader.checkpoint() == 0
    with pytest.raises(StoreUnavailable, match="there is no search index yet"):
        reader.search(EVERYTHING)
    writer = WhooshEngine.open(path)
    commit(writer, documents(1), 1)
    assert (reader.checkpoint(), reader.count()) == (1, 1)
    commit(writer, documents(2), 2)
    assert (reader.checkpoint(), reader.count()) == (2, 2)
    with pytest.raises(StoreUnavailable, match="for reading only"):
        commit(reader, {}, 3)
    writer.close()
    reader.close()


def test_closed_engine_refuses(path):
    engine = WhooshEngine.open(path)
    engine.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        engine.search(EVERYTHING)


def test_second_writer_waits_its_turn(filled):
    one, two = WhooshEngine.open(filled), WhooshEngine.open(filled)
    lock = Directory(filled).lock(LOCK)
    assert lock.acquire()
    with pytest.raises(StoreUnavailable, match="another process"):
        commit(two, documents(8), 5)
    lock.release()
    commit(two, documents(8), 5)
    commit(one, documents(9), 6)
    assert two.count() == 9
    one.close()
    two.close()


class FullDisk(Directory):
    """A directory in which the steps named in `failing` do not work."""

    failing: frozenset[str] = frozenset()

    def _attempt(self, step):
        if step in self.failing:
            raise OSError("disk full")

    def sync(self, names):
        self._attempt("sync")
        super().sync(names)

    def rename_file(self, oldname, newname, safe=False):
        self._attempt("rename_file")
        super().rename_file(oldname, newname, safe)

    def create_file(self, name, **kwargs):
        self._attempt("create_file")
        return super().create_file(name, **kwargs)

    def crc(self, name, go_on=lambda: None):
        self._attempt("crc")
        return super().crc(name, go_on)

    def lock(self, name):
        self._attempt("lock")
        return super().lock(name)


WRITING_STEPS = ["sync", "rename_file", "create_file", "crc", "lock"]
WRITES = {
    "apply": lambda engine: engine.apply(
        DocumentChanges(documents(1, 9, word="other"), 9, (4, ""))
    ),
    "reset": lambda engine: engine.reset(),
    "compact": lambda engine: engine.compact(),
}


@pytest.mark.parametrize("step", WRITING_STEPS)
@pytest.mark.parametrize("write", WRITES)
def test_write_that_fails_says_so_changes_nothing_and_the_next_one_works(filled, write, step):
    storage = FullDisk(filled)
    engine = WhooshEngine(storage, writable=True)
    assert engine.count() == 7
    storage.failing = frozenset({step})
    with pytest.raises(StoreUnavailable, match="the search index cannot be written: disk full"):
        WRITES[write](engine)
    storage.failing = frozenset()
    assert (engine.checkpoint(), engine.count()) == (4, 7)
    commit(engine, documents(9), 9)
    assert (engine.checkpoint(), engine.count()) == (9, 8)
    engine.close()


_KILLED = """
import os, sys
from pathlib import Path
from projections.search.documents.documents import SearchDocument
from projections.search.engine import DocumentChanges
from projections.search.index.engine import WhooshEngine
from projections.search.index.format.storage import Directory
storage = Directory(Path(sys.argv[1]))
engine = WhooshEngine(storage, writable=True)
step, count = sys.argv[2], int(sys.argv[3])
real = getattr(storage, step)
def stop(*args, **kwargs):
    global count
    count -= 1
    if count < 0:
        os._exit(9)
    return real(*args, **kwargs)
setattr(storage, step, stop)
new = SearchDocument("id9", "table", False, {}, {"name": "n"})
after = engine.checkpoint_and_fingerprint()
engine.apply(DocumentChanges({"id1": None, "id9": new}, 9, after))
"""


@pytest.mark.parametrize(
    ("step", "count"),
    [
        ("sync", 1),
        *(
            pytest.param(*each, marks=pytest.mark.deep)
            for each in (("create_file", 0), ("sync", 0), ("rename_file", 1))
        ),
    ],
)
def test_killed_commit_leaves_the_one_before(filled, step, count):
    root = Path(__file__).parents[4]
    command = [sys.executable, "-W", "ignore", "-c", _KILLED, str(filled), step, str(count)]
    ended = subprocess.run(command, cwd=root, env={**os.environ, "PYTHONPATH": str(root)})
    assert ended.returncode == 9
    engine = WhooshEngine.open(filled)
    assert engine.rebuild_reason is None
    assert (engine.checkpoint(), engine.count()) == (4, 7)
    commit(engine, documents(9), 9)
    assert (engine.checkpoint(), engine.count()) == (9, 8)
    engine.close()


def test_searches_run_beside_commits_and_see_whole_ones(path):
    writer = WhooshEngine.open(path)
    commit(writer, documents(*range(20), word="round0"), 1)
    reader = WhooshEngine.open(path, writable=False)
    wrong, stop = [], threading.Event()

    def read(engine):
        while not stop.is_set():
            found = engine.search(EVERYTHING)
            # On a busy machine a search may run out of its time, and says so.
            if found.total != 20 and not found.timed_out:
                wrong.append(found.total)

    threads = [threading.Thread(target=read, args=(e,)) for e in (writer, reader, reader, writer)]
    for thread in threads:
        thread.start()
    for number in range(1, 16):
        commit(writer, documents(*range(20), word=f"round{number}"), number)
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert reader.checkpoint() == 15
    writer.close()
    reader.close()


class SlowSums(Directory):
    summed_at_once = 0
    """A directory whose checksums of segments are not made before `go_on` is set."""

    def __init__(self, path):
        super().__init__(path)
        self.go_on = threading.Event()
        self.go_on.set()
        self.asked = threading.Event()
        """Set once a checksum was asked for."""

    def crc(self, name, go_on=lambda: None):
        self.asked.set()
        assert self.go_on.wait(30)
        return super().crc(name, go_on)


def ids(hits):
    return {hit.id for hit in hits.hits}


@pytest.fixture
def merged_meanwhile(filled):
    """A reader's storage that begins to sum when asked, and the engine that reads it.

    The reader has opened a commit that was followed by a document more and a merge of everything,
    of which the file counts as large.
    """
    storage = SlowSums(filled)
    reader = WhooshEngine(storage, writable=False)
    assert reader.count() == 7
    storage.go_on.clear()
    storage.asked.clear()
    writer = WhooshEngine.open(filled)
    commit(writer, documents(8), 5)
    writer.compact()
    writer.close()
    yield storage, reader
    storage.go_on.set()
    reader.close()


def test_searches_go_on_while_a_merged_file_is_summed(merged_meanwhile):
    storage, reader = merged_meanwhile
    older = {f"id{n}" for n in range(1, 8)}
    while not storage.asked.is_set():
        assert ids(reader.search(EVERYTHING)) == older
    assert ids(reader.search(EVERYTHING)) == older
    assert reader.revision() == 4
    storage.go_on.set()
    assert reader.checkpoint() == 5
    assert reader.revision() == 5
    assert ids(reader.search(EVERYTHING)) == older | {"id8"}


def test_damage_found_while_searches_go_on_is_never_served(merged_meanwhile, filled):
    storage, reader = merged_meanwhile
    (merged,) = filled.glob("*.arrays")
    data = bytearray(merged.read_bytes())
    data[len(data) // 2] ^= 0x55
    merged.write_bytes(data)
    storage.go_on.set()
    with pytest.raises(StoreUnavailable, match="checksum"):
        reader.checkpoint()

    def search_on():
        while True:
            assert "id8" not in ids(reader.search(EVERYTHING))

    with pytest.raises(StoreUnavailable, match="checksum"):
        search_on()
