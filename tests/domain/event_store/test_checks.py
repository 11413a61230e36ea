"""Tampering with the file of the log is found, and the first bad position named."""

from contextlib import closing
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import pytest

from benchmarks.direct_catalog import DirectCatalog
from domain.event_store.checks import ClaimChecker, FutureEvents, Problems, StreamReader
from domain.event_store.opening import open_event_log
from domain.event_store.sqlite.snapshot import connect
from domain.event_store.stored import Problem
from domain.kinds.bodies.components import Reference
from domain.kinds.registry import KINDS
from domain.writing.documents import DocumentRequest, plan_document
from tests.domain.conftest import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path / "events.db")
    world.schema()
    table = world.table("orders")
    world.patch(table, {"op": "add", "path": "/description", "value": "all"})
    world.delete(table)
    world.restore(table)
    world.delete(world.table("gone"), hard=True)
    created = {"name": "user", "email": "u@example.com"}
    world.catalog.create(KINDS["user"], created, world.context(idempotency_key="k", digest=b"d"))
    world.log.close()
    return world


def tamper(world: World, *statements: str) -> None:
    with closing(connect(str(world.path))) as connection, connection:
        for statement in statements:
            assert connection.execute(statement).rowcount >= 1, statement


def problems(world: World, kept: int = 100) -> list[Problem]:
    """Return the problems that a verification finds in the log."""
    log = open_event_log(world.path)
    found = Problems(kept)
    with log.snapshot() as snapshot:
        reader = StreamReader(found, now=10_000)
        claims = ClaimChecker(snapshot.claims(), found)
        for entity_id, rows in groupby(snapshot.streams(), key=itemgetter(0)):
            claims.meet(entity_id, reader.read(rows))
        claims.finish()
    for problem in log.damage():
        found.add(problem.position, problem.entity_id, problem.what)
    log.close()
    return found.lowest()


def told(world: World) -> list[tuple[int, str]]:
    return [(problem.position, problem.what) for problem in problems(world)]


def test_untouched_log_has_no_problems(world: World) -> None:
    assert problems(world) == []


def change(old: str, new: str, position: int) -> str:
    return (
        f"UPDATE stored_events SET state = CAST(replace(state, '{old}', '{new}') AS BLOB)"
        f" WHERE rowid = {position}"
    )


EVENTS: dict[str, tuple[str, int, str]] = {
    "payload damaged": (change("{", "(", 5), 5, "entity.changed cannot be applied: DecodeError"),
    "payload that is no UTF-8": (
        "UPDATE stored_events SET state = CAST(replace(state, x'22616c6c22', x'22ff22') AS BLOB)"
        " WHERE rowid = 5",
        5,
        "entity.changed cannot be applied: DecodeError: the payload is no UTF-8",
    ),
    "unknown type": (
        "UPDATE stored_events SET topic = 'entity.eaten' WHERE rowid = 5",
        5,
        "of a later release, not damaged: an event has the type 'entity.eaten'",
    ),
    "unknown field": (
        change('"at"', '"door":"mcp","at"', 5),
        5,
        "of a later release, not damaged: an event has the field 'door' of entity.changed",
    ),
    "unknown kind": (
        change('"table"', '"spreadsheet"', 5),
        5,
        "of a later release, not damaged: an event has the kind 'spreadsheet'",
    ),
    "later schema": (
        change('"at"', '"schema":2,"at"', 5),
        5,
        "of a later release, not damaged: an event has a schema of entity.changed above 1",
    ),
    "patch that does not fit": (
        change('"add"', '"remove"', 5),
        5,
        "entity.changed cannot be applied: InvalidInput",
    ),
    "deleted in a stream": (
        "DELETE FROM stored_events WHERE rowid = 5",
        5,
        "no event at position 5",
    ),
    "other kind": (change("table", "topic", 5), 5, "a topic where the entity is a table"),
    "time before 1970": (change('"at":1004', '"at":-1', 5), 5, "its time, -1, is before 1970"),
    "version goes back": (change('"version":2', '"version":0', 5), 5, "version 0 (in tenths)"),
    "no creation": (
        "UPDATE stored_events SET topic = 'entity.soft-deleted', state = CAST("
        "json_remove(state, '$.name', '$.fqn', '$.parentId', '$.body') AS BLOB) WHERE rowid = 4",
        4,
        "the stream does not begin with a creation",
    ),
    "created twice": (
        "UPDATE stored_events SET topic = 'entity.created', state ="
        " (SELECT state FROM stored_events WHERE rowid = 4) WHERE rowid = 5",
        5,
        "the entity is created again",
    ),
    "after a purge": (
        "INSERT INTO stored_events (originator_id, originator_version, topic, state)"
        " SELECT originator_id, 3, topic, state FROM stored_events WHERE rowid = 9",
        11,
        "the entity was purged before",
    ),
    "inserted": (
        "INSERT INTO stored_events (originator_id, originator_version, topic, state)"
        " SELECT originator_id, 9, topic, state FROM stored_events WHERE rowid = 6",
        11,
        "stream version 9 where 5 is due",
    ),
}


@pytest.mark.parametrize(("statement", "position", "what"), EVENTS.values(), ids=list(EVENTS))
def test_tampered_event_is_named(world: World, statement: str, position: int, what: str) -> None:
    tamper(world, statement)

    first = problems(world)[0]

    assert first.position == position
    assert first.what.startswith(what)


def test_reordered_events_are_named(world: World) -> None:
    tamper(
        world,
        "UPDATE stored_events SET rowid = 100 WHERE rowid = 5",
        "UPDATE stored_events SET rowid = 5 WHERE rowid = 6",
        "UPDATE stored_events SET rowid = 6 WHERE rowid = 100",
    )

    assert told(world)[0] == (5, "stream version 3 comes before the one it follows")


def test_lost_tail_is_told(world: World) -> None:
    tamper(world, "DELETE FROM stored_events WHERE rowid > 8")

    found = told(world)

    assert (9, "positions up to 10 were given, the log ends at 8") in found


CLAIMS: dict[str, tuple[str, int, str]] = {
    "missing": (
        "DELETE FROM claims WHERE name = 'orders'",
        7,
        "the claim on table 'service.database.schema.orders' is missing",
    ),
    "ghost": (
        "INSERT INTO claims VALUES ('team', 'ghost', 'x', 'ghost', NULL, 0)",
        0,
        "the log has a claim on team 'ghost', but no such entity",
    ),
    "different": (
        "UPDATE claims SET deleted = 1, fqn = 'x' WHERE name = 'orders'",
        7,
        "the claim on table 'service.database.schema.orders' differs from the events:"
        " fqn 'x', deleted True",
    ),
    "left of a purge": (
        "INSERT INTO claims SELECT 'table', 'y', originator_id, 'gone', NULL, 0"
        " FROM stored_events WHERE rowid = 9",
        9,
        "a claim on table 'y' is left of a purged entity",
    ),
    "answer": (
        "UPDATE answers SET stream_version = 2",
        0,
        "the answer remembered for 'ann' under key 'k' refers to no event",
    ),
}


@pytest.mark.parametrize(("statement", "position", "what"), CLAIMS.values(), ids=list(CLAIMS))
def test_claim_or_answer_that_departs_from_the_events_is_named(
    world: World, statement: str, position: int, what: str
) -> None:
    tamper(world, statement)

    assert told(world) == [(position, what)]


DAMAGED = {
    "3.14150": "the document that is served as JSON is not the one that was given",
    "x": "entity.created cannot be applied: JSONDecodeError",
}


@pytest.mark.parametrize("number", DAMAGED)
def test_document_that_is_not_served_as_it_was_given_is_a_problem(
    tmp_path: Path, number: str
) -> None:
    world = World(tmp_path / "events.db")
    world.schema()
    entity = Reference(type="table", id=world.table("orders").id)
    document = {"apiVersion": "v3.1.0", "kind": "DataContract", "id": "a", "number": 3.1415}
    request = DocumentRequest(document=document, entity=entity)
    context = world.context()
    world.catalog.write(context, partial(plan_document, world.catalog.planner, request, context))
    world.log.close()
    assert told(world) == []

    tamper(world, change("3.1415", number, 5))

    ((position, what),) = told(world)
    assert (position, what[: len(DAMAGED[number])]) == (5, DAMAGED[number])


def test_states_are_kept_where_they_are_asked_for(world: World) -> None:
    log = open_event_log(world.path)
    with log.snapshot() as snapshot:
        streams = [list(rows) for _, rows in groupby(snapshot.streams(), key=itemgetter(0))]
    log.close()
    (orders,) = (rows for rows in streams if len(rows) == 4)
    reader = StreamReader(Problems(1), now=10_000, pins=[1, 5, 100])

    stream = reader.read(orders)

    assert [(at, state.stream_version) for at, state in stream.states] == [(5, 2), (7, 4)]
    assert (stream.events, stream.whole) == (4, True)
    found = {pin: stream.at(pin)[0] for pin in (1, 5, 6, 7, 100)}
    assert found == {1: 0, 5: 5, 6: 5, 7: 7, 100: 7}


def test_problems_are_all_counted_and_the_lowest_kept() -> None:
    found = Problems(3)
    for position in reversed(range(1, 100)):
        found.add(position, "", "bad")

    assert found.count == 99
    assert [problem.position for problem in found.lowest()] == [1, 2, 3]


def test_file_damage_is_found_by_the_database(world: World) -> None:
    data = bytearray(world.path.read_bytes())
    page = 16_384
    data[page : page + 64] = b"\xff" * 64
    world.path.write_bytes(data)

    log = open_event_log(world.path)
    found = [(problem.position, problem.what[:19]) for problem in log.damage()]
    log.close()

    assert found != []
    assert found == [(0, "the file is damaged")] * len(found)


def test_event_of_a_time_to_come_is_a_fault_of_a_clock_and_no_damage(tmp_path: Path) -> None:
    world = World(tmp_path / "events.db")
    world.schema()
    table = world.table("orders")
    ahead = 10 * 86_400_000
    world.catalog = DirectCatalog(world.log, now=lambda: ahead)
    world.patch(table, {"op": "add", "path": "/description", "value": "all"})
    world.catalog = DirectCatalog(world.log, now=world.now)
    world.delete(table)
    world.log.close()

    log = open_event_log(world.path)
    found = Problems(9)
    reader = StreamReader(found, now=10_000)
    with closing(log), log.snapshot() as snapshot:
        streams = {
            entity_id: reader.read(rows)
            for entity_id, rows in groupby(snapshot.streams(), key=itemgetter(0))
        }
        head = snapshot.head

    assert found.count == 0
    assert all(stream.whole for stream in streams.values())
    assert streams[table.id].events == 3
    assert reader.future == FutureEvents(1, head - 1, ahead)
