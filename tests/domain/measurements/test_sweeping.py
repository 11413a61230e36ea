"""The sweeping of measurements: what the clock, and what is known beside it, let be deleted."""

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from domain.measurements import sweeping
from domain.measurements.bounds import Bounds
from domain.measurements.port import Measurements, PageRequest
from domain.measurements.reports import DAY_MS, TABLE, Point
from domain.measurements.sqlite.store import SqliteMeasurements
from domain.measurements.sweeping import sweep

NOW = 1_700_000_000_000
ONE = "0191ab00-0000-7000-8000-000000000001"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Measurements]:
    opened = SqliteMeasurements(tmp_path, Bounds(days=30, most_bytes=1_000_000))
    yield opened
    opened.close()


def times(store: Measurements) -> list[int]:
    wanted = PageRequest(entity_id=ONE, series=TABLE, part="", limit=100, most_bytes=10**6)
    return [at for at, _ in store.page(wanted).points]


def test_a_sweep_by_a_clock_that_is_ahead_deletes_nothing_for_its_age(
    store: Measurements,
) -> None:
    store.write(ONE, [Point(TABLE, "", NOW - age * DAY_MS, b"{}") for age in (20, 0)], NOW)
    year_ahead = NOW + 365 * DAY_MS

    assert not sweep(store, lambda ids: ids, year_ahead, known=NOW)
    assert times(store) == [NOW, NOW - 20 * DAY_MS]
    # The newest point is within a day, or it is known from elsewhere what time it is.
    assert sweep(store, lambda ids: ids, NOW + DAY_MS, known=0)
    assert sweep(store, lambda ids: ids, year_ahead, known=year_ahead - DAY_MS)
    assert times(store) == []


def test_sweeper_knows_the_time_from_its_start_and_tells_once_that_it_does_not(
    store: Measurements, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[int] = []
    clock = Clock()
    monkeypatch.setattr(sweeping, "time", clock)
    sweeps: list[tuple[int, int]] = []

    def noted(store: Measurements, existing: object, now: int, known: int, go_on: object) -> bool:
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

    sweeper = sweeping.Sweeper(store, lambda ids: ids, newest)
    sweeper.interval_seconds = 0.0
    clock.pass_hours(2)
    sweeper.start()
    assert done.wait(60)
    sweeper.stop()

    hour = 3_600_000
    assert sweeps[:4] == [(hours * hour, NOW + hours * hour) for hours in (2, 3, 4, 5)]
    assert asked == [NOW]
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_the_log_is_asked_of_many_entities_at_once(store: Measurements) -> None:
    ids = [f"entity-{number}" for number in range(5)]
    store.write_all({each: [Point(TABLE, "", NOW, b"{}")] for each in ids}, NOW)
    asked: list[list[str]] = []

    def existing(some: Sequence[str]) -> set[str]:
        asked.append([*some])
        return {ids[0], ids[4]}

    assert sweep(store, existing, NOW, known=NOW, asked_at_once=2)
    assert asked == [ids[:2], ids[2:4], ids[4:]]
    assert store.entities() == [ids[0], ids[4]]
    # A sweep that is to end asks nobody, and deletes nothing.
    assert sweep(store, existing, NOW, NOW, go_on=lambda: False)
    assert len(asked) == 3
    assert store.entities() == [ids[0], ids[4]]


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
