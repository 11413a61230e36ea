"""Builds a search index from the whole log: each entity once, in order of ids, as it is now.

Each commit says how far it came, at checkpoint 0, so that nothing serves it and a load that was
interrupted goes on from there.
"""

import msgspec

from domain.event_store.port import EventStore, StreamSpan
from domain.history import folded
from projections.feeding.log_fingerprint import fingerprint_at
from projections.feeding.port import Progress
from projections.search.documents import SearchDocument, document
from projections.search.engine import SearchEngine

DOCUMENTS_PER_COMMIT = 5_000


class _Reached(msgspec.Struct):
    """How far a load came; the mark of its commits."""

    upto: int
    mark: str
    after: str = ""
    """The last id that was looked at."""


def load(engine: SearchEngine, log: EventStore, progress: Progress) -> None:
    """Fill an empty index, or go on with one half filled from this log; compact it at the end."""
    position, mark = engine.anchor()
    if position:
        return
    live = log.live(by_name=False)
    reached = _resume(log, mark)
    if reached is None:
        engine.reset()
        reached = _Reached(live.head, fingerprint_at(log, live.head) or "")
    total = len(live)
    for start in range(0, total, DOCUMENTS_PER_COMMIT):
        ids = [one for one in live.part(start, DOCUMENTS_PER_COMMIT) if one > reached.after]
        if ids:
            reached.after = ids[-1]
            documents = _documents(log, ids, reached.upto)
            engine.apply(documents, 0, msgspec.json.encode(reached).decode())
        progress(min(start + DOCUMENTS_PER_COMMIT, total), total)
    engine.apply({}, reached.upto, reached.mark)
    engine.compact()


def _resume(log: EventStore, mark: str) -> _Reached | None:
    """What an earlier load of this log left."""
    try:
        reached = msgspec.json.decode(mark, type=_Reached)
    except msgspec.MsgspecError:
        return None
    return reached if fingerprint_at(log, reached.upto) == reached.mark else None


def _documents(log: EventStore, ids: list[str], upto: int) -> dict[str, SearchDocument | None]:
    streams = log.streams([StreamSpan(entity_id) for entity_id in ids], upto=upto)
    return {state.id: document(state) for state, _ in folded(streams)}
