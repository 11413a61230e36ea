"""The states in a search index, the replaced ones too, against a replay of the log."""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, islice

from domain.aggregate.entity import Entity
from domain.event_store.entity_reads import whole_streams
from domain.event_store.port import EventStore
from domain.reading import history
from projections.search.documents.documents import HOLDS_STILL, entity_digest
from projections.verification.report import Difference, Differences, FieldPair

_STREAMS_AT_A_TIME = 1_000
"""Entities whose streams are asked for together; the log reads them in bounded pieces."""

StoredStates = Callable[[str], Iterable[tuple[int, int, str]]]
"""Function of an id: `since` and `until` of each state in the index, and the digest of a replaced
one in hexadecimal, "" for the current one."""


def find_past_differences(
    log: EventStore,
    span: tuple[int, int],
    ids: Iterator[str],
    stored: StoredStates,
    differences: Differences,
) -> None:
    """Compare every state of these entities in the index with the states by a replay of the log.

    `span` is the horizon of the index, up to which no state may have ended, and the index's
    position.
    """
    horizon, position = span
    while part := [*islice(ids, _STREAMS_AT_A_TIME)]:
        streams = whole_streams(log, part, upto=position)
        for entity_id, replayed in groupby(history.states(streams), lambda state: state[0].id):
            entity, due = _due(replayed, horizon)
            for since, until, digest in stored(entity_id):
                expected = due.pop(since, None)
                if expected != (until, digest):
                    differences.add(_difference(entity, since, expected, (until, digest)))
            for since, expected in due.items():
                differences.add(_difference(entity, since, expected, None))


_Held = tuple[int, str]
"""The position until which a state held, and its digest in hexadecimal; of a current state "", as
its digest is compared with the documents."""


def _due(replayed: Iterable[tuple[Entity, int]], horizon: int) -> tuple[Entity, dict[int, _Held]]:
    """The last state of an entity, and position -> what an index should hold of the state there.

    An index holds nothing of a purged entity, and of states that ended up to the horizon.
    """
    due: dict[int, _Held] = {}
    before: tuple[Entity, int] | None = None
    for entity, since in replayed:
        if before is not None and since > horizon:
            due[before[1]] = since, f"{entity_digest(before[0]):x}"
        elif before is not None:
            del due[before[1]]
        due[since] = HOLDS_STILL, ""
        before = entity, since
    return entity, {} if entity.purged else due


def _difference(entity: Entity, since: int, due: _Held | None, stored: _Held | None) -> Difference:
    """The fields in which a state differs; None: it is not there."""
    pairs = [FieldPair("since", since, since)]
    if due is None or stored is None:
        pairs = [FieldPair("since", due and since, stored and since)]
    else:
        named = zip(("until", "digest"), due, stored, strict=True)
        pairs += [FieldPair(name, one, other) for name, one, other in named if one != other]
    return Difference("past", entity.kind, entity.id, entity.fqn, pairs)
