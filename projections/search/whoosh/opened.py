"""A commit as it is open for reading; immutable, and replaced as a whole by the next one."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from projections.search.whoosh.arrays import Arrays
from projections.search.whoosh.codec import Segment
from projections.search.whoosh.segments import SegmentView, Snapshot
from projections.search.whoosh.storage import Manifest, Storage, map_arrays, read_toc, verify


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
