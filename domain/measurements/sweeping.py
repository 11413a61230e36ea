"""Deletes, from time to time, the measurements of purged entities and those that are too old."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence

from domain.errors import StoreUnavailable
from domain.measurements.port import Measurements
from domain.measurements.reports import DAY_MS

Existing = Callable[[Sequence[str]], Collection[str]]
"""Tells of ids which of them the log has and did not purge: ids never come back."""

log = logging.getLogger("catalog.measurements")


def sweep(
    store: Measurements,
    existing: Existing,
    now: int,
    known: int,
    go_on: Callable[[], bool] = lambda: True,
    asked_at_once: int = 1_000,
) -> bool:
    """Delete the points of entities that do not exist, and of all that is too old.

    `now` and `known` are in milliseconds since 1970: the time by the clock, and a time that
    has been reached for sure. Unless that, or the newest point, is at most a day before `now`,
    nothing is deleted for its age, as the clock may be wrong; returns whether it was trusted.
    `go_on` is asked between two entities. Several hosts may sweep at once: what one of them has
    deleted, another does not find. The log, which may be a round trip away, is asked of so many
    entities at once. Raises StoreUnavailable.
    """
    entities = store.entities()
    for start in range(0, len(entities), asked_at_once):
        some = entities[start : start + asked_at_once]
        left = existing(some) if go_on() else some
        for entity_id in some:
            if not go_on():
                return True
            if entity_id not in left:
                store.forget(entity_id)
    if now - max(known, store.newest_time()) > DAY_MS:
        return False
    store.forget_older(now)
    return True


class Sweeper:
    """Sweeps in a thread; for the one process that projects a data directory."""

    interval_seconds = 300.0
    """Longest time after its purge until the measurements of an entity are deleted."""

    def __init__(self, store: Measurements, existing: Existing, newest: Callable[[], int]) -> None:
        """`newest` tells the time of the newest event, in milliseconds since 1970.

        It is asked once, at the start: events from then on have their times from the clock that
        they would have to vouch for. Time that passes is added to it. Raises StoreUnavailable.
        """
        self._store = store
        self._existing = existing
        self._known_from_start = newest() - time.monotonic() * 1_000
        self._trusts = True
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
        while not self._stopped.wait(self.interval_seconds):
            try:
                now = int(time.time() * 1_000)
                known = int(self._known_from_start + time.monotonic() * 1_000)
                trusts = sweep(
                    self._store, self._existing, now, known, lambda: not self._stopped.is_set()
                )
                if self._trusts and not trusts:
                    log.warning(
                        "measurements are not deleted for their age: nothing was written or"
                        " measured for more than a day, so nothing tells that the clock is right;"
                        " a measurement, or a restart after a write, does"
                    )
                self._trusts = trusts
            except StoreUnavailable as error:
                log.error("measurements not swept", extra={"reason": error.message})
