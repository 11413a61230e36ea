"""Search engines over indexes that are gone with their engine."""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from projections.search.index.engine import WhooshEngine

TIME_ENOUGH = 300.0
"""Seconds for a search that is to find everything, though the machine does much else.

What a search does when its time is over is said by tests that give it less, or a clock.
"""


class BriefEngine(WhooshEngine):
    """An engine that closes itself and removes its index once nobody refers to it."""

    path: Path
    made_by: int

    def __del__(self) -> None:
        # A forked process has copies of engines; that one of them is garbage there says nothing
        # of the index, which belongs to the process that made it.
        if os.getpid() == self.made_by:
            self.close()
            shutil.rmtree(self.path)


def brief_engine(*, deadline: float = TIME_ENOUGH, **options: Any) -> WhooshEngine:
    """An engine over a new, empty index; `options` are those of `WhooshEngine.open`."""
    path = Path(tempfile.mkdtemp())
    engine = BriefEngine.open(path, deadline=deadline, **options)
    engine.path, engine.made_by = path, os.getpid()
    return engine
