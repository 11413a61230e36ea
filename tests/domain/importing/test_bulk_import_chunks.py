"""Importing chunk after chunk: each is stored before it is given back, whatever the next meets."""

import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any

import pytest

from domain.errors import ConcurrentChange, StoreUnavailable
from domain.event_store.opening import open_event_log
from domain.importing.bulk_import import BulkImport, ImportStopped, LineReport
from domain.importing.lines import Chunk, decode_read, read_ahead
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
    load_all,
    outcome,
    service,
)


def test_chunks_are_given_back_when_they_are_stored(world: Any) -> None:
    stored = []
    for chunk, batch in load_all(
        importer(world),
        chunks(service(), database(), database(description="x"), service(), database("e")),
    ):
        with closing(open_event_log(world.path)) as log:
            stored.append((chunk.lines[-1][0], outcome(batch), log.head()))
    assert stored == [
        (2, (2, 2, 2, 0, 0, []), 2),
        (4, (2, 1, 0, 1, 1, []), 3),
        (5, (1, 1, 1, 0, 0, []), 4),
    ]


def test_chunk_is_decided_on_the_one_before(world: Any) -> None:
    lines = [service(id=ID), database(), service(description="x", id=ID), database("e", id=ID)]
    batches_of = [batch for _, batch in load_all(importer(world), chunks(*lines))]
    said = f"id {ID} is the id of another entity"
    assert [outcome(batch) for batch in batches_of] == [
        (2, 2, 2, 0, 0, []),
        (2, 1, 0, 1, 0, [LineReport(4, said)]),
    ]


def test_chunks_are_loaded_line_by_line_when_another_writer_interferes(world: Any) -> None:
    running = faulty(world, append_group=[None, ConcurrentChange("another writer was first")])
    lines = [service("a"), service("b"), service("c"), b"{", service("d")]
    loaded = [(chunk.end, batch.created) for chunk, batch in load_all(running, chunks(*lines))]
    assert loaded == [(0, 2), (0, 1), (0, 1)]
    assert world.lives() == dict.fromkeys("abcd", True)


def loaded_until_stopped(running: BulkImport, lines: Iterable[Chunk]) -> tuple[list[int], int]:
    """The last line of each chunk that was given back, and that up to which all is stored."""
    given: list[int] = []
    with pytest.raises(ImportStopped, match=FULL) as caught:
        given.extend(chunk.lines[-1][0] for chunk, _ in load_all(running, lines))
    return given, caught.value.upto


def test_import_of_chunks_stops_where_the_log_cannot_be_written(world: Any) -> None:
    lines = chunks(*(service(f"s{number}") for number in range(6)))
    running = faulty(world, append_group=[None, StoreUnavailable(FULL)])
    assert loaded_until_stopped(running, lines) == ([2], 2)
    assert world.lives() == {"s0": True, "s1": True}


def test_import_of_chunks_stops_where_the_log_cannot_be_read(world: Any) -> None:
    lines = chunks(*(service(f"s{number}") for number in range(6)))
    running = faulty(world, claims=[None, StoreUnavailable(FULL)])
    assert loaded_until_stopped(running, lines) == ([2], 2)
    assert world.lives() == {"s0": True, "s1": True}


def test_what_is_stored_is_given_back_before_the_failure_of_the_lines(world: Any) -> None:
    def torn() -> Iterator[Chunk]:
        yield from chunks(service("a"), service("b"))
        raise EOFError("torn")

    given = []
    with pytest.raises(EOFError, match="torn"):
        given.extend(load_all(importer(world), torn()))
    assert [outcome(batch) for _, batch in given] == [(2, 2, 2, 0, 0, [])]
    assert world.lives() == {"a": True, "b": True}


def read_elsewhere(*groups: list[dict[str, Any]]) -> Iterator[Chunk]:
    """A chunk of each group of lines, with what another process has read of them."""
    start = 1
    for lines in groups:
        encoded = [json.dumps(each).encode() for each in lines]
        yield Chunk(list(enumerate(encoded, start)), read=decode_read(read_ahead(encoded)))
        start += len(lines)


def owner_of(world: Any, fqn: str) -> Any:
    claim = world.log.claim("databaseService", fqn)
    (made,) = versions(world.log, KINDS["databaseService"], claim.id)
    (owner,) = made.entity.value("owners")
    return owner["type"]


def test_bare_name_leads_to_the_first_kind_that_has_it_by_then(world: Any) -> None:
    team = {"teamType": "Group"}
    first = [line("team", "a", **team), service("s", owners=["a"]), service("t", owners=["a"])]
    then = [line("user", "a"), service("u", owners=["a"])]
    batches_of = [batch for _, batch in load_all(importer(world), read_elsewhere(first, then))]
    assert [batch.bad for batch in batches_of] == [[], []]
    assert [owner_of(world, fqn) for fqn in "stu"] == ["team", "team", "user"]


def test_what_lines_refer_to_is_looked_up_for_all_of_them_together(world: Any) -> None:
    people = [line("user", f"u{number}") for number in range(30)]
    list(load_all(importer(world), read_elsewhere(people)))
    lines = [service(f"s{number}", owners=[f"u{number}"]) for number in range(30)]
    store = CountedStore(world.log)
    running = BulkImport(store, world.context(), now=world.now)
    (batch,) = [batch for _, batch in load_all(running, read_elsewhere(lines))]
    assert (batch.created, batch.bad) == (30, [])
    assert store.names.count("claims") == 1
