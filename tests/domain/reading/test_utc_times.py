"""Times as people read them."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from domain.reading.utc_times import in_utc


@given(st.datetimes(timezones=st.just(UTC)))
def test_time_is_the_moment_to_the_millisecond(moment: datetime) -> None:
    of_milliseconds = moment.replace(microsecond=moment.microsecond // 1_000 * 1_000)
    since = of_milliseconds - datetime(1970, 1, 1, tzinfo=UTC)
    at = (since.days * 86_400 + since.seconds) * 1_000 + since.microseconds // 1_000

    assert in_utc(at) == of_milliseconds


def test_time_that_no_calendar_has_is_an_end_of_the_calendar() -> None:
    assert (in_utc(2**63 - 1).year, in_utc(-(2**63)).year) == (9999, 1)
