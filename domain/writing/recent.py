"""Entities remembered for a while, within bounds on their number and on their bytes."""

from collections import OrderedDict

from msgspec.structs import replace

from domain.aggregate.entity import Entity

MAX_BYTES = 64_000_000
"""The most bytes of bodies that one `RecentEntities` remembers."""


class RecentEntities:
    """The states of entities that were kept last; bodies of megabytes push out many small ones.

    Not to be shared between threads without a lock.
    """

    def __init__(self, most: int, max_bytes: int = MAX_BYTES) -> None:
        """Hold `most` entities with bodies of `max_bytes` together, and always the newest."""
        self._most = most
        self._max_bytes = max_bytes
        self._held = 0
        self._entries: OrderedDict[str, tuple[Entity, int, int]] = OrderedDict()
        """Id -> state, size and position."""

    def get(self, entity_id: str) -> Entity | None:
        """The state that was kept last of an entity, None when it is not remembered."""
        entry = self._entries.get(entity_id)
        return None if entry is None else entry[0]

    def get_with_position(self, entity_id: str) -> tuple[Entity, int] | None:
        """The state that was kept last of an entity, and its position; None when not remembered."""
        entry = self._entries.get(entity_id)
        return None if entry is None else (entry[0], entry[2])

    def keep(self, state: Entity, position: int = 0) -> None:
        """Remember a state instead of the earlier one of the same entity.

        `position` is that of its last event, or the epoch in which it was read, for those who want
        to know it again.
        """
        entries = self._entries
        if self.get(state.id) is state:
            entries[state.id] = (state, entries[state.id][1], position)
            entries.move_to_end(state.id)
            return
        self.drop(state.id)
        if state.stream_version > 1:
            # What is left of the creation would hold all of its payload in memory.
            state = replace(state, body={key: raw.copy() for key, raw in state.body.items()})
        size = sum(map(len, state.body.values()))
        entries[state.id] = (state, size, position)
        self._held += size
        while len(entries) > self._most or (self._held > self._max_bytes and len(entries) > 1):
            self._held -= entries.popitem(last=False)[1][1]

    def drop(self, entity_id: str) -> None:
        """Remember nothing of an entity."""
        dropped = self._entries.pop(entity_id, None)
        if dropped is not None:
            self._held -= dropped[1]
