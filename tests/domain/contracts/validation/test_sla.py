"""Times that a contract promises, held against what was recorded."""

from datetime import UTC, datetime
from typing import Any

import pytest

from domain.contracts.validation.sla import Recorded, validate

HOUR = 3_600_000


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1_000)


NOW = at("2026-03-10 09:00")


@pytest.mark.parametrize(
    ("interval", "unit", "hours", "met"),
    [(2, "hour", 2, True), (2, "hour", 3, False), (1, "day", 24, True), (1, "week", 169, False)],
)
def test_refresh_frequency_is_the_age_of_the_newest_write(
    interval: int, unit: str, hours: int, met: bool
) -> None:
    sla = {"refreshFrequency": {"interval": interval, "unit": unit}}
    recorded = Recorded(refreshes=[NOW - hours * HOUR, NOW - 999 * HOUR])
    found, unmeasured = validate(sla, recorded, NOW)
    assert (found.refresh_frequency_met, unmeasured) == (met, [])


@pytest.mark.parametrize(
    "newest",
    [(NOW - HOUR) / 1_000, float(NOW - HOUR), "2026-03-10 08:00:00", "2026-03-10T09:00:00+01:00"],
)
def test_latency_is_the_age_of_the_newest_value_when_it_was_profiled(newest: Any) -> None:
    sla = {"maxLatency": {"value": 60, "unit": "minute"}}
    recorded = Recorded(profiled_at=NOW, newest_value=newest)
    found, _ = validate(sla, recorded, NOW + 99 * HOUR)
    assert (found.latency_met, found.actual_latency) == (True, HOUR)
    later = Recorded(profiled_at=NOW + 1, newest_value=newest)
    assert validate(sla, later, NOW)[0].latency_met is False


@pytest.mark.parametrize(
    ("zone", "written", "met"),
    [
        (None, "2026-03-10 07:59", True),
        (None, "2026-03-10 08:01", False),
        (None, "2026-03-09 07:00", False),
        # 08:00 in Kolkata is 02:30 in UTC, and its day began at 18:30.
        ("GMT+05:30 (Asia/Kolkata)", "2026-03-10 02:00", True),
        ("GMT+05:30 (Asia/Kolkata)", "2026-03-09 19:00", True),
        ("GMT+05:30 (Asia/Kolkata)", "2026-03-09 18:00", False),
        # Not yet 08:00 in Los Angeles, so that the day before counts.
        ("GMT-08:00 (America/Los Angeles)", "2026-03-09 14:00", True),
        ("GMT-08:00 (America/Los Angeles)", "2026-03-10 08:00", False),
    ],
)
def test_availability_is_a_write_on_the_day_of_the_last_deadline(
    zone: str | None, written: str, met: bool
) -> None:
    sla = {"availabilityTime": "08:00", "timezone": zone}
    found, _ = validate(sla, Recorded(refreshes=[at(written)]), NOW)
    assert found.availability_met is met


def test_what_was_not_recorded_is_named_and_never_false() -> None:
    sla = {
        "refreshFrequency": {"interval": 1, "unit": "day"},
        "maxLatency": {"value": 1, "unit": "day"},
        "availabilityTime": "8 o'clock",
        "retention": {"period": 1, "unit": "year"},
    }
    found, unmeasured = validate(sla, Recorded(newest_value="soon", profiled_at=NOW), NOW)
    assert found == type(found)()
    assert unmeasured == ["refresh frequency", "latency", "availability", "retention"]
