"""Writers go on from what the log has now, when it may have lost what they have read."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.direct_catalog import DirectCatalog
from domain.importing.bulk_import import Batch, BulkImport
from domain.importing.lines import Chunk, NumberedLine
from domain.kinds.registry import KINDS
from domain.write_context import WriteContext
from domain.writing.entity_cache import EntityCache
from domain.writing.plans import Change
from tests.domain.imported_lines import database, load_all, outcome, service
from tests.domain.replaced_store import ReplacedStore

SERVICE = KINDS["databaseService"]
DATABASE = KINDS["database"]
CONTEXT = WriteContext(actor="ann", request_id="r")


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Any]:
    log = ReplacedStore(tmp_path / "events.db")
    yield log
    log.close()


def put(catalog: DirectCatalog, **values: Any) -> Change:
    given = {"name": "s", "serviceType": "Mysql", **values}
    return catalog.put(SERVICE, given, CONTEXT).change


def test_state_that_the_log_has_lost_is_not_planned_on(log: Any) -> None:
    catalog = DirectCatalog(log)
    put(catalog)
    older = log.copy("older.db")
    put(catalog, description="lost")
    log.put_back(older)
    put(DirectCatalog(log), displayName="S")

    assert put(catalog, description="lost") is Change.UPDATED
    entity = EntityCache(log).holder(SERVICE, "s")
    assert entity is not None
    assert [entity.value("displayName"), entity.value("description")] == ["S", "lost"]
    assert entity.stream_version == 3


@pytest.mark.parametrize("call", ["claims", "streams", "durable_head"])
def test_answer_without_an_event_is_of_one_epoch(log: Any, call: str) -> None:
    """Wherever between its reads the copy takes the place."""
    catalog = DirectCatalog(log)
    put(catalog)
    older = log.copy("older.db")
    put(catalog, description="lost")
    log.before[call] = [lambda: log.put_back(older)]

    assert put(catalog, description="lost") is Change.UPDATED


def test_refusal_is_of_one_epoch(log: Any) -> None:
    catalog = DirectCatalog(log)
    older = log.copy("older.db")
    put(catalog)
    log.before["durable_head"] = [lambda: log.put_back(older)]

    created = catalog.create(SERVICE, {"name": "s", "serviceType": "Mysql"}, CONTEXT)

    assert created.change is Change.CREATED


def test_bulk_put_is_decided_in_one_epoch(log: Any) -> None:
    catalog = DirectCatalog(log)
    put(catalog)
    older = log.copy("older.db")
    put(catalog, description="lost")
    log.before["durable_head"] = [lambda: log.put_back(older)]
    request = {"name": "s", "serviceType": "Mysql", "description": "lost"}

    proposal, (done,) = catalog.propose_puts(SERVICE, [request], CONTEXT)

    assert (proposal.position, done.change) == (None, Change.UPDATED)
    assert log.append_group([proposal.append]) == [2]


def numbered(*lines: dict[str, Any]) -> list[NumberedLine]:
    return [(n, json.dumps(line).encode()) for n, line in enumerate(lines, 1)]


def importer(log: Any) -> BulkImport:
    return BulkImport(log, CONTEXT, now=lambda: 1)


def reasons(batch: Batch) -> list[str]:
    return [bad.reason for bad in batch.bad]


def test_import_looks_names_up_again_in_another_epoch(log: Any) -> None:
    older = log.copy("older.db")
    running = importer(log)
    running.load(Chunk(numbered(service())))
    log.put_back(older)

    batch = running.load(Chunk(numbered(database())))

    assert reasons(batch) == ["service: databaseService instance for 's' not found"]
    assert log.head() == 0


@pytest.mark.parametrize("call", ["claims", "streams", "durable_head"])
def test_import_decides_lines_again_in_another_epoch(log: Any, call: str) -> None:
    importer(log).load(Chunk(numbered(service())))
    older = log.copy("older.db")
    importer(log).load(Chunk(numbered(service(description="lost"))))
    running = importer(log)
    log.before[call] = [lambda: log.put_back(older)]

    batch = running.load(Chunk(numbered(service(description="lost"))))

    assert outcome(batch) == (1, 1, 0, 1, 0, [])


def test_chunk_that_was_decided_on_a_lost_one_is_decided_again(log: Any) -> None:
    importer(log).load(Chunk(numbered(service())))
    older = log.copy("older.db")
    chunks = [Chunk(numbered(service(description=text))) for text in ("lost", "second")]

    def given() -> Iterator[Chunk]:
        yield chunks[0]
        yield chunks[1]

    done = []
    for _, batch in load_all(importer(log), given()):
        done.append(outcome(batch))
        if len(done) == 1:
            log.put_back(older)

    assert done == [(1, 1, 0, 1, 0, []), (1, 1, 0, 1, 0, [])]
    assert [event.stream_version for event in log.read(0, 9)] == [1, 2]
