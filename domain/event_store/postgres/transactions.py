"""Appends in one order, each group in one transaction and one round trip.

Who appends holds an advisory lock from before it reads until its commit is visible, which needs no
wait for the disk: the commit is asynchronous, and a statement after it waits until it is on disk.
So those who append wait for their disk together, and positions still become visible in order.
"""

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Any

import psycopg
from psycopg.errors import UniqueViolation

from domain.errors import OutcomeUnknown, StoreUnavailable
from domain.event_store import refusals
from domain.event_store.appends import outdated
from domain.event_store.entity_reads import RENAME_BITS
from domain.event_store.features import Known
from domain.event_store.postgres.appending import (
    APPEND,
    APPEND_ALONE,
    APPEND_EVENT,
    append_parameters,
    event_parameters,
    position_in_log,
    refusal_of,
    synced_position,
)
from domain.event_store.postgres.clock import ClockGuard
from domain.event_store.postgres.connections import Connections, unavailable
from domain.event_store.postgres.features import (
    CHECK,
    CHECK_UNMENTIONED,
    NAME_WITH,
    naming,
    read_known,
    were_mentioned,
    were_named,
)
from domain.event_store.postgres.link import Link
from domain.event_store.writes import Append, Refusal

_PAUSE_SECONDS = 0.05
_ORDER = "SELECT set_config('synchronous_commit', 'off', true), pg_advisory_xact_lock(%b)"
"""Takes the order lock in a statement of its own: the next statement sees all earlier appends."""
_SYNC = (
    "SELECT setval('positions', greatest(last_value, (SELECT max(position) FROM events)))"
    " FROM positions"
)
"""Once this is committed, all that was visible before is on disk; `damage` looks at its write."""
_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"
_END_SESSION = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = %b"
"""Gives no row once the session has ended."""


class _Broken(Exception):
    """A group failed between its begin and its sync: it may be stored, or be stored yet."""

    def __init__(self, link: Link) -> None:
        """`link` is the connection of the group; it is closed here unless it is closed already."""
        super().__init__()
        self.session = link.session
        link.close()


class Transactions:
    """Stores groups of appends; shared by threads."""

    def __init__(self, connections: Connections, schema: str) -> None:
        self._connections = connections
        self._clock = ClockGuard()
        self._known: Known | None = None
        """The features and names as last read; the database refuses an append if they changed."""
        digest = blake2b(b"order\0" + schema.encode(), digest_size=8).digest()
        self._key = int.from_bytes(digest, "big", signed=True)
        """Key of the advisory lock: logs in other schemas have orders of their own."""

    @property
    def epoch(self) -> int:
        """The epoch of the log, as this process knows it; see `EntityReads.epoch`."""
        known, server = self._known, self._connections.epoch
        renames = known.renames if known is not None and known.epoch == server else 0
        return _epoch_of(server, renames)

    def clock_fault(self, link: Link) -> str | None:
        """See `EventStore.clock_fault`; raises psycopg.Error."""
        return self._clock.fault(link)

    def order(self, link: Link) -> None:
        """Take the order lock until the end of the transaction; raises psycopg.Error."""
        link.execute(_ORDER.encode(), [self._key])

    def append(self, appends: Sequence[Append]) -> tuple[int, list[int | Refusal]]:
        """Store a group, each append or its refusal; see `EventStore.append_group`.

        Returns the results with the epoch in which the group is stored.
        """
        try:
            return self._append(appends)
        except _Broken as broken:
            return self._settle(appends, broken)

    def _append(self, appends: Sequence[Append]) -> tuple[int, list[int | Refusal]]:
        """Store a group; raises StoreUnavailable when it is not stored, and _Broken."""
        with self._connections.use() as link:
            return link.epoch, self._append_by(link, appends)

    def _append_by(self, link: Link, appends: Sequence[Append]) -> list[int | Refusal]:
        """Store a group over a connection; raises as `_append` does."""
        try:
            self._clock.check(link)
            results = self._store(link, appends)
        except psycopg.Error as error:
            if not self._is_stored(link, appends):
                raise unavailable(error) from error
            raise _Broken(link) from error
        if link.sync_was_cut or link.epoch != self._connections.epoch:
            # What was committed may not last, in spite of what the server says: it has given up
            # its wait for a standby, or another server has taken its place meanwhile.
            raise _Broken(link)
        return results

    def _store(self, link: Link, appends: Sequence[Append]) -> list[int | Refusal]:
        """Store the appends of this epoch, refuse others; raises LaterRelease and psycopg.Error."""
        known = self._known
        if known is None or known.epoch != link.epoch:
            known = self._known = read_known(link)
        while True:
            epoch = _epoch_of(link.epoch, known.renames)
            refused = [outdated(append, epoch) for append in appends]
            left = [append for append, why in zip(appends, refused, strict=True) if why is None]
            try:
                results = iter(self._store_current(link, left, known) if left else ())
            except psycopg.Error as error:
                if not were_named(error):
                    raise
                link.rollback()
                known = self._known = read_known(link)
                continue
            if any(append.expecting.unmentioned for append in left):
                self._known = read_known(link)
            return [next(results) if why is None else why for why in refused]

    def _store_current(
        self, link: Link, appends: Sequence[Append], known: Known
    ) -> list[int | Refusal]:
        """Store a group by the cheapest statement; raises as `_store` does."""
        one = appends[0]
        if len(appends) > 1 or not one.features <= known.names or one.expecting.unmentioned:
            try:
                return self._append_all(link, appends, known)
            except psycopg.Error as error:
                if not were_mentioned(error):
                    raise
                link.rollback()
                ids = dict.fromkeys(row[0] for append in appends for row in append.rows)
                # As such an append is a group of its own, nobody else has to plan again.
                return [refusals.mentioned([*ids])] * len(appends)
        return [self._append_alone(link, one, known)]

    def _append_alone(self, link: Link, append: Append, known: Known) -> int | Refusal:
        """Store a group of one by one statement, which commits; by another where it is refused."""
        if (event := event_parameters(append)) is not None:
            # When this statement stores nothing, the other one finds out why.
            with suppress(UniqueViolation):
                ((position,),) = link.rows(APPEND_EVENT, self._key, known.newest, *event)
                if position is not None:
                    return int(position)
        values = append_parameters(append)
        return _result(link.one(APPEND_ALONE, self._key, known.newest, *values))

    def _append_all(
        self, link: Link, appends: Sequence[Append], known: Known
    ) -> list[int | Refusal]:
        """Store a group by a statement for each append, in one round trip."""
        calls = [(append_parameters(each), naming(each, known)) for each in appends]
        cursors = []
        with link.pipeline():
            link.execute(_BEGIN.encode(), prepare=False)
            self.order(link)
            link.execute(CHECK.encode(), [known.newest])
            for expected in (append.expecting.unmentioned for append in appends):
                if expected is not None:
                    texts = [expected.after, [*expected.texts]]
                    link.execute(CHECK_UNMENTIONED.encode(), texts)
            for call, naming_call in calls:
                cursors.append(link.cursor(binary=True).execute(APPEND.encode(), call))
                if naming_call is not None:
                    link.execute(NAME_WITH.encode(), naming_call)
            link.execute("COMMIT", prepare=False)
            link.execute(_SYNC.encode())
        return [_result(cursor.fetchone()) for cursor in cursors]

    def _is_stored(self, link: Link, appends: Sequence[Append]) -> bool:
        """True if a failed statement had stored a part of a group before it failed.

        A statement can fail behind its commit. Raises _Broken where the server does not answer.
        """
        try:
            if not link.closed:
                link.rollback()
            return any(position_in_log(link, append) is not None for append in appends)
        except psycopg.Error as error:
            raise _Broken(link) from error

    def _settle(
        self, appends: Sequence[Append], broken: _Broken
    ) -> tuple[int, list[int | Refusal]]:
        """The results of a group whose connection broke; it is stored now if it was not.

        The session of the group is ended first, so that it cannot store later what is refused now.
        Then the group is appended again. An append that is refused then, though its own events are
        in the log, was stored before: events have the id of their request, so that those of other
        requests differ.
        """
        ends = time.monotonic() + self._connections.settle_seconds
        session, cause = broken.session, broken
        while True:
            try:
                if self._has_ended(session):
                    epoch, results = self._append(appends)
                    return epoch, [*map(self._settled, appends, results)]
            except _Broken as again:
                session = again.session
            except StoreUnavailable:
                # The server is away: whether it stays away is seen below.
                pass
            if time.monotonic() >= ends:
                raise OutcomeUnknown(
                    "the database of the event log went away during this write, which may have"
                    " been stored: repeat it with the same Idempotency-Key, or read it"
                ) from cause
            threading.Event().wait(_PAUSE_SECONDS)

    def _has_ended(self, session: int) -> bool:
        """True if the server has no session of a number; ends it where there is one."""
        with self._connections.use() as link:
            try:
                return link.one(_END_SESSION, session) is None
            except psycopg.Error as error:
                raise unavailable(error) from error

    def _settled(self, append: Append, result: int | Refusal) -> int | Refusal:
        """The result of an append that may have been stored before this try."""
        if isinstance(result, int):
            return result
        stored = self._connections.ask(lambda link: synced_position(link, append))
        return result if stored is None else stored


def _epoch_of(server: int, renames: int) -> int:
    """The epoch of the log on a server, once names have changed so often."""
    return server << RENAME_BITS | renames


def _result(row: Any) -> int | Refusal:
    """The result of an append, from the answer of APPEND and APPEND_ALONE."""
    position, refusal, concerned, unmet = row
    return position if refusal is None else refusal_of(refusal, concerned, unmet)
