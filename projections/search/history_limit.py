"""Has the live search index forget the past that the sorted read model does not keep any more."""

import time
from collections.abc import Callable

from domain.reading.horizon import Horizon
from projections.feeding.shortened_past import log_shortened
from projections.search.engine import SearchEngine

LOOK_SECONDS = 60.0
"""Time between two looks at the horizon of the sorted read model."""


class SearchHistoryLimit:
    """Has the index that one thread feeds follow a horizon."""

    def __init__(
        self,
        horizon: Callable[[], Horizon],
        due: Callable[[], int],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`horizon` gives that of the sorted read model, `due` the position up to which the past
        need not be kept; `clock` is in seconds.
        """
        self._horizon = horizon
        self._due = due
        self._engine: SearchEngine | None = None
        self._clock = clock
        self._looks_at = 0.0

    def step(self, engine: SearchEngine) -> bool:
        """Move the index's horizon on, if it is time to look; returns True if it moved.

        An index that has not applied the position of the horizon yet follows later. Raises
        StoreUnavailable.
        """
        now = self._clock()
        if now < self._looks_at:
            return False
        self._looks_at = now + LOOK_SECONDS
        horizon = self._horizon()
        if engine is not self._engine:
            log_shortened("search", engine.horizon(), self._due())
            self._engine = engine
        if not horizon.position or horizon.position > engine.checkpoint():
            return False
        return engine.forget(horizon)
