"""What a sorted read model removes of the past as its horizon moves on, in any database.

Of states, and of memberships of lists, those that ended go. Of the totals of a kind the last one of
each day of the log stays, by which figures by day are told for ever. What is taken off for purged
entities becomes one row of each total.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from domain.event_store.port import MAX_INTEGER
from domain.reading.horizon import Horizon
from domain.reading.moments import DAY, LogDays, Moment
from projections.entities.replaced_states import (
    EndedMembership,
    PastChanges,
    ReplacedState,
    Series,
    Step,
    memberships,
)

MOST_FORGOTTEN = 4_000
"""Rows of `forgotten` that one step puts together at most; the next one goes on with the others."""

MOST_SCOPES = 30_000
"""Characters of the scopes of the states with which a step ends: each scope is a membership to be
removed, and an entity may have thousands of them."""

FIRST_OF_DAYS = f"""
WITH RECURSIVE days (day, n) AS (
    SELECT (SELECT max(at) FROM {{}}moments) / {DAY}, 1
    UNION ALL SELECT (SELECT max(at) FROM {{}}moments WHERE at < day * {DAY}) / {DAY}, n + 1
    FROM days WHERE day IS NOT NULL AND n < ?)
SELECT min(position) FROM {{}}moments
WHERE at = (SELECT min(at) FROM {{}}moments WHERE at >= (SELECT day FROM days WHERE n = ?) * {DAY})
"""
"""Gives the position at which the last of some days of the log began, of those on which it has
moments; NULL where it has fewer. Values: the number of days, twice."""
MOMENTS = "SELECT at, position FROM {}moments WHERE at > ? ORDER BY at LIMIT ?"
"""Gives the moments that come next. Values: a time, how many."""
DAY_BEGAN = "SELECT at, position FROM {}moments WHERE at >= ? ORDER BY at LIMIT 1"
"""Gives the first moment from a time on."""
ENDED = (
    "SELECT kind, deleted, name, id, fqn, status, scopes, since, until, NULL, NULL, digest"
    " FROM {}history WHERE until > ? AND until <= ?"
)
"""Gives the replaced states that ended between two positions, without their JSON. No index is gone
through from its beginning, where PostgreSQL has what was removed and not vacuumed yet."""
REACHED = f"""
SELECT min(until) FROM (SELECT until, sum(length(scopes)) OVER (ORDER BY until) AS characters
    FROM {{}}history WHERE until > ? AND until <= ?) one WHERE characters >= {MOST_SCOPES}
"""
"""Gives the position between two with which the ended states have MOST_SCOPES; NULL for none."""
TOTALS = (
    "SELECT t.kind, t.deleted, t.status, t.position, (SELECT u.position FROM {}kind_totals u"
    " WHERE u.kind = t.kind AND u.deleted = t.deleted AND u.status = t.status"
    " AND u.position < t.position ORDER BY u.position DESC LIMIT 1)"
    " FROM {}kind_totals t WHERE t.position > ? AND t.position <= ?"
)
"""Gives series and position of the totals between two positions, and the position of the total
before each; NULL for none."""
FORGOTTEN = (
    "SELECT kind, deleted, status, position, n FROM {}forgotten WHERE position <= ?"
    f" ORDER BY position LIMIT {MOST_FORGOTTEN}"
)


TotalsRow = tuple[str, int, str, int, int | None]
"""A row from TOTALS."""


class PruningStep:
    """One step of the horizon: how far it goes, and what is removed with it."""

    def __init__(self, checkpoint: int, before: Horizon, upto: int, most: int) -> None:
        """The horizon goes on from `before` to `upto`, by `most` positions at most."""
        self.before = before
        self.upto = min(upto, checkpoint, before.position + most)
        self.most = most
        self._days = LogDays()
        self._known_from = 0
        """The first position of which the day is known."""
        self.horizon = before

    @property
    def moves(self) -> bool:
        """True if the horizon moves at all."""
        return self.upto > self.before.position

    def bound(self, reached: int | None) -> None:
        """End the step with the position from REACHED, if there is one."""
        self.upto = self.upto if reached is None else reached

    @property
    def time(self) -> int:
        """The time after which the step's moments come."""
        return self.before.at if self.before.position else -MAX_INTEGER

    @property
    def day(self) -> int:
        """The time at which the day of the horizon before the step began."""
        return self.before.at // DAY * DAY

    def see(self, day_began: Sequence[Moment], moments: Iterable[Moment]) -> None:
        """Take note of the moments from MOMENTS, and of the one from DAY_BEGAN."""
        passed = [each for each in moments if each[1] <= self.upto]
        if not self.before.position:
            day_began = ()
        self._days = LogDays([*day_began, *passed])
        self._known_from = min((position for _, position in (*day_began, *passed)), default=0)
        at = passed[-1][0] if passed else self.before.at
        self.horizon = Horizon(self.upto, at)

    def superseded(self, rows: Iterable[TotalsRow]) -> list[tuple[str, int, str, int]]:
        """Series and position of the totals that another one of the same day follows.

        `rows` are those from TOTALS.
        """
        return [
            (kind, deleted, status, before)
            for kind, deleted, status, position, before in rows
            if before is not None
            and before >= self._known_from
            and self._days.of(before) == self._days.of(position)
        ]


def ended_keys(rows: Iterable[ReplacedState]) -> list[tuple[str, str, int, str, str, int]]:
    """The keys in `history_scopes` of the memberships that may have ended with some states."""
    return [(*row[:5], state.until) for state in rows for row in memberships(state)]


def past_without(rows: Sequence[ReplacedState], ended: Iterable[EndedMembership]) -> PastChanges:
    """The change of numbers and digests by the removal of states and memberships."""
    changes = PastChanges()
    changes.sum(rows, ended, -1)
    return changes


def put_together(rows: Iterable[Step]) -> tuple[list[Step], list[Step]]:
    """Of the rows from FORGOTTEN those to be removed, and those to be added in their place."""
    of_series: dict[Series, list[Step]] = defaultdict(list)
    for row in rows:
        of_series[row[:3]].append(row)
    removed: list[Step] = []
    added: list[Step] = []
    for series, some in of_series.items():
        total = sum(row[4] for row in some)
        if len(some) > 1 or not total:
            removed += some
            if total:
                added.append((*series, max(row[3] for row in some), total))
    return removed, added
