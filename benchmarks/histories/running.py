"""Runs the history of a seed over one of the databases."""

import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.histories.history import History, Result
from benchmarks.histories.sqlite_rig import SqliteRig

SQLITE, POSTGRESQL = "sqlite", "postgresql"
_MEMORY = Path("/dev/shm")
"""A file system in memory: as no power is lost here in truth, the disk need not be waited for."""

Run = Callable[[int], Result]
"""Runs the history of a seed."""


@contextmanager
def over_sqlite() -> Iterator[Run]:
    """What runs histories over data directories of their own."""

    def run(seed: int) -> Result:
        place = Path(tempfile.mkdtemp(prefix="history-", dir=_MEMORY if _MEMORY.is_dir() else None))
        try:
            rig = SqliteRig(place, random.Random(f"{SQLITE} {seed} rig"))
            try:
                history = History(seed, rig, SQLITE)
                return Result(seed, history.run(), history.schedule.trace)
            finally:
                rig.close()
        finally:
            shutil.rmtree(place)

    yield run


def how_to_replay(database: str, seed: int) -> str:
    """The command that runs one history again."""
    return f"python -m benchmarks.histories --database {database} --seed {seed} --count 1"
