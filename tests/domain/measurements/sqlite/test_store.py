"""The file of measurements: when it is made, and one that is damaged."""

from pathlib import Path

import pytest

from domain.errors import StoreUnavailable
from domain.measurements.bounds import Bounds
from domain.measurements.reports import TABLE, Point
from domain.measurements.sqlite.store import FILE, SqliteMeasurements
from domain.measurements.sweeping import sweep

NOW = 1_700_000_000_000
ONE = "0191ab00-0000-7000-8000-000000000001"
BOUNDS = Bounds(days=30, most_bytes=1_000_000)


def test_a_sweep_opens_no_file_where_nothing_was_stored(tmp_path: Path) -> None:
    store = SqliteMeasurements(tmp_path, BOUNDS)
    sweep(store, lambda ids: ids, NOW, known=NOW)
    assert list(tmp_path.iterdir()) == []
    store.close()


def test_a_file_that_is_no_database_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"no database " * 100)
    store = SqliteMeasurements(tmp_path, BOUNDS)
    with pytest.raises(StoreUnavailable, match="cannot be read or written"):
        store.newest(ONE, TABLE)
    store.close()


@pytest.mark.parametrize("is_read", [True, False])
def test_damage_is_told_whether_the_file_was_read_before_or_not(
    tmp_path: Path, is_read: bool
) -> None:
    whole = SqliteMeasurements(tmp_path, BOUNDS)
    assert whole.damage() is None
    whole.write(ONE, [Point(TABLE, "", NOW, b"{}")], NOW)
    assert whole.damage() is None
    whole.close()
    (tmp_path / FILE).write_bytes(b"no database " * 100)
    store = SqliteMeasurements(tmp_path, BOUNDS)
    if is_read:
        with pytest.raises(StoreUnavailable):
            store.newest(ONE, TABLE)
    assert store.damage() == "measurements.db is damaged: file is not a database"
    store.close()
