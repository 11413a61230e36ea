"""The log as it will be, once it has what a request has decided so far but not yet appended."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Unpack

from domain.aggregate.entity import Entity
from domain.event_store.appends import claim_of
from domain.event_store.entity_reads import (
    EntityReads,
    RecordedEvent,
    SoughtClaims,
    StreamSpan,
    whole_streams,
)
from domain.event_store.stored import Claim
from domain.reading.history import folded


class StagedLog(EntityReads):
    """Reads of a log with staged events at its end; for one thread, and for one transaction.

    A claim that was read from the log is remembered, and so is where a stream ended: whether that
    still holds when the events are appended is for the log to say, as it is of all that a writer
    has read.
    """

    def __init__(self, log: EntityReads, parent: Claim | None = None) -> None:
        """`log` may be a staged log itself, whose events are on their way into the log.

        `parent` is the claim of the parent of a live entity, where that is known.
        """
        self._log = log
        self._known: dict[tuple[str, str] | str, Claim | None] = {}
        """The claim on a name, and of an id; None for a name or an id without one."""
        if parent is not None:
            self._know(parent)
        self._ends: dict[str, int] = {}
        """Id -> stream version of the last event in the log, of entities that were read; 0 for an
        id that the log has never seen."""
        self._events: defaultdict[str, list[RecordedEvent]] = defaultdict(list)
        self._children: defaultdict[str, dict[str, Claim]] = defaultdict(dict)
        """Parent id -> id -> staged claim."""
        self._live: defaultdict[str, dict[str, bool]] = defaultdict(dict)
        """Kind -> parent id -> whether the log has a live child of the kind there."""
        self._attached: Mapping[str, Collection[str]] = MappingProxyType({})

    def epoch(self) -> int:
        """The epoch of the log; see `EntityReads.epoch`."""
        return self._log.epoch()

    def stage(self, events: Sequence[RecordedEvent], after: Entity) -> None:
        """Add the events of one entity, which holds a name after them."""
        self._ends.setdefault(after.id, events[0].stream_version - 1)
        self._events[after.id] += events
        claim = claim_of(after)
        self._know(claim)
        if claim.parent_id is not None:
            self._children[claim.parent_id][claim.id] = claim

    def _know(self, claim: Claim) -> None:
        self._known[claim.id] = claim
        self._known.update(((claim.kind, fqn), claim) for fqn in claim.all_names)

    def is_staged(self, entity_id: str) -> bool:
        """Tell an entity with staged events of this log's own from one that only `log` knows."""
        return entity_id in self._events

    def foresee(
        self,
        names: Collection[tuple[str, str]],
        ids: Collection[str],
        new_ids: Collection[str],
    ) -> None:
        """Look up together the claims on names (kind and qualified name) and of ids.

        `new_ids` are those of `ids` that entities are to get.
        """
        self.claims(names=names, ids=ids)
        free = [entity_id for entity_id in new_ids if self._known[entity_id] is None]
        if free:
            seen = self._log.streams([StreamSpan(entity_id, upto=1) for entity_id in free])
            used = {recorded.entity_id for recorded in seen}
            self._ends.update((entity_id, 0) for entity_id in free if entity_id not in used)

    def foresee_attached(self, parents: Mapping[str, Collection[str]]) -> None:
        """Have `having_live` ask the log for all these ids together: kind -> ids of parents."""
        self._attached = parents

    def states(self, ids: Collection[str]) -> Iterator[Entity]:
        """The newest states of entities in the log, in this order, read as the iterator goes on."""
        for state, _ in folded(whole_streams(self._log, ids)):
            self._ends[state.id] = state.stream_version
            yield state

    def claim(self, kind: str, fqn: str) -> Claim | None:
        """The claim on a qualified name; None when no entity holds the name."""
        key = kind, fqn
        return self._known[key] if key in self._known else super().claim(kind, fqn)

    def claim_by_id(self, entity_id: str) -> Claim | None:
        """The claim of an entity; None when the entity holds no name."""
        known = self._known
        return known[entity_id] if entity_id in known else super().claim_by_id(entity_id)

    def claims(self, **sought: Unpack[SoughtClaims]) -> list[Claim]:
        """The claims as the staged events leave them; see `EntityReads.claims`.

        No edge is ever staged.
        """
        names, ids = sought.get("names", ()), sought.get("ids", ())
        parents, ends = sought.get("parents", ()), sought.get("ends", ())
        new_names = [name for name in names if name not in self._known]
        new_ids = [entity_id for entity_id in ids if entity_id not in self._known]
        if new_names or new_ids:
            self._known.update(dict.fromkeys((*new_names, *new_ids)))
            for claim in self._log.claims(names=new_names, ids=new_ids):
                self._know(claim)
        asked: tuple[tuple[str, str] | str, ...] = (*names, *ids)
        known = [self._known[key] for key in asked]
        by_id = {claim.id: claim for claim in known if claim is not None}
        for claim in self._log.claims(parents=parents, ends=ends) if parents or ends else ():
            by_id[claim.id] = claim
        for parent_id in parents:
            by_id |= self._children[parent_id]
        return sorted(by_id.values(), key=lambda claim: (claim.kind, claim.fqn))

    def having_live(self, kind: str, parent_ids: Collection[str]) -> set[str]:
        """The ids as the staged events leave them; see `EntityReads.having_live`.

        No child is ever deleted by what is staged.
        """
        staged = {
            parent_id
            for parent_id in parent_ids
            for claim in self._children.get(parent_id, {}).values()
            if (claim.kind, claim.deleted) == (kind, False)
        }
        asked = {one for one in parent_ids if one not in staged and self._ends.get(one) != 0}
        known = self._live[kind]
        if asked - known.keys():
            new_ids = asked.union(self._attached.get(kind, ())) - known.keys()
            having = self._log.having_live(kind, new_ids)
            known.update((one, one in having) for one in new_ids)
        return staged | {one for one in asked if known[one]}

    def mentioning(self, texts: Collection[bytes], *, after: int = 0) -> tuple[set[str], int]:
        """All that have staged events count; see `EntityReads.mentioning`."""
        ids, upto = self._log.mentioning(texts, after=after)
        return ids.union(self._events), upto

    def streams(
        self, spans: Sequence[StreamSpan], *, upto: int | None = None
    ) -> Iterator[RecordedEvent]:
        """The events of these spans with those that are staged; see `EntityReads.streams`.

        Staged events have no position, and none is beyond `upto`.
        """
        in_log: list[StreamSpan] = []
        for span in spans:
            if span.after < self._ends.get(span.entity_id, span.after + 1):
                in_log.append(span)
            staged = self._events.get(span.entity_id)
            if staged:
                if in_log:
                    yield from self._log.streams(in_log, upto=upto)
                    in_log = []
                for event in staged:
                    if span.after < event.stream_version <= (span.upto or event.stream_version):
                        yield event
        if in_log:
            yield from self._log.streams(in_log, upto=upto)
