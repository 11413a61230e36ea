"""The claims table: each qualified name in use, its entity, and the entity's parent."""

import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Any

import msgspec

from domain.edges import EDGE
from domain.event_store import refusals
from domain.event_store.entity_reads import SoughtClaims
from domain.event_store.stored import Claim
from domain.event_store.writes import ClaimChange, Expectations

SELECT_CLAIMS = (
    "SELECT kind, fqn, id, name, parent_id, deleted, (SELECT json_group_array(f.fqn)"
    " FROM former_names f WHERE f.id = claims.id GROUP BY f.id) FROM claims"
)
FORMER_NAMES = (
    "CREATE TABLE IF NOT EXISTS former_names (kind TEXT NOT NULL, fqn TEXT NOT NULL,"
    " id TEXT NOT NULL, PRIMARY KEY (kind, fqn)) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS former_names_by_id ON former_names (id, fqn)",
    "CREATE TABLE IF NOT EXISTS renames (one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER)",
    "CREATE TRIGGER IF NOT EXISTS claims_take BEFORE INSERT ON claims WHEN EXISTS (SELECT 1 FROM"
    " former_names f WHERE f.kind = NEW.kind AND f.fqn = NEW.fqn AND f.id <> NEW.id)"
    " BEGIN SELECT RAISE(ABORT, 'a former name'); END",
    "CREATE TRIGGER IF NOT EXISTS claims_retake BEFORE UPDATE OF fqn ON claims WHEN EXISTS"
    " (SELECT 1 FROM former_names f WHERE f.kind = NEW.kind AND f.fqn = NEW.fqn"
    " AND f.id <> NEW.id) BEGIN SELECT RAISE(ABORT, 'a former name'); END",
)
"""The names that entities had before they were renamed, and the number of renames so far."""
_STAND_IN = """
CREATE TEMP TABLE former_names (kind TEXT, fqn TEXT, id TEXT);
CREATE TEMP TABLE renames (one INTEGER, number INTEGER);
"""
RENAMES = "SELECT coalesce(max(number), 0) FROM renames"

_STATEMENTS = {
    "take": "INSERT INTO claims (kind, fqn, id, name, parent_id, deleted) VALUES (?,?,?,?,?,0)",
    "delete": "UPDATE claims SET deleted = 1 WHERE id = ?",
    "restore": "UPDATE claims SET deleted = 0 WHERE id = ?",
    "release": "DELETE FROM claims WHERE id = ?",
}
_KEEP = "INSERT INTO former_names SELECT kind, fqn, id FROM claims WHERE id = ?"
_TAKE_BACK = "DELETE FROM former_names WHERE kind = ? AND fqn = ? AND id = ?"
_RENAME = "UPDATE claims SET fqn = ?, name = ? WHERE id = ?"
_COUNT_RENAME = "INSERT INTO renames VALUES (1, 1) ON CONFLICT DO UPDATE SET number = number + 1"
_FORGET = "DELETE FROM former_names WHERE id = ?"
_HELD = (
    "SELECT fqn FROM claims WHERE kind = ?1 AND fqn = ?2 AND id <> ?3"
    " UNION SELECT fqn FROM former_names WHERE kind = ?1 AND fqn = ?2 AND id <> ?3"
)
_LIVE = "SELECT id FROM claims WHERE deleted = 0 AND id"
PARENTS_OF_KIND = "SELECT parent_id FROM claims WHERE deleted = 0 AND kind = ? AND parent_id"
_PARENTS = "SELECT parent_id FROM claims WHERE parent_id"
_PARENTS_OF_LIVE = "SELECT parent_id FROM claims WHERE deleted = 0 AND parent_id"
_BEGINNING = "substr(fqn, 1, instr(fqn, '.') - 1)"
"""The id of the entity at which an edge begins, in the edge's claim; its name is the other's id."""
EDGE_INDEXES = (
    f"CREATE INDEX IF NOT EXISTS edges_by_beginning ON claims ({_BEGINNING}) WHERE kind = '{EDGE}'",
    f"CREATE INDEX IF NOT EXISTS edges_by_end ON claims (name) WHERE kind = '{EDGE}'",
)
_EDGES_FROM = f"WHERE kind = '{EDGE}' AND {_BEGINNING}"
_EDGES_TO = f"WHERE kind = '{EDGE}' AND name"
_NAMED, _ONCE_NAMED = (
    "WHERE kind = ? AND fqn IN ({})",
    "WHERE id IN (SELECT id FROM former_names WHERE kind = ? AND fqn IN ({}))",
)
_NOTHING = Expectations()
MOST_SOUGHT = 100
"""Most values in one statement: a statement for each would cost twice as much."""


def look_up(
    cursor: sqlite3.Cursor, select: str, values: Iterable[str], *first: str
) -> Iterator[tuple[Any, ...]]:
    """The rows of a SELECT, which ends with a column, where this column is one of the values.

    `first` are the parameters before the column.
    """
    left = iter(values)
    while part := list(islice(left, MOST_SOUGHT)):
        placeholders = ",".join("?" * len(part))
        yield from cursor.execute(f"{select} IN ({placeholders})", (*first, *part))


def statements_for(sought: SoughtClaims) -> list[tuple[str, tuple[str, ...]]]:
    """The statements that give the claims sought, with their parameters.

    There is one, unless it would have more than MOST_SOUGHT parameters.
    """
    by_kind: dict[str, list[str]] = {}
    for kind, fqn in sought.get("names", ()):
        by_kind.setdefault(kind, []).append(fqn)
    wanted: list[tuple[str, Collection[str], tuple[str, ...]]] = [
        *((where, by_kind[kind], (kind,)) for kind in by_kind for where in (_NAMED, _ONCE_NAMED)),
        ("WHERE id IN ({})", sought.get("ids", ()), ()),
        ("WHERE parent_id IN ({})", sought.get("parents", ()), ()),
        *((f"{edges} IN ({{}})", sought.get("ends", ()), ()) for edges in (_EDGES_FROM, _EDGES_TO)),
    ]
    statements: list[tuple[str, tuple[str, ...]]] = []
    for where, values, first in wanted:
        left = iter(values)
        while part := tuple(islice(left, MOST_SOUGHT)):
            statements.append((_selecting(where, len(part)), first + part))
    if len(statements) > 1:
        parameters = tuple(chain.from_iterable([values for _, values in statements]))
        if len(parameters) <= MOST_SOUGHT:
            return [(" UNION ALL ".join([sql for sql, _ in statements]), parameters)]
    return statements


@cache
def _selecting(where: str, values: int) -> str:
    """The statement with a condition for so many values, MOST_SOUGHT at most."""
    return f"{SELECT_CLAIMS} {where.format(','.join('?' * values))}"


def stand_in(connection: sqlite3.Connection) -> None:
    """Let a connection read a log that no release has been able to rename in yet.

    It is for logs that are only read: those that are written to are given the tables.
    """
    there = connection.execute(
        "SELECT count(*) FILTER (WHERE name = 'claims'), count(*) FILTER (WHERE name = 'renames')"
        " FROM sqlite_master WHERE type = 'table'"
    ).fetchone()
    if (*there,) == (1, 0):
        connection.executescript(_STAND_IN)


def write_claims(cursor: sqlite3.Cursor, changes: Sequence[ClaimChange]) -> None:
    """Apply the changes in order; neighbours with the same action share one statement.

    Raises AlreadyExists when a name is claimed, ConcurrentChange when an entity holds a claim.
    """
    try:
        for action, run in groupby(changes, key=itemgetter(0)):
            values = [parameters for _, parameters in run]
            if action == "rename":
                for each in values:
                    _rename(cursor, *each[:4])
                continue
            cursor.executemany(_STATEMENTS[action], values)
            if action == "release":
                cursor.executemany(_FORGET, values)
    except sqlite3.IntegrityError as error:
        takes = [parameters for action, parameters in changes if action in ("take", "rename")]
        held = (cursor.execute(_HELD, values[:3]).fetchone() for values in takes)
        names = [row[0] for row in held if row is not None]
        if not names:
            raise refusals.id_taken() from error
        raise refusals.names_taken(names) from error


def _rename(cursor: sqlite3.Cursor, kind: str, fqn: str, entity_id: str, name: str) -> None:
    """Give a claim another name, and keep the one that it had for the same entity."""
    cursor.execute(_KEEP, (entity_id,))
    cursor.execute(_TAKE_BACK, (kind, fqn, entity_id))
    cursor.execute(_RENAME, (fqn, name, entity_id))
    cursor.execute(_COUNT_RENAME)


def check_claims(cursor: sqlite3.Cursor, expecting: Expectations) -> None:
    """Raise ConcurrentChange, with the entities concerned, unless the claims are as expected."""
    if expecting == _NOTHING:
        return
    live = {entity_id for (entity_id,) in look_up(cursor, _LIVE, expecting.live)}
    parents = look_up(cursor, _PARENTS, expecting.without_children)
    parents_of_live = look_up(cursor, _PARENTS_OF_LIVE, expecting.without_live_children)
    beginnings = look_up(
        cursor, f"SELECT {_BEGINNING} FROM claims {_EDGES_FROM}", expecting.without_edges
    )
    endings = look_up(cursor, f"SELECT name FROM claims {_EDGES_TO}", expecting.without_edges)
    checks = {
        refusals.HAS_SIBLINGS: _shared(cursor, expecting.sole),
        refusals.IS_GONE: expecting.live - live,
        refusals.HAS_CHILDREN: {parent_id for (parent_id,) in parents},
        refusals.HAS_LIVE_CHILDREN: {parent_id for (parent_id,) in parents_of_live},
        refusals.HAS_LINEAGE: {end for (end,) in chain(beginnings, endings)},
    }
    unmet = [(entity_id, what) for what, ids in checks.items() for entity_id in sorted(ids)]
    if unmet:
        raise refusals.not_as_expected(unmet)


def _shared(cursor: sqlite3.Cursor, sole: Collection[tuple[str, str]]) -> set[str]:
    """The ids of these pairs of kind and id that several live claims of the kind have as parent."""
    parents: Counter[tuple[str, str]] = Counter()
    for kind in {kind for kind, _ in sole}:
        ids = [parent_id for each, parent_id in sole if each == kind]
        parents.update(
            (kind, parent_id) for (parent_id,) in look_up(cursor, PARENTS_OF_KIND, ids, kind)
        )
    return {parent_id for (_, parent_id), count in parents.items() if count > 1}


def as_claim(row: tuple[Any, ...]) -> Claim:
    """The claim of a row of the claims table."""
    kind, fqn, entity_id, name, parent_id, deleted, former = row
    former_names = () if former is None else tuple(sorted(msgspec.json.decode(former)))
    return Claim(kind, fqn, entity_id, name, parent_id, bool(deleted), former_names)
