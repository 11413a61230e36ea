"""Writes stored entities to PostgreSQL, and keeps lists, totals and digests equal to them."""

from collections.abc import Mapping, Sequence

from domain.event_store.postgres.link import Link
from domain.reading.moments import LogDays, Moment
from projections.entities.commit_changes import CommitChanges
from projections.entities.daily_counts import DayCounts
from projections.entities.postgres.commit_past import write_past
from projections.entities.postgres.database import EntityTables, write_rows
from projections.entities.postgres.tables import TYPES, entity_row
from projections.entities.replaced_states import LARGE, EntityChange, HeldState
from projections.entities.stored_entity import held_digests

_STORED = (
    "SELECT kind, deleted, name, id, fqn, status, scopes, covered, position,"
    f" CASE WHEN octet_length(core) <= {LARGE} THEN core END,"
    f" CASE WHEN octet_length(optional) <= {LARGE} THEN optional END, digest"
    " FROM {}.entities WHERE id = ANY (%b::text[])"
)
_REMOVE = "DELETE FROM {}.entities WHERE id = ANY (%b::text[])"
_INSERT = "INSERT INTO {}.entities SELECT * FROM " + (
    f"unnest({', '.join(f'%b::{type_name}[]' for type_name in TYPES)})"
)
_COUNT = (
    "INSERT INTO {}.counters AS c"
    " SELECT * FROM unnest(%b::text[], %b::text[], %b::int8[], %b::text[], %b::int8[])"
    " ON CONFLICT (kind, scope, deleted, status) DO UPDATE SET n = c.n + excluded.n"
)
DIGESTS = "SELECT kind, n, sum FROM {}.digests WHERE n > 0 ORDER BY kind"
_NEWEST_MOMENT = "SELECT at, position FROM {}.moments ORDER BY at DESC LIMIT 1"
_MOMENTS = "INSERT INTO {}.moments SELECT * FROM unnest(%b::int8[], %b::int8[])"
_DIGEST = (
    "INSERT INTO {}.digests SELECT * FROM unnest(%b::text[], %b::int8[], %b::bytea[])"
    " ON CONFLICT (kind) DO UPDATE SET n = excluded.n, sum = excluded.sum"
)


def write_moments(link: Link, tables: EntityTables, moments: Sequence[Moment]) -> LogDays:
    """Add those moments that are later than all that are stored; returns the days of a commit."""
    newest = link.rows(tables.within(_NEWEST_MOMENT))
    later = [each for each in moments if not newest or each[0] > newest[0][0]]
    write_rows(link, tables, _MOMENTS, later)
    return LogDays([*newest, *later])


def write_entities(
    link: Link, tables: EntityTables, entities: Mapping[str, EntityChange], days: DayCounts
) -> None:
    """Store what became of entities, by id, within the link's transaction.

    `days` have the events of the commit.
    """
    rows = link.rows(tables.within(_STORED), [*entities])
    held = {one.id: one for one in (HeldState(*row) for row in rows)}
    to_store = [change.stored for change in entities.values() if change.stored is not None]
    changes = CommitChanges(held.values(), to_store)
    digests = held_digests(link.rows(tables.within(DIGESTS)))
    for statement, written in (
        (_REMOVE, [(entity_id,) for entity_id in held]),
        (_INSERT, [entity_row(one) for one in to_store]),
        (_COUNT, changes.totals),
        (_DIGEST, changes.digests(digests)),
    ):
        write_rows(link, tables, statement, written)
    write_past(link, tables, held, entities, days)
