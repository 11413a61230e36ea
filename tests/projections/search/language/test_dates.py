"""The span of time that a date stands for."""

from datetime import UTC, date, datetime, timedelta, timezone

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import InvalidInput
from projections.search.language.dates import DEFAULT_FORMATS, Now, Span, is_day, moment, span

DAY = 86_400_000
FIRST = 1_704_067_200_000
"""2024-01-01 in UTC."""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024", Span(FIRST, FIRST + 366 * DAY - 1)),
        ("2024-02", Span(FIRST + 31 * DAY, FIRST + 60 * DAY - 1)),
        ("2024-01-01", Span(FIRST, FIRST + DAY - 1)),
        ("2024-01-01T10", Span(FIRST + 36_000_000, FIRST + 39_599_999)),
        ("2024-01-01T10:20", Span(FIRST + 37_200_000, FIRST + 37_259_999)),
        ("2024-01-01T10:20:30Z", Span(FIRST + 37_230_000, FIRST + 37_230_999)),
        ("2024-01-01T10:20:30.5", Span(FIRST + 37_230_500, FIRST + 37_230_500)),
        ("2024-01-01T01:00+01:00", Span(FIRST, FIRST + 59_999)),
        ("1704067200000", Span(FIRST, FIRST)),
        ("1704067200000.0", Span(FIRST, FIRST)),
        ("-1", Span(-1, -1)),
        ("2024-01-01T10:20:30.500000000", Span(FIRST + 37_230_500, FIRST + 37_230_500)),
        ("2024-01-01T10:20:30.5005", Span(FIRST + 37_230_501, FIRST + 37_230_500)),
        ("2024-01-01T00:59:59.999999999+01:00", Span(FIRST, FIRST - 1)),
        ("1969-12-31T23:59:59.9995Z", Span(0, -1)),
        ("1704067200000.001", Span(FIRST + 1, FIRST)),
        ("-0.5", Span(0, -1)),
    ],
)
def test_span_of_a_text_is_what_it_leaves_open(text, expected):
    assert span(text) == expected


@pytest.mark.parametrize(
    ("zone", "hours"), [("+01:00", 1), ("-0530", -5.5), ("Europe/Berlin", 1), ("UTC", 0), ("z", 0)]
)
def test_span_without_an_offset_is_in_the_zone(zone, hours):
    shift = int(hours * 3_600_000)
    assert span("2024-01-01", zone=zone) == Span(FIRST - shift, FIRST + DAY - 1 - shift)
    assert span("2024-01-01T00:00:00Z", zone=zone).first == FIRST
    assert span(str(FIRST), zone=zone).first == FIRST


@pytest.mark.parametrize(
    ("text", "formats", "first"),
    [
        ("1704067200", "epoch_second", FIRST),
        ("1704067200.25", "epoch_second", FIRST + 250),
        ("1704067200.0001", "epoch_second", FIRST + 1),
        ("2024", "epoch_millis", 2024),
        ("2024-01-01", "yyyy-MM-dd", FIRST),
        ("1704067200000", "yyyy-MM-dd || epoch_millis", FIRST),
    ],
)
def test_span_in_a_format(text, formats, first):
    assert span(text, formats).first == first


@pytest.mark.parametrize(
    ("text", "formats", "zone", "message"),
    [
        ("2024-02-30", DEFAULT_FORMATS, "Z", "'2024-02-30' is no date: "),
        ("2024-1-1", DEFAULT_FORMATS, "Z", "is no date"),
        ("٢٠٢٤", DEFAULT_FORMATS, "Z", "is no date"),
        ("NaN", DEFAULT_FORMATS, "Z", "is no date"),
        ("1." + 5_000 * "0", DEFAULT_FORMATS, "Z", "is no date"),
        ("2024-01-01T00:00+99:00", DEFAULT_FORMATS, "Z", "is no date"),
        ("2024-01", "yyyy-MM-dd", "Z", "'2024-01' is no date in the format yyyy-MM-dd"),
        ("2024", "dd/MM/yyyy", "Z", "format must be one of strict_date_optional_time, "),
        ("2024", "", "Z", "format must be one of"),
        ("2024", DEFAULT_FORMATS, "Mars/Base", "time_zone must be Z, an offset such as"),
        ("2024", DEFAULT_FORMATS, "../../etc/passwd", "time_zone must be"),
        ("2024", DEFAULT_FORMATS, "Europe", "time_zone must be"),
        ("2024", DEFAULT_FORMATS, "+25:00", "time_zone must be"),
    ],
)
def test_span_refuses_what_is_no_date(text, formats, zone, message):
    with pytest.raises(InvalidInput) as raised:
        span(text, formats, zone)
    assert message in raised.value.message


OFFSETS = st.timedeltas(timedelta(hours=-23, minutes=-59), timedelta(hours=23, minutes=59))
ZONES = OFFSETS.map(lambda offset: timezone(timedelta(minutes=offset // timedelta(minutes=1))))


@given(st.datetimes(timezones=ZONES | st.just(UTC)))
def test_moment_of_a_recorded_time_is_when_it_was(recorded):
    """Whatever a payload can hold is written by msgspec and read back here."""
    since_1970 = recorded - datetime(1970, 1, 1, tzinfo=UTC)
    text = msgspec.json.decode(msgspec.json.encode(recorded))
    assert moment(text) == since_1970 // timedelta(milliseconds=1)
    read = span(text)
    assert min(read.first, read.last) == moment(text)
    assert read.first - moment(text) == (1 if recorded.microsecond % 1000 else 0)


@given(st.dates())
def test_moment_of_a_recorded_day_is_its_midnight(recorded):
    since_1970 = recorded - date(1970, 1, 1)
    assert moment(recorded.isoformat()) == since_1970 // timedelta(milliseconds=1)


@pytest.mark.parametrize(
    "text", ["", "x", "2024-13-01", "2024-02-30", "1704067200000", "now", "2024-01-01" + 40 * " "]
)
def test_moment_of_no_date_is_none(text):
    assert moment(text) is None


def test_only_a_day_that_exists_is_a_day():
    assert is_day("2024-02-29")
    assert not any(map(is_day, ("2023-02-29", "2024", "2024-01-01T10", "20240101", "x")))


AT = int(datetime(2024, 3, 31, 10, 20, 30, 500_000, UTC).timestamp() * 1000)
"""A Sunday, on which clocks in Berlin went on from two to three."""


def calculated(text, zone="Z"):
    """The first and last moment of a text, in ISO form and in UTC."""
    read = span(text, zone=zone, now=Now(lambda: AT / 1000))
    return tuple(
        datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")[:-6]
        for at in (read.first, read.last)
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", "2024-03-31T10:20:30.500"),
        ("now-1d", "2024-03-30T10:20:30.500"),
        ("now-d", "2024-03-30T10:20:30.500"),
        ("now+1h-30m+10s", "2024-03-31T10:50:40.500"),
        ("now-2H", "2024-03-31T08:20:30.500"),
        ("now-1M", "2024-02-29T10:20:30.500"),
        ("now-13M", "2023-02-28T10:20:30.500"),
        ("now+1w", "2024-04-07T10:20:30.500"),
        ("now-1y", "2023-03-31T10:20:30.500"),
        ("2024-01||+1M", "2024-02-01T00:00:00.000"),
        ("2024-01-31T10:00:00Z||-1d+1h", "2024-01-30T11:00:00.000"),
        ("1704067200000||", "2024-01-01T00:00:00.000"),
    ],
)
def test_calculated_moment_is_one_moment(text, expected):
    assert calculated(text) == (expected, expected)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("now/d", "2024-03-31T00:00:00.000", "2024-03-31T23:59:59.999"),
        ("now-1d/d", "2024-03-30T00:00:00.000", "2024-03-30T23:59:59.999"),
        ("now/d-1d", "2024-03-30T00:00:00.000", "2024-03-30T23:59:59.999"),
        ("now/w", "2024-03-25T00:00:00.000", "2024-03-31T23:59:59.999"),
        ("now/M", "2024-03-01T00:00:00.000", "2024-03-31T23:59:59.999"),
        ("now/y", "2024-01-01T00:00:00.000", "2024-12-31T23:59:59.999"),
        ("now/h", "2024-03-31T10:00:00.000", "2024-03-31T10:59:59.999"),
        ("now/m", "2024-03-31T10:20:00.000", "2024-03-31T10:20:59.999"),
        ("now/s", "2024-03-31T10:20:30.000", "2024-03-31T10:20:30.999"),
        ("2024-02-11||/M", "2024-02-01T00:00:00.000", "2024-02-29T23:59:59.999"),
    ],
)
def test_calculated_day_is_all_of_it(text, first, last):
    assert calculated(text) == (first, last)


def test_calculation_counts_days_on_the_calendar_of_the_time_zone():
    assert calculated("now/d", "Europe/Berlin") == (
        "2024-03-30T23:00:00.000",
        "2024-03-31T21:59:59.999",
    )
    assert calculated("now-1d", "Europe/Berlin") == ("2024-03-30T11:20:30.500",) * 2
    assert calculated("now-24h", "Europe/Berlin") == ("2024-03-30T10:20:30.500",) * 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("now-1x", "'now-1x' is no date: after now, or after a date and ||, steps such as -1d"),
        ("now-1d ", "'now-1d ' is no date: after now"),
        ("now/2d", "'now/2d' is no date: after now"),
        ("now-9999999d", "'now-9999999d' is no date: after now"),
        ("now" + "-1d" * 17, "is no date: after now"),
        ("now-999999y", "'now-999999y' is before the year 1 or after 9999"),
        ("now+9000y", "'now+9000y' is before the year 1 or after 9999"),
        ("9999-12-31||/y+1d", "'9999-12-31||/y+1d' is before the year 1 or after 9999"),
        ("soon||-1d", "'soon' is no date"),
        ("nowhere", "'nowhere' is no date"),
        ("||-1d", "'||-1d' is no date: after now"),
    ],
)
def test_calculation_that_cannot_be_is_refused(text, said):
    with pytest.raises(InvalidInput) as raised:
        calculated(text)
    assert said in raised.value.message


def test_now_is_the_same_in_all_of_a_search_and_known_to_be_asked_for():
    ticks = iter((1.5, 2.5))
    now = Now(lambda: next(ticks))
    assert now.milliseconds is None
    assert span("2024", now=now) == span("2024")
    assert now.milliseconds is None
    assert span("now", now=now) == span("now-0d", now=now) == Span(1_500, 1_500)
    assert now.milliseconds == 1_500


@given(st.text(alphabet="now|+-/0129yMwdhms2024", max_size=24))
def test_any_calculation_is_a_span_or_refused(text):
    try:
        read = span(f"now{text}", now=Now(lambda: AT / 1000))
    except InvalidInput:
        return
    assert read.first <= read.last
