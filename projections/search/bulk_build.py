"""Builds a search index from the whole log: each entity once, in order of ids, with its past.

Each commit says how far it came, at checkpoint 0, so that nothing serves it and a load that was
interrupted goes on from there.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from domain.event_store.entity_reads import whole_streams
from domain.event_store.port import EventStore
from domain.reading import history
from projections.feeding.log_fingerprint import fingerprint_at
from projections.feeding.port import Checkpoint, Folded, Progress
from projections.search.documents.documents import is_indexed
from projections.search.engine import DocumentChanges, SearchedPaths, SearchEngine
from projections.search.projection import EntityDocuments, replaced_documents
from projections.search.searched_paths import searched_paths

_STREAMS_AT_A_TIME = 1_000
"""Entities whose streams are asked for together; the log reads them in bounded pieces."""


class _Reached(msgspec.Struct):
    """The place that a load reached; the fingerprint of its commits."""

    upto: int
    fingerprint: str
    """Fingerprint of the log at `upto`."""
    after: str = ""
    """The last id that was looked at."""


def load(
    engine: SearchEngine,
    log: EventStore,
    progress: Progress,
    *,
    most_states: int = 5_000,
    most_bytes: int = 32_000_000,
) -> None:
    """Fill an empty index, or go on filling one that an interrupted load of this log has left.

    A commit ends at `most_states` states of its entities, or at `most_bytes` of JSON of their last
    states; one entity may exceed either bound.
    """
    checkpoint = engine.checkpoint_and_fingerprint()
    if checkpoint[0]:
        return
    live = log.live(by_name=False)
    reached = _resume(log, checkpoint[1])
    if reached is None:
        engine.reset()
        checkpoint = 0, ""
        reached = _Reached(live.head, fingerprint_at(log, live.head) or "")
        searched = searched_paths(log, reached.upto)
    else:
        searched = engine.searched()
    total = len(live)
    batch: dict[str, Folded] = {}
    states = size = 0

    def commit() -> Checkpoint:
        return _commit(engine, log, batch, reached, checkpoint, searched)

    for start in range(0, total, _STREAMS_AT_A_TIME):
        part = live.part(start, _STREAMS_AT_A_TIME)
        ids = part[bisect_right(part, reached.after) :]
        for state in _last_states(log, ids, reached.upto):
            entity = state.entity
            batch[entity.id] = state
            states += entity.stream_version
            size += sum(map(len, entity.body.values()))
            if states >= most_states or size >= most_bytes:
                checkpoint = commit()
                batch, states, size = {}, 0, 0
                progress(start + bisect_right(part, entity.id), total)
    checkpoint = commit()
    progress(total, total)
    engine.apply(DocumentChanges({}, reached.upto, checkpoint, reached.fingerprint, searched))


def _commit(
    engine: SearchEngine,
    log: EventStore,
    states: dict[str, Folded],
    reached: _Reached,
    checkpoint: Checkpoint,
    searched: SearchedPaths,
) -> Checkpoint:
    """Commit the documents of entities, in order of ids; returns the checkpoint after it."""
    if not states:
        return checkpoint
    reached.after = next(reversed(states))
    fingerprint = msgspec.json.encode(reached).decode()
    changed = [entity_id for entity_id, state in states.items() if state.entity.stream_version > 1]
    replaced = replaced_documents(_steps(log, changed, reached.upto), searched)
    documents = EntityDocuments(states, searched)
    engine.apply(DocumentChanges(documents, 0, checkpoint, fingerprint, searched, replaced))
    return 0, fingerprint


def _resume(log: EventStore, fingerprint: str) -> _Reached | None:
    """Return the place that an earlier load of this log reached, None when there was none."""
    try:
        reached = msgspec.json.decode(fingerprint, type=_Reached)
    except msgspec.MsgspecError:
        return None
    return reached if fingerprint_at(log, reached.upto) == reached.fingerprint else None


def _last_states(log: EventStore, ids: Sequence[str], upto: int) -> Iterator[Folded]:
    """The states of the indexed ones among these entities at a position, in order of the ids."""
    streams = whole_streams(log, ids, upto=upto)
    for entity, position in history.folded(streams):
        if is_indexed(entity):
            yield Folded(entity, position)


def _steps(log: EventStore, ids: Sequence[str], upto: int) -> Iterator[tuple[Folded, Folded]]:
    """Each state of the entities that was replaced up to a position, and the one that replaced it.

    States are folded as the iterator goes on, so that a long stream takes no memory.
    """
    streams = whole_streams(log, ids, upto=upto)
    states = (Folded(*state) for state in history.states(streams))
    for state, successor in pairwise(states):
        if state.entity.id == successor.entity.id:
            yield state, successor
