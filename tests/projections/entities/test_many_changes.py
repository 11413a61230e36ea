"""Pages of a list, one entity of which was changed very often: little work, and rows of then."""

import json
import random
import tracemalloc
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.port import EventStore
from domain.events import EntityChanged, EntityCreated, encode
from domain.kinds.registry import KINDS
from projections.entities.list_pages import list_page, small_page
from projections.entities.list_port import ListRequest, PastOfList
from projections.entities.sqlite.model import SqliteReadModel, open_read_model
from tests.depth import first_alone
from tests.projections.entities.test_past_rows import opened_log, project

OTHERS = 8
TABLES = ListRequest(kind=KINDS["table"], limit=8)
"""A page of all tables but one."""
IDS = [f"00000000-0000-7000-8000-{number:012}" for number in range(OTHERS + 1)]
STEPS = 100
"""Instructions of SQLite between two calls of a progress handler."""
QUICK_STEPS = 1_000
"""Most instructions for a page of few rows, and to find that a page passes over many."""
PAGE_BYTES = 200_000
"""Most bytes of Python's that a page of few rows takes, however many it passes over."""


def fill(log: EventStore, changes: int) -> int:
    """Create tables, the one in the middle with many changes; the position before these."""
    common: dict[str, Any] = {"kind": "table", "actor": "ann", "at": 1, "request_id": "r"}
    for number, entity_id in enumerate(IDS):
        body = {"description": encode("0")}
        event = EntityCreated(version=1, name=f"t{number}", fqn=f"s.t{number}", body=body, **common)
        log.append([RecordedEvent(entity_id, 1, event)])
    created = log.head()
    for start in range(2, changes + 2, 1_000):
        log.append(
            [
                RecordedEvent(IDS[OTHERS // 2], number, described(number, common))
                for number in range(start, min(start + 1_000, changes + 2))
            ]
        )
    return created


def described(number: int, common: dict[str, Any]) -> EntityChanged:
    patch = [{"op": "replace", "path": "/description", "value": str(number - 1)}]
    return EntityChanged(version=number, patch=patch, **common)


@contextmanager
def filled(folder: Path, changes: int) -> Iterator[tuple[SqliteReadModel, int]]:
    with opened_log(str(folder)) as log, closing(open_read_model(folder / "e.db")) as model:
        created = fill(log, changes)
        project(model, log)
        yield model, created


def asked(position: int, request: ListRequest = TABLES, **cursor: str) -> ListRequest:
    def never(entity_id: str, position: int) -> tuple[bytes, bytes]:
        raise AssertionError("no state is too large to be kept")

    past = PastOfList(position, 1, never)
    return msgspec.structs.replace(request.at(**cursor), past=past)


def quick_page(model: SqliteReadModel, request: ListRequest) -> bytes | None:
    """A page that is read at once; None, found as quickly, for one that is not."""
    calls = [0]

    def count() -> int:
        calls[0] += 1
        return 0

    connection = model.database.connection
    small_page(model, request)  # has the statements prepared
    connection.set_progress_handler(count, STEPS)
    try:
        return small_page(model, request)
    finally:
        connection.set_progress_handler(None, STEPS)
        assert calls[0] * STEPS <= QUICK_STEPS


def descriptions(model: SqliteReadModel, position: int) -> list[str]:
    """The descriptions of all tables at a position, page by page."""
    found: list[str] = []
    cursor: dict[str, str] = {}
    while not found or cursor:
        tracemalloc.start()
        page = b"".join(list_page(model, asked(position, **cursor)))
        taken = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert taken < PAGE_BYTES
        decoded = json.loads(page)
        assert decoded["paging"]["total"] == len(IDS)
        found += [each["description"] for each in decoded["data"]]
        after = decoded["paging"].get("after")
        cursor = {"after": after} if after else {}
    return found


@pytest.mark.parametrize("changes", first_alone(3_000, 100_000))
def test_pages_before_and_amid_many_changes_are_heavy_and_those_of_then(
    tmp_path: Path, changes: int
) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    with filled(tmp_path, changes) as (model, created):
        amid = sorted(rng.sample(range(1, changes - 1), 4))
        for done in (0, 1, *amid, changes - 1, changes):
            position = created + done
            is_now = done == changes
            assert (quick_page(model, asked(position)) is not None) == is_now
            expected = ["0"] * len(IDS)
            expected[OTHERS // 2] = str(done)
            assert descriptions(model, position) == expected
        assert quick_page(model, TABLES) is not None
