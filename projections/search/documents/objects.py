"""The objects inside entities, for queries that ask for several things of the same one."""

from collections.abc import Callable, Iterator, Mapping

import msgspec

from projections.search.documents.documents import Scalar, nested_objects
from projections.search.documents.sources import ReadSources

Fields = Mapping[str, tuple[Scalar, ...]]
"""Path of the document -> an object's values."""
ReadObjects = Callable[[str, str], Iterator[Fields]]
"""An entity's id and an indexed path -> the objects there, none when the entity is gone.

Each is made when it is asked for, so that whoever asks may stop at any of them.
"""


def object_reader(read_sources: ReadSources) -> ReadObjects:
    """Read objects from the full JSON of their entity."""

    def read(entity_id: str, path: str) -> Iterator[Fields]:
        for source in read_sources((entity_id,)).values():
            yield from nested_objects(msgspec.json.decode(source), path)

    return read
