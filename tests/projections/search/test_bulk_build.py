"""Building the index from the log: in commits bounded by bytes, and resumed where it ended."""

import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

import msgspec
import pytest

from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from domain.events import EntityCreated
from projections.search import bulk_build
from projections.search.engine import DocumentChanges
from projections.search.index.engine import WhooshEngine
from projections.search.index.format.storage import Directory

COLUMN = {"dataType": "BIGINT", "description": "What was sold in the shops of the region this day"}


class Counting(WhooshEngine):
    """An engine that remembers of how many entities each of its commits was."""

    def __init__(self, path: Path) -> None:
        super().__init__(Directory(path), writable=True)
        self.reset()
        self.commits: list[int] = []

    def apply(self, changes: DocumentChanges) -> None:
        self.commits.append(len(changes.documents))
        super().apply(changes)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Counting]:
    path = tmp_path / "search"
    path.mkdir()
    made = Counting(path)
    yield made
    made.close()


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventStore]:
    opened = open_event_log(str(tmp_path / "events.db"))
    yield opened
    opened.close()


def create(log: EventStore, widths: Sequence[int]) -> None:
    """A table with so many columns for each width."""
    for number, width in enumerate(widths):
        name = f"t{number:03}"
        columns = [{"name": f"c{n}", **COLUMN} for n in range(width)]
        event = EntityCreated(
            kind="table",
            actor="ann",
            at=1,
            version=1,
            request_id="r",
            name=name,
            fqn=f"s.d.p.{name}",
            body={"columns": msgspec.Raw(msgspec.json.encode(columns))},
        )
        log.append([RecordedEvent(str(uuid5(NAMESPACE_URL, name)), 1, event)])


def load(log: EventStore, engine: WhooshEngine, **bounds: int) -> list[tuple[int, int]]:
    seen: list[tuple[int, int]] = []
    bulk_build.load(engine, log, lambda done, total: seen.append((done, total)), **bounds)
    return seen


def test_load_commits_when_the_entities_have_so_many_bytes(
    log: EventStore, engine: Counting
) -> None:
    create(log, [100] * 10)  # each has some 10 kB
    progress = load(log, engine, most_bytes=20_000)
    # The last commit is of the checkpoint alone.
    assert engine.commits == [2, 2, 2, 2, 2, 0]
    assert progress == [(2, 10), (4, 10), (6, 10), (8, 10), (10, 10), (10, 10)]
    assert (engine.checkpoint(), engine.count()) == (10, 10)


def test_load_commits_small_entities_together(log: EventStore, engine: Counting) -> None:
    create(log, [1] * 250)
    load(log, engine)
    assert engine.commits == [250, 0]
    assert (engine.checkpoint(), engine.count()) == (250, 250)


def test_load_takes_as_much_memory_for_many_wide_entities_as_for_few(
    log: EventStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Fewer segments than are merged, as a merge takes memory of its own.
    monkeypatch.setattr("projections.search.index.engine.next_merge", lambda segments: [])
    create(log, [400] * 24)
    few = open_event_log(str(tmp_path / "few.db"))
    create(few, [400] * 8)
    peaks = []
    # The first time the words that occur are remembered for good.
    for name, source in (("first", log), ("few", few), ("many", log)):
        engine = WhooshEngine.open(tmp_path / name)
        tracemalloc.start()
        try:
            load(source, engine, most_bytes=100_000)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
        engine.close()
    few.close()
    assert peaks[2] < 1.5 * peaks[1]
