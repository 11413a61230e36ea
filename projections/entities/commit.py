"""Writes what became of entities, and keeps lists, totals, digests and the past equal to them."""

from collections.abc import Mapping, Sequence
from operator import itemgetter

from msgspec.structs import astuple

from domain.edges import edge_ends
from domain.reading.moments import LogDays, Moment
from projections.entities.commit_changes import CommitChanges
from projections.entities.commit_session import CommitSession
from projections.entities.daily_counts import DayCounts, EventCounts
from projections.entities.past_changes import PastChanges
from projections.entities.replaced_states import EntityChange, HeldState, ReplacedState, memberships
from projections.entities.stored_entity import held_digests

_NEWEST_MOMENT = "SELECT at, position FROM {}.moments ORDER BY at DESC LIMIT 1"


def _write_moments(session: CommitSession, moments: Sequence[Moment]) -> LogDays:
    """Add those moments that are later than all that are stored; returns the days of a commit."""
    newest = session.rows(_NEWEST_MOMENT)
    later = [each for each in moments if not newest or each[0] > newest[0][0]]
    session.write(session.sql.add_moments, later)
    return LogDays([*newest, *later])


def write_entities(
    session: CommitSession,
    entities: Mapping[str, EntityChange],
    moments: Sequence[Moment],
    events: EventCounts,
) -> None:
    """Store the changes of entities, by id, with the moments and events of the commit."""
    days = DayCounts(_write_moments(session, moments))
    days.add_events(events)
    sql = session.sql
    rows = session.rows_of(sql.held, [(entity_id,) for entity_id in entities])
    held = {one.id: one for one in (HeldState(*row) for row in rows)}
    stored = [change.stored for change in entities.values() if change.stored is not None]
    changes = CommitChanges(held.values(), stored)
    digests = held_digests(session.rows_of(sql.digests, [(kind,) for kind in changes.kinds]))
    session.replace(held, stored)
    session.write(sql.count, changes.totals)
    session.write(sql.put_digests, changes.digests(digests))
    write_past(session, held, entities, days)


def write_past(
    session: CommitSession,
    held: Mapping[str, HeldState],
    entities: Mapping[str, EntityChange],
    days: DayCounts,
) -> None:
    """Keep the states that are replaced.

    `held` are the states that were stored before the commit; `entities` are the changes, which the
    caller has stored already. `days` has the events of the commit.
    """
    sql, changes = session.sql, PastChanges()
    for entity_id, change in entities.items():
        changes.add(held.get(entity_id), change)
    if ends := changes.ends:
        rows = session.rows_of(sql.stored, [(entity_id,) for entity_id in ends])
        changes.keep_edges({entity_id for (entity_id,) in rows})
    if changes.purged:
        _remove_past(session, changes)
    moved = session.rows_of(sql.moved, changes.moved)
    last = session.rows_of(sql.last_totals, changes.series)
    days.add_coverage(changes.coverage)
    digests = held_digests(session.rows_of(sql.pasts, [(kind,) for kind in changes.kinds]))
    for statement, written in (
        (sql.keep, [astuple(row) for row in changes.replaced]),
        (sql.end, [*changes.ended, *moved]),
        (sql.unlist, sorted(changes.unlisted)),
        (sql.list_, sorted(changes.listed, key=itemgetter(*range(5)))),
        (sql.put_totals, changes.totals({row[:3]: row[3] for row in last})),
        (sql.forget, changes.forgotten),
        (sql.put_pasts, changes.pasts(digests, moved)),
        (sql.add_to_days, days.rows),
    ):
        session.write(statement, written)


def _remove_past(session: CommitSession, changes: PastChanges) -> None:
    """Remove the past of purged entities, and that of edges between them and others."""
    sql, gone = session.sql, {*changes.purged}
    keys = [(entity_id,) for entity_id in changes.purged]
    edges = {edge for each in sql.edges_of for (edge,) in session.rows_of(each, keys)}
    held = session.rows_of(sql.history_of, [(each,) for each in gone | edges])
    # The purged entity may be only the pipeline of an edge, whose past stays.
    rows = [
        row
        for row in (ReplacedState(*each) for each in held)
        if row.id in gone or not gone.isdisjoint(edge_ends(row.fqn))
    ]
    ended = {key[:5] for row in rows for key in memberships(row)}
    changes.remove(rows, session.rows_of(sql.remove_ended, [*ended]))
    session.write(sql.remove_history, [*{(row.id,) for row in rows}])
