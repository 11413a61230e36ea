"""What events mean for the claims table, which holds the qualified names in use."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Protocol

from domain import events
from domain.events import Event

ClaimChange = tuple[str, tuple[Any, ...]]
"""A statement of `_STATEMENTS` and its parameters."""

_STATEMENTS = {
    "take": "INSERT INTO claims (kind, fqn, id, name, parent_id, deleted) VALUES (?,?,?,?,?,0)",
    "delete": "UPDATE claims SET deleted = 1 WHERE id = ?",
    "restore": "UPDATE claims SET deleted = 0 WHERE id = ?",
    "release": "DELETE FROM claims WHERE id = ?",
}


class _Executor(Protocol):
    def executemany(self, statement: str, parameters: Any, /) -> Any: ...


def claim_changes(entity_id: str, event: Event) -> Iterator[ClaimChange]:
    """What an event means for the entity's claim."""
    if isinstance(event, events.EntityCreated):
        yield "take", (event.kind, event.fqn, entity_id, event.name, event.parent_id)
    elif isinstance(event, events.EntitySoftDeleted):
        yield "delete", (entity_id,)
    elif isinstance(event, events.EntityRestored):
        yield "restore", (entity_id,)
    elif isinstance(event, events.EntityPurged):
        yield "release", (entity_id,)


def write_claims(cursor: _Executor, changes: Sequence[ClaimChange]) -> None:
    """Apply the changes in order, runs of one sort at once; sqlite3.IntegrityError for clashes."""
    for action, run in groupby(changes, key=itemgetter(0)):
        cursor.executemany(_STATEMENTS[action], [parameters for _, parameters in run])
