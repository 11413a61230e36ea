"""What the projectors' folder remembers."""

import tracemalloc
from typing import Any

from domain.recent import MAX_BYTES
from projections.feeding.folding import Folder


def test_folder_remembers_large_entities_up_to_a_bound(catalog: Any) -> None:
    size = 9_000_000
    for number in range(10):
        catalog.create("databaseService", f"s{number}", serviceType="Mysql", description="d" * size)
    folder = Folder(catalog.log)
    tracemalloc.start()
    try:
        for position in range(10):
            folder.fold(catalog.log.read(position, 1))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert MAX_BYTES - size < held < MAX_BYTES + size
