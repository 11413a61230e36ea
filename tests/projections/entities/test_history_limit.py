"""How far the horizon of the sorted read model moves, by days of the log and of the clock."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.postgres_server import PostgresServer
from domain.reading.horizon import Horizon
from domain.reading.moments import DAY, Moment
from projections.entities.history_limit import LOOK_SECONDS, HistoryLimit
from projections.entities.port import SortedReadModel
from projections.entities.sqlite.model import open_read_model
from tests.postgres_models import postgres_model

FIRST = 20_000 * DAY
"""Time of the first event, at the beginning of a day."""


@pytest.fixture(params=["sqlite", "postgres"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SortedReadModel]:
    if request.param == "sqlite":
        with closing(open_read_model(tmp_path / "entities.db")) as opened:
            yield opened
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    with postgres_model(server) as made:
        yield made


def record(model: SortedReadModel, position: int, *days: float) -> None:
    """Commit a moment for each of some days since FIRST, at the positions up to `position`."""
    start = position - len(days) + 1
    moments: list[Moment] = [
        (FIRST + int(day * DAY), number) for number, day in enumerate(days, start=start)
    ]
    before = model.checkpoint_and_fingerprint()
    model.apply({}, position, str(position), after=before, moments=moments)


def due(model: SortedReadModel, days: int, now: float) -> int:
    """The position that is due when it is some days after FIRST."""
    return model.horizon_due(days, FIRST + int(now * DAY))


def test_last_days_of_the_clock_and_of_the_log_are_kept(model: SortedReadModel) -> None:
    assert due(model, 1, 100) == 0
    record(model, 6, 0, 0.5, 1, 2, 3, 4)
    # Position: 1 and 2 on day 0, 3 on day 1, 4 on day 2, 5 on day 3, 6 on day 4.
    assert [due(model, days, 4.5) for days in (1, 2, 3, 4, 5, 6)] == [5, 4, 3, 2, 0, 0]
    # Of the day that is as long ago as is asked for, what came after this time of it.
    assert [due(model, 1, now) for now in (1, 1.4, 1.5, 4)] == [1, 1, 2, 5]
    # Nothing was recorded for long: the last days of the log are kept.
    assert [due(model, days, 500) for days in (1, 2, 6)] == [5, 4, 0]
    # More events at the time of the last moment; they have no moment of their own.
    record(model, 9)
    assert [due(model, 1, now) for now in (4.5, 500)] == [5, 5]


def test_clock_that_jumps_ahead_takes_nothing(model: SortedReadModel) -> None:
    record(model, 5, 0, 1, 2, 3, 4)
    assert [due(model, 3, now) for now in (4, 4.9, 3_650)] == [2, 2, 2]


def test_time_in_the_future_takes_one_day_of_the_log_with_it(model: SortedReadModel) -> None:
    record(model, 6, 0, 1, 2, 3, 4, 3_650)
    # The clock of the host that projects is right, or as wrong as that event's.
    assert [due(model, 3, now) for now in (4.9, 3_650)] == [2, 3]
    # It is set right again: what is recorded then is at no later time, and takes nothing.
    record(model, 20)
    assert [due(model, 3, now) for now in (4.9, 5, 6, 100)] == [2, 3, 3, 3]


def test_horizon_moves_in_steps_and_rests(model: SortedReadModel) -> None:
    record(model, 300, *(day / 100 for day in range(300)))
    clock, wall = 0.0, (FIRST + 3 * DAY) / 1_000
    limit = HistoryLimit(1, wall_clock=lambda: wall, clock=lambda: clock)
    positions = []
    while limit.step(model):
        positions.append(model.horizon().position)
    # The clock stands still, so that each step may be twice as long as the one before.
    assert positions == [50, 150, 200]
    assert model.horizon() == Horizon(200, FIRST + int(1.99 * DAY))
    wall += 3 * 86_400
    record(model, 301, 6)
    clock = LOOK_SECONDS - 1
    assert not limit.step(model)
    clock += 1
    assert limit.step(model)
    assert model.horizon().position == 300


def test_long_steps_are_cut_and_followed_by_a_rest(model: SortedReadModel) -> None:
    record(model, 300, *(day / 100 for day in range(300)))
    readings = iter(number * 0.1 for number in range(1_000))
    limit = HistoryLimit(1, wall_clock=lambda: (FIRST + 9 * DAY) / 1_000, clock=readings.__next__)
    steps, before = [], 0
    for _ in range(60):
        if limit.step(model):
            position = model.horizon().position
            steps.append(position - before)
            before = position
        else:
            steps.append(0)
    taken = [each for each in steps if each]
    assert taken[:6] == [50, 25, 12, 6, 3, 1]
    # A step of 0.1 s is followed by 0.9 s in which there is none.
    assert steps[1:9] == [0] * 8


def test_another_model_is_looked_at_at_once(model: SortedReadModel, tmp_path: Path) -> None:
    limit = HistoryLimit(1, wall_clock=lambda: (FIRST + 9 * DAY) / 1_000, clock=lambda: 0.0)
    record(model, 3, 0, 1, 2)
    assert limit.step(model)
    assert not limit.step(model)
    with closing(open_read_model(tmp_path / "next.db")) as other:
        record(other, 3, 0, 1, 2)
        assert limit.step(other)
        assert other.horizon() == model.horizon() == Horizon(2, FIRST + DAY)


def test_fewer_days_than_before_move_it_and_more_do_not(model: SortedReadModel) -> None:
    record(model, 5, 0, 1, 2, 3, 4)
    reached = []
    for days in (3, 1, 2):
        limit = HistoryLimit(days, wall_clock=lambda: (FIRST + 9 * DAY) / 1_000)
        limit.step(model)
        reached.append(model.horizon().position)
    assert reached == [2, 4, 4]


@pytest.mark.parametrize(("days", "is_told"), [(1, False), (3, True), (None, True)])
def test_more_days_than_before_are_told_once_with_what_brings_them_back(
    model: SortedReadModel, caplog: pytest.LogCaptureFixture, days: int | None, is_told: bool
) -> None:
    record(model, 5, 0, 1, 2, 3, 4)
    model.prune(4, 100)
    limit = HistoryLimit(days, wall_clock=lambda: (FIRST + 9 * DAY) / 1_000, clock=lambda: 0.0)
    assert [limit.step(model) for _ in range(2)] == [False] * 2
    told = [vars(each) for each in caplog.records if each.levelname == "WARNING"]
    expected = [(4, "catalog-replay rebuild entities --force")] * is_told
    assert [(each["horizon"], each["mend"]) for each in told] == expected


def test_horizon_goes_no_further_than_the_checkpoint(model: SortedReadModel) -> None:
    record(model, 3, 0, 1, 2)
    assert model.prune(9, 100) == Horizon(3, FIRST + 2 * DAY)
    assert model.prune(1, 100) == Horizon(3, FIRST + 2 * DAY)
