"""The search index as verification sees it: the digest of each document and of each state that was
replaced, and the searched paths.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

from domain.event_store.port import EventStore
from projections.feeding.log_fingerprint import disagreement
from projections.feeding.port import Damaged
from projections.search.documents.documents import HOLDS_STILL, entity_digest, is_indexed
from projections.search.engine import IndexSnapshot, SearchEngine, StateEntry
from projections.search.past_comparison import find_past_differences
from projections.search.searched_paths import searched_paths
from projections.verification.report import Difference, Differences, FieldPair, Model, ModelEntry

_MODULUS = 1 << 64


class SortedEntries:
    """The documents of a commit, sorted by id on disk because an index does not have that order."""

    def __init__(
        self, connection: sqlite3.Connection, snapshot: IndexSnapshot, log: EventStore
    ) -> None:
        self._connection = connection
        self._log = log
        self._snapshot = snapshot
        self.position, _ = snapshot.checkpoint
        connection.execute("CREATE TABLE entries (id TEXT, kind TEXT, digest TEXT)")
        connection.execute("BEGIN")
        connection.executemany(
            "INSERT INTO entries VALUES (?,?,?)",
            ((entity_id, kind, str(digest)) for entity_id, kind, digest in snapshot.entries()),
        )
        connection.execute("CREATE INDEX by_id ON entries (id, kind, digest)")

    def ids(self) -> Iterator[str]:
        """The ids of all documents, in order."""
        for (entity_id,) in self._connection.execute("SELECT id FROM entries ORDER BY id"):
            yield entity_id

    def model(self, ids: Sequence[str] | None) -> Model[int]:
        """The Model of these entities, of all for None."""
        return Model(
            name="search",
            position=self.position,
            horizon=self._snapshot.horizon,
            holds=is_indexed,
            stored=self._stored(ids),
            expected=lambda entity, _: (digest := entity_digest(entity), digest),
            digest=int,
            modulus=_MODULUS,
            explain=lambda due, stored: [FieldPair("digest", f"{due:x}", f"{stored:x}")],
            kept=self._snapshot.digests(),
            inner=self._find_inner,
        )

    def find_damage(self, differences: Differences) -> None:
        """Find nothing: a snapshot is given once the checksum of every file was found right."""

    def _stored(self, ids: Sequence[str] | None) -> Iterator[ModelEntry[int]]:
        if ids is None:
            for row in self._connection.execute("SELECT * FROM entries ORDER BY id"):
                yield _entry(row)
            return
        for entity_id in ids:
            statement = "SELECT * FROM entries WHERE id = ?"
            for row in self._connection.execute(statement, (entity_id,)):
                yield _entry(row)

    def _find_inner(self, differences: Differences) -> None:
        self._find_doubles(differences)
        self._find_past(differences)
        due, stored = searched_paths(self._log, self.position), self._snapshot.searched
        if due != stored:
            only = sorted(due.known ^ stored.known)[:1]
            pairs = [
                FieldPair("paths", len(due.paths), len(stored.paths)),
                FieldPair("full", due.full, stored.full),
                *(FieldPair(path, path in due.known, path in stored.known) for path in only),
            ]
            differences.add(Difference("counter", "", "", "searched paths", pairs))

    def _find_past(self, differences: Differences) -> None:
        """Compare all states."""
        states = self._snapshot.states()
        self._connection.execute("CREATE TABLE states (id, since, until, digest)")
        self._connection.executemany(
            "INSERT INTO states VALUES (?,?,?,?)",
            ((s.id, s.since, s.until, _digest_of_replaced(s)) for s in states),
        )
        self._connection.execute("CREATE INDEX states_by_id ON states (id, since)")
        rows = self._connection.execute("SELECT DISTINCT id FROM states ORDER BY id")

        def stored(entity_id: str) -> Iterator[tuple[int, int, str]]:
            statement = "SELECT since, until, digest FROM states WHERE id = ? ORDER BY since"
            yield from self._connection.execute(statement, (entity_id,))

        ids = (entity_id for (entity_id,) in rows)
        span = self._snapshot.horizon.position, self.position
        find_past_differences(self._log, span, ids, stored, differences)

    def _find_doubles(self, differences: Differences) -> None:
        double = "SELECT id, min(kind), count(*) FROM entries GROUP BY id HAVING count(*) > 1"
        for entity_id, kind, n in self._connection.execute(double):
            pairs = [FieldPair("documents", 1, n)]
            differences.add(Difference("different", kind, entity_id, "", pairs))


@contextmanager
def sorted_entries(engine: SearchEngine, log: EventStore) -> Iterator[SortedEntries]:
    """The newest commit of an engine until the block ends; raises Damaged when not of this log."""
    # For an empty name SQLite makes a file, which it removes with the connection.
    sorting = closing(sqlite3.connect("", isolation_level=None))
    with sorting as connection, engine.snapshot() as snapshot:
        reason = disagreement(log, *snapshot.checkpoint)
        if reason is not None:
            raise Damaged(f"the search index is not of this log: {reason}")
        yield SortedEntries(connection, snapshot, log)


def _digest_of_replaced(state: StateEntry) -> str:
    return "" if state.until == HOLDS_STILL else f"{state.digest:x}"


def _entry(row: tuple[str, str, str]) -> ModelEntry[int]:
    return ModelEntry(row[0], row[1], "", int(row[2]))
