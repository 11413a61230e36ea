"""The entities that changed between two positions of the log, as a caller may view them."""

import time
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping

import msgspec
from msgspec import UNSET, UnsetType

from domain.aggregate.entity import Entity
from domain.aggregate.lifecycle import format_version
from domain.errors import InvalidInput
from domain.event_store.port import EventStore
from domain.event_store.stored import Claim
from domain.events import EntityPurged
from domain.kinds.bodies.components import Identified
from domain.kinds.entity_kind import COMMON_FILTERS
from domain.reading.between import Change, Ends, Root, ends_of, events_between
from projections.visibility.withholding import Withheld

MOST_EVENTS = 50_000
"""Most events of the log that one comparison looks at."""
TURN_SECONDS, MOST_SECONDS = 0.1, 20.0
"""Length of a turn, after which other callers have theirs, and of all turns of one comparison."""
_BATCH = 1_000
_NARROW_IT = "give points that are nearer to one another"
DOMAINS = COMMON_FILTERS["domain"]
_KEY_BYTES = 900
"""Bytes of a qualified name that count for the order, so that any place in it fits a cursor."""
_identified = msgspec.json.Decoder(list[Identified])

Key = tuple[str, str, str]
"""Place of an entity in the order of a comparison: kind, beginning of the qualified name, id."""


def in_turns(
    steps: Iterable[object], seconds: float = TURN_SECONDS, most: float = MOST_SECONDS
) -> Generator[bytes]:
    """Go through the steps of a comparison; yields an empty chunk at the end of each turn.

    Blocks. A turn has `seconds`, or one step that takes longer. Raises InvalidInput where all turns
    take more than `most` seconds; waiting for them does not count.
    """
    began = time.monotonic()
    for _ in steps:
        taken = time.monotonic() - began
        if taken >= seconds:
            most -= taken
            if most <= 0:
                raise InvalidInput(
                    "what changed takes too long to compare: name a kind or what it is below,"
                    f" or {_NARROW_IT}"
                )
            yield b""
            began = time.monotonic()


class Comparison(msgspec.Struct, kw_only=True):
    """The entities that differ between two positions of the log, as a caller may see them."""

    before: int
    after: int
    kinds: frozenset[str]
    """The kinds that are compared; the caller may view each of them."""
    audited: frozenset[str]
    """The kinds, among `kinds`, of which the caller may know what was purged."""
    withheld: Mapping[str, Withheld]
    """Kind -> the fields that the caller does not see."""
    roots: Collection[Root] | None = None
    """Entities to which the comparison is narrowed, each with all below it; None for no bound."""
    domain: str | None = None
    """Id of the domain that an entity has to be in at one of the positions."""
    limit: int
    start: Key | None = None
    """The place after which the page begins; None for the first page."""
    most_events: int = MOST_EVENTS
    turn_seconds: float = TURN_SECONDS
    most_seconds: float = MOST_SECONDS
    counts: Counter[tuple[str, Change]] = msgspec.field(default_factory=Counter)
    """Kind and change -> the number of entities that differ."""
    page: list[tuple[Key, "DifferingEntity"]] = []
    """The first differing entities behind `start`, in order; `limit` + 1 if there are more."""

    @property
    def differing(self) -> list["DifferingEntity"]:
        """The entities of the page, in order."""
        return [each for _, each in self.page[: self.limit]]

    @property
    def totals(self) -> Mapping[str, int]:
        """Change -> the number of entities that differ."""
        totals: Counter[str] = Counter()
        for (_, change), number in self.counts.items():
            totals[change] += number
        return totals

    def in_turns(self, log: EventStore) -> Generator[bytes]:
        """Compare, as `in_turns` does; raises InvalidInput too for too many events."""
        yield from in_turns(self._steps(log), self.turn_seconds, self.most_seconds)
        self.page = sorted(self.page)[: self.limit + 1]

    def _steps(self, log: EventStore) -> Iterator[None]:
        """Compare; yields after each part of it that takes few milliseconds as a rule."""
        purged: dict[str, bool] = {}
        looked_at = 0
        for events in events_between(log, self.before, self.after, _BATCH):
            looked_at += len(events)
            if looked_at > self.most_events:
                raise InvalidInput(
                    f"there are more than {self.most_events:,} events between positions"
                    f" {self.before} and {self.after}, which is the most that are looked at:"
                    f" {_NARROW_IT}"
                )
            for each in events:
                if each.event.kind in self.kinds:
                    is_purge = isinstance(each.event, EntityPurged)
                    purged[each.entity_id] = is_purge and each.event.kind in self.audited
            yield
        ids = [*purged]
        for at in range(0, len(ids), _BATCH):
            part = ids[at : at + _BATCH]
            # A purge takes the past too, so what has no name any more is left out.
            live = {each.id for each in log.claims(ids=part) if self._may_hold(each)}
            kept = [each for each in part if purged[each] or each in live]
            for ends in ends_of(log, kept, self.before, self.after):
                if ends is not None:
                    self._add(ends)
                yield

    def _may_hold(self, claim: Claim) -> bool:
        return self.roots is None or any(root.ever_holds(claim) for root in self.roots)

    def _add(self, ends: Ends) -> None:
        entity = ends.after
        if self.roots is not None and not any(root.holds(ends) for root in self.roots):
            return
        if self.domain is not None and not any(_is_in(each, self.domain) for each in ends.states):
            return
        withheld = self.withheld.get(entity.kind)
        change = ends.change(withheld.cut if withheld else None)
        if change is None:
            return
        self.counts[entity.kind, change] += 1
        beginning = entity.fqn.encode()[:_KEY_BYTES].decode(errors="ignore")
        key = entity.kind, beginning, entity.id
        if self.start is None or key > self.start:
            self.page.append((key, _differing(change, ends)))
        if len(self.page) > 2 * self.limit + _BATCH:
            self.page = sorted(self.page)[: self.limit + 1]


def _is_in(entity: Entity, domain_id: str) -> bool:
    raw = entity.body.get(DOMAINS)
    return raw is not None and any(each.id == domain_id for each in _identified.decode(raw))


class NamedEntity(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """An entity, with the name that it had at the later point, or when it was purged."""

    type: str
    id: str
    fully_qualified_name: str
    deleted: bool = False
    """True if the entity was soft-deleted at that point."""


class DifferingEntity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An entity that differs between two points, and its decimal versions there."""

    change: Change
    entity: NamedEntity
    from_: msgspec.Raw | UnsetType = msgspec.field(name="from", default=UNSET)
    """The entity's version at the earlier point; unset if it was not there yet."""
    to: msgspec.Raw | UnsetType = UNSET
    """The entity's version at the later point; unset if it was purged."""


def _differing(change: Change, ends: Ends) -> DifferingEntity:
    old, new = ends.before, ends.after
    return DifferingEntity(
        change=change,
        entity=NamedEntity(new.kind, new.id, new.fqn, new.deleted),
        from_=UNSET if old is None else _version(old),
        to=UNSET if new.purged else _version(new),
    )


def _version(entity: Entity) -> msgspec.Raw:
    return msgspec.Raw(format_version(entity.version).encode())
