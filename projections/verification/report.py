"""The comparison of read models with the log, and its result: verdicts, differences and sums."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Generic, TypeVar

import msgspec

from domain.aggregate.entity import Entity
from domain.event_store.checks import Follow, FutureEvents, StreamStates
from domain.event_store.stored import Problem
from domain.reading.horizon import Horizon


class Verdict(StrEnum):
    """The result of comparing derived data with its source."""

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
    `moment`, `past`, `digest`, `file` or `log`."""
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
        """Count a difference, and keep it unless enough are kept."""
        self.counts[difference.sort] += 1
        if len(self.shown) < self._kept:
            self.shown.append(difference)

    def add_all(self, others: "Differences") -> None:
        """Count the differences that others count, and keep those that they keep likewise."""
        self.counts.update(others.counts)
        self.shown += others.shown[: self._kept - len(self.shown)]


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
    horizon: Horizon = Horizon()
    """The earliest position as of which the read model answers."""
    entities: int = 0
    """Number of entities compared."""
    kinds: list[KindProof] = []
    """Sums of each kind; empty for a sample, as sums are of all entities."""
    found: dict[str, int] = {}
    """Sort of difference -> how many there are."""
    differences: list[Difference] = []
    """The first differences."""
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


V = TypeVar("V")


class ModelEntry(msgspec.Struct, Generic[V], frozen=True, gc=False):
    """One entity as a read model stores it."""

    id: str
    kind: str
    name: str
    """Qualified name, empty where the read model does not know it."""
    value: V
    """The stored form, in the read model's own format."""


class Model(msgspec.Struct, Generic[V], frozen=True, kw_only=True):
    """A read model in one state, and the content that it should have."""

    name: str
    position: int
    """The checkpoint of the read model in that state."""
    horizon: Horizon
    """The earliest position as of which the read model answers in that state."""
    holds: Callable[[Entity], bool]
    """Function that tells if the read model holds an entity at all, as long as it is not purged."""
    stored: Iterator[ModelEntry[V]]
    """The stored entities, in order of id."""
    expected: Callable[[Entity, int], tuple[V, int]]
    """Function of an entity and the position of its last event; gives expected form and digest."""
    digest: Callable[[V], int]
    """Function that gives the digest of the stored form of one entity."""
    modulus: int
    """Sums of digests are compared modulo this number."""
    explain: Callable[[V, V], list[FieldPair]]
    """Function that gives the fields in which the expected and the stored form differ."""
    kept: Mapping[str, tuple[int, int]]
    """Kind -> number of its entities and sum of their digests, as commits have kept them."""
    follow: Follow | None = None
    """Function called for each event, before `inner`, unless only a sample is compared."""
    inner: Callable[[Differences], None]
    """Function that adds the faults of the read model beside its entities."""


class Comparison(Generic[V]):
    """The comparison of one read model: `meet` every entity in order of id, then `finish`."""

    def __init__(self, model: Model[V], differences: Differences) -> None:
        self.model = model
        self.differences = differences
        self.compared = 0
        self._next = next(model.stored, None)
        self._replayed: Counter[str] = Counter()
        self._replayed_sums: Counter[str] = Counter()
        self._stored: Counter[str] = Counter()
        self._stored_sums: Counter[str] = Counter()

    def meet(self, entity_id: str, stream: StreamStates) -> None:
        """Compare one entity of the log; one with a broken stream is only counted as stored."""
        while self._next is not None and self._next.id < entity_id:
            self._ghost(self._next)
        stored = None
        if self._next is not None and self._next.id == entity_id:
            stored = self._next
            self._next = next(self.model.stored, None)
        position, entity = stream.at(self.model.position)
        if not stream.whole:
            if stored is not None:
                self._count_stored(stored, self.model.digest(stored.value))
        elif entity is None or entity.purged or not self.model.holds(entity):
            if stored is not None:
                self._add_ghost(stored)
        else:
            self._compare(entity, position, stored)

    def finish(self, *, sums: bool) -> list[KindProof]:
        """Add the entities that only the read model has; returns the sums of each kind.

        `sums` is False where not everything was compared: no sums are returned then.
        """
        while self._next is not None:
            self._ghost(self._next)
        kinds = sorted({*self._replayed, *self._stored, *self.model.kept})
        return [self._prove(kind) for kind in kinds] if sums else []

    def _prove(self, kind: str) -> KindProof:
        """The sums of a kind; those kept while writing must equal those of the stored entities."""
        number, total = self.model.kept.get(kind, (0, 0))
        totals = self._replayed_sums[kind], self._stored_sums[kind], total
        replayed, stored, kept = (f"{each % self.model.modulus:x}" for each in totals)
        if (number, kept) != (self._stored[kind], stored):
            pairs = [
                FieldPair("count", self._stored[kind], number),
                FieldPair("digest", stored, kept),
            ]
            sides = ("stored", "kept while writing")
            self.differences.add(Difference("digest", kind, "", "sums", pairs, sides))
        return KindProof(
            kind, self._replayed[kind], self._stored[kind], number, replayed, stored, kept
        )

    def _compare(self, entity: Entity, position: int, stored: ModelEntry[V] | None) -> None:
        model = self.model
        expected, digest = model.expected(entity, position)
        self.compared += 1
        self._replayed[entity.kind] += 1
        self._replayed_sums[entity.kind] += digest
        if stored is None:
            self.differences.add(Difference("missing", entity.kind, entity.id, entity.fqn))
        elif stored.value == expected:
            self._count_stored(stored, digest)
        else:
            self._count_stored(stored, model.digest(stored.value))
            pairs = model.explain(expected, stored.value)
            self.differences.add(Difference("different", entity.kind, entity.id, entity.fqn, pairs))

    def _ghost(self, stored: ModelEntry[V]) -> None:
        self._next = next(self.model.stored, None)
        self._add_ghost(stored)

    def _add_ghost(self, stored: ModelEntry[V]) -> None:
        self._count_stored(stored, self.model.digest(stored.value))
        self.differences.add(Difference("ghost", stored.kind, stored.id, stored.name))

    def _count_stored(self, stored: ModelEntry[V], digest: int) -> None:
        self._stored[stored.kind] += 1
        self._stored_sums[stored.kind] += digest
