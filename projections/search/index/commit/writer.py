"""What a commit writes: the arrays of new segments, Whoosh's table of contents, the manifest."""

import contextlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
from numpy.typing import NDArray
from whoosh.index import TOC

from projections.search.index.format.arrays import ArrayFile
from projections.search.index.format.codec import EXTENSION, Segment
from projections.search.index.format.storage import (
    INDEX,
    LOCK,
    MANIFEST,
    Manifest,
    Storage,
    write_manifest,
)
from projections.search.index.merge.merged_field import Offsets
from projections.search.index.merge.merging import Part, merge


def write_segment(storage: Storage, arrays: dict[str, NDArray[Any]]) -> Segment:
    """Write the file of a new segment; its manifest must be written before it counts."""
    segment = Segment(INDEX, len(arrays["deleted"]))
    with _file(storage, segment) as file:
        for name, array in arrays.items():
            file.put(name, array)
        file.finish()
    return segment


def write_merged(
    storage: Storage, segment: Segment, parts: Sequence[Part], check: Callable[[], None]
) -> list[Offsets]:
    """Write the file of a segment that holds the live documents of the parts, as `merge` does."""
    with _file(storage, segment) as file:
        return merge(parts, file, check)


@contextmanager
def _file(storage: Storage, segment: Segment) -> Iterator[ArrayFile]:
    stream = segment.create_file(storage, EXTENSION)
    try:
        yield ArrayFile(stream)
    finally:
        stream.close()


def commit(
    storage: Storage,
    schema: Any,
    manifest: Manifest,
    segments: Sequence[Segment],
    known: dict[str, int],
) -> Manifest:
    """Make the segments the index, with what else `manifest` says.

    `known` are checksums of files that are as they were.
    """
    TOC(schema, list(segments), manifest.generation).write(storage, INDEX)
    names = [segment.file for segment in segments]
    fresh = [toc_name(manifest.generation), *(name for name in names if name not in known)]
    files = {name: known[name] for name in names if name in known}
    files |= {name: storage.crc(name) for name in fresh}
    storage.sync(fresh)
    made = msgspec.structs.replace(manifest, files=files)
    write_manifest(storage, made)
    return made


def toc_name(generation: int) -> str:
    """The file of the table of contents."""
    return str(TOC._filename(INDEX, generation))


def clean(storage: Storage, manifest: Manifest, kept: Collection[str]) -> None:
    """Remove what neither the manifest names nor `kept` holds: older commits, and failed ones."""
    for name in storage.list():
        if name not in manifest.files and name not in (MANIFEST, LOCK) and name not in kept:
            with contextlib.suppress(OSError, NameError):
                storage.delete_file(name)
