"""The log as it will be, once it has what a request has decided so far but not yet appended."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from domain.aggregate.entity import Entity
from domain.event_store.claims import claim_of
from domain.event_store.port import Claim, EntityReads, RecordedEvent, StreamSpan
from domain.reading.history import folded


class StagedLog(EntityReads):
    """Reads of a log with staged events at its end; for one thread, and for one request.

    A claim that was read from the log is remembered, and so is where a stream ended: whether that
    still holds when the events are appended is for the log to say, as it is of all that a writer
    has read.
    """

    def __init__(self, log: EntityReads) -> None:
        self._log = log
        self._known: dict[tuple[str, str] | str, Claim | None] = {}
        """The claim on a name, and of an id; None for a name or an id without one."""
        self._ends: dict[str, int] = {}
        """Id -> stream version of the last event in the log, of entities that were read."""
        self._events: defaultdict[str, list[RecordedEvent]] = defaultdict(list)
        self._children: defaultdict[str, dict[str, Claim]] = defaultdict(dict)
        """Parent id -> id -> staged claim."""

    def epoch(self) -> int:
        """The epoch of the log; see `EntityReads.epoch`."""
        return self._log.epoch()

    def stage(self, events: Sequence[RecordedEvent], after: Entity) -> None:
        """Add the events of one entity, which holds a name after them."""
        self._events[after.id] += events
        claim = claim_of(after)
        self._known[claim.kind, claim.fqn] = self._known[claim.id] = claim
        if claim.parent_id is not None:
            self._children[claim.parent_id][claim.id] = claim

    def states(self, names: Collection[tuple[str, str]]) -> Iterator[Entity]:
        """The newest states in the log of those that hold these names, read together.

        A name is a pair of kind and qualified name. Of those with staged events there is none.
        """
        ids = {claim.id for claim in self.claims(names=names)} - self._events.keys()
        for state, _ in folded(self._log.streams([StreamSpan(entity_id) for entity_id in ids])):
            self._ends[state.id] = state.stream_version
            yield state

    def claims(
        self,
        *,
        names: Collection[tuple[str, str]] = (),
        ids: Collection[str] = (),
        parents: Collection[str] = (),
        ends: Collection[str] = (),
    ) -> list[Claim]:
        """The claims as the staged events leave them; see `EntityReads.claims`.

        No edge is ever staged.
        """
        new_names = [name for name in names if name not in self._known]
        new_ids = [entity_id for entity_id in ids if entity_id not in self._known]
        if new_names or new_ids:
            self._known.update(dict.fromkeys((*new_names, *new_ids)))
            for claim in self._log.claims(names=new_names, ids=new_ids):
                self._known[claim.kind, claim.fqn] = self._known[claim.id] = claim
        asked: tuple[tuple[str, str] | str, ...] = (*names, *ids)
        known = [self._known[key] for key in asked]
        found = {claim.id: claim for claim in known if claim is not None}
        for claim in self._log.claims(parents=parents, ends=ends) if parents or ends else ():
            found[claim.id] = claim
        for parent_id in parents:
            found |= self._children[parent_id]
        return sorted(found.values(), key=lambda claim: (claim.kind, claim.fqn))

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
        return staged | self._log.having_live(kind, parent_ids)

    def streams(
        self, spans: Sequence[StreamSpan], *, upto: int | None = None
    ) -> Iterator[RecordedEvent]:
        """The events of these spans with those that are staged; see `EntityReads.streams`.

        Staged events have no position, and none is beyond `upto`.
        """
        for span in spans:
            if span.after < self._ends.get(span.entity_id, span.after + 1):
                yield from self._log.streams([span], upto=upto)
            for event in self._events.get(span.entity_id, ()):
                if span.after < event.stream_version <= (span.upto or event.stream_version):
                    yield event
