"""Moves the horizon of the sorted read model in PostgreSQL, and removes the past before it."""

from domain.event_store.postgres.link import Link
from domain.reading.horizon import Horizon
from projections.entities.postgres.commit_past import (
    ENDED_COLUMNS,
    FORGET,
    KEYS,
    PAST,
    PASTS,
    SAME_MEMBERSHIP,
    SERIES,
    asked,
)
from projections.entities.postgres.database import EntityTables, write_rows
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
from projections.entities.stored_entity import held_digests

READ_HORIZON = "SELECT horizon, horizon_at FROM {}.checkpoint"
_BEGIN = "SELECT position, horizon, horizon_at FROM {}.checkpoint FOR UPDATE"
"""Waits for whoever commits to this read model, and has others wait for this step."""
_MOVE = "UPDATE {}.checkpoint SET horizon = %b, horizon_at = %b"
_DAY_BEGAN, _MOMENTS, _REACHED, _ENDED, _TOTALS, _FORGOTTEN = (
    sql.replace("{}", "{}.").replace("?", "%b")
    for sql in (DAY_BEGAN, MOMENTS, REACHED, ENDED, TOTALS, FORGOTTEN)
)
_REMOVE = "DELETE FROM {}.history WHERE until > %b AND until <= %b"
_REMOVE_ENDED = (
    f"DELETE FROM {{}}.history_scopes s USING {KEYS}, %b::int8[])"
    " AS one (scope, kind, deleted, name, id, until)"
    f" WHERE {SAME_MEMBERSHIP} AND s.until = one.until RETURNING {ENDED_COLUMNS.format('s')}"
)
_REMOVE_TOTALS, _REMOVE_FORGOTTEN = (
    f"DELETE FROM {{}}.{table} t USING {SERIES}, %b::int8[])"
    " AS one (kind, deleted, status, position) WHERE (t.kind, t.deleted, t.status, t.position)"
    " = (one.kind, one.deleted, one.status, one.position)"
    for table in ("kind_totals", "forgotten")
)


def prune(link: Link, tables: EntityTables, upto: int, most: int) -> Horizon:
    """Take one step of the horizon within the link's transaction; see the port."""
    ((checkpoint, *horizon),) = link.rows(tables.within(_BEGIN))
    step = PruningStep(checkpoint, Horizon(*horizon), upto, most)
    if step.moves:
        ((reached,),) = link.rows(tables.within(_REACHED), step.before.position, step.upto)
        step.bound(reached)
        step.see(
            link.rows(tables.within(_DAY_BEGAN), step.day),
            link.rows(tables.within(_MOMENTS), step.time, most),
        )
        _remove(link, tables, step)
        moved = step.horizon
        link.execute(tables.within(_MOVE).encode(), (moved.position, moved.at))
    return step.horizon


def _remove(link: Link, tables: EntityTables, step: PruningStep) -> None:
    span = step.before.position, step.upto
    rows = [ReplacedState(*row) for row in link.rows(tables.within(_ENDED), *span)]
    ended = asked(link, tables, _REMOVE_ENDED, ended_keys(rows))
    changes = past_without(rows, ended)
    held = held_digests(link.rows(tables.within(PASTS), [*changes.kinds]))
    totals = link.rows(tables.within(_TOTALS), *span)
    forgotten, together = put_together(link.rows(tables.within(_FORGOTTEN), step.upto))
    link.execute(tables.within(_REMOVE).encode(), span)
    for statement, written in (
        (PAST, changes.pasts(held)),
        (_REMOVE_TOTALS, step.superseded(totals)),
        (_REMOVE_FORGOTTEN, [row[:4] for row in forgotten]),
        (FORGET, together),
    ):
        write_rows(link, tables, statement, written)
