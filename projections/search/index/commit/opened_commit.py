"""A commit as it is open for reading; immutable, and replaced as a whole by the next one."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np

from projections.search.engine import SearchedPaths
from projections.search.index.commit.manifest import Manifest
from projections.search.index.evaluate.segments import SegmentView, Snapshot
from projections.search.index.format.arrays import Arrays, read_texts
from projections.search.index.format.codec import Segment
from projections.search.index.format.doc_ids import stored_document
from projections.search.index.format.storage import Directory, map_arrays


class OpenedCommit(msgspec.Struct, frozen=True):
    """The segments of a commit; those that the commit before had too are not opened again."""

    manifest: Manifest
    segments: Mapping[str, Segment]
    """Name -> segment, as the table of contents has it."""
    arrays: Mapping[str, Arrays]
    """Name of a segment -> its arrays."""
    snapshot: Snapshot
    """What searches read."""

    @property
    def live(self) -> int:
        """Number of documents."""
        return sum(segment.doc_count() for segment in self.segments.values())

    @property
    def position(self) -> int:
        """The checkpoint committed with the documents."""
        return self.manifest.position

    @property
    def fingerprint(self) -> str:
        """The text committed with the checkpoint."""
        return self.manifest.fingerprint

    @property
    def searched(self) -> SearchedPaths:
        """The paths that are searched though no kind declares them."""
        return self.manifest.searched

    def digests(self) -> Mapping[str, tuple[int, int]]:
        """Kind -> number of its documents, and the sum of their digests modulo 2**64."""
        figures: dict[str, tuple[int, int]] = {}
        for name, arrays in self.arrays.items():
            dead = self.segments[name].dead
            for code, kind in enumerate(map(bytes.decode, read_texts(arrays, "kind"))):
                chosen = arrays["kind"] == code
                if dead is not None:
                    chosen &= ~dead
                count, total = figures.get(kind, (0, 0))
                total += int(arrays["digest"][chosen].sum(dtype=np.uint64))
                figures[kind] = count + int(chosen.sum()), total % 2**64
        return {kind: of_kind for kind, of_kind in figures.items() if of_kind[0]}

    def entries(self) -> Iterator[tuple[str, str, int]]:
        """Id, kind and digest of every document."""
        for name, arrays in self.arrays.items():
            segment = self.segments[name]
            for doc_id in range(segment.size):
                if segment.dead is None or not segment.dead[doc_id]:
                    stored = stored_document(arrays, doc_id)
                    yield stored.id, stored.kind, stored.digest


def open_segments(
    storage: Directory, manifest: Manifest, segments: Sequence[Segment], before: OpenedCommit | None
) -> OpenedCommit:
    """A commit of these segments; those of the commit `before` are taken from it.

    Raises OSError when files are gone, as after a newer commit.
    """
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
    return OpenedCommit(manifest, {s.segment_id(): s for s in segments}, arrays, snapshot)
