"""A real event store with faults: a full disk, or a rival that was first, when a test wants it."""

from collections.abc import Mapping
from typing import Any

from domain.event_store.port import EventStore


class FaultyStore:
    """Passes calls on to a store but for those that meet a fault."""

    def __init__(self, store: EventStore, faults: Mapping[str, list[Exception | None]]) -> None:
        """`faults`: method -> what each of its first calls raises, None to pass it on."""
        self._store = store
        self._faults = {name: iter(errors) for name, errors in faults.items()}

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)

        def passed_on(*args: Any, **values: Any) -> Any:
            error = next(self._faults.get(name, iter(())), None)
            if error is not None:
                raise error
            return method(*args, **values)

        return passed_on
