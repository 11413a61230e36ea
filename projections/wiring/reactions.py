"""Reactions to the log, each in the one process of a directory, or of all hosts, that leads."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from domain.judging.judge import NAME, Judge
from domain.measurements.port import Measurements
from projections.feeding.daemon import Steps
from projections.generations.port import Leadership
from projections.generations.shared_supervision import TRY_SECONDS
from projections.wiring.stores import Stores


class LedJudge:
    """The judge of hosts that share a log: it works in the one process that leads."""

    name = NAME

    def __init__(self, judge: Judge, leader: Leadership) -> None:
        self._judge = judge
        self._leader = leader
        self._leads = False
        self._tried_at = float("-inf")

    def step(self) -> int:
        """One step of the judge, see `Judge.step`; 0 where another process leads."""
        if not (self._leads and self._leader.leads()):
            self._leads = False
            if time.monotonic() - self._tried_at < TRY_SECONDS:
                return 0
            self._tried_at = time.monotonic()
            if not self._leader.take():
                return 0
            self._leads = True
            self._judge.begin()
        return self._judge.step()


@contextmanager
def judging(stores: Stores, measurements: Measurements) -> Iterator[Steps]:
    """The judge over opened stores, whose log takes what it finds; it leads until the block ends.

    Whoever does its steps has ended by then.
    """
    judge = Judge(stores.log, measurements)
    entities = stores.backends[0]
    if not entities.is_shared:
        yield judge  # this process has the lock of the directory
        return
    leader = entities.leadership_of(NAME)
    try:
        yield LedJudge(judge, leader)
    finally:
        leader.release()
