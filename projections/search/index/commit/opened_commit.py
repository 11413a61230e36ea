"""A commit as it is open for reading; immutable, and replaced as a whole by the next one."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from projections.search.index.evaluate.segments import SegmentView, Snapshot
from projections.search.index.format.arrays import Arrays
from projections.search.index.format.codec import Segment
from projections.search.index.format.doc_ids import row
from projections.search.index.format.storage import Manifest, Storage, map_arrays, read_toc, verify


class Opened(msgspec.Struct, frozen=True):
    """The segments of a commit, those it shares with the one before as they were."""

    manifest: Manifest
    segments: Mapping[str, Segment]
    arrays: Mapping[str, Arrays]
    snapshot: Snapshot

    @property
    def live(self) -> int:
        """Number of documents."""
        return sum(segment.doc_count() for segment in self.segments.values())

    @property
    def position(self) -> int:
        """The checkpoint committed with the documents."""
        return self.manifest.position

    @property
    def mark(self) -> str:
        """The mark committed with them."""
        return self.manifest.mark

    def digests(self) -> Mapping[str, tuple[int, int]]:
        """Kind -> number of its documents, and the sum of their digests modulo 2**64."""
        found: dict[str, tuple[int, int]] = {}
        for name, arrays in self.arrays.items():
            dead = self.segments[name].dead
            for code, offset in enumerate(arrays["kind.offsets"][:-1].tolist()):
                end = int(arrays["kind.offsets"][code + 1])
                kind = arrays["kind.lexicon"][offset:end].tobytes().decode()
                chosen = arrays["kind"] == code
                if dead is not None:
                    chosen &= ~dead
                count, total = found.get(kind, (0, 0))
                total += int(arrays["digest"][chosen].sum(dtype=np.uint64))
                found[kind] = count + int(chosen.sum()), total % 2**64
        return {kind: figures for kind, figures in found.items() if figures[0]}

    def entries(self) -> Iterator[tuple[str, str, int]]:
        """Id, kind and digest of every document."""
        for name, arrays in self.arrays.items():
            segment = self.segments[name]
            for number in range(segment.size):
                if segment.dead is None or not segment.dead[number]:
                    found = row(arrays, number)
                    yield found.id, found.kind, found.digest


def open_segments(
    storage: Storage, manifest: Manifest, segments: Sequence[Segment], before: Opened | None
) -> Opened:
    """A commit whose files are known to be whole."""
    arrays: dict[str, Arrays] = {}
    views: list[SegmentView] = []
    known = {} if before is None else {view.name: view for view in before.snapshot.views}
    for segment in segments:
        name = segment.segment_id()
        view = known.get(name)
        if before is None or view is None:
            arrays[name] = map_arrays(storage, segment.file)
            view = SegmentView(name, arrays[name], segment.dead)
        else:
            arrays[name] = before.arrays[name]
            if not segment.same_dead(before.segments[name]):
                view = view.with_dead(segment.dead)
        views.append(view)
    snapshot = Snapshot(tuple(views), manifest.generation)
    return Opened(manifest, {s.segment_id(): s for s in segments}, arrays, snapshot)


def open_commit(
    storage: Storage,
    schema: Any,
    manifest: Manifest,
    before: Opened | None,
    verified: dict[str, int],
) -> Opened:
    """The manifest's commit, once the checksums of new files are found right.

    Raises StoreUnavailable when one is wrong, OSError when files are gone, as after a newer
    commit.
    """
    verify(storage, manifest, verified)
    toc = read_toc(storage, manifest, schema)
    return open_segments(storage, manifest, toc.segments, before)
