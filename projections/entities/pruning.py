"""Moves the horizon of a sorted read model, and removes the past before it, in any database.

Of states, and of memberships of lists, those that ended go. Of the totals of a kind the last one of
each day of the log stays, by which figures by day are told for ever. What is taken off for purged
entities becomes one row of each total.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from domain.event_store.port import MAX_INTEGER
from domain.reading.horizon import Horizon
from domain.reading.moments import DAY, LogDays, Moment
from projections.entities.commit_session import CommitSession
from projections.entities.past_changes import PastChanges
from projections.entities.replaced_states import ReplacedState, Series, Step, memberships
from projections.entities.stored_entity import held_digests

MOST_FORGOTTEN = 4_000
"""Rows of `forgotten` that one step puts together at most; the next one goes on with the others."""

MOST_SCOPES = 30_000
"""Characters of the scopes of the states with which a step ends: each scope is a membership to be
removed, and an entity may have thousands of them."""

READ_HORIZON = """
SELECT coalesce((SELECT horizon FROM {}.checkpoint), 0),
    coalesce((SELECT horizon_at FROM {}.checkpoint), 0)
"""
FIRST_AFTER = "SELECT (SELECT position FROM {}.moments WHERE at > ? ORDER BY at LIMIT 1)"
"""Gives the position of the first moment after a time; NULL where there is none."""
_MOVE = "UPDATE {}.checkpoint SET horizon = ?, horizon_at = ?"
_REMOVE = "DELETE FROM {}.history WHERE until > ? AND until <= ?"
FIRST_OF_DAYS = f"""
WITH RECURSIVE days (day, n) AS (
    SELECT (SELECT max(at) FROM {{}}.moments) / {DAY}, 1
    UNION ALL SELECT (SELECT max(at) FROM {{}}.moments WHERE at < day * {DAY}) / {DAY}, n + 1
    FROM days WHERE day IS NOT NULL AND n < ?)
SELECT min(position) FROM {{}}.moments
WHERE at = (SELECT min(at) FROM {{}}.moments WHERE at >= (SELECT day FROM days WHERE n = ?) * {DAY})
"""
"""Gives the position at which the last of some days of the log began, of those on which it has
moments; NULL where it has fewer. Values: the number of days, twice."""
_MOMENTS = "SELECT at, position FROM {}.moments WHERE at > ? ORDER BY at LIMIT ?"
"""Gives the moments that come next. Values: a time, how many."""
_DAY_BEGAN = "SELECT at, position FROM {}.moments WHERE at >= ? ORDER BY at LIMIT 1"
"""Gives the first moment from a time on."""
_ENDED = (
    "SELECT kind, deleted, name, id, fqn, status, scopes, since, until, NULL, NULL, digest"
    " FROM {}.history WHERE until > ? AND until <= ?"
)
"""Gives the replaced states that ended between two positions, without their JSON. No index is gone
through from its beginning, where PostgreSQL has what was removed and not vacuumed yet."""
_REACHED = f"""
SELECT min(until) FROM (SELECT until, sum(length(scopes)) OVER (ORDER BY until) AS characters
    FROM {{}}.history WHERE until > ? AND until <= ?) one WHERE characters >= {MOST_SCOPES}
"""
"""Gives the position between two with which the ended states have MOST_SCOPES; NULL for none."""
_TOTALS = (
    "SELECT t.kind, t.deleted, t.status, t.position, (SELECT u.position FROM {}.kind_totals u"
    " WHERE u.kind = t.kind AND u.deleted = t.deleted AND u.status = t.status"
    " AND u.position < t.position ORDER BY u.position DESC LIMIT 1)"
    " FROM {}.kind_totals t WHERE t.position > ? AND t.position <= ?"
)
"""Gives series and position of the totals between two positions, and the position of the total
before each; NULL for none."""
_FORGOTTEN = (
    "SELECT kind, deleted, status, position, n FROM {}.forgotten WHERE position <= ?"
    f" ORDER BY position LIMIT {MOST_FORGOTTEN}"
)


TotalsRow = tuple[str, int, str, int, int | None]
"""A row from _TOTALS."""


class PruningStep:
    """One step of the horizon: the positions that it passes, and the rows that it removes."""

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
        """End the step with the position from _REACHED, if there is one."""
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
        """Take note of the moments from _MOMENTS, and of the one from _DAY_BEGAN."""
        passed = [each for each in moments if each[1] <= self.upto]
        if not self.before.position:
            day_began = ()
        self._days = LogDays([*day_began, *passed])
        self._known_from = min((position for _, position in (*day_began, *passed)), default=0)
        at = passed[-1][0] if passed else self.before.at
        self.horizon = Horizon(self.upto, at)

    def superseded(self, rows: Iterable[TotalsRow]) -> list[tuple[str, int, str, int]]:
        """Series and position of the totals that another one of the same day follows.

        `rows` are those from _TOTALS.
        """
        return [
            (kind, deleted, status, before)
            for kind, deleted, status, position, before in rows
            if before is not None
            and before >= self._known_from
            and self._days.of(before) == self._days.of(position)
        ]


def prune(session: CommitSession, upto: int, most: int) -> Horizon:
    """Take one step of the horizon; see the port."""
    begun = session.rows(session.sql.begun)
    if not begun:
        return Horizon()
    ((checkpoint, *horizon),) = begun
    step = PruningStep(checkpoint, Horizon(*horizon), upto, most)
    if step.moves:
        ((reached,),) = session.rows(_REACHED, step.before.position, step.upto)
        step.bound(reached)
        step.see(session.rows(_DAY_BEGAN, step.day), session.rows(_MOMENTS, step.time, step.most))
        _remove(session, step)
        session.run(_MOVE, step.horizon.position, step.horizon.at)
    return step.horizon


def _remove(session: CommitSession, step: PruningStep) -> None:
    sql, span = session.sql, (step.before.position, step.upto)
    rows = [ReplacedState(*row) for row in session.rows(_ENDED, *span)]
    keys = [(*row[:5], state.until) for state in rows for row in memberships(state)]
    changes = PastChanges()
    changes.sum(rows, session.rows_of(sql.remove_ended_at, keys), -1)
    held = held_digests(session.rows_of(sql.pasts, [(kind,) for kind in changes.kinds]))
    superseded = step.superseded(session.rows(_TOTALS, *span))
    forgotten, together = put_together(session.rows(_FORGOTTEN, step.upto))
    session.run(_REMOVE, *span)
    for statement, written in (
        (sql.put_pasts, changes.pasts(held)),
        (sql.remove_totals, superseded),
        (sql.remove_forgotten, [row[:4] for row in forgotten]),
        (sql.forget, together),
    ):
        session.write(statement, written)


def put_together(rows: Iterable[Step]) -> tuple[list[Step], list[Step]]:
    """Of the rows from _FORGOTTEN those to be removed, and those to be added in their place."""
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
