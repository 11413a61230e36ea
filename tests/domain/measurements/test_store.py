"""The store of measurements: what is kept, in which order, and how much of it."""

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import EntityOverLimit, InvalidInput, StoreUnavailable
from domain.measurements import store as stores
from domain.measurements import sweeping
from domain.measurements.reports import COLUMN, SAMPLE, TABLE, Point
from domain.measurements.store import DAY_MS, FILE, MeasurementStore, Page
from domain.measurements.sweeping import sweep

NOW = 1_700_000_000_000
ONE, TWO = "0191ab00-0000-7000-8000-000000000001", "0191ab00-0000-7000-8000-000000000002"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MeasurementStore]:
    opened = MeasurementStore(tmp_path, days=30, most_bytes=1_000_000)
    yield opened
    opened.close()


def point(at: int, part: str = "", series: str = TABLE, body: bytes = b"{}") -> Point:
    return Point(series, part, at, body)


def page(store: MeasurementStore, part: str | None = "", **options: int | None) -> Page:
    wanted = {"since": 0, "until": NOW * 2, "before": None, "limit": 100, "most_bytes": 10**6}
    return store.page(ONE, COLUMN if part else TABLE, part, **{**wanted, **options})


def times(store: MeasurementStore, part: str | None = "", **options: int | None) -> list[int]:
    return [at for at, _ in page(store, part, **options).points]


def sizes(store: MeasurementStore, directory: Path) -> tuple[dict[str, int], dict[str, int]]:
    """The sizes that the file has, and those that follow from its points."""
    with sqlite3.connect(directory / FILE) as connection:
        kept = dict(connection.execute("SELECT entity, bytes FROM sizes"))
        summed: dict[str, int] = {"": 0}
        for entity, part, body in connection.execute("SELECT entity, part, body FROM points"):
            size = len(body) + len(part) + 64
            summed[""] += size
            summed[entity] = summed.get(entity, 0) + size
    connection.close()
    return kept, summed


def test_points_come_newest_first_and_one_replaces_that_of_its_time(
    store: MeasurementStore, tmp_path: Path
) -> None:
    store.write(ONE, [point(NOW - 2), point(NOW, body=b"1"), point(NOW - 1)], NOW)
    store.write(ONE, [point(NOW, body=b"22")], NOW)
    assert page(store).points == [(NOW, b"22"), (NOW - 1, b"{}"), (NOW - 2, b"{}")]
    assert store.newest(ONE, TABLE) == {"": b"22"}
    assert store.newest(TWO, TABLE) == {}
    kept, summed = sizes(store, tmp_path)
    assert kept == summed


def test_pages_are_bounded_by_times_count_and_bytes(store: MeasurementStore) -> None:
    store.write(ONE, [point(NOW - age, "c", COLUMN, b"x" * 10) for age in range(6)], NOW)
    assert times(store, "c", since=NOW - 3, until=NOW - 1) == [NOW - 1, NOW - 2, NOW - 3]
    first = page(store, "c", limit=2)
    assert (first.total, first.more, len(first.points)) == (6, True, 2)
    assert times(store, "c", limit=2, before=NOW - 4) == [NOW - 5]
    assert not page(store, "c", limit=2, before=NOW - 4).more
    assert len(page(store, "c", most_bytes=25).points) == 3


def test_points_of_one_time_are_on_one_page(store: MeasurementStore) -> None:
    parts = [point(NOW - age, part, "system") for age in range(2) for part in "abc"]
    store.write(ONE, parts, NOW)
    wanted = {"since": 0, "until": NOW, "before": None, "limit": 1, "most_bytes": 1}
    got = store.page(ONE, "system", None, **wanted)
    assert ([at for at, _ in got.points], got.more) == ([NOW] * 3, True)


def test_the_oldest_points_of_a_part_go_beyond_the_count(
    store: MeasurementStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "MOST_POINTS", 3)
    store.write(ONE, [point(NOW - age) for age in range(5)], NOW)
    store.write(ONE, [point(NOW, "c", COLUMN)], NOW)
    assert times(store) == [NOW, NOW - 1, NOW - 2]
    for number in (1, 2):
        store.write(ONE, [point(NOW - number, series=SAMPLE, body=b"%d" % number)], NOW)
    store.write(ONE, [point(NOW, series=SAMPLE, body=b"3")], NOW)
    assert store.newest(ONE, SAMPLE) == {"": b"3"}


def test_the_oldest_points_of_an_entity_go_beyond_its_bytes(
    store: MeasurementStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "ENTITY_BYTES", 1_000)
    for age in (3, 2, 1):
        store.write(ONE, [point(NOW - age, body=b"x" * 300)], NOW)
    assert times(store) == [NOW - 1, NOW - 2]
    with pytest.raises(EntityOverLimit, match="may have 1000 bytes"):
        store.write(ONE, [point(NOW - age, body=b"x" * 300) for age in range(4, 8)], NOW)
    assert times(store) == [NOW - 1, NOW - 2]
    kept, summed = sizes(store, tmp_path)
    assert kept == summed


def test_a_store_that_is_full_takes_nothing_more_and_gives_what_it_has(tmp_path: Path) -> None:
    store = MeasurementStore(tmp_path, days=30, most_bytes=500)
    store.write(ONE, [point(NOW - 1, body=b"x" * 300)], NOW)
    with pytest.raises(StoreUnavailable, match="more than 500 bytes"):
        store.write(TWO, [point(NOW, body=b"x" * 300)], NOW)
    assert store.entities() == [ONE]
    store.write(ONE, [point(NOW - 1, body=b"x" * 200)], NOW)
    store.delete(ONE, TABLE)
    store.write(TWO, [point(NOW, body=b"x" * 300)], NOW)
    store.close()


@pytest.mark.parametrize("at", [NOW - 30 * DAY_MS - 1, NOW + DAY_MS + 1])
def test_times_beyond_retention_or_in_the_future_are_refused(
    store: MeasurementStore, at: int
) -> None:
    with pytest.raises(InvalidInput, match="of the last 30 days"):
        store.write(ONE, [point(NOW), point(at)], NOW)
    assert times(store) == []


def test_a_point_that_is_too_large_is_refused(store: MeasurementStore) -> None:
    with pytest.raises(EntityOverLimit, match="column measurement of 'c' may have 262144 bytes"):
        store.write(ONE, [point(NOW, "c", COLUMN, b"x" * (stores.POINT_BYTES + 1))], NOW)


def test_points_are_deleted_by_time_or_all_of_them(store: MeasurementStore) -> None:
    store.write(ONE, [point(NOW), point(NOW - 1), point(NOW, "c", COLUMN)], NOW)
    assert store.delete(ONE, TABLE, NOW) == 1
    assert times(store) == [NOW - 1]
    assert store.delete(ONE, TABLE) == 1
    assert store.newest(ONE, COLUMN) == {"c": b"{}"}
    assert store.delete(ONE, TABLE) == 0


def test_a_sweep_forgets_what_was_purged_and_what_is_too_old(
    store: MeasurementStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "SWEPT_AT_ONCE", 2)
    for entity_id in (ONE, TWO):
        store.write(entity_id, [point(NOW - age * DAY_MS) for age in range(5)], NOW)
    sweep(store, lambda entity_id: entity_id == ONE, NOW + 28 * DAY_MS, known=NOW + 28 * DAY_MS)
    assert store.entities() == [ONE]
    assert times(store) == [NOW, NOW - DAY_MS, NOW - 2 * DAY_MS]
    sweep(store, lambda _: True, NOW + 60 * DAY_MS, known=NOW + 60 * DAY_MS)
    assert store.entities() == []


def test_a_sweep_opens_no_file_where_nothing_was_stored(
    store: MeasurementStore, tmp_path: Path
) -> None:
    sweep(store, lambda _: True, NOW, known=NOW)
    assert list(tmp_path.iterdir()) == []


def test_what_was_stored_is_there_for_another_process(
    store: MeasurementStore, tmp_path: Path
) -> None:
    store.write(ONE, [point(NOW)], NOW)
    # Neither closed nor checkpointed: what another process finds after a kill.
    other = MeasurementStore(tmp_path, days=30, most_bytes=1_000_000)
    assert other.newest(ONE, TABLE) == {"": b"{}"}
    other.close()


def test_a_file_that_is_no_database_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"no database " * 100)
    store = MeasurementStore(tmp_path, days=30, most_bytes=1_000_000)
    with pytest.raises(StoreUnavailable, match="cannot be read or written"):
        store.newest(ONE, TABLE)
    store.close()


@given(
    st.lists(
        st.tuples(
            st.sampled_from([ONE, TWO]),
            st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["", "ü"]), st.integers(0, 40))),
        ),
        max_size=6,
    )
)
def test_sizes_are_those_of_the_points(
    tmp_path_factory: pytest.TempPathFactory, writes: list[tuple[str, list[tuple[int, str, int]]]]
) -> None:
    directory = tmp_path_factory.mktemp("sizes")
    store = MeasurementStore(directory, days=30, most_bytes=1_000_000)
    for entity_id, given_points in writes:
        points = [point(NOW - age, part, body=b"x" * size) for age, part, size in given_points]
        store.write(entity_id, points, NOW)
        store.delete(entity_id, TABLE, NOW - 1)
    if writes:
        kept, summed = sizes(store, directory)
        assert kept == summed
    store.close()


def test_a_sweep_by_a_clock_that_is_ahead_deletes_nothing_for_its_age(
    store: MeasurementStore,
) -> None:
    store.write(ONE, [point(NOW - age * DAY_MS) for age in (20, 0)], NOW)
    year_ahead = NOW + 365 * DAY_MS

    assert not sweep(store, lambda _: True, year_ahead, known=NOW)
    assert times(store) == [NOW, NOW - 20 * DAY_MS]
    # The newest point is within a day, or it is known from elsewhere what time it is.
    assert sweep(store, lambda _: True, NOW + DAY_MS, known=0)
    assert sweep(store, lambda _: True, year_ahead, known=year_ahead - DAY_MS)
    assert times(store) == []


def test_sweeper_knows_the_time_from_its_start_and_tells_once_that_it_does_not(
    store: MeasurementStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[int] = []
    clock = Clock()
    monkeypatch.setattr(sweeping, "time", clock)
    monkeypatch.setattr(sweeping, "INTERVAL_SECONDS", 0.0)
    sweeps: list[tuple[int, int]] = []

    def noted(store: MeasurementStore, exists: object, now: int, known: int, go_on: object) -> bool:
        sweeps.append((now, known))
        clock.pass_hours(1)
        if len(sweeps) == 4:
            done.set()
        return len(sweeps) not in (2, 3)

    done = threading.Event()
    monkeypatch.setattr(sweeping, "sweep", noted)

    def newest() -> int:
        asked.append(NOW)
        return NOW

    sweeper = sweeping.Sweeper(store, lambda _: True, newest)
    clock.pass_hours(2)
    sweeper.start()
    assert done.wait(60)
    sweeper.stop()

    hour = 3_600_000
    assert sweeps[:4] == [(hours * hour, NOW + hours * hour) for hours in (2, 3, 4, 5)]
    assert asked == [NOW]
    assert [record.levelname for record in caplog.records] == ["WARNING"]


class Clock:
    """In place of the module `time`: both clocks begin at 0."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def pass_hours(self, hours: int) -> None:
        self._seconds += 3600 * hours

    def time(self) -> float:
        return self._seconds

    def monotonic(self) -> float:
        return self._seconds
