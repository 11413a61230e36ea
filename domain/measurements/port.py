"""The port of measurements, kept in a file of the data directory or in the log's database."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import msgspec

from domain.measurements.bounds import Bounds, Key
from domain.measurements.costs import CostSums
from domain.measurements.reports import FOREVER, Point
from domain.measurements.usage import UseSums, ranked


class PageRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Points of one part of a series of an entity, or of all its parts, with times in a range."""

    entity_id: str
    series: str
    part: str | None = None
    since: int = 0
    until: int = FOREVER
    """The last time of the range, which is a part of it."""
    before: int | None = None
    """A time from which on points of the range were shown already."""
    limit: int
    """The most points, 1 at least."""
    most_bytes: int


class Page(msgspec.Struct, frozen=True):
    """Points of one part of a series, the newest first."""

    total: int
    """Number of points in the requested time, before and after this page included."""
    points: Sequence[tuple[int, bytes]]
    """Time and JSON of each point."""
    more: bool
    """True if older points follow."""


class KeptBeside(ABC):
    """A transaction on what is kept beside the points, at a time at which no other one runs."""

    @abstractmethod
    def rows(self, statement: str, *values: Any) -> list[Any]:
        """The rows of a statement with `?` for values."""

    @abstractmethod
    def change(self, statement: str, runs: Sequence[Sequence[Any]]) -> None:
        """Run a statement with `?` for values, once for each sequence of these."""


class Measurements(ABC):
    """A time series beside the log, bounded as `bounds.py` says; for any thread.

    Times are in milliseconds since 1970. A write that has returned survives the end of the process
    and power loss. Every method raises StoreUnavailable when the backend cannot be used.
    """

    select_newest: str
    """SQL for part and newest body of each part of a series, for an entity and a series."""
    select_latest: str
    """SQL for the newest body of the part without a name, for an entity and a series."""
    select_times: str
    """SQL for the times of the part without a name, the newest first, for an entity and a series.
    """
    select_entities: str
    select_newest_time: str
    select_written = "SELECT entity, turn FROM measurements_written ORDER BY turn LIMIT {:d}"

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds

    def oldest(self, now: int) -> int:
        """The time of the oldest points that are kept."""
        return self._bounds.oldest(now)

    def write(self, entity_id: str, points: Iterable[Point], now: int) -> None:
        """Store points of an entity; see `write_all`."""
        self.write_all({entity_id: points}, now)

    def write_all(self, points: Mapping[str, Iterable[Point]], now: int) -> None:
        """Store points of entities by their ids, each in place of one of its part at the same time.

        All of them are stored, or none. Raises InvalidInput for a time that is too old or in the
        future, EntityOverLimit for what takes too many bytes, and StoreUnavailable, also when all
        entities have too many.
        """
        self._store(self._bounds.checked(points, now))

    def newest(self, entity_id: str, series: str) -> dict[str, bytes]:
        """Part -> JSON of its newest point, for all parts of a series."""
        rows = self._rows(self.select_newest, entity_id, series)
        return {
            part if isinstance(part, str) else part.decode("utf-8", "surrogatepass"): body
            for part, body, *_ in rows
        }

    def latest(self, entity_id: str, series: str) -> bytes | None:
        """The JSON of the newest point of a series that has one part, without a name.

        No other point is read, which `newest` would do, so that a page can ask for many entities.
        """
        rows = self._rows(self.select_latest, entity_id, series)
        return rows[0][0] if rows else None

    def times(self, entity_id: str, series: str) -> list[int]:
        """The times of a series that has one part, without a name, the newest first.

        No JSON is read, so that a point whose id follows from its time is found without all others.
        """
        return [at for (at,) in self._rows(self.select_times, entity_id, series)]

    def damage(self) -> str | None:
        """The fault of a file that is damaged, in words; None where none was found so far.

        Damage in parts of the file that nothing has read yet is not found. It raises no error.
        """
        return None

    @abstractmethod
    def page(self, wanted: PageRequest) -> Page:
        """The newest points that are asked for, those of one time by their parts.

        The page ends with the point that reaches `limit` or `most_bytes`, but never between two
        points of one time.
        """

    def newest_point(self, entity_id: str, series: str, part: str) -> tuple[int, bytes] | None:
        """Time and JSON of the newest point of a part of a series; None without any."""
        wanted = PageRequest(entity_id=entity_id, series=series, part=part, limit=1, most_bytes=1)
        points = self.page(wanted).points
        return points[0] if points else None

    @abstractmethod
    def delete(self, entity_id: str, series: str, at: int | None = None) -> int:
        """Delete the points of a series at a time, or all of them; returns how many there were."""

    def delete_before(self, entity_id: str, series: str, time: int) -> int:
        """Delete the points of a series from before a time; returns how many there were."""
        wanted = PageRequest(
            entity_id=entity_id, series=series, until=time - 1, limit=1_000, most_bytes=1_000_000
        )
        deleted = 0
        while points := self.page(wanted).points:
            deleted += sum(self.delete(entity_id, series, at) for at in {at for at, _ in points})
        return deleted

    def rank_usage(self, kind: str, day: int, now: int) -> None:
        """Store for each entity of a kind that was used on a day its rank in the kind.

        The day is given by its first millisecond. Raises InvalidInput for a day that is too old or
        in the future, and StoreUnavailable, also when it takes too long: ranks that were computed
        before are replaced part by part.
        """
        self._bounds.check_time(day, now, "ranking")
        for ranks in ranked(self._used(kind, day), day, self._bounds):
            self.write_all(ranks, now)

    def written(self, limit: int) -> list[tuple[str, int]]:
        """At most `limit` entities of which points were written or deleted, each with its turn.

        They are those that `settle` has not been told of, and points that contracts are held
        against: results, refreshes and profiles of columns.
        """
        return [(entity, turn) for entity, turn in self._rows(self.select_written.format(limit))]

    @abstractmethod
    def settle(self, written: Sequence[tuple[str, int]]) -> None:
        """Forget entities that `written` gave, but for those that were written to since."""

    @abstractmethod
    def query_costs(self, service_id: str) -> list[CostSums]:
        """The costs of a service's queries, the total first; empty without records."""

    def entities(self) -> list[str]:
        """The ids of all entities that have points; none where nothing was ever stored."""
        return [entity_id for (entity_id,) in self._rows(self.select_entities)]

    def forget(self, entity_id: str) -> None:
        """Delete all points of an entity, so many in a transaction."""
        while self._sweep(entity_id, None):
            pass

    def newest_time(self) -> int:
        """The time of the newest point, 0 without points."""
        rows = self._rows(self.select_newest_time)
        return rows[0][0] or 0 if rows else 0

    def forget_older(self, now: int) -> None:
        """Delete the points of all entities that are too old, so many in a transaction."""
        while self._sweep(None, self._bounds.oldest(now)):
            pass

    @abstractmethod
    def read_beside(self, statement: str, *values: Any) -> list[Any]:
        """The rows of a statement, with `?` for values, on what is kept beside the points."""

    @abstractmethod
    def beside(self) -> AbstractContextManager[KeptBeside]:
        """A transaction for a block, which survives power loss once the block has ended."""

    @abstractmethod
    def close(self) -> None:
        """Close all connections; nothing may use the measurements afterwards."""

    @abstractmethod
    def _rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of a statement that reads; none where nothing was ever stored."""

    @abstractmethod
    def _store(self, bodies: Mapping[str, Mapping[Key, bytes]]) -> None:
        """Store the JSON of points of entities in one transaction; raises as `write_all` does."""

    @abstractmethod
    def _sweep(self, entity_id: str | None, until: int | None) -> bool:
        """Delete `Bounds.at_once` points of an entity, or from before a time; True if it did."""

    @abstractmethod
    def _used(self, kind: str, day: int) -> list[UseSums]:
        """The entities of a kind that were used on a day, with their use in the days up to it."""
