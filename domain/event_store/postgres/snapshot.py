"""The log at one moment, in a transaction of its own, and the faults that a database can prove."""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import TypeVar

import psycopg

from domain.event_store.port import Claim, Problem, StoredRow, StreamSpan
from domain.event_store.postgres import reading
from domain.event_store.postgres.connections import unavailable
from domain.event_store.postgres.features import read_features
from domain.event_store.postgres.link import Link

T = TypeVar("T")

_BEGIN = (
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    # Whoever reads the whole log may take hours, and the reader of an export may pause.
    "SET LOCAL statement_timeout = 0",
    "SET LOCAL idle_in_transaction_session_timeout = 0",
)
_IDS = 1_000
_EXTENT = "SELECT coalesce(max(position), 0), count(*) FROM events"
_LIVE = {
    by_name: f"COPY (SELECT id FROM claims ORDER BY {order}) TO STDOUT".encode()
    for by_name, order in ((True, "kind, deleted, name, id"), (False, "id"))
}
_STREAMS = (
    "SELECT count(*) FILTER (WHERE stream_version = 1)"
    " - count(*) FILTER (WHERE type = 'entity.purged') FROM events"
)
_RESTORED = "SELECT head, count FROM restored"
_KEPT = "SELECT count(*) FROM events WHERE position <= %b"
_GAPS = """
SELECT previous + 1, position - 1 FROM (
    SELECT position, lag(position, 1, %b::bigint) OVER (ORDER BY position) AS previous
    FROM events WHERE position > %b) following
WHERE position > previous + 1 ORDER BY position
"""
_GIVEN = "SELECT last_value FROM positions"
_LOST_ANSWERS = (
    "SELECT actor, key FROM answers a WHERE NOT EXISTS (SELECT FROM events e"
    " WHERE e.entity_id = a.entity_id AND e.stream_version = a.stream_version) ORDER BY 1, 2"
)


class PostgresSnapshot:
    """One read transaction on a connection of its own, which it closes.

    Writers go on beside a snapshot, but rows that are deleted meanwhile stay on disk.
    """

    def __init__(self, link: Link) -> None:
        self._link = link
        for statement in _BEGIN:
            link.execute(statement)
        ((self.head, self.count),) = self._link.rows(_EXTENT)

    def features(self) -> dict[str, str]:
        """The features that are named; see `EventStore.features`."""
        try:
            return read_features(self._link)
        except psycopg.Error as error:
            raise unavailable(error) from error

    def events(self, after: int = 0) -> Iterator[StoredRow]:
        """The events with positions above `after`, in log order."""
        return _translated(reading.all_events(self._link, after))

    def streams(self, ids: Sequence[str] | None = None) -> Iterator[StoredRow]:
        """The streams of these entities (None: of all), in order of id and stream version."""
        if ids is None:
            return _translated(reading.all_streams(self._link))
        return _translated(self._streams(sorted(ids)))

    def claims(self, ids: Sequence[str] | None = None) -> Iterator[Claim]:
        """The claims of these entities (None: of all), in order of id."""
        if ids is None:
            return _translated(reading.all_claims(self._link))
        return _translated(self._claims(sorted(ids)))

    def live(self, *, by_name: bool) -> tuple[bytes, int]:
        """The ids of the claims in order, and the number of streams that are not purged."""
        ids = bytearray()
        try:
            with self._link.cursor().copy(_LIVE[by_name]) as copy:
                for data in copy:
                    ids += bytes(data).replace(b"\n", b"")
            ((streams,),) = self._link.rows(_STREAMS)
        except psycopg.Error as error:
            raise unavailable(error) from error
        return bytes(ids), streams

    def lost(self) -> Iterator[Problem]:
        """Problems for events that were removed, and for answers that refer to no event.

        A refused append takes no position, and a removed event gives none back. So a gap is an
        event that was removed, except among events restored from another log.
        """
        return _translated(self._lost())

    def close(self) -> None:
        """End the transaction."""
        self._link.close()

    def _lost(self) -> Iterator[Problem]:
        head, count = next(iter(self._link.rows(_RESTORED)), (0, 0))
        ((kept,),) = self._link.rows(_KEPT, head)
        if kept != count:
            what = f"{count} events up to position {head} were restored, {kept} are there"
            yield Problem(0, "", what)
        for first, last in self._link.rows(_GAPS, head, head):
            gap = f"{first}" + (f" to {last}" if last > first else "")
            yield Problem(first, "", f"no event at position {gap}")
        ((given,),) = self._link.rows(_GIVEN)
        if given > self.head:
            what = f"positions up to {given} were given, the log ends at {self.head}"
            yield Problem(self.head + 1, "", what)
        for actor, key in self._link.rows(_LOST_ANSWERS):
            what = f"the answer remembered for {actor!r} under key {key!r} refers to no event"
            yield Problem(0, "", what)

    def _streams(self, ids: Sequence[str]) -> Iterator[StoredRow]:
        left = deque(StreamSpan(entity_id) for entity_id in ids)
        while left:
            yield from reading.read_spans(self._link, left, reading.MAX_INTEGER)

    def _claims(self, ids: Sequence[str]) -> Iterator[Claim]:
        for start in range(0, len(ids), _IDS):
            yield from reading.claims_of(self._link, ids[start : start + _IDS])


def _translated(items: Iterator[T]) -> Iterator[T]:
    """The items, with psycopg's errors raised as StoreUnavailable."""
    try:
        yield from items
    except psycopg.Error as error:
        raise unavailable(error) from error
