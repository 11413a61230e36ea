"""Runs the history of a seed over one of the databases."""

import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from unittest.mock import patch

from benchmarks.histories.history import History, Result
from benchmarks.histories.postgres_rig import PostgresRig
from benchmarks.histories.postgres_site import PostgresSite
from benchmarks.histories.sqlite_rig import SqliteRig
from benchmarks.histories.stepped_statements import stepped_statements
from domain.event_store.postgres import connections
from projections.generations import shared_supervision
from projections.generations.postgres import leadership

SQLITE, POSTGRESQL = "sqlite", "postgresql"
_MEMORY = Path("/dev/shm")
"""A file system in memory: as no power is lost here in truth, the disk need not be waited for."""

Run = Callable[[int], Result]
"""Runs the history of a seed."""


@contextmanager
def over_sqlite() -> Iterator[Run]:
    """Yield a runner of histories over data directories of their own."""

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


@contextmanager
def over_postgresql(binaries: Path) -> Iterator[Run]:
    """Yield a runner of histories on a server of their own, whose programs are in a folder."""
    place = Path(tempfile.mkdtemp(prefix="history-", dir=_MEMORY if _MEMORY.is_dir() else None))
    place.chmod(0o755)
    try:
        with hurried():
            site = PostgresSite(binaries, place)
            try:
                yield partial(_run_on, site)
            finally:
                site.close()
    finally:
        shutil.rmtree(place)


def _run_on(site: PostgresSite, seed: int) -> Result:
    rig = PostgresRig(site, f"history_{seed}", random.Random(f"{POSTGRESQL} {seed} rig"))
    try:
        with stepped_statements():
            history = History(seed, rig, POSTGRESQL)
            return Result(seed, history.run(), history.schedule.trace)
    finally:
        rig.close()


@contextmanager
def hurried() -> Iterator[None]:
    """A block in which no time has to pass, so that a seed gives one history.

    Who does not lead tries to at each step, who leads makes sure of it at each step, and no
    connection is asked whether it is alive before it is used.
    """
    with (
        patch.object(shared_supervision, "TRY_SECONDS", 0.0),
        patch.object(leadership, "_ALIVE_SECONDS", 0.0),
        patch.object(connections, "_TRUSTED_SECONDS", float("inf")),
    ):
        yield


def how_to_replay(database: str, seed: int) -> str:
    """The command that runs one history again."""
    return f"python -m benchmarks.histories --database {database} --seed {seed} --count 1"
