"""Whoosh's own writers cannot write the index, whether or not the catalog runs."""

from threading import Thread

import pytest
from whoosh import index
from whoosh.index import LockError
from whoosh.writing import AsyncWriter, BufferedWriter, IndexingError

from domain.errors import StoreUnavailable
from projections.search.documents.documents import SearchDocument
from projections.search.engine import EngineQuery
from projections.search.index.engine import WhooshEngine
from projections.search.index.format.storage import INDEX
from projections.search.tree import MatchAll
from tests.commits import commit

EVERYTHING = EngineQuery(tree=MatchAll(), size=10)
INSTEAD = "HTTP API .*catalog import.*catalog-replay rebuild"


def document(number):
    name = f"name{number}"
    return SearchDocument(name, "table", False, {"name": (name,)}, {"name": name})


def buffered(ix):
    writer = BufferedWriter(ix, period=None)
    writer.add_document(id="x", kind="table")
    writer.commit()


WRITERS = {
    "writer": lambda ix: ix.writer().commit(),
    "add_document": lambda ix: ix.writer().add_document(words="x"),
    "add_field": lambda ix: ix.writer().add_field("more", None),
    "delete_by_term": lambda ix: ix.delete_by_term("name", "name1"),
    "optimize": lambda ix: ix.optimize(),
    "procs": lambda ix: ix.writer(procs=2).commit(),
    "multisegment": lambda ix: ix.writer(procs=2, multisegment=True).commit(),
    "AsyncWriter": lambda ix: AsyncWriter(ix).commit(),
    "BufferedWriter": buffered,
}


def names(engine):
    return [hit.id for hit in engine.search(EVERYTHING).hits]


def files(path):
    return {file.name: file.read_bytes() for file in path.iterdir() if file.stat().st_size}


@pytest.fixture
def path(tmp_path):
    engine = WhooshEngine.open(tmp_path)
    commit(engine, {f"name{n}": document(n) for n in (1, 2)}, 1)
    commit(engine, {"name2": document(2), "name3": document(3)}, 2)
    engine.close()
    return tmp_path


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_stock_writer_is_told_what_to_use_instead_and_touches_no_file(path, write):
    before = files(path)
    with pytest.raises(IndexingError, match=INSTEAD):
        write(index.open_dir(str(path), indexname=INDEX))
    assert files(path) == before
    engine = WhooshEngine.open(path)
    assert engine.rebuild_reason is None
    assert (engine.checkpoint(), names(engine)) == (2, ["name1", "name2", "name3"])
    commit(engine, {"name4": document(4)}, 3)
    assert names(engine) == ["name1", "name2", "name3", "name4"]
    engine.close()


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_stock_writer_cannot_write_an_index_without_documents_either(tmp_path, write):
    WhooshEngine.open(tmp_path).close()
    before = files(tmp_path)
    ix = index.open_dir(str(tmp_path), indexname=INDEX)
    assert ix.is_empty()
    assert list(ix.reader().all_doc_ids()) == []
    with pytest.raises(IndexingError, match=INSTEAD):
        write(ix)
    assert files(tmp_path) == before
    engine = WhooshEngine.open(tmp_path)
    assert engine.rebuild_reason is None
    commit(engine, {"name4": document(4)}, 1)
    assert names(engine) == ["name4"]
    engine.close()


def test_stock_writer_finds_the_lock_taken_while_the_catalog_runs(path):
    """Opened before the engine is: stock Whoosh may miss a file that a merge removes meanwhile."""
    ix = index.open_dir(str(path), indexname=INDEX)
    engine = WhooshEngine.open(path)
    for _ in range(2):
        with pytest.raises(LockError):
            ix.writer()
        commit(engine, {"name4": document(4)}, 3)
    engine.close()
    assert names(WhooshEngine.open(path, writable=False)) == ["name1", "name2", "name3", "name4"]


def test_catalog_commits_after_a_stock_writer_was_refused(path):
    """The remains of the refused writer let go of the lock."""
    ix = index.open_dir(str(path), indexname=INDEX)
    refused = []

    def write():
        try:
            ix.writer()
        except IndexingError as error:
            refused.append(str(error))

    thread = Thread(target=write)
    thread.start()
    thread.join()
    assert len(refused) == 1
    engine = WhooshEngine.open(path)
    commit(engine, {"name4": document(4)}, 3)
    assert names(engine) == ["name1", "name2", "name3", "name4"]
    engine.close()


def test_engine_that_a_stock_writer_kept_out_writes_when_the_lock_is_free(path):
    lock = index.open_dir(str(path), indexname=INDEX).lock("WRITELOCK")
    assert lock.acquire()
    engine = WhooshEngine.open(path)
    with pytest.raises(StoreUnavailable, match="another process"):
        commit(engine, {"name4": document(4)}, 3)
    assert names(engine) == ["name1", "name2", "name3"]
    lock.release()
    commit(engine, {"name4": document(4)}, 3)
    assert names(engine) == ["name1", "name2", "name3", "name4"]
    engine.close()
