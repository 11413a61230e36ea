"""Moves the horizon of the sorted read model in SQLite, and removes the past before it."""

import sqlite3

from domain.reading.horizon import Horizon
from projections.entities.pruning import (
    DAY_BEGAN,
    ENDED,
    FORGOTTEN,
    MOMENTS,
    REACHED,
    TOTALS,
    PruningStep,
    ended_keys,
    past_without,
    put_together,
)
from projections.entities.replaced_states import ReplacedState
from projections.entities.sqlite.commit_past import PAST
from projections.entities.sqlite.tables import FORGET, INSERT_PAST
from projections.entities.stored_entity import held_digests

READ_HORIZON = "SELECT horizon, horizon_at FROM checkpoint"
_BEGUN = "SELECT position, horizon, horizon_at FROM checkpoint"
_MOVE = "UPDATE checkpoint SET horizon = ?, horizon_at = ?"
_DAY_BEGAN, _MOMENTS, _REACHED, _ENDED, _TOTALS, _FORGOTTEN = (
    sql.replace("{}", "") for sql in (DAY_BEGAN, MOMENTS, REACHED, ENDED, TOTALS, FORGOTTEN)
)
_REMOVE_ENDED = (
    "DELETE FROM history_scopes WHERE scope = ? AND kind = ? AND deleted = ? AND name = ?"
    " AND id = ? AND until = ? RETURNING *"
)
_REMOVE = "DELETE FROM history WHERE until > ? AND until <= ?"
_REMOVE_ROW = "DELETE FROM {} WHERE kind = ? AND deleted = ? AND status = ? AND position = ?"


def prune(connection: sqlite3.Connection, upto: int, most: int) -> Horizon:
    """Take one step of the horizon within the connection's transaction; see the port."""
    begun = connection.execute(_BEGUN).fetchone()
    if begun is None:
        return Horizon()
    checkpoint, *horizon = begun
    step = PruningStep(checkpoint, Horizon(*horizon), upto, most)
    if step.moves:
        step.bound(*connection.execute(_REACHED, (step.before.position, step.upto)).fetchone())
        step.see(
            connection.execute(_DAY_BEGAN, (step.day,)).fetchall(),
            connection.execute(_MOMENTS, (step.time, most)),
        )
        _remove(connection, step)
        connection.execute(_MOVE, (step.horizon.position, step.horizon.at))
    return step.horizon


def _remove(connection: sqlite3.Connection, step: PruningStep) -> None:
    span = step.before.position, step.upto
    rows = [ReplacedState(*row) for row in connection.execute(_ENDED, span)]
    keys = ended_keys(rows)
    ended = [row for key in keys for row in connection.execute(_REMOVE_ENDED, key)]
    changes = past_without(rows, ended)
    held = held_digests(row for kind in changes.kinds for row in connection.execute(PAST, (kind,)))
    totals = connection.execute(_TOTALS, span)
    superseded = step.superseded(totals)
    forgotten, together = put_together(connection.execute(_FORGOTTEN, span[1:]))
    connection.execute(_REMOVE, span)
    for statement, written in (
        (INSERT_PAST, changes.pasts(held)),
        (_REMOVE_ROW.format("kind_totals"), superseded),
        (_REMOVE_ROW.format("forgotten"), [row[:4] for row in forgotten]),
        (FORGET, together),
    ):
        if written:
            connection.executemany(statement, written)
