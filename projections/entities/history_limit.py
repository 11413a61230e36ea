"""Moves the horizon of the live sorted read model from time to time, in short steps."""

import logging
import time
from collections.abc import Callable

from projections.entities.port import SortedReadModel
from projections.feeding.shortened_past import log_shortened

LOOK_SECONDS = 3_600.0
"""Time between two looks at how far the horizon should be."""
STEP_SECONDS = 0.006
"""Time that one step is to take: a commit of a write may have to wait for it."""
_REST = 9
"""Length of the rest after a step, in lengths of the step; commits of writes go on meanwhile."""
_FIRST_POSITIONS, _MOST_POSITIONS = 50, 1_000

log = logging.getLogger("catalog.projections")


class HistoryLimit:
    """Keeps the past of some days in the read model that one thread feeds."""

    def __init__(
        self,
        days: int | None,
        *,
        wall_clock: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`days` are kept, None for all of the past. Both clocks give seconds, `wall_clock` those
        since the Unix epoch."""
        self._days = days
        self._wall_clock = wall_clock
        self._clock = clock
        self._model: SortedReadModel | None = None
        self._due = 0
        """The position that the horizon is to reach."""
        self._is_there = True
        """True if the horizon has reached the position that was due at the last look."""
        self._rests_until = 0.0
        self._positions = _FIRST_POSITIONS

    def step(self, model: SortedReadModel) -> bool:
        """Take the next step of the horizon, if one is due; returns whether it moved.

        For another model than at the last step, the due position is computed anew. Raises
        StoreUnavailable.
        """
        begun = self._clock()
        if model is not self._model:
            self._model, self._is_there = model, True
            log_shortened("entities", model.horizon(), self.due(model))
        elif begun < self._rests_until:
            return False
        if self._is_there:
            self._due = self.due(model)
        before = model.horizon()
        if before.position >= self._due:
            self._is_there = True
            self._rests_until = begun + LOOK_SECONDS
            return False
        self._is_there = False
        after = model.prune(self._due, self._positions)
        ended = self._clock()
        self._note(ended - begun)
        self._rests_until = ended + _REST * (ended - begun)
        if after.position >= self._due:
            log.info("older past is removed", extra={"horizon": after.position, "at": after.at})
        return after != before

    def due(self, model: SortedReadModel) -> int:
        """The position up to which the past need not be kept by now; 0: all of it is kept."""
        if self._days is None:
            return 0
        return model.horizon_due(self._days, int(self._wall_clock() * 1_000))

    def _note(self, seconds: float) -> None:
        """Have the next step take about STEP_SECONDS."""
        if seconds > STEP_SECONDS:
            self._positions = max(1, self._positions // 2)
        elif seconds < STEP_SECONDS / 2:
            self._positions = min(_MOST_POSITIONS, 2 * self._positions)
