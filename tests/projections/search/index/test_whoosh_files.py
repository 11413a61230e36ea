"""The index on disk: whole commits only, damage noticed, readers beside writers."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from domain.errors import StoreUnavailable
from projections.search.documents import SearchDocument
from projections.search.engine import EngineQuery
from projections.search.index.commit import current_commit
from projections.search.index.engine import WhooshEngine
from projections.search.tree import MatchAll

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
    engine.apply(documents(*range(1, 7)), 3)
    engine.apply(documents(6, 7), 4)
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
    engine.apply(documents(7), 1)
    assert engine.count() == 1
    engine.close()


def test_open_after_the_search_fields_changed_begins_anew(filled, monkeypatch):
    monkeypatch.setattr(current_commit, "schema_digest", lambda: 1)
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
    writer.apply(documents(1), 1)
    assert (reader.checkpoint(), reader.count()) == (1, 1)
    writer.apply(documents(2), 2)
    assert (reader.checkpoint(), reader.count()) == (2, 2)
    with pytest.raises(StoreUnavailable, match="for reading only"):
        reader.apply({}, 3)
    writer.close()
    reader.close()


def test_closed_engine_refuses(path):
    engine = WhooshEngine.open(path)
    engine.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        engine.search(EVERYTHING)


def test_second_writer_waits_its_turn(filled):
    one, two = WhooshEngine.open(filled), WhooshEngine.open(filled)
    with one._locked(), pytest.raises(StoreUnavailable, match="another process"):
        two.apply(documents(8), 5)
    two.apply(documents(8), 5)
    one.apply(documents(9), 6)
    assert two.count() == 9
    one.close()
    two.close()


@pytest.mark.parametrize("step", ["sync", "rename_file", "create_file", "crc"])
def test_failed_commit_changes_nothing_and_the_next_one_works(filled, monkeypatch, step):
    engine = WhooshEngine.open(filled)

    def fail(*args, **kwargs):
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(engine._storage, step, fail)
        with pytest.raises(StoreUnavailable, match="disk full"):
            engine.apply(documents(1, 9, word="other"), 9)
    assert (engine.checkpoint(), engine.count()) == (4, 7)
    engine.apply(documents(9), 9)
    assert (engine.checkpoint(), engine.count()) == (9, 8)
    engine.close()


_KILLED = """
import os, sys
from pathlib import Path
from projections.search.documents import SearchDocument
from projections.search.index.engine import WhooshEngine
engine = WhooshEngine.open(Path(sys.argv[1]))
step, count = sys.argv[2], int(sys.argv[3])
storage = engine._storage
real = getattr(storage, step)
def stop(*args, **kwargs):
    global count
    count -= 1
    if count < 0:
        os._exit(9)
    return real(*args, **kwargs)
setattr(storage, step, stop)
engine.apply({"id1": None, "id9": SearchDocument("id9", "table", False, {}, {"name": "n"})}, 9)
"""


@pytest.mark.parametrize(
    ("step", "count"), [("create_file", 0), ("sync", 0), ("sync", 1), ("rename_file", 1)]
)
def test_killed_commit_leaves_the_one_before(filled, step, count):
    root = Path(__file__).parents[3]
    command = [sys.executable, "-W", "ignore", "-c", _KILLED, str(filled), step, str(count)]
    ended = subprocess.run(command, cwd=root, env={**os.environ, "PYTHONPATH": str(root)})
    assert ended.returncode == 9
    engine = WhooshEngine.open(filled)
    assert engine.rebuild_reason is None
    assert (engine.checkpoint(), engine.count()) == (4, 7)
    engine.apply(documents(9), 9)
    assert (engine.checkpoint(), engine.count()) == (9, 8)
    engine.close()


def test_searches_run_beside_commits_and_see_whole_ones(path):
    writer = WhooshEngine.open(path)
    writer.apply(documents(*range(20), word="round0"), 1)
    reader = WhooshEngine.open(path, writable=False)
    wrong, stop = [], threading.Event()

    def read(engine):
        while not stop.is_set():
            total = engine.search(EVERYTHING).total
            if total != 20:
                wrong.append(total)

    threads = [threading.Thread(target=read, args=(e,)) for e in (writer, reader, reader, writer)]
    for thread in threads:
        thread.start()
    for number in range(1, 16):
        writer.apply(documents(*range(20), word=f"round{number}"), number)
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert reader.checkpoint() == 15
    writer.close()
    reader.close()
