"""The search of a whole log for the entities that a rename concerns."""

import msgspec

from domain.event_store.entity_reads import EntityReads

_MOST_KEPT = 100_000
"""Most ids that are remembered; of a search with more nothing is."""


class _Search(msgspec.Struct, frozen=True):
    epoch: int
    texts: tuple[bytes, ...]
    ids: frozenset[str]
    upto: int


class Mentions:
    """Searches a log; a second search for the same texts goes on where the first one ended.

    A rename that another writer was before is planned again, at last with all writers waiting: they
    do not wait for the whole log. Threads may share it.
    """

    def __init__(self, store: EntityReads) -> None:
        self._store = store
        self._last: _Search | None = None

    def of(self, texts: tuple[bytes, ...]) -> tuple[set[str], int]:
        """The ids of those who mention texts, and up to where; see `EntityReads.mentioning`."""
        epoch, last = self._store.epoch(), self._last
        if last is None or (last.epoch, last.texts) != (epoch, texts):
            last = _Search(epoch, texts, frozenset(), 0)
        found, upto = self._store.mentioning(texts, after=last.upto)
        ids = last.ids | found
        self._last = _Search(epoch, texts, ids, upto) if len(ids) <= _MOST_KEPT else None
        return {*ids}, upto
