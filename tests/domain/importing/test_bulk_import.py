"""Importing JSON lines: good lines are kept, bad ones named, repetitions store nothing."""

import gzip
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from domain.errors import ConcurrentChange, StoreUnavailable
from domain.importing.bulk_import import Batch, BulkImport, ImportStopped, LineReport
from domain.importing.lines import Chunk, batches
from domain.kinds.registry import KINDS
from domain.reading.history import versions
from tests.domain.counted_store import CountedStore
from tests.domain.imported_lines import (
    FULL,
    ID,
    chunks,
    database,
    faulty,
    importer,
    line,
    load,
    load_all,
    outcome,
    service,
)

SHARED = Path(__file__).parents[3] / ".." / "shared" / "data"


def test_parents_come_before_children(world: Any) -> None:
    assert outcome(load(world, service(), database())) == (2, 2, 2, 0, 0, [])
    assert world.lives() == {"s": True, "s.d": True}
    child = world.log.claim("database", "s.d")
    assert child.parent_id == world.log.claim("databaseService", "s").id


def test_child_before_its_parent_is_a_bad_line(world: Any) -> None:
    said = "service: databaseService instance for 's' not found"
    assert outcome(load(world, database(), service())) == (2, 1, 1, 0, 0, [LineReport(1, said)])


def test_children_inherit_from_parents_of_an_earlier_batch(world: Any) -> None:
    load(world, service())
    load(world, database())
    (made,) = versions(world.log, KINDS["database"], world.log.claim("database", "s.d").id)
    assert made.entity.value("serviceType") == "Mysql"


def test_lines_of_a_bot_keep_what_people_curated(world: Any) -> None:
    load(world, service(description="ours"), database(sourceHash="h1"))
    bot = BulkImport(world.log, world.context(actor="bot", by_bot=True), now=world.now)
    lines = [
        service(description="theirs", displayName="S"),
        database(sourceHash="h1", description="theirs"),
    ]
    encoded = [(number, json.dumps(each).encode()) for number, each in enumerate(lines, start=1)]
    assert outcome(bot.load(Chunk(encoded))) == (2, 1, 0, 1, 1, [])
    assert outcome(bot.load(Chunk(encoded))) == (2, 0, 0, 0, 2, [])
    made, _ = versions(
        world.log, KINDS["databaseService"], world.log.claim("databaseService", "s").id
    )
    assert (made.entity.value("description"), made.entity.value("displayName")) == ("ours", "S")


KINDS_SAID = f"entityType must be one of {', '.join(KINDS)}, got "
BAD: dict[str, tuple[dict[str, Any] | bytes, str]] = {
    "not an object": (b"[1]", "the line is not as expected: Expected `object`, got `array`"),
    "key given twice": (
        b'{"entityType":"team","name":"x","teamType":"Group","profile":{"images":{},"images":{}}}',
        "the line has the key 'images' twice in one object",
    ),
    "no kind": ({"name": "x"}, f"{KINDS_SAID}None"),
    "unknown kind": (line("planet", "x"), f"{KINDS_SAID}'planet'"),
    "kind of another type": ({"entityType": ["team"]}, f"{KINDS_SAID}['team']"),
    "unknown key": (
        service("x", bogus=1),
        "databaseService: Object contains unknown field `bogus`",
    ),
    "wrong qualified name": (
        line("databaseService", "x", "y", serviceType="Mysql"),
        "fullyQualifiedName is 'y', but name and parent make it 'x'",
    ),
    "qualified name of another entity": (
        line("databaseService", "x", "s", serviceType="Mysql"),
        "fullyQualifiedName is 's', but name and parent make it 'x'",
    ),
    "qualified name of another type": (
        line("databaseService", "x") | {"fullyQualifiedName": 1},
        "fullyQualifiedName must be a string, got 1",
    ),
    "unfit id": (
        service("x", id="7"),
        "id must be a UUID such as 00000000-0000-0000-0000-000000000000, got '7'",
    ),
    "missing reference": (
        service("x", owners=[{"type": "user", "fullyQualifiedName": "nobody"}]),
        "owners[0]: user or team instance for 'nobody' not found",
    ),
}


@pytest.mark.parametrize(("bad", "reason"), BAD.values(), ids=BAD)
def test_bad_line_is_named_and_the_others_are_kept(world: Any, bad: Any, reason: str) -> None:
    batch = load(world, service(), bad, database())
    assert outcome(batch) == (3, 2, 2, 0, 0, [LineReport(2, reason)])
    assert world.lives() == {"s": True, "s.d": True}


NOT_JSON = [b"{", b"", b"\xff", b'{"entityType":"team"} x', b'{"a":"\xff"}', b'{"a":' * 9_999]


@pytest.mark.parametrize("bad", NOT_JSON, ids=range(len(NOT_JSON)))
def test_line_that_is_not_json_is_bad(world: Any, bad: bytes) -> None:
    batch = load(world, service(), bad)
    assert outcome(batch)[:5] == (2, 1, 1, 0, 0)
    assert [(each.number, each.reason[:9]) for each in batch.bad] == [(2, "the line ")]


def test_batch_reads_the_log_a_few_times_however_many_lines_it_has(world: Any) -> None:
    lines = [service(), *(database(f"d{number}", description="x") for number in range(50))]
    load(world, *lines)
    lines = [each | {"id": f"{number:08}{ID[8:]}"} for number, each in enumerate(lines)]
    lines += [database(f"e{number}", id=f"{number:08}{ID[8:-1]}0") for number in range(50)]
    store = CountedStore(world.log)
    encoded = [json.dumps(each).encode() for each in lines]

    batch = BulkImport(store, world.context(), now=world.now).load(Chunk(list(enumerate(encoded))))

    assert outcome(batch) == (101, 50, 50, 0, 51, [])
    # Names and ids, ids of purged entities, states with that of the one parent, and the append.
    assert store.names == ["claims", "streams", "streams", "append_group"]


def test_second_import_stores_no_event(world: Any) -> None:
    lines = [service(), database(description="x")]
    load(world, *lines)
    head = world.log.head()
    assert outcome(load(world, *lines)) == (2, 0, 0, 0, 2, [])
    assert world.log.head() == head


def test_changed_line_stores_one_event(world: Any) -> None:
    load(world, service(), database())
    batch = load(world, service(), database(description="new"))
    assert outcome(batch) == (2, 1, 0, 1, 1, [])
    assert world.events(after=2) == [("entity.changed", "d")]


def test_children_inherit_from_what_earlier_lines_made_of_the_parent(world: Any) -> None:
    lines = [service(), service(serviceType="Hive"), database()]
    for size in (1, 3):
        list(load_all(importer(world), chunks(*lines, size=size)))
        (made,) = versions(world.log, KINDS["database"], world.log.claim("database", "s.d").id)
        assert made.entity.value("serviceType") == "Hive"
        world.delete(made.entity, hard=True)


def test_id_of_a_new_entity_is_kept(world: Any) -> None:
    load(world, service(id=ID.upper()))
    assert world.log.claim("databaseService", "s").id == ID
    other = ID[:-1] + "8"
    assert outcome(load(world, service(id=other))) == (1, 0, 0, 0, 1, [])
    assert world.log.claim("databaseService", "s").id == ID


def test_id_of_another_entity_is_refused(world: Any) -> None:
    said = f"id {ID} is the id of another entity"
    batch = load(world, service(id=ID), service("t", id=ID))
    assert outcome(batch) == (2, 1, 1, 0, 0, [LineReport(2, said)])
    assert outcome(load(world, service("u", id=ID))) == (1, 0, 0, 0, 0, [LineReport(1, said)])


def test_id_of_a_purged_entity_is_refused(world: Any) -> None:
    load(world, service(id=ID))
    (made,) = versions(world.log, KINDS["databaseService"], ID)
    world.delete(made.entity, hard=True)
    said = f"id {ID} is the id of another entity"
    assert outcome(load(world, service(id=ID), service("t"))) == (
        2,
        1,
        1,
        0,
        0,
        [LineReport(1, said)],
    )
    assert outcome(load(world, service())) == (1, 1, 1, 0, 0, [])


def test_entity_twice_in_a_batch_is_created_and_changed(world: Any) -> None:
    batch = load(
        world,
        service(),
        service(description="x"),
        service(description="x"),
        service(displayName="S"),
    )
    assert outcome(batch) == (4, 3, 1, 2, 1, [])
    entity_id = world.log.claim("databaseService", "s").id
    newest = next(versions(world.log, KINDS["databaseService"], entity_id)).entity
    assert (newest.version, newest.value("description"), newest.value("displayName")) == (
        3,
        "x",
        "S",
    )


def test_deleted_entities_are_restored_with_what_is_below(world: Any) -> None:
    lines = [service(), database()]
    load(world, *lines)
    world.delete(world.put("databaseService", "s", serviceType="Mysql").entity, recursive=True)
    assert world.lives() == {"s": False, "s.d": False}
    # The first line restores both, as a PUT of it does.
    assert outcome(load(world, *lines)) == (2, 2, 0, 1, 1, [])
    assert world.lives() == {"s": True, "s.d": True}


def test_batch_after_a_purge_by_another_writer(world: Any) -> None:
    running = importer(world)
    lines = [(1, json.dumps(service()).encode()), (2, json.dumps(database()).encode())]
    assert outcome(running.load(Chunk(lines))) == (2, 2, 2, 0, 0, [])
    (made,) = versions(
        world.log, KINDS["databaseService"], world.log.claim("databaseService", "s").id
    )
    world.delete(made.entity, hard=True, recursive=True)
    assert outcome(running.load(Chunk(lines))) == (2, 2, 2, 0, 0, [])
    assert world.lives() == {"s": True, "s.d": True}


def test_two_importers_at_once(open_world: Callable[[], Any]) -> None:
    worlds = [open_world(), open_world()]
    lines = [service(f"s{number}") for number in range(20)]
    lines += [database(f"d{number}", f"s{number}") for number in range(20)]
    encoded = [json.dumps(each).encode() for each in lines]
    bad: list[object] = []

    def run(world: Any) -> None:
        try:
            running = importer(world)
            for group in batches(encoded, 8):
                bad.extend(running.load(Chunk(group)).bad)
        except Exception as error:
            bad.append(error)

    threads = [threading.Thread(target=run, args=(world,)) for world in worlds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bad == []
    assert sorted(worlds[0].events()) == sorted(("entity.created", each["name"]) for each in lines)


def test_import_stops_where_the_log_cannot_be_written(world: Any) -> None:
    lines = [service(f"s{number}") for number in range(6)]
    groups = list(batches([json.dumps(each).encode() for each in lines], 2))
    running = faulty(world, append_group=[None, None, StoreUnavailable(FULL)])
    done = [running.load(Chunk(group)) for group in groups[:2]]

    with pytest.raises(ImportStopped) as caught:
        running.load(Chunk(groups[2]))

    assert [outcome(batch) for batch in done] == [(2, 2, 2, 0, 0, [])] * 2
    assert (caught.value.upto, outcome(caught.value.stored)) == (4, (0, 0, 0, 0, 0, []))
    assert caught.value.message == FULL
    assert [name for _, name in world.events()] == ["s0", "s1", "s2", "s3"]
    assert outcome(load(world, *lines)) == (6, 2, 2, 0, 4, [])


def test_log_that_cannot_be_read_makes_no_line_bad(world: Any) -> None:
    load(world, service())
    running = faulty(world, streams=[StoreUnavailable(FULL)])
    with pytest.raises(ImportStopped) as caught:
        running.load(Chunk([(8, json.dumps(database()).encode())]))
    assert (caught.value.upto, outcome(caught.value.stored)) == (7, (0, 0, 0, 0, 0, []))
    assert world.lives() == {"s": True}


def test_lines_stored_one_by_one_are_counted_when_the_log_fails(world: Any) -> None:
    lines = [service("a"), service("b"), b"{", service("c"), service("d")]
    encoded = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in lines]
    rival, full = ConcurrentChange("another writer was first"), StoreUnavailable(FULL)
    running = faulty(world, append_group=[rival, None, None, full])
    with pytest.raises(ImportStopped) as caught:
        running.load(Chunk(list(enumerate(encoded, start=11))))
    stored = outcome(caught.value.stored)
    assert (caught.value.upto, stored[:5]) == (13, (3, 2, 2, 0, 0))
    assert [bad.number for bad in stored[5]] == [13]
    assert world.lives() == {"a": True, "b": True}


CATALOGS = [
    ("ecommerce.jsonl", 267),
    pytest.param("mozilla.jsonl.gz", 4_307, marks=pytest.mark.deep),
]


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared catalogs are not here")
@pytest.mark.parametrize(("name", "count"), CATALOGS)
def test_real_catalog_is_imported_whole(world: Any, name: str, count: int) -> None:
    path = SHARED / name
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    lines = data.splitlines(keepends=True)
    for expected in ((count, count, count, 0, 0, []), (count, 0, 0, 0, count, [])):
        running, total = importer(world), Batch()
        for group in batches(lines):
            batch = running.load(Chunk(group))
            for field in ("lines", "events", "created", "changed", "unchanged", "bad"):
                setattr(total, field, getattr(total, field) + getattr(batch, field))
        assert outcome(total) == expected
    assert world.log.head() == count
