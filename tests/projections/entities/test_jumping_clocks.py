"""As of a time the log ends before the first event that is later, whatever clocks did before."""

import random
import tempfile
from contextlib import closing
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.postgres_server import PostgresServer
from domain.event_store.port import EventStore
from projections.entities.port import SortedReadModel
from projections.entities.sqlite import bulk_load
from projections.entities.sqlite.model import open_read_model
from tests.depth import examples
from tests.postgres_models import postgres_model
from tests.projections.entities.random_log import JUMPING, RandomLog
from tests.projections.entities.test_past_rows import opened_log, project


def assert_times_go_by_the_greatest(
    model: SortedReadModel, log: EventStore, rng: random.Random
) -> None:
    events = log.read(0, 1_000_000)
    for at in rng.sample([each.event.at for each in events], min(len(events), 12)):
        time = at + rng.choice((-1, 0, 1))
        later = (each.position for each in events if each.event.at > time)
        assert model.first_after(time) == next(later, None), time


@settings(max_examples=examples(50) // 6, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_first_event_that_is_later_is_found_however_clocks_jump(
    postgres: PostgresServer, seed: int
) -> None:
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder, opened_log(folder) as log:
        made = RandomLog(rng, log, JUMPING)
        made.fill(20)
        for size in (1, 3, 1_000):
            with closing(open_read_model(Path(folder) / f"{size}.db")) as file:
                project(file, log, size)
                assert_times_go_by_the_greatest(file, log, rng)
        bulk_load.load(Path(folder) / "loaded.db", log, lambda done, total: None)
        with (
            closing(open_read_model(Path(folder) / "loaded.db")) as file,
            postgres_model(postgres) as model,
        ):
            project(model, log, 7)
            assert_times_go_by_the_greatest(model, log, rng)
            assert_times_go_by_the_greatest(file, log, rng)
            # What comes later goes on from what was loaded.
            made.fill(10)
            for each in (file, model):
                project(each, log, 3)
                assert_times_go_by_the_greatest(each, log, rng)
