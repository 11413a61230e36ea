"""Answers that the actors of a history got, as plain values; nothing of the catalog is in here."""

from dataclasses import dataclass, field
from typing import Any, Literal

Json = dict[str, Any]
Row = tuple[int, str, int, str, Json]
"""An event of the log: position, entity id, stream version, type, payload."""
Claimed = tuple[str, str, str, bool]
"""A claim on a name: kind, qualified name, entity id, whether the entity is soft-deleted."""
Former = tuple[str, str, str]
"""A name that an entity had before it was renamed: kind, qualified name, entity id."""
Outcome = Literal["stored", "refused", "unavailable", "unknown"]


@dataclass(kw_only=True)
class Moment:
    """Steps of the schedule at which something was asked and answered."""

    actor: str
    began: int
    ended: int


@dataclass(kw_only=True)
class Write(Moment):
    """A request that changes the catalog, with what its client was told."""

    request_id: str
    key: str | None
    """The idempotency key; requests with the same one are one request and its repetitions."""
    is_repeated: bool
    """True if the request came before with the same key."""
    outcome: Outcome = "unknown"
    error: str = ""
    position: int = 0
    change: str = ""
    entity: Json = field(default_factory=dict)
    """The entity as it was answered."""
    expected_version: int | None = None


@dataclass(kw_only=True)
class Read(Moment):
    """Events that a reader of the log was given: all with positions in (after, the last one's]."""

    after: int
    rows: list[Row]


@dataclass(kw_only=True)
class Stream(Moment):
    """The events of an entity that somebody was given, from its first one on."""

    entity_id: str
    rows: list[Row]


@dataclass(kw_only=True)
class Head(Moment):
    """The position of the newest event, as somebody was told."""

    position: int


@dataclass(kw_only=True)
class View(Moment):
    """A read model as it was after a step of who feeds it."""

    checkpoint: int
    rows: dict[str, Json]
    """Id -> the columns that say what the entity is, with the JSON of the entity."""
    totals: dict[tuple[str, bool], int]
    """Kind and deletion state -> how many entities lists say there are."""


@dataclass(kw_only=True)
class Loss:
    """The operator has put a database in place that had not all that was acknowledged."""

    step: int
    head: int
    """The newest position in the database that was put in place."""


@dataclass
class Record:
    """All that was told in one history."""

    writes: list[Write] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    streams: list[Stream] = field(default_factory=list)
    heads: list[Head] = field(default_factory=list)
    views: list[View] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    """Error that stopped an actor that should have gone on."""

    def is_binding(self, moment: Moment, position: int) -> bool:
        """True if the answer must still hold: no operator has taken it away since.

        What was under way while an older database was put in place may rest on the one before.
        """
        return not any(
            moment.began <= loss.step and (moment.ended > loss.step or position > loss.head)
            for loss in self.losses
        )
