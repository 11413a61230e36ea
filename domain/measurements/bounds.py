"""Bounds of measurements, in age, count and bytes, the same wherever they are kept."""

from collections.abc import Iterable, Mapping

import msgspec

from domain.errors import EntityOverLimit, InvalidInput, StoreUnavailable
from domain.measurements.reports import DAY_MS, SAMPLE, TESTED, Point

POINT_BYTES = 256 * 1024
"""The most bytes of JSON of one point of most series."""
SAMPLE_BYTES = 4_000_000
"""The most bytes of JSON of a sample."""
TESTED_BYTES = 1_000_000
"""The most bytes of JSON of a run of the tests of a contract."""
OVERHEAD = 64
"""Bytes that a point is counted for beside its JSON and the characters of its part."""
MOST_QUERIES = 100
"""Most queries whose costs are shown."""
_LARGE = {SAMPLE: SAMPLE_BYTES, TESTED: TESTED_BYTES}
_AHEAD_MS = DAY_MS
"""Longest time that a measurement may lie in the future, for clocks and zones that differ."""

Key = tuple[str, str, int]
"""Series, part and time of a point of an entity."""


class Bounds(msgspec.Struct, frozen=True):
    """The bounds that an operator sets, and those that are the same everywhere."""

    days: int
    """Points that are older go."""
    most_bytes: int
    """The most bytes of the points of all entities together; beyond, nothing is taken."""
    entity_bytes: int = 32_000_000
    """The most bytes of all points of an entity; beyond, its oldest points go."""
    most_points: int = 1_000
    """The most points of one part of a series, but for samples; beyond, the oldest go."""
    at_once: int = 1_000
    """Points that one transaction of a sweep deletes, and entities whose ranks one stores."""
    sum_seconds: float = 20.0
    """Longest time for the sums of one request."""

    def oldest(self, now: int) -> int:
        """The time of the oldest point that is kept, at a time in milliseconds since 1970."""
        return now - self.days * DAY_MS

    def checked(
        self, points: Mapping[str, Iterable[Point]], now: int
    ) -> dict[str, dict[Key, bytes]]:
        """Entity -> the JSON of its points, of several with one key the last.

        Raises InvalidInput for a time that is too old or in the future, EntityOverLimit for a point
        of too many bytes.
        """
        bodies: dict[str, dict[Key, bytes]] = {}
        for entity_id, given in points.items():
            for each in given:
                self._check(each, now)
                bodies.setdefault(entity_id, {})[each.series, each.part, each.at] = each.body
        return bodies

    def check_time(self, at: int, now: int, what: str) -> None:
        """Raise InvalidInput for a time that is too old or in the future; `what` names it."""
        if not self.oldest(now) <= at <= now + _AHEAD_MS:
            raise InvalidInput(
                f"the time of a {what} must be of the last {self.days} days (milliseconds since"
                f" 1970), got {at}"
            )

    def most_of(self, series: str) -> int:
        """The most points of one part of a series."""
        return 1 if series == SAMPLE else self.most_points

    def entity_full(self) -> EntityOverLimit:
        """The error for points of one write that take more bytes than an entity may have."""
        return EntityOverLimit(f"the measurements of an entity may have {self.entity_bytes} bytes")

    def all_full(self) -> StoreUnavailable:
        """The error for points of all entities that take too many bytes."""
        return StoreUnavailable(
            f"the store of measurements is full ({self.most_bytes} bytes): raise"
            " CATALOG_MEASUREMENT_BYTES or lower CATALOG_MEASUREMENT_DAYS"
        )

    def _check(self, point: Point, now: int) -> None:
        what = f"{point.series} measurement" + (f" of {point.part[:80]!r}" if point.part else "")
        most = _LARGE.get(point.series, POINT_BYTES)
        if len(point.body) > most:
            raise EntityOverLimit(f"a {what} may have {most} bytes, got {len(point.body)}")
        self.check_time(point.at, now, what)
