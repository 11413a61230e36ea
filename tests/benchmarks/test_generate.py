"""The generated catalog repeats itself, and the catalog takes all of it."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import msgspec
import pytest

from benchmarks.generate import contracts, lines
from benchmarks.sample.tables import STATUSES
from domain.event_store.opening import open_event_log
from domain.importing.bulk_import import BulkImport
from domain.importing.lines import Chunk, batches
from domain.kinds.registry import KINDS
from domain.write_context import WriteContext
from tests.depth import first_alone

COUNT = 1_000
Generator = Callable[[int, int], Iterator[bytes]]


def imported(path: Path, generated: list[bytes]) -> tuple[int, list[str]]:
    """Return the number of entities that came to be, and what was wrong with the others."""
    log = open_event_log(path)
    try:
        loader = BulkImport(log, WriteContext(actor="test", request_id="test"), now=lambda: 0)
        done = [loader.load(Chunk(batch)) for batch in batches(generated)]
    finally:
        log.close()
    bad = [line.reason for batch in done for line in batch.bad]
    return sum(batch.created for batch in done), bad


@pytest.mark.parametrize("generator", [lines, contracts])
def test_generated_bytes_repeat_with_the_seed(generator: Generator) -> None:
    assert list(generator(COUNT, 7)) == list(generator(COUNT, 7))
    assert list(generator(COUNT, 7)) != list(generator(COUNT, 8))


def test_generated_catalog_imports_without_a_bad_line(tmp_path: Path) -> None:
    assert imported(tmp_path / "events.db", list(lines(COUNT))) == (COUNT, [])


def test_generated_contracts_import_without_a_bad_line(tmp_path: Path) -> None:
    generated = list(contracts(COUNT))
    assert imported(tmp_path / "events.db", generated) == (len(generated), [])
    kinds = Counter(msgspec.json.decode(line)["entityType"] for line in generated)
    assert kinds["dataContract"] == COUNT


def test_generated_catalog_holds_every_kind_in_plausible_shares() -> None:
    entities = [msgspec.json.decode(line) for line in lines(COUNT)]
    kinds = Counter(entity.get("kind") or entity["entityType"] for entity in entities)
    assert kinds.keys() == KINDS.keys()
    assert 0.40 <= kinds["table"] / COUNT <= 0.50
    assert 0.25 <= kinds["dataContract"] / COUNT <= 0.35
    tables = [entity for entity in entities if entity["entityType"] == "table"]
    assert {5 <= len(table["columns"]) <= 40 for table in tables} == {True}
    statuses = {e["entityStatus"] for e in entities if e["entityType"] == "dataContract"}
    assert statuses == set(STATUSES)


@pytest.mark.parametrize("count", first_alone(2_000, 30_000))
def test_generator_makes_a_large_catalog_line_by_line(count: int) -> None:
    assert len(list(islice(lines(1_000_000), count))) == count
