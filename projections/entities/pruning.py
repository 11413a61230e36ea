"""Moves the horizon of a sorted read model, and removes the past before it, in any database.

States and memberships of lists that ended before the horizon are removed. The last total of a kind
on each day of the log stays, so that figures by day can be given for ever. The rows that take
purged entities off a total become one row.
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
"""Gives the position at which the earliest of the last days of the log that have moments began;
NULL where there are fewer days. Values: the number of days, twice."""
_MOMENTS = "SELECT at, position FROM {}.moments WHERE at > ? ORDER BY at LIMIT ?"
"""Gives the next moments after a time. Values: the time, and how many."""
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


def prune(session: CommitSession, upto: int, most: int) -> Horizon:
    """Take one step of the horizon; see the port."""
    begun = session.rows(session.sql.begun)
    if not begun:
        return Horizon()
    ((checkpoint, *horizon),) = begun
    before = Horizon(*horizon)
    upto = min(upto, checkpoint, before.position + most)
    if upto <= before.position:
        return before
    ((reached,),) = session.rows(_REACHED, before.position, upto)
    if reached is not None:
        upto = reached
    began: list[Moment] = []
    after = -MAX_INTEGER
    if before.position:
        began, after = session.rows(_DAY_BEGAN, before.at // DAY * DAY), before.at
    passed = [each for each in session.rows(_MOMENTS, after, most) if each[1] <= upto]
    _remove(session, (before.position, upto), [*began, *passed])
    reached_at = passed[-1][0] if passed else before.at
    session.run(_MOVE, upto, reached_at)
    return Horizon(upto, reached_at)


def _remove(session: CommitSession, span: tuple[int, int], moments: Sequence[Moment]) -> None:
    """Remove the past between two positions; see `_superseded` for `moments`."""
    sql = session.sql
    rows = [ReplacedState(*row) for row in session.rows(_ENDED, *span)]
    keys = [(*row[:5], state.until) for state in rows for row in memberships(state)]
    changes = PastChanges()
    changes.sum(rows, session.rows_of(sql.remove_ended_at, keys), -1)
    held = held_digests(session.rows_of(sql.pasts, [(kind,) for kind in changes.kinds]))
    totals = _superseded(session.rows(_TOTALS, *span), moments)
    forgotten, together = put_together(session.rows(_FORGOTTEN, span[1]))
    session.run(_REMOVE, *span)
    for statement, written in (
        (sql.put_pasts, changes.pasts(held)),
        (sql.remove_totals, totals),
        (sql.remove_forgotten, [row[:4] for row in forgotten]),
        (sql.forget, together),
    ):
        session.write(statement, written)


def _superseded(
    rows: Iterable[TotalsRow], moments: Sequence[Moment]
) -> list[tuple[str, int, str, int]]:
    """Series and position of each total that a later total of the same day follows.

    `rows` come from _TOTALS. `moments` are the moments in the span of the rows, and before them the
    first moment of the day on which the span begins, if there is one.
    """
    days = LogDays(moments)
    known_from = min((position for _, position in moments), default=0)
    return [
        (kind, deleted, status, before)
        for kind, deleted, status, position, before in rows
        if before is not None and before >= known_from and days.of(before) == days.of(position)
    ]


def put_together(rows: Iterable[Step]) -> tuple[list[Step], list[Step]]:
    """Sum up rows from _FORGOTTEN: gives the rows to be removed, and those to be added instead."""
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
