"""Lines as imports get them, and what becomes of them, for the tests of imports."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from domain.importing.bulk_import import Batch, BulkImport, LineReport
from domain.importing.lines import Chunk, batches
from tests.domain.faulty_store import FaultyStore

ID = "01890a5d-ac96-774b-bcce-b302099a8057"


def line(entity_type: str, name: str, fqn: str | None = None, **values: Any) -> dict[str, Any]:
    """A line; the qualified name is the name unless given."""
    return {
        "entityType": entity_type,
        "name": name,
        "fullyQualifiedName": name if fqn is None else fqn,
        **values,
    }


def service(name: str = "s", **values: Any) -> dict[str, Any]:
    return line("databaseService", name, **{"serviceType": "Mysql"} | values)


def database(name: str = "d", parent: str = "s", **values: Any) -> dict[str, Any]:
    parent_reference = {"type": "databaseService", "fullyQualifiedName": parent}
    return line("database", name, f"{parent}.{name}", service=parent_reference, **values)


def importer(world: Any) -> BulkImport:
    return BulkImport(world.log, world.context(), now=world.now)


def load(world: Any, *lines: dict[str, Any] | bytes) -> Batch:
    encoded = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in lines]
    return importer(world).load(Chunk(list(enumerate(encoded, start=1))))


def load_all(running: BulkImport, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, Batch]]:
    """Import chunk by chunk, and give each back when it is stored."""
    for chunk in chunks:
        yield chunk, running.load(chunk)


def outcome(batch: Batch) -> tuple[int, int, int, int, int, list[LineReport]]:
    """(lines, events, created, changed, unchanged, bad)."""
    return (
        batch.lines,
        batch.events,
        batch.created,
        batch.changed,
        batch.unchanged,
        sorted(batch.bad, key=lambda bad: bad.number),
    )


FULL = "the event log cannot be used now: disk full"


def faulty(world: Any, **faults: list[Exception | None]) -> BulkImport:
    """An importer whose calls of the store meet these faults."""
    return BulkImport(FaultyStore(world.log, faults), world.context(), now=world.now)


def chunks(*lines: dict[str, Any] | bytes, size: int = 2) -> list[Chunk]:
    encoded = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in lines]
    return [Chunk(numbered) for numbered in batches(encoded, size)]
