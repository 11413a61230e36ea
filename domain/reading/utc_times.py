"""Times of events as people read them: in UTC, on the calendar."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_EARLIEST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MILLISECOND
_LATEST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MILLISECOND


def in_utc(at: int) -> datetime:
    """The moment of a time in milliseconds since the Unix epoch.

    A time outside the calendar, which a wrong clock may tell, becomes its first or last moment.
    """
    return _EPOCH + min(max(at, _EARLIEST), _LATEST) * _MILLISECOND


def written(at: int) -> str:
    """A time in milliseconds since the Unix epoch as ISO 8601 has it, or as that number.

    The number stands for a time that no calendar has.
    """
    if not _EARLIEST <= at <= _LATEST:
        return str(at)
    return in_utc(at).isoformat(timespec="milliseconds").replace("+00:00", "Z")
