"""Moments of a log: as of a time, it ends before the first event that is later."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from domain.event_store.entity_reads import RecordedEvent
from domain.events import EntitySoftDeleted
from domain.reading.moments import DAY, LogDays, moments_of, recorded_moments


def events(times: list[int]) -> list[RecordedEvent]:
    event = EntitySoftDeleted(kind="table", actor="ann", at=0, version=1, request_id="r")
    return [
        RecordedEvent("id", number, replace(event, at=time), number)
        for number, time in enumerate(times, 1)
    ]


@given(times=st.lists(st.integers(-3, 9), max_size=12))
def test_moment_is_an_event_that_is_later_than_all_before(times: list[int]) -> None:
    moments = [*moments_of(events(times))]
    assert moments == [
        (time, number)
        for number, time in enumerate(times, 1)
        if all(earlier < time for earlier in times[: number - 1])
    ]


def test_moments_are_read_from_the_log_up_to_a_position(world: Any) -> None:
    world.schema()
    log, head = world.log, world.log.head()
    for upto in range(head + 2):
        expected = [*moments_of(log.read(0, 100, upto))]
        assert [*recorded_moments(log, upto)] == expected
    assert next(iter(recorded_moments(log, head)))[1] == 1


def test_log_stands_on_the_day_of_the_greatest_time_so_far() -> None:
    moments = [(DAY - 1, 2), (DAY, 5), (DAY + 7, 6), (4 * DAY, 9)]

    days = LogDays(moments)

    assert [days.of(position) for position in (2, 4, 5, 8, 9, 100)] == [0, 0, 1, 1, 4, 4]
    noted = LogDays()
    assert [*noted.noting(moments)] == moments
    assert [noted.of(position) for position in (4, 5, 9)] == [0, 1, 4]
