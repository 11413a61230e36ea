"""The result of a verification: verdicts, differences and sums."""

from collections import Counter
from enum import StrEnum
from typing import Any

import msgspec

from domain.event_store.checks import FutureEvents
from domain.event_store.stored import Problem


class Verdict(StrEnum):
    """True if what is derived equals what it is derived from."""

    EQUAL = "equal"
    DIFFERS = "differs"
    UNKNOWN = "unknown"


class FieldPair(msgspec.Struct, frozen=True):
    """A field with the two values that must be equal; null where the field is absent.

    `Difference.sides` says where each of the two values comes from.
    """

    name: str
    expected: Any
    actual: Any


class Difference(msgspec.Struct, frozen=True, rename="camel"):
    """Something in which a read model differs from a replay of the log."""

    sort: str
    """`missing`, `ghost` (only stored) or `different` for an entity; else `scope`, `counter`,
    `digest` or `file`."""
    kind: str
    id: str
    name: str
    """Qualified name of the entity; for differences without an entity, the part that differs."""
    fields: list[FieldPair] = []
    sides: tuple[str, str] = ("log", "model")
    """The two sources that were compared: those of `expected` and `actual` in the fields."""


class Differences:
    """Counts all differences by sort, and keeps the first of them to be listed."""

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self.shown: list[Difference] = []
        self.counts: Counter[str] = Counter()

    def add(self, difference: Difference) -> None:
        """Counts a difference, and keeps it unless enough are kept."""
        self.counts[difference.sort] += 1
        if len(self.shown) < self._kept:
            self.shown.append(difference)


class KindProof(msgspec.Struct, frozen=True, rename="camel"):
    """Number and digest of one kind's entities: by replay, as stored, and as kept beside them."""

    kind: str
    replayed: int
    stored: int
    kept: int
    replayed_digest: str
    stored_digest: str
    kept_digest: str


class ProjectionProof(msgspec.Struct, rename="camel"):
    """The comparison of one read model with the log, at one position."""

    name: str
    verdict: Verdict
    position: int = 0
    entities: int = 0
    """Number of entities compared."""
    kinds: list[KindProof] = []
    """Empty for a sample: sums are of everything."""
    found: dict[str, int] = {}
    """Sort of difference -> how many there are."""
    differences: list[Difference] = []
    """The first of them."""
    reason: str | None = None
    """The reason why nothing could be compared; None otherwise."""


class LogProof(msgspec.Struct, rename="camel"):
    """The comparison of the log with itself."""

    verdict: Verdict
    head: int
    events: int
    """Number of events read."""
    problems: list[Problem]
    """The problems at the lowest positions, in order."""
    found: int
    """Number of problems."""
    future: FutureEvents = msgspec.field(default_factory=FutureEvents)
    """Events of a time that has not come: a fault of a clock, by which no event is damaged."""


class Verification(msgspec.Struct, rename="camel"):
    """Everything that one verification compared, at one moment of the log."""

    verdict: Verdict
    log: LogProof
    projections: list[ProjectionProof]
    seed: int | None = None
    """Seed of the sample; None without a sample."""
    seconds: float = 0.0


def worst(verdicts: list[Verdict]) -> Verdict:
    """The verdict on several things together: differs, else unknown, else equal."""
    return max(verdicts, key=[Verdict.EQUAL, Verdict.UNKNOWN, Verdict.DIFFERS].index)
