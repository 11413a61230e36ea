"""A process that appends random events and has lists and search take them, until it is killed.

It kills itself at a step of its commits, or goes on until somebody else kills it.
"""

import os
import random
import signal
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from domain.event_store.opening import open_event_log
from domain.event_store.postgres.link import Link
from projections.entities.port import SortedReadModel
from projections.entities.postgres.database import EntityDatabase
from projections.entities.postgres.opening import open_read_model as open_in_postgres
from projections.entities.projection import EntityProjection
from projections.entities.sqlite.model import open_read_model
from projections.feeding.projector import Projector
from projections.search.index.engine import WhooshEngine
from projections.search.projection import SearchProjection
from tests.projections.entities.random_log import RandomLog

STEPS = {"statement": 400, "file": 120, "sync": 12, "round trip": 80, "any": 12}
"""The steps of commits, each with the largest number of them after which the process is killed.

They are statements of SQLite, files of the index that are opened to be written, renamed or removed,
waits for the disk, and answers of PostgreSQL; `any` are the appends after which somebody else kills
the process, wherever it is then.
"""
_CHANGES = ("os.rename", "os.remove")


class Countdown:
    """Kills the process once so many steps are left behind."""

    def __init__(self, steps: int) -> None:
        self._left = steps

    def step(self, *_: object) -> None:
        self._left -= 1
        if self._left < 0:
            os.kill(os.getpid(), signal.SIGKILL)


def count(step: str, directory: Path, countdown: Countdown) -> None:
    """Have the steps of one sort counted, in whichever thread they happen."""
    if step == "statement":
        # The connections of the log and those of lists are counted alike.
        connect = sqlite3.connect

        def connect_and_count(*given: Any, **named: Any) -> sqlite3.Connection:
            connection = connect(*given, **named)
            connection.set_trace_callback(countdown.step)
            return connection

        sqlite3.connect = connect_and_count
    elif step == "file":
        inside = str(directory / "search")

        def touched(event: str, given: tuple[Any, ...]) -> None:
            written = event == "open" and isinstance(given[2], int) and given[2] & os.O_ACCMODE
            if (written or event in _CHANGES) and str(given[0]).startswith(inside):
                countdown.step()

        sys.addaudithook(touched)
    elif step == "sync":
        os.fsync = counted(os.fsync, countdown)
    elif step == "round trip":
        setattr(Link, "wait", counted(Link.wait, countdown))  # noqa: B010 - for mypy


def counted(function: Callable[..., Any], countdown: Countdown) -> Callable[..., Any]:
    """A function of which each call is a step, once before it and once after it."""

    def call(*given: Any, **named: Any) -> Any:
        countdown.step()
        found = function(*given, **named)
        countdown.step()
        return found

    return call


@contextmanager
def lists(directory: Path, database: str = "", schema: str = "") -> Iterator[SortedReadModel]:
    """The sorted read model in the directory, or in a schema of a database."""
    if not database:
        with closing(open_read_model(directory / "entities.db")) as model:
            yield model
        return
    with (
        closing(EntityDatabase(database)) as opened,
        closing(opened.connections.connect()) as link,
    ):
        yield open_in_postgres(opened, schema, writer=lambda: link)


def main() -> None:
    """Write until the end; prints the head of the log after each append."""
    path, seed, step, number, *place = sys.argv[1:]
    directory = Path(path)
    count(step, directory, Countdown(int(number)))
    log = open_event_log(directory / "events.db")
    made = RandomLog(random.Random(seed), log)
    batches = random.Random(seed)
    with lists(directory, *place) as model:
        listing = Projector(EntityProjection(model), log, batch_size=batches.choice((2, 1_000)))
        engine = WhooshEngine.open(directory / "search")
        searching = Projector(SearchProjection(engine), log, batch_size=batches.choice((5, 1_000)))
        while True:
            made.fill(1)
            print(log.head(), flush=True)
            listing.step()
            if batches.random() < 0.4:
                searching.step()
