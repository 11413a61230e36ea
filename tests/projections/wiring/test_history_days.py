"""A data directory that is opened with days of history keeps no more, in lists and in searches."""

import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from domain.errors import BeforeHorizon
from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.opening import open_event_log
from domain.events import EntityChanged, EntityCreated, encode
from domain.reading.moments import DAY
from projections.entities.past_verification import past_differences
from projections.entities.sqlite import bulk_load
from projections.entities.sqlite.model import open_read_model
from projections.wiring.stores import Stores, open_stores
from tests.projections.read_models import EVERYTHING, difference_of, rebuild, step
from tests.waiting import until

DAYS = 30
"""Days on which the entity of the tests changed, once on each."""
ORDERS = "00000000-0000-7000-8000-000000000001"


def fill(directory: Path, changes: int = DAYS, step_ms: int = DAY) -> None:
    """A log of a service that was created, and then changed many times, the last time just now."""
    directory.mkdir(exist_ok=True)
    first = time.time_ns() // 1_000_000 - (changes - 1) * step_ms - 60_000
    with closing(open_event_log(directory / "events.db")) as log:
        events = []
        for number in range(changes):
            about = {
                "kind": "databaseService",
                "actor": "ann",
                "at": first + number * step_ms,
                "version": number + 1,
                "request_id": "r",
            }
            if number:
                patch = [{"op": "add", "path": "/description", "value": f"no {number}"}]
                event = EntityChanged(patch=patch, **about)
            else:
                body = {"serviceType": encode("Mysql")}
                event = EntityCreated(name="s", fqn="s", body=body, **about)
            events.append(RecordedEvent(ORDERS, number + 1, event))
        log.append(events)


def horizon(stores: Stores) -> int:
    return stores.entities.read(lambda entities: entities.horizon()).position


def searched_at(stores: Stores, position: int) -> int:
    """How many entities a search as of a position finds."""
    with stores.engine.use() as engine:
        return engine.search(msgspec.structs.replace(EVERYTHING, at=position)).total


def test_both_read_models_keep_the_days_that_are_asked_for(tmp_path: Path) -> None:
    fill(tmp_path / "data")
    with closing(open_stores(tmp_path / "data", history_days=7)) as stores:

        def is_done() -> bool:
            step(stores)
            return horizon(stores) == DAYS - 7

        until(is_done)
        with pytest.raises(BeforeHorizon):
            searched_at(stores, DAYS - 8)
        assert searched_at(stores, DAYS - 7) == 1
        for live in stores.read_models:
            assert difference_of(live, stores.log) is None
        # What is built anew has all of the past at first.
        rebuild(stores)
        until(is_done)
        for live in stores.read_models:
            assert difference_of(live, stores.log) is None


def test_all_of_the_past_is_kept_unless_days_are_given(tmp_path: Path) -> None:
    fill(tmp_path / "data")
    with closing(open_stores(tmp_path / "data")) as stores:
        step(stores)
        assert horizon(stores) == 0
        assert searched_at(stores, 1) == 1


PRUNE = """
import sys
from pathlib import Path
from projections.entities.sqlite.model import open_read_model
model = open_read_model(Path(sys.argv[1]))
while model.horizon().position < model.checkpoint():
    sys.stdin.readline()
    print(model.prune(model.checkpoint(), 3).position, flush=True)
"""


def test_process_that_is_killed_between_steps_leaves_a_read_model_that_is_right(
    tmp_path: Path,
) -> None:
    fill(tmp_path, changes=3_000, step_ms=1_000)
    path = tmp_path / "entities.db"
    with closing(open_event_log(tmp_path / "events.db")) as log:
        bulk_load.load(path, log, lambda done, total: None)
        for number in range(4):
            process = subprocess.Popen(
                [sys.executable, "-c", PRUNE, str(path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            with process:
                assert process.stdin is not None
                assert process.stdout is not None
                # It may be some steps further when it is killed, and not at the end.
                steps = 1 + 20 * number
                process.stdin.write(b"\n" * (steps + 20))
                process.stdin.flush()
                told = [int(process.stdout.readline()) for _ in range(steps)][-1]
                process.send_signal(signal.SIGKILL)
            with closing(open_read_model(path)) as model:
                assert told <= model.horizon().position < log.head()
                with model.snapshot() as snapshot:
                    assert [*past_differences(log, snapshot)] == []
