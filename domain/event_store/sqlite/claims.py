"""The claims table: the qualified names in use, who holds them and below whom."""

import sqlite3
from collections.abc import Collection, Sequence
from itertools import groupby
from operator import itemgetter

from domain.errors import AlreadyExists, ConcurrentChange
from domain.event_store.claims import ClaimChange
from domain.event_store.port import Claim, Expectations

SELECT_CLAIMS = "SELECT kind, fqn, id, name, parent_id, deleted FROM claims"
_NAMES_SHOWN = 5

_STATEMENTS = {
    "take": "INSERT INTO claims (kind, fqn, id, name, parent_id, deleted) VALUES (?,?,?,?,?,0)",
    "delete": "UPDATE claims SET deleted = 1 WHERE id = ?",
    "restore": "UPDATE claims SET deleted = 0 WHERE id = ?",
    "release": "DELETE FROM claims WHERE id = ?",
}
_UNMET = {
    "is gone": "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM claims WHERE id = ? AND deleted = 0)",
    "has children": "SELECT 1 FROM claims WHERE parent_id = ? LIMIT 1",
    "has live children": "SELECT 1 FROM claims WHERE parent_id = ? AND deleted = 0 LIMIT 1",
}


def write_claims(cursor: sqlite3.Cursor, changes: Sequence[ClaimChange]) -> None:
    """Apply the changes in order; neighbours with the same action share one statement.

    Raises AlreadyExists when a name is claimed, ConcurrentChange when an entity holds a claim.
    """
    try:
        for action, run in groupby(changes, key=itemgetter(0)):
            cursor.executemany(_STATEMENTS[action], [parameters for _, parameters in run])
    except sqlite3.IntegrityError as error:
        takes = [parameters for action, parameters in changes if action == "take"]
        names = [fqn for kind, fqn, entity_id, *_ in takes if _taken(cursor, kind, fqn, entity_id)]
        if not names:
            raise ConcurrentChange("another writer was first to an id; try again") from error
        named = ", ".join(map(repr, names[:_NAMES_SHOWN]))
        raise AlreadyExists(f"a name is taken: {named}") from error


def _taken(cursor: sqlite3.Cursor, kind: str, fqn: str, entity_id: str) -> bool:
    """Whether another entity holds a name."""
    statement = "SELECT id FROM claims WHERE kind = ? AND fqn = ?"
    holder = cursor.execute(statement, (kind, fqn)).fetchone()
    return holder is not None and holder[0] != entity_id


def check_claims(cursor: sqlite3.Cursor, expecting: Expectations) -> None:
    """Raise ConcurrentChange, with the entities concerned, unless the claims are as expected."""
    checks = {
        "is gone": expecting.live,
        "has children": expecting.without_children,
        "has live children": expecting.without_live_children,
    }
    unmet = [
        (entity_id, what)
        for what, ids in checks.items()
        for entity_id in sorted(ids)
        if cursor.execute(_UNMET[what], (entity_id,)).fetchone() is not None
    ]
    if unmet:
        entity_id, what = unmet[0]
        raise ConcurrentChange(
            f"another writer was first: {entity_id} {what}; try again",
            [entity_id for entity_id, _ in unmet],
        )


def select_claims(
    cursor: sqlite3.Cursor,
    names: Collection[tuple[str, str]],
    ids: Collection[str],
    parents: Collection[str],
) -> list[Claim]:
    """The claims on names, of entities and of children of parents, each once, in order of name."""
    wanted = (
        ("kind = ? AND fqn = ?", names),
        ("id = ?", [(entity_id,) for entity_id in ids]),
        ("parent_id = ?", [(parent_id,) for parent_id in parents]),
    )
    rows = {
        row[:2]: row
        for where, keys in wanted
        for key in keys
        for row in cursor.execute(f"{SELECT_CLAIMS} WHERE {where}", key)
    }
    return [as_claim(rows[key]) for key in sorted(rows)]


def as_claim(row: tuple[str, str, str, str, str | None, int]) -> Claim:
    """The claim of a row of the claims table."""
    kind, fqn, entity_id, name, parent_id, deleted = row
    return Claim(
        kind=kind, fqn=fqn, id=entity_id, name=name, parent_id=parent_id, deleted=bool(deleted)
    )
