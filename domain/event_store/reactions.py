"""The port of what a reaction remembers, in the database of the log.

A reaction follows the log and is no read model: a rebuild never resets what it remembers. It has
subjects, such as contracts; each is to be looked at when something happens to what it watches, and
at its next moment.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

TABLES = (
    "CREATE TABLE IF NOT EXISTS reactions (name TEXT PRIMARY KEY, position BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS reaction_moments (reaction TEXT NOT NULL, subject TEXT NOT NULL, "
    "at BIGINT NOT NULL, PRIMARY KEY (reaction, subject))",
    "CREATE INDEX IF NOT EXISTS reaction_moments_by_time ON reaction_moments (reaction, at)",
    "CREATE TABLE IF NOT EXISTS reaction_watches (reaction TEXT NOT NULL, subject TEXT NOT NULL, "
    "entity TEXT NOT NULL, PRIMARY KEY (reaction, subject, entity))",
    "CREATE INDEX IF NOT EXISTS reaction_watches_by_entity ON reaction_watches (reaction, entity)",
)
"""Statements that make the tables, where they are not there; the log makes them with its own."""
_IDS = 500
"""Ids in one statement."""

Statement = tuple[str, Sequence[Sequence[Any]]]
"""SQL with `?` for values, and the values of each of its runs."""


class Attention(msgspec.Struct, frozen=True, kw_only=True):
    """The time and the entities for whose sake a reaction looks at one subject again."""

    moment: int | None = None
    """Milliseconds since the Unix epoch at which to look at the subject; None for no such time."""
    watches: Collection[str] | None = None
    """Ids of entities on which the subject depends, none once it is gone; None changes nothing."""


class ReactionMemory(ABC):
    """The memory of one reaction; for one thread, in the process that leads.

    Every method raises StoreUnavailable.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def position(self) -> int:
        """The position of the log up to which the reaction has looked; 0 at the beginning."""
        rows = self._rows("SELECT position FROM reactions WHERE name = ?", self._name)
        return int(rows[0][0]) if rows else 0

    def due(self, now: int, limit: int) -> list[str]:
        """At most `limit` subjects whose moment has come, the longest due first."""
        rows = self._rows(
            "SELECT subject FROM reaction_moments WHERE reaction = ? AND at <= ?"
            " ORDER BY at, subject LIMIT ?",
            self._name,
            now,
            limit,
        )
        return [subject for (subject,) in rows]

    def watching(self, entity_ids: Collection[str]) -> list[str]:
        """The subjects that depend on any of some entities, in order."""
        ids = [each for each in entity_ids if "\0" not in each]
        subjects: set[str] = set()
        for start in range(0, len(ids), _IDS):
            part = ids[start : start + _IDS]
            subjects.update(
                subject
                for (subject,) in self._rows(
                    "SELECT DISTINCT subject FROM reaction_watches WHERE reaction = ?"
                    f" AND entity IN ({', '.join('?' * len(part))})",
                    self._name,
                    *part,
                )
            )
        return sorted(subjects)

    def settle(self, position: int, attention: Mapping[str, Attention]) -> None:
        """Note, in one transaction, the position reached, and when to look at subjects again."""
        name, subjects = self._name, [(self._name, subject) for subject in attention]
        known = {key: each.watches for key, each in attention.items() if each.watches is not None}
        moments = [
            (name, subject, each.moment)
            for subject, each in attention.items()
            if each.moment is not None
        ]
        watches = [
            (name, subject, entity_id)
            for subject, of_subject in known.items()
            for entity_id in dict.fromkeys(of_subject)
        ]
        own = "reaction = ? AND subject = ?"
        self._change(
            [
                (
                    "INSERT INTO reactions (name, position) VALUES (?, ?)"
                    " ON CONFLICT (name) DO UPDATE SET position = excluded.position",
                    [(name, position)],
                ),
                (f"DELETE FROM reaction_moments WHERE {own}", subjects),
                (f"DELETE FROM reaction_watches WHERE {own}", [(name, key) for key in known]),
                ("INSERT INTO reaction_moments VALUES (?, ?, ?)", moments),
                ("INSERT INTO reaction_watches VALUES (?, ?, ?)", watches),
            ]
        )

    @abstractmethod
    def _rows(self, statement: str, *values: Any) -> list[Any]:
        """The rows of a statement."""

    @abstractmethod
    def _change(self, statements: Sequence[Statement]) -> None:
        """Run statements in one transaction."""
