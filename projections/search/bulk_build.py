"""Builds a search index from the whole log: each entity once, in order of ids, as it is now.

Each commit says how far it came, at checkpoint 0, so that nothing serves it and a load that was
interrupted goes on from there.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

import msgspec

from domain.aggregate.entity import Entity
from domain.event_store.entity_reads import StreamSpan
from domain.event_store.port import EventStore
from domain.reading.history import folded
from projections.feeding.log_fingerprint import fingerprint_at
from projections.feeding.port import Checkpoint, Progress
from projections.search.documents.documents import is_indexed
from projections.search.engine import SearchedPaths, SearchEngine
from projections.search.projection import EntityDocuments
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
    most_entities: int = 5_000,
    most_bytes: int = 32_000_000,
) -> None:
    """Fill an empty index, or go on with one half filled from this log.

    The bounds are of a commit: its entities, and their JSON, of which the last may go beyond.
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
    batch, size = dict[str, Entity](), 0
    for start in range(0, total, _STREAMS_AT_A_TIME):
        part = live.part(start, _STREAMS_AT_A_TIME)
        ids = part[bisect_right(part, reached.after) :]
        for entity in _entities(log, ids, reached.upto):
            batch[entity.id] = entity
            size += sum(map(len, entity.body.values()))
            if len(batch) >= most_entities or size >= most_bytes:
                checkpoint = _commit(engine, batch, reached, checkpoint, searched)
                batch, size = {}, 0
                progress(start + bisect_right(part, entity.id), total)
    checkpoint = _commit(engine, batch, reached, checkpoint, searched)
    progress(total, total)
    engine.apply({}, reached.upto, reached.fingerprint, after=checkpoint, searched=searched)


def _commit(
    engine: SearchEngine,
    batch: dict[str, Entity],
    reached: _Reached,
    checkpoint: Checkpoint,
    searched: SearchedPaths,
) -> Checkpoint:
    """Commit the documents of a batch, and how far it came; returns the checkpoint after it."""
    if not batch:
        return checkpoint
    reached.after = next(reversed(batch))
    fingerprint = msgspec.json.encode(reached).decode()
    documents = EntityDocuments(batch, searched)
    engine.apply(documents, 0, fingerprint, after=checkpoint, searched=searched)
    return 0, fingerprint


def _resume(log: EventStore, fingerprint: str) -> _Reached | None:
    """Return the place that an earlier load of this log reached, None when there was none."""
    try:
        reached = msgspec.json.decode(fingerprint, type=_Reached)
    except msgspec.MsgspecError:
        return None
    return reached if fingerprint_at(log, reached.upto) == reached.fingerprint else None


def _entities(log: EventStore, ids: Sequence[str], upto: int) -> Iterator[Entity]:
    """Those of the entities that are indexed, as they were at a position, in order of the ids."""
    streams = log.streams([StreamSpan(entity_id) for entity_id in ids], upto=upto)
    for entity, _ in folded(streams):
        if is_indexed(entity):
            yield entity
