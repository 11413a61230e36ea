"""The states in a search index, the replaced ones too, against a replay of the log."""

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import groupby, islice

from domain.aggregate.entity import Entity
from domain.event_store.entity_reads import StreamSpan
from domain.event_store.port import EventStore
from domain.reading import history
from projections.search.documents.documents import HOLDS_STILL, entity_digest
from projections.search.engine import IndexSnapshot
from projections.verification.report import Difference, Differences, FieldPair

_STREAMS_AT_A_TIME = 1_000
"""Entities whose streams are asked for together; the log reads them in bounded pieces."""


class PastComparison:
    """Compares each state of the entities that an index has with those of the log."""

    def __init__(
        self, connection: sqlite3.Connection, snapshot: IndexSnapshot, log: EventStore
    ) -> None:
        """`connection` is to a database on disk, in which the states are sorted."""
        self._connection = connection
        self._snapshot = snapshot
        self._log = log

    def find(self, differences: Differences) -> None:
        """Add what differs; nothing where the engine keeps no past."""
        states = self._snapshot.states()
        if states is None:
            return
        self._connection.execute("CREATE TABLE states (id, kind, digest, since, until)")
        self._connection.executemany(
            "INSERT INTO states VALUES (?,?,?,?,?)",
            ((s.id, s.kind, f"{s.digest:x}", s.since, s.until) for s in states),
        )
        self._connection.execute("CREATE INDEX states_by_id ON states (id, since)")
        by_id = self._connection.execute("SELECT DISTINCT id FROM states ORDER BY id")
        ids = (entity_id for (entity_id,) in by_id)
        while part := [*islice(ids, _STREAMS_AT_A_TIME)]:
            spans = [StreamSpan(entity_id) for entity_id in part]
            position, _ = self._snapshot.checkpoint
            streams = self._log.streams(spans, upto=position)
            for _, replayed in groupby(history.states(streams), lambda state: state[0].id):
                self._compare(replayed, differences)

    def _compare(self, replayed: Iterable[tuple[Entity, int]], differences: Differences) -> None:
        """Compare all states of one entity, which are given in the order of the log."""
        entity, due = _due(replayed)
        for since, until, digest in self._stored(entity.id):
            expected = due.pop(since, None)
            if expected != (until, digest):
                pairs = _pairs(since, expected, (until, digest))
                differences.add(Difference("past", entity.kind, entity.id, entity.fqn, pairs))
        for since, expected in due.items():
            pairs = _pairs(since, expected, None)
            differences.add(Difference("past", entity.kind, entity.id, entity.fqn, pairs))

    def _stored(self, entity_id: str) -> Iterator[tuple[int, int, str]]:
        statement = "SELECT since, until, digest FROM states WHERE id = ? ORDER BY since"
        yield from self._connection.execute(statement, (entity_id,))


_Held = tuple[int, str]
"""The position until which a state held, and its digest in hexadecimal."""


def _due(replayed: Iterable[tuple[Entity, int]]) -> tuple[Entity, dict[int, _Held]]:
    """The last state of an entity, and by their positions what an index holds of all its states.

    That is nothing where the entity is purged.
    """
    due: dict[int, _Held] = {}
    before = 0
    for entity, since in replayed:
        if before:
            due[before] = since, due[before][1]
        due[since] = HOLDS_STILL, f"{entity_digest(entity):x}"
        before = since
    return entity, {} if entity.purged else due


def _pairs(since: int, due: _Held | None, stored: _Held | None) -> list[FieldPair]:
    """The fields in which a state differs; None: it is not there."""
    if due is None or stored is None:
        return [FieldPair("since", due and since, stored and since)]
    names = ("until", "digest")
    named = zip(names, due, stored, strict=True)
    pairs = [FieldPair(name, one, other) for name, one, other in named if one != other]
    return [FieldPair("since", since, since), *pairs]
