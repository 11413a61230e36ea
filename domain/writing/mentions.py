"""The search of a whole log for the entities that a rename concerns."""

import msgspec

from domain.event_store.entity_reads import EntityReads

_MOST_KEPT = 100_000
"""The most ids that a remembered search may have; a larger result is not remembered."""


class _Search(msgspec.Struct, frozen=True):
    epoch: int
    texts: tuple[bytes, ...]
    ids: frozenset[str]
    upto: int


class Mentions:
    """Searches a log; a second search for the same texts goes on where the first one ended.

    A rename that loses a race is planned again, at last while all writers wait: they need not wait
    until the whole log is searched once more. Threads may share one object.
    """

    def __init__(self, store: EntityReads) -> None:
        self._store = store
        self._last: _Search | None = None

    def of(self, texts: tuple[bytes, ...]) -> tuple[set[str], int]:
        """Ids of entities that mention texts, and the last position that was searched."""
        epoch, last = self._store.epoch(), self._last
        if last is None or (last.epoch, last.texts) != (epoch, texts):
            last = _Search(epoch, texts, frozenset(), 0)
        newer, upto = self._store.mentioning(texts, after=last.upto)
        ids = last.ids | newer
        self._last = _Search(epoch, texts, ids, upto) if len(ids) <= _MOST_KEPT else None
        return {*ids}, upto
