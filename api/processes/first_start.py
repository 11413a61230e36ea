"""Makes the system's entities in a new data directory at the first start of a server."""

from contextlib import closing
from pathlib import Path
from uuid import uuid4

import msgspec

from domain.write_context import WriteContext
from domain.writing.system_entities import create_system_entities
from projections.wiring.stores import note_served, open_log, was_served

_STATIC = Path(__file__).parents[1] / "static"
CLASSIFICATIONS = _STATIC / "classifications.jsonl"
"""The classifications `Tier` and `PII` with their tags, as lines of an import."""
TEST_DEFINITIONS = _STATIC / "test_definitions.jsonl"
"""The definitions of the tests that OpenMetadata's test workflow runs, as lines of an import."""
ACTOR = "catalog"
"""Actor of the events that the catalog makes by itself."""


def make_new_catalog(directory: Path, database: str | None) -> None:
    """Create the entities of a new catalog, unless the directory was ever served.

    To be called by the process that holds the ProjectorLock of the directory, before it opens the
    stores. If the first start ends early, the next one is the first, and creates what is missing.
    Entities that the log has had before, and somebody has deleted since, are not created again.
    Where the log is in a database, at a URL, it must be empty too: the directory may be that of
    another host of an old catalog. Raises StoreUnavailable.
    """
    if was_served(directory):
        return
    lines = [
        line
        for file in (CLASSIFICATIONS, TEST_DEFINITIONS)
        for line in file.read_bytes().splitlines()
    ]
    with closing(open_log(directory, database)) as log:
        if not (database and log.head() > 0):
            context = WriteContext(actor=ACTOR, request_id=str(uuid4()))
            create_system_entities(log, [msgspec.json.decode(line) for line in lines], context)
    note_served(directory)
