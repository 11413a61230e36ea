"""The transaction of a commit to a sorted read model, as every database offers it."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from projections.entities.replaced_states import HeldState
from projections.entities.stored_entity import StoredEntity


class CommitSql(msgspec.Struct, frozen=True, kw_only=True):
    """The statements of commits that databases spell differently.

    Those named after rows give the rows with some keys, those named `remove_` and a verb take the
    columns of rows, or of keys.
    """

    held: str
    """Gives the HeldState with an id."""
    stored: str
    """Gives the ids of those entities that are stored."""
    digests: str
    """Gives kind, number and digest of a kind."""
    pasts: str
    """Gives kind, number and digest of the past of a kind."""
    history_of: str
    """Gives the ReplacedState rows with an id, without their JSON."""
    edges_of: tuple[str, str]
    """Give the ids of the edges in the scope of an entity, of now and of then."""
    moved: str
    """Gives the EndedMembership for the key of a row of `scopes` and the position of its end."""
    last_totals: str
    """Gives a series, and its last total."""
    remove_ended: str
    """Removes the rows of `history_scopes` with a ScopeKey, and gives them."""
    remove_ended_at: str
    """Removes the row of `history_scopes` with a ScopeKey and the position of its end; gives it."""
    begun: str
    """Gives the checkpoint, and position and time of the horizon; makes other commits wait."""

    add_moments: str
    count: str
    put_digests: str
    keep: str
    end: str
    unlist: str
    list_: str
    put_totals: str
    forget: str
    put_pasts: str
    add_to_days: str
    remove_history: str
    remove_totals: str
    remove_forgotten: str


class CommitSession(Protocol):
    """One transaction; in its statements, tables have `{}.` before them, and `?` is a value."""

    sql: CommitSql

    def rows(self, sql: str, *values: Any) -> list[Any]:
        """The rows of a statement."""

    def run(self, sql: str, *values: Any) -> None:
        """Execute a statement without rows."""

    def rows_of(self, sql: str, keys: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The rows of a statement of `sql` for all of some keys; none without any."""

    def write(self, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Execute a statement of `sql` for all of some rows; nothing without any."""

    def replace(self, held: Mapping[str, HeldState], entities: Sequence[StoredEntity]) -> None:
        """Store entities in place of those that are held, by id."""
