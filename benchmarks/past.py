"""What the past costs: commits that keep it, its bytes, and lists of then beside live ones."""

import random
import shutil
import sqlite3
import statistics
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec

from benchmarks.figures import Figure
from benchmarks.list_pages import places
from benchmarks.workspace import ENTITIES, Workspace
from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from domain.events import EntityChanged
from domain.kinds.registry import KINDS
from projections.entities import commit
from projections.entities.commit import write_past
from projections.entities.cursors import encode
from projections.entities.list_pages import small_page
from projections.entities.list_port import ListRequest, PastOfList
from projections.entities.projection import EntityProjection
from projections.entities.sqlite.model import SqliteReadModel, open_read_model
from projections.feeding.projector import Projector

_ENTITIES, _CHANGES = 100_000, 50_000
_COMMITS = {1: (2_000, 1.8), 32: (100, 1.8), 1_000: (20, 1.5)}
"""Entities of a commit -> how many are measured, and the budget."""
_FILE = 1.6
_PAGES = 2_000
_PINNED, _PAST = 1.2, 2.0
_TABLES = ("history", "history_scopes", "kind_totals", "forgotten", "pasts", "days", "moments")


def measure(workspace: Workspace, large: bool) -> list[Figure]:
    """Commits with and without their past, the file with and without it, pages of then and now."""
    directory = workspace.fresh()
    for name in ("events.db", ENTITIES):
        shutil.copy(workspace.contracts(_ENTITIES) / name, directory / name)
    with (
        closing(open_event_log(directory / "events.db")) as log,
        closing(open_read_model(directory / ENTITIES)) as model,
    ):
        changes = _Changes(log)
        commits = _commits(model, log, changes)
        return [*commits, _file(model, directory), *_lists(model, log, directory)]


class _Changes:
    """Changes of random contracts, each of its description."""

    def __init__(self, log: EventStore) -> None:
        self._log = log
        self._draw = random.Random(27)
        self._ids: list[str] = []
        self._versions: dict[str, int] = {}
        self.made = 0
        live = log.live(by_name=False)
        for entity_id in live.part(0, len(live)):
            last = [*log.stream(entity_id)][-1]
            if last.event.kind == "dataContract":
                self._ids.append(entity_id)
                self._versions[entity_id] = last.stream_version

    def append(self, count: int) -> None:
        """Append so many changes, each of another contract."""
        events = []
        for entity_id in self._draw.sample(self._ids, count):
            version = self._versions[entity_id] = self._versions[entity_id] + 1
            text = f"changed {version} times, {self._draw.random()}"
            event = EntityChanged(
                kind="dataContract",
                actor="benchmark",
                at=time.time_ns() // 1_000_000,
                version=100 + version,
                request_id="benchmark",
                patch=[{"op": "add", "path": "/description", "value": text}],
            )
            events.append(RecordedEvent(entity_id, version, event))
        self._log.append(events)
        self.made += count


def _commits(model: SqliteReadModel, log: EventStore, changes: _Changes) -> list[Figure]:
    """Processor time of commits, and of them without what keeps the past."""
    spent = 0.0
    keep = write_past

    def timed(*arguments: Any) -> None:
        nonlocal spent
        start = time.process_time()
        keep(*arguments)
        spent += time.process_time() - start

    projector = Projector(EntityProjection(model), log, batch_size=1_000)
    while projector.step():
        pass
    figures = []
    for size, (times, budget) in _COMMITS.items():
        whole, without = [], []
        with patch.object(commit, "write_past", timed):
            for _ in range(times):
                changes.append(size)
                spent, start = 0.0, time.process_time()
                projector.step()
                took = time.process_time() - start
                whole.append(took / size)
                without.append((took - spent) / size)
        middle, rest = (statistics.median(each) * 1e6 for each in (whole, without))
        figures.append(
            Figure(
                what=f"an entity in a commit of {size:,}, with its past",
                measured=f"{middle:.0f} us",
                yardstick=f"{rest:.0f} us without",
                ratio=middle / rest,
                budget=f"<= {budget}x",
                met=middle / rest <= budget,
            )
        )
    while changes.made < _CHANGES:
        changes.append(min(1_000, _CHANGES - changes.made))
        projector.step()
    return figures


def _file(model: SqliteReadModel, directory: Path) -> Figure:
    """The bytes of the file, and those of a copy without the tables of the past."""
    copy = directory / "without-past.db"
    with closing(sqlite3.connect(directory / ENTITIES)) as connection:
        connection.execute("VACUUM INTO ?", (str(directory / "with-past.db"),))
    shutil.copy(directory / "with-past.db", copy)
    with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        for table in _TABLES:
            connection.execute(f"DROP TABLE {table}")
        connection.execute("VACUUM")
    size, without = ((directory / name).stat().st_size for name in ("with-past.db", copy.name))
    return Figure(
        what=f"file of {_ENTITIES:,} contracts and {_CHANGES:,} replaced states",
        measured=f"{size / 1e6:.0f} MB",
        yardstick=f"{without / 1e6:.0f} MB without",
        ratio=size / without,
        budget=f"<= {_FILE}x",
        met=size / without <= _FILE,
    )


def _lists(model: SqliteReadModel, log: EventStore, directory: Path) -> list[Figure]:
    """Pages of ten all over the list: live, pinned to now, and at positions of the past."""
    draw = random.Random(27)
    newest, oldest = log.head(), log.head() - _CHANGES
    plain = ListRequest(kind=KINDS["dataContract"], limit=10)
    chosen = places(directory, _PAGES)[:-1]

    def page(position: int | None) -> ListRequest:
        place = draw.choice(chosen)
        cursor = encode(place, plain.identity, backward=False, position=position).decode()
        past = None if position is None else PastOfList(position, 0, _none)
        return msgspec.structs.replace(plain.at(after=cursor), past=past)

    forms: dict[str, Callable[[], int | None]] = {
        "live": lambda: None,
        "pinned to now": lambda: newest,
        "pinned, 100 changes ago": lambda: newest - 100,
        "of a random past": lambda: draw.randint(oldest, newest - 1),
    }
    spent: dict[str, list[float]] = {name: [] for name in forms}
    for _ in range(_PAGES):
        for name, position in forms.items():
            request = page(position())
            start = time.perf_counter()
            whole = small_page(model, request)
            spent[name].append(time.perf_counter() - start)
            assert whole is not None
    live = statistics.median(spent.pop("live"))
    budgets = {"pinned to now": _PINNED}
    return [
        Figure(
            what=f"page of ten, {name}",
            measured=f"{(middle := statistics.median(times)) * 1e6:.0f} us",
            yardstick=f"{live * 1e6:.0f} us live",
            ratio=middle / live,
            budget=f"<= {(budget := budgets.get(name, _PAST))}x",
            met=middle / live <= budget,
        )
        for name, times in spent.items()
    ]


def _none(entity_id: str, position: int) -> tuple[bytes, bytes]:
    raise AssertionError("no state is too large to be kept")
