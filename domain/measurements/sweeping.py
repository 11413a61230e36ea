"""Deletes, from time to time, what no entity has any more and what is too old."""

import logging
import threading
import time
from collections.abc import Callable

from domain.errors import StoreUnavailable
from domain.measurements.store import MeasurementStore

INTERVAL_SECONDS = 300.0
"""How long after its purge, at most, the measurements of an entity are deleted."""

log = logging.getLogger("catalog.measurements")


def sweep(
    store: MeasurementStore,
    exists: Callable[[str], bool],
    now: int,
    go_on: Callable[[], bool] = lambda: True,
) -> None:
    """Delete the points of entities that do not exist, and of all that is too old.

    `exists` says of an id whether the log has the entity and did not purge it: ids never come
    back. `now` is in milliseconds since 1970; `go_on` is asked between two entities. Raises
    StoreUnavailable.
    """
    for entity_id in store.entities():
        if not go_on():
            return
        if not exists(entity_id):
            store.forget(entity_id)
    store.forget_older(now)


class Sweeper:
    """Sweeps in a thread; for the one process that projects a data directory."""

    def __init__(self, store: MeasurementStore, exists: Callable[[str], bool]) -> None:
        self._store = store
        self._exists = exists
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="measurements", daemon=True)

    def start(self) -> None:
        """Start to sweep, for the first time after an interval."""
        self._thread.start()

    def stop(self) -> None:
        """Stop, once a sweep under way has ended."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(INTERVAL_SECONDS):
            try:
                now = int(time.time() * 1_000)
                sweep(self._store, self._exists, now, lambda: not self._stopped.is_set())
            except StoreUnavailable as error:
                log.error("measurements not swept", extra={"reason": error.message})
