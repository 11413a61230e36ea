"""A writer that is killed at any step of a commit leaves a past that is whole."""

import os
import random
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from benchmarks.postgres_server import PostgresServer, new_schema
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from projections.entities.port import SortedReadModel
from projections.entities.postgres.database import EntityDatabase
from projections.entities.postgres.opening import make
from projections.entities.verification_source import stored_entities
from projections.search.bulk_build import load
from projections.search.engine import EngineQuery
from projections.search.index.engine import WhooshEngine
from projections.search.tree import MatchAll
from projections.search.verification_source import sorted_entries
from projections.verification.report import Verdict
from projections.verification.run import Request, verify
from tests.brief_engines import brief_engine
from tests.depth import first_alone
from tests.e2e import forked
from tests.e2e.killed_writer import STEPS, lists
from tests.projections.entities.random_log import RandomLog
from tests.projections.entities.test_past_lists import assert_past_is_that_of_then
from tests.projections.entities.test_past_rows import project
from tests.projections.search.random_histories import index
from tests.projections.search.test_past import states


class Catalog:
    """A log with its read models, a writer of which is killed again and again."""

    def __init__(self, directory: Path, seed: int, *place: str) -> None:
        self.directory = directory
        self.place = place
        self.rng = random.Random(seed)
        self.lives = count()
        self.directory.joinpath("expected").mkdir()
        self.expected = open_event_log(directory / "expected" / "events.db")
        """What the log would be if nobody was killed."""

    def live_and_die(self, step: str) -> None:
        """Have a writer live until it is killed at a step, and look at what it leaves."""
        seed, steps = f"{self.rng.random()}", self.rng.randint(1, STEPS[step])
        told = self._write_until_killed(seed, step, steps)
        with closing(open_event_log(self.directory / "events.db")) as log:
            self._check_log(log, seed, told)
            self._check_past(log)

    def _write_until_killed(self, seed: str, step: str, steps: int) -> int:
        """The head of the log that the writer told last."""
        given = (str(self.directory), seed, step, str(steps), *self.place)
        read, write = os.pipe()
        with os.fdopen(read) as lines:
            process = forked.Forked("tests.e2e.killed_writer", given, os.environ, write, 2)
            os.close(write)
            told = 0
            for number, line in enumerate(lines):
                told = int(line)
                if step == "any" and number == steps:
                    process.kill()
        assert process.wait(300) == -signal.SIGKILL
        return told

    def _check_log(self, log: EventStore, seed: str, told: int) -> None:
        """The appends that were told are there, each once, and one more at most, whole."""
        made = RandomLog(random.Random(seed), self.expected)
        while self.expected.head() < log.head():
            made.fill(1)
        assert log.head() >= told
        assert log.read(0, 1_000_000) == self.expected.read(0, 1_000_000)

    def _check_past(self, log: EventStore) -> None:
        with (
            closing(WhooshEngine.open(self.directory / "search")) as engine,
            lists(self.directory, *self.place) as model,
        ):
            assert engine.rebuild_reason is None
            assert max(model.checkpoint(), engine.checkpoint()) <= log.head()
            project(model, log)
            index(engine, log, 1_000)
            assert_past_is_that_of_then(model, log, self.rng, positions=2)
            self._check_search(engine, log)
            self._verify(model, engine, log)

    def _check_search(self, engine: WhooshEngine, log: EventStore) -> None:
        built = brief_engine()
        load(built, log, lambda done, total: None)
        assert states(engine) == states(built)
        for position in self.rng.sample(range(log.head() + 1), min(2, log.head())):
            query = EngineQuery(tree=MatchAll(), include_deleted=True, size=1_000, at=position)
            assert engine.search(query) == built.search(query), position

    def _verify(self, model: SortedReadModel, engine: WhooshEngine, log: EventStore) -> None:
        subjects: Any = {
            "entities": lambda: stored_entities(model, log),
            "search": lambda: sorted_entries(engine, log),
        }
        found = verify(log, subjects, Request(now=4_000_000_000_000))
        assert [found.log.verdict, *(each.verdict for each in found.projections)] == (
            [Verdict.EQUAL] * 3
        ), found


@contextmanager
def killed_catalog(directory: Path, *place: str) -> Iterator[Catalog]:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    catalog = Catalog(directory, seed, *place)
    yield catalog
    catalog.expected.close()


MANY = 13
"""Lives of a writer over one catalog in a deep run; longer logs only take longer to compare."""
ON_FILES = [step for step in STEPS if step != "round trip"]


@pytest.mark.parametrize(
    "steps",
    first_alone(["statement", "file"], *([step] * MANY for step in ON_FILES * 4)),
    ids=lambda steps: f"{steps[0]}-{len(steps)}",
)
def test_past_is_whole_after_every_kill(tmp_path: Path, steps: list[str]) -> None:
    with killed_catalog(tmp_path) as catalog:
        for step in steps:
            catalog.live_and_die(step)


@pytest.mark.parametrize("lives", first_alone(1, MANY))
def test_past_in_a_database_is_whole_after_every_kill(
    tmp_path: Path, postgres: PostgresServer, lives: int
) -> None:
    schema = f"{new_schema()}_entities_1"
    with (
        closing(EntityDatabase(postgres.url("catalog"))) as database,
        closing(database.connections.connect()) as link,
        link.transaction(),
    ):
        make(link, schema)
    with killed_catalog(tmp_path, postgres.url("catalog"), schema) as catalog:
        for _ in range(lives):
            catalog.live_and_die("round trip")
    postgres.run(f"DROP SCHEMA {schema} CASCADE")
