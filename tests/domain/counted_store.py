"""A real event store that remembers how it was called."""

from typing import Any

from domain.event_store.port import EventStore

_WHOLE = {"append", "former_holders", "live", "streams"}
"""Methods that are counted themselves, though the port derives them from what a database does."""
_FREE = {"epoch"}
"""Methods that ask no database."""
_COUNTED = EventStore.__abstractmethods__ - _FREE | _WHOLE


class CountedStore:
    """Passes every call on to a store; what the port derives from other methods counts as those."""

    def __init__(self, store: EventStore) -> None:
        self.store = store
        self.calls: list[tuple[str, dict[str, Any]]] = []
        """Name and keyword arguments of each counted call."""

    def __getattr__(self, name: str) -> Any:
        if name in _FREE:
            return getattr(self.store, name)
        if name not in _COUNTED:
            return getattr(EventStore, name).__get__(self)
        method = getattr(self.store, name)

        def counted(*args: Any, **values: Any) -> Any:
            self.calls.append((name, values))
            return method(*args, **values)

        return counted

    @property
    def names(self) -> list[str]:
        """The methods called, in order."""
        return [name for name, _ in self.calls]
