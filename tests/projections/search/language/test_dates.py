"""The span of time that a date stands for."""

from datetime import UTC, date, datetime, timedelta, timezone

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import InvalidInput
from projections.search.language.dates import DEFAULT_FORMATS, Span, is_day, moment, span

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
