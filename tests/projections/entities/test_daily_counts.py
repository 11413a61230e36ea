"""The counts of days, whatever the size of batches, are those of a replay of the log."""

import random
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.postgres_server import PostgresServer
from domain.aggregate.entity import Entity
from domain.edges import EDGE
from domain.event_store.port import EventStore
from projections.entities.daily_counts import DailyFigures
from projections.entities.sqlite import bulk_load
from projections.entities.sqlite.model import open_read_model
from tests.depth import examples
from tests.postgres_models import postgres_model
from tests.projections.entities.random_log import STATUSES, RandomLog
from tests.projections.entities.test_past_rows import opened_log, project, states

DAY = 86_400_000
KEYS = ("description", "owners", "domains", "tags")
SERIES = [(kind, "") for kind in ("databaseSchema", "table", "dataContract")]
SERIES += [("dataContract", status) for status in STATUSES]


class Replay:
    """What there was at the end of each day on which the log stood, by a look at each state."""

    def __init__(self, log: EventStore) -> None:
        self.ends: dict[int, dict[str, Entity]] = {}
        self.events: Counter[tuple[int, str]] = Counter()
        greatest = 0
        for recorded, (_, then) in zip(log.read(0, 1_000_000), states(log), strict=True):
            self.events[recorded.event.at // DAY, recorded.event.kind] += 1
            greatest = max(greatest, recorded.event.at)
            self.ends[greatest // DAY] = then

    def at_end(self, day: int) -> list[Entity]:
        """The live entities that lists showed at the end of a day."""
        last = max((each for each in self.ends if each <= day), default=None)
        then = {} if last is None else self.ends[last]
        return [one for one in then.values() if not one.deleted and one.kind != EDGE]

    def covered(self, day: int) -> Counter[tuple[str, str]]:
        return Counter(
            (one.kind, key)
            for one in self.at_end(day)
            for key in KEYS
            if key in one.body and msgspec.json.decode(one.body[key])
        )

    def totals(self, day: int) -> Counter[tuple[str, str]]:
        live = self.at_end(day)
        counted = Counter((one.kind, "") for one in live)
        counted.update((one.kind, one.status) for one in live if one.status is not None)
        return counted


def check(figures: DailyFigures, days: range, replay: Replay) -> None:
    shown = days.start - 1, *days
    counts: dict[int, dict[tuple[str, str], int]] = {day: {} for day in shown}
    for day, kind, what, n in figures.counts:
        counts[day][kind, what] = n
    running: Counter[tuple[str, str]] = Counter()
    for day in shown:
        running.update({key: n for key, n in counts[day].items() if key[1] != "events"})
        assert +running == replay.covered(day)
        if day in days:
            events = {key[0]: n for key, n in counts[day].items() if key[1] == "events"}
            assert events == {kind: n for (on, kind), n in replay.events.items() if on == day}
    assert len(figures.totals) == len(days) * len(SERIES)
    for kind, status, day, n in figures.totals:
        assert n == replay.totals(day)[kind, status]


@settings(max_examples=examples(15, quick=5), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_counts_of_days_are_those_of_a_replay(postgres: PostgresServer, seed: int) -> None:
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder, opened_log(folder) as log:
        RandomLog(rng, log).fill(40)
        replay = Replay(log)
        first, last = min(replay.ends, default=0), max(replay.ends, default=0)
        start = rng.randint(first - 2, last)
        days = range(start, rng.randint(start, last + 1) + 1)
        for size in (1, 3, 1_000):
            with closing(open_read_model(Path(folder) / f"{size}.db")) as file:
                project(file, log, size)
                check(file.daily_figures(days, SERIES), days, replay)
        bulk_load.load(Path(folder) / "loaded.db", log, lambda done, total: None)
        with closing(open_read_model(Path(folder) / "loaded.db")) as file:
            check(file.daily_figures(days, SERIES), days, replay)
        with postgres_model(postgres) as model:
            project(model, log, 7)
            check(model.daily_figures(days, SERIES), days, replay)


def test_days_before_the_first_event_and_after_the_last_are_told(tmp_path: Path) -> None:
    with opened_log(str(tmp_path)) as log, closing(open_read_model(tmp_path / "rows.db")) as file:
        assert file.daily_figures(range(3, 5), [("table", "")]) == DailyFigures(
            [], [("table", "", 3, 0), ("table", "", 4, 0)]
        )
        RandomLog(random.Random(1), log).fill(40)
        project(file, log)
        last = max(Replay(log).ends)
        (before, after) = range(0, 2), range(last + 300, last + 301)
        assert file.daily_figures(before, SERIES).counts == []
        assert {n for *_, n in file.daily_figures(before, SERIES).totals} == {0}
        figures = file.daily_figures(after, SERIES)
        assert {day for day, *_ in figures.counts} == {after[0] - 1}
        assert {(*of, n) for *of, _, n in figures.totals} == {
            (*series, Replay(log).totals(last)[series]) for series in SERIES
        }
