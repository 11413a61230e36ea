"""The objects inside entities, for queries that ask for several things of the same one."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from projections.search.documents import Scalar, nested_objects
from projections.search.sources import ReadSources, read_in_parts

Fields = Mapping[str, tuple[Scalar, ...]]
"""Path of the document -> an object's values."""
ReadObjects = Callable[[Sequence[str], str], Mapping[str, Sequence[Fields]]]
"""Ids and an indexed path -> id -> the objects there, of those entities that are still there."""


def object_reader(read_sources: ReadSources) -> ReadObjects:
    """Reads objects from the full JSON of their entities."""

    def read(ids: Sequence[str], path: str) -> Mapping[str, Sequence[Fields]]:
        return {
            entity_id: list(nested_objects(msgspec.json.decode(source), path))
            for entity_id, source in read_in_parts(ids, read_sources)
        }

    return read
