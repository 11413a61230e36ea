"""The databases that every event store port suite runs over."""

from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from domain.event_store.log import EventLog, open_event_log

OpenStore = Callable[[], EventLog]


@pytest.fixture(params=["sqlite file", "sqlite in shared memory"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenStore]:
    """Opens the same database anew at each call, as another process would."""
    name = {
        "sqlite file": str(tmp_path / "events.db"),
        "sqlite in shared memory": f"file:{uuid4()}?mode=memory&cache=shared",
    }[request.param]
    opened: list[EventLog] = []

    def open_one() -> EventLog:
        opened.append(open_event_log(name))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: OpenStore) -> EventLog:
    return open_store()
