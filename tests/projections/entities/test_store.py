"""The file of the sorted read model: damage, and connections of threads that are gone."""

import gc
import threading
from pathlib import Path

import pytest

from domain.errors import StoreUnavailable
from projections.entities.store import Damaged, open_entity_store
from tests.projections.conftest import Fixture

DAMAGES = {
    "header": lambda data: b"x" * 100 + data[100:],
    "truncated": lambda data: data[: len(data) // 3],
    "text": lambda data: b"this is no database",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_file_is_begun_anew_and_filled_from_the_log(catalog: Fixture, damage: str) -> None:
    catalog.schema()
    catalog.project()
    catalog.entities.close()
    path = catalog.directory / "entities.db"
    path.write_bytes(DAMAGES[damage](path.read_bytes()))

    reopened = Fixture(catalog.directory)
    try:
        reopened.project()
        assert reopened.entities.count() == 3
    finally:
        reopened.close()


def test_damaged_file_is_refused_by_a_process_that_only_reads(catalog: Fixture) -> None:
    catalog.entities.close()
    path = catalog.directory / "entities.db"
    path.write_bytes(b"x" * 5_000)

    with pytest.raises(Damaged):
        open_entity_store(path, writable=False)
    assert path.read_bytes() == b"x" * 5_000


def test_clear_replaces_a_file_that_was_damaged_while_open(catalog: Fixture) -> None:
    catalog.schema()
    catalog.project()
    catalog.entities.close()
    path = catalog.directory / "entities.db"
    data = bytearray(path.read_bytes())
    data[16_384:] = b"\xff" * (len(data) - 16_384)
    path.write_bytes(bytes(data))

    store = open_entity_store(path)
    store.clear()

    assert (store.checkpoint(), store.count()) == (0, 0)
    store.close()


def test_connections_end_with_their_threads(catalog: Fixture) -> None:
    for _ in range(5):
        thread = threading.Thread(target=catalog.entities.checkpoint)
        thread.start()
        thread.join()
    gc.collect()

    assert len(catalog.entities._opened) == 1


def test_file_in_a_place_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="sorted read model"):
        open_entity_store(tmp_path / "nowhere" / "entities.db")
