"""An exported log comes back as it was, or not at all."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from domain.errors import Conflict, InvalidInput
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from domain.event_store.transfer import ExportReader, compare, export
from tests.domain.conftest import World
from tests.domain.older_log import add_twin


@pytest.fixture
def filled(world: World) -> World:
    world.schema()
    table = world.table("orders", description="all — orders")
    first = world.contract("first", table)
    add_twin(world.log, first.id, "twin", f"{table.fqn}.dataContract_twin")
    world.delete(world.table("dropped"))
    world.delete(world.table("gone"), hard=True)
    world.table("gone")
    # A parent that outlives its child by an event: checks of the end must not refuse it.
    service = world.create("databaseService", "old", serviceType="Mysql")
    world.create("database", "below", service="old")
    world.delete(service, recursive=True)
    return world


@pytest.fixture
def other(tmp_path: Path) -> Iterator[EventStore]:
    log = open_event_log(tmp_path / "other.db")
    yield log
    log.close()


def exported(log: EventStore) -> list[bytes]:
    with log.snapshot() as snapshot:
        return list(export(log, snapshot))


def restore(log: EventStore, lines: list[bytes]) -> list[int]:
    return list(log.restore(ExportReader(lines, "file").rows()))


def rows(log: EventStore) -> tuple[list[Any], list[Any]]:
    with log.snapshot() as snapshot:
        return list(snapshot.events()), list(snapshot.claims())


def test_restored_log_is_the_same_but_for_its_id(filled: World, other: EventStore) -> None:
    lines = exported(filled.log)

    assert restore(other, lines) == [filled.log.head()]

    again = exported(other)
    assert rows(other) == rows(filled.log)
    assert again[1:] == lines[1:]
    headers = json.loads(lines[0]), json.loads(again[0])
    assert headers[0].pop("logId") != headers[1].pop("logId")
    assert headers[0] == headers[1]
    assert json.loads(lines[-1])["count"] == len(lines) - 2


def test_restored_log_goes_on(filled: World, other: EventStore) -> None:
    restore(other, exported(filled.log))
    head = other.head()
    later = filled.table("later")

    assert other.append(list(filled.log.stream(later.id))) == head + 1 == filled.log.head()


def test_empty_log_travels(world: World, other: EventStore) -> None:
    lines = exported(world.log)

    assert len(lines) == 2
    assert restore(other, lines) == []


def test_log_with_events_takes_no_other(filled: World) -> None:
    before = rows(filled.log)

    with pytest.raises(Conflict, match="the log has events: import into an empty one"):
        restore(filled.log, exported(filled.log))

    assert rows(filled.log) == before


def changed(line: bytes, **values: Any) -> bytes:
    return json.dumps({**json.loads(line), **values}).encode() + b"\n"


BAD: dict[str, tuple[Any, str]] = {
    "empty": (lambda lines: [], "file, line 1: "),
    "no header": (lambda lines: lines[1:], "file, line 1: "),
    "other format": (lambda lines: [changed(lines[0], format="x"), *lines[1:]], "file, line 1: "),
    "no trailer": (lambda lines: lines[:-1], "the trailer is missing: the file was cut off"),
    "cut in a line": (lambda lines: [*lines[:5], lines[5][:40]], "the trailer is missing"),
    "line left out": (lambda lines: lines[:3] + lines[4:], "events do not fit its trailer"),
    "line changed": (
        lambda lines: [*lines[:4], lines[4].replace(b"all", b"one"), *lines[5:]],
        "events do not fit its trailer",
    ),
    "lines swapped": (
        lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]],
        "file, line 4: position 2 comes after 3",
    ),
    "not JSON": (lambda lines: [*lines[:2], b"{\n", *lines[2:]], "file, line 3: "),
    "other head": (lambda lines: [changed(lines[0], head=1), *lines[1:]], "name different heads"),
}


@pytest.mark.parametrize(("spoil", "said"), BAD.values(), ids=list(BAD))
def test_spoiled_file_is_refused_and_nothing_kept(
    filled: World, other: EventStore, spoil: Any, said: str
) -> None:
    with pytest.raises(InvalidInput, match=said):
        restore(other, spoil(exported(filled.log)))

    assert rows(other) == ([], [])
    assert restore(other, exported(filled.log)) == [filled.log.head()]


def tamper(world: World, statement: str) -> None:
    with closing(sqlite3.connect(world.path)) as connection, connection:
        assert connection.execute(statement).rowcount >= 1


def departs(log: EventStore, lines: list[bytes]) -> str | None:
    with log.snapshot() as snapshot:
        return compare(snapshot, ExportReader(lines, "file"))


def test_log_that_grew_begins_with_its_export(filled: World) -> None:
    lines = exported(filled.log)
    filled.table("later")

    assert departs(filled.log, lines) is None


TAMPERED = {
    "changed": (
        "UPDATE stored_events SET state = CAST(replace(state, 'all', 'no') AS BLOB)"
        " WHERE rowid = 4",
        "position 4: the event differs from the exported one",
    ),
    "deleted": (
        "DELETE FROM stored_events WHERE rowid = 4",
        "position 4: there in the log or the export alone",
    ),
    "truncated": (
        "DELETE FROM stored_events WHERE rowid > 6",
        "position 7: the log ends before it, the export has an event there",
    ),
    "inserted": (
        "UPDATE stored_events SET rowid = -rowid WHERE rowid = 2",
        "position 2: there in the log or the export alone",
    ),
}


@pytest.mark.parametrize(("statement", "said"), TAMPERED.values(), ids=list(TAMPERED))
def test_first_place_where_log_and_export_part_is_named(
    filled: World, statement: str, said: str
) -> None:
    lines = exported(filled.log)
    tamper(filled, statement)

    assert departs(filled.log, lines) == said


def test_damaged_event_is_not_exported(filled: World) -> None:
    tamper(filled, "UPDATE stored_events SET state = X'7B' WHERE rowid = 4")

    with pytest.raises(InvalidInput, match="the event at position 4 is damaged"):
        exported(filled.log)


@pytest.mark.parametrize(
    ("version", "said"), [(5, "has gaps or is out of order"), (2, "comes twice")]
)
def test_stream_with_a_gap_or_a_double_is_refused(
    world: World, other: EventStore, version: int, said: str
) -> None:
    # The file is whole by its trailer, and still no log.
    world.patch(world.schema(), {"op": "add", "path": "/description", "value": "x"})
    lines = exported(world.log)
    body = [*lines[1:-1], changed(lines[-2], position=5, streamVersion=version)]

    with pytest.raises(InvalidInput, match=said):
        restore(other, [changed(lines[0], head=5), *body, trailer(body, 5)])

    assert rows(other) == ([], [])


def test_event_before_1970_is_refused(filled: World, other: EventStore) -> None:
    """No clock says it, and no read model could be built."""
    *body, last = exported(filled.log)[1:-1]
    event = json.loads(last)
    body.append(changed(last, payload={**event["payload"], "at": 0}))
    head = event["position"]

    with pytest.raises(InvalidInput, match=f"position {head} is damaged: its time, 0, is before"):
        restore(other, [exported(filled.log)[0], *body, trailer(body, head)])

    assert rows(other) == ([], [])


def trailer(body: list[bytes], head: int) -> bytes:
    digest = blake2b(b"".join(body), digest_size=32).hexdigest()
    return json.dumps({"count": len(body), "head": head, "digest": digest}).encode()
