"""Size of an entity in bytes is bounded, however it is written; nothing large is built before."""

import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from domain.errors import EntityOverLimit
from domain.importing.bulk_import import BulkImport
from domain.importing.lines import Chunk
from domain.patches.payload_bounds import MAX_ENTITY_BYTES

SHARED = Path(__file__).parents[3] / ".." / "shared" / "data"
TEXT = "x" * 999_998
"""A megabyte as JSON."""
PEAK = 60_000_000
"""Bytes that the refusal of any of these writes may take at a time."""


def refused(call: Any, *args: Any, **values: Any) -> int:
    """Bytes that the refused entity would have, as far as they were counted."""
    tracemalloc.start()
    with pytest.raises(EntityOverLimit) as caught:
        call(*args, **values)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < PEAK
    said, _, size = caught.value.message.removesuffix(" or more").rpartition(" ")
    assert said == f"an entity may take {MAX_ENTITY_BYTES} bytes, and this one would take"
    assert int(size) > MAX_ENTITY_BYTES
    return int(size)


def test_patch_cannot_copy_an_entity_large(world: Any) -> None:
    world.create("databaseService", "s", serviceType="Mysql")
    database = world.create("database", "d", service="s", extension={"a": "x" * 100_000})
    copies = [
        {"op": "copy", "from": "/extension/a", "path": f"/extension/b{number}"}
        for number in range(99)
    ]
    head = world.log.head()
    refused(world.patch, database, *copies)
    assert world.log.head() == head
    assert world.patch(database, *copies[:90]).entity.version == 2


def test_patch_cannot_add_to_an_entity_for_ever(world: Any) -> None:
    world.create("databaseService", "s", serviceType="Mysql")
    database = world.create("database", "d", service="s", extension={"a": TEXT})
    parts = [{"op": "add", "path": f"/extension/b{n}", "value": TEXT} for n in range(9)]
    refused(world.patch, database, *parts)
    assert world.patch(database, *parts[:8]).entity.version == 2


def test_put_cannot_add_to_an_entity_for_ever(world: Any) -> None:
    world.create("databaseService", "s", serviceType="Mysql", description="x" * 6_000_000)
    refused(world.put, "databaseService", "s", serviceType="Mysql", displayName="x" * 5_000_000)
    smaller = {"serviceType": "Mysql", "description": None, "displayName": TEXT}
    assert world.put("databaseService", "s", **smaller).entity.version == 2


def test_names_of_columns_cannot_make_an_entity_large(world: Any) -> None:
    world.schema()
    columns: list[Any] = [{"name": f"{n:05}", "dataType": "INT"} for n in range(15_000)]
    for level in range(4):
        columns = [{"name": f"{level}" * 256, "dataType": "STRUCT", "children": columns}]
    refused(world.table, "t", columns=columns)


def test_names_of_references_cannot_make_an_entity_large(world: Any) -> None:
    user = world.create("user", "u" * 256)
    world.create("databaseService", "s", serviceType="Mysql")
    voters = [{"id": user.id, "type": "user"}] * 20_000
    refused(world.create, "database", "d", service="s", votes={"upVoters": voters})


def test_import_cannot_make_an_entity_large(world: Any) -> None:
    owner = world.create("user", name="u" * 256, email="u@example.org").id
    lines = [
        {"entityType": "databaseService", "name": name, "serviceType": "Mysql", "description": text}
        for name, text in (("small", "x"), ("large", "x" * 9_999_800), ("medium", TEXT))
    ]
    # A line within its bound, of which more is recorded: the names of what it refers to.
    lines[1]["owners"] = [{"id": owner, "type": "user"}]
    encoded = [(number, json.dumps(line).encode()) for number, line in enumerate(lines, start=1)]
    batch = BulkImport(world.log, world.context(), now=world.now).load(Chunk(encoded))
    assert (batch.created, [(bad.number, bad.reason) for bad in batch.bad]) == (
        2,
        [(2, "an entity may take 10000000 bytes, and this one would take 10000416 or more")],
    )


@pytest.mark.skipif(not SHARED.exists(), reason="the shared catalogs are absent")
def test_table_of_thirteen_thousand_real_columns_fits(world: Any) -> None:
    columns: list[Any] = []
    with gzip.open(SHARED / "mozilla.jsonl.gz", "rt") as lines:
        for line in lines:
            columns += json.loads(line).get("columns", ())
    columns = [{**each, "name": f"{n}_{each['name']}"} for n, each in enumerate(columns[:13_000])]
    world.schema()
    table = world.table("t", columns=columns)
    assert len(table.value("columns")) == 13_000
    assert sum(map(len, table.body.values())) < MAX_ENTITY_BYTES / 2
