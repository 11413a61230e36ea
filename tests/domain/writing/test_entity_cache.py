"""Memory of the writer for the entities it wrote."""

import tracemalloc
from typing import Any

from domain.writing.recent import MAX_BYTES


def test_catalog_remembers_large_entities_up_to_a_bound(world: Any) -> None:
    size = 9_000_000
    tracemalloc.start()
    try:
        for number in range(14):
            world.create(
                "databaseService", f"s{number}", serviceType="Mysql", description=size * "d"
            )
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert MAX_BYTES - size < held < 1.5 * (MAX_BYTES + size)  # msgspec keeps spare room
