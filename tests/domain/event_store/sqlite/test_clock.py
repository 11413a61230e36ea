"""A clock that is set while a server runs dates no event."""

from contextlib import closing
from pathlib import Path

import pytest

from domain.errors import StoreUnavailable
from domain.event_store.opening import open_event_log
from domain.event_store.sqlite import log
from tests.contracts.recorded import created


class Clocks:
    def __init__(self) -> None:
        self.wall, self.steady = 1e9, 500.0


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    clocks = Clocks()
    monkeypatch.setattr(log, "wall_clock", lambda: clocks.wall)
    monkeypatch.setattr(log, "passed", lambda: clocks.steady)
    return clocks


@pytest.mark.parametrize(("step", "how"), [(86_400, "forward by 86400 s"), (-61, "back by 61 s")])
def test_nothing_is_appended_once_the_clock_was_set(
    tmp_path: Path, clocks: Clocks, step: int, how: str
) -> None:
    with closing(open_event_log(tmp_path / "events.db")) as log:
        # A machine that slept has both clocks later, and a small step is none.
        clocks.wall, clocks.steady = clocks.wall + 7_260, clocks.steady + 7_200
        assert log.append([created("a")]) == 1
        assert log.clock_fault() is None
        clocks.wall += step - 60
        with pytest.raises(StoreUnavailable, match=f"was set {how}.*restart the server"):
            log.append([created("b")])
        assert log.head() == 1
        assert f"was set {how}" in str(log.clock_fault())
        clocks.wall -= step
        assert log.append([created("b")]) == 2


def test_time_that_passes_is_that_of_the_clocks_of_the_machine() -> None:
    before = log.passed()
    assert before <= log.passed() < before + 60
    assert log.wall_clock() > 1.7e9
