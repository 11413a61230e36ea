"""The file of the sorted read model: damage, and connections of threads that are gone."""

import gc
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from domain.errors import StoreUnavailable
from projections.entities.sqlite.file_check import check, shut, take_stamp
from projections.entities.sqlite.model import open_read_model
from projections.entities.sqlite.tables import MOST_WAL_BYTES
from projections.feeding.port import Damaged
from tests.projections.conftest import Fixture

DAMAGES = {
    "header": lambda data: b"x" * 100 + data[100:],
    "truncated": lambda data: data[: len(data) // 3],
    "text": lambda data: b"this is no database",
    "zeroed page": lambda data: data[:16_384] + bytes(16_384) + data[32_768:],
    "flipped byte": lambda data: data.replace(b'"name":"service"', b'"name":"sErvice"'),
    "flipped digest": lambda data: data.replace(b"digests", b"digestz"),
}


def filled(catalog: Fixture) -> Path:
    """The closed file of a read model with three entities."""
    catalog.schema()
    catalog.project()
    shut(catalog.entities)
    return catalog.entities.database.path


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("writable", [True, False])
def test_damage_is_noticed(catalog: Fixture, damage: str, writable: bool) -> None:
    path = filled(catalog)
    damaged = DAMAGES[damage](path.read_bytes())
    assert damaged != path.read_bytes()
    path.write_bytes(damaged)

    assert not take_stamp(path)
    with pytest.raises(Damaged):  # noqa: PT012 - some are noticed on opening, all on checking
        store = open_read_model(path, writable=writable)
        try:
            check(store, lambda: None)
        finally:
            store.close()


def test_row_that_is_missing_is_noticed(catalog: Fixture) -> None:
    store = open_read_model(filled(catalog))
    store.database.connection.execute("DELETE FROM entities WHERE name = 'schema'")

    with pytest.raises(Damaged, match="rows are missing, or too many"):
        check(store, lambda: None)
    store.close()


def test_file_that_was_shut_and_not_touched_is_trusted_once(catalog: Fixture) -> None:
    path = filled(catalog)

    assert (take_stamp(path), take_stamp(path)) == (True, False)


def test_digests_are_kept_per_kind(catalog: Fixture) -> None:
    catalog.schema()
    catalog.project()
    before = catalog.entities.digests()
    table = catalog.table("t")
    catalog.project()
    assert catalog.entities.digests()["table"][0] == 1
    catalog.delete(table, hard=True)
    catalog.project()

    assert catalog.entities.digests() == before
    assert {kind: n for kind, (n, _) in before.items()} == {
        "database": 1,
        "databaseSchema": 1,
        "databaseService": 1,
    }


def connections() -> list[sqlite3.Connection]:
    """Return the connections in this process, whoever made them."""
    gc.collect()
    return [one for one in gc.get_objects() if isinstance(one, sqlite3.Connection)]


def test_connections_end_with_their_threads(catalog: Fixture) -> None:
    catalog.entities.checkpoint()
    before = connections()
    for _ in range(5):
        thread = threading.Thread(target=catalog.entities.checkpoint)
        thread.start()
        thread.join()

    # Those of earlier tests may end meanwhile.
    assert before
    assert {*connections()} - {*before} == set()


def test_file_in_a_place_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="sorted read model"):
        open_read_model(tmp_path / "nowhere" / "entities.db")


def test_file_that_is_not_there_is_not_made_by_a_reader(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="sorted read model"):
        open_read_model(tmp_path / "entities.db", writable=False)

    assert list(tmp_path.iterdir()) == []


def test_write_ahead_log_that_a_snapshot_made_grow_is_cut(catalog: Fixture) -> None:
    wal = Path(f"{catalog.entities.database.path}-wal")
    catalog.project()
    with catalog.entities.database.snapshot() as reader:
        reader.execute("SELECT count(*) FROM entities").fetchone()
        connection = catalog.entities.database.connection
        connection.execute("CREATE TABLE filling (bytes BLOB)")
        for _ in range(2):
            connection.execute(
                "INSERT INTO filling VALUES (zeroblob(?))", (MOST_WAL_BYTES * 6 // 10,)
            )
        assert wal.stat().st_size > MOST_WAL_BYTES * 11 // 10

    connection.execute("PRAGMA wal_checkpoint(RESTART)")
    connection.execute("DELETE FROM filling WHERE 0")
    connection.execute("UPDATE filling SET bytes = NULL WHERE rowid = 1")

    assert wal.stat().st_size <= MOST_WAL_BYTES


def test_lock_of_another_program_holds_no_write_for_as_long_as_a_request_waits(
    catalog: Fixture,
) -> None:
    database = catalog.entities.database
    with closing(sqlite3.connect(database.path, isolation_level=None)) as foreign:
        foreign.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="locked"), database.transaction():
            pass

    (waits,) = database.writer.execute("PRAGMA busy_timeout").fetchone()
    assert waits < 2_000
    with database.transaction():
        pass
