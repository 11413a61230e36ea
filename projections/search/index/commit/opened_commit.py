"""A commit: its manifest, which makes its files one whole, and how it is open for reading.

A manifest names the generation, the log position, the schema, and each file with its checksum, and
is renamed into place last, after those files and the directory are synced. Readers open exactly the
generation that the manifest names, so that what a crash leaves behind is never seen. An open commit
is immutable, and replaced as a whole by the next one.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Self

import msgspec
import numpy as np

from domain.errors import StoreUnavailable
from domain.reading.horizon import Horizon
from projections.feeding.port import Checkpoint
from projections.search.engine import SearchedPaths, StateEntry
from projections.search.index.evaluate.past_snapshots import PastSnapshots
from projections.search.index.evaluate.segments import SegmentView, Snapshot
from projections.search.index.format.codec import Segment
from projections.search.index.format.storage import INDEX, MANIFEST, Directory, map_arrays


class PastSegment(msgspec.Struct, frozen=True):
    """A segment of replaced states, which Whoosh's table of contents does not name."""

    name: str
    size: int
    """Documents, dead ones included."""
    dead: bytes = b""
    """A bit per document, the first one the highest of its byte; empty when all live."""

    @classmethod
    def of(cls, segment: Segment) -> Self:
        """Return what a manifest says of a segment."""
        dead = segment.dead
        bits = b"" if dead is None else np.packbits(dead).tobytes()
        return cls(segment.segid, segment.size, bits)

    def segment(self) -> Segment:
        """Return the segment."""
        segment = Segment(INDEX, self.size, is_past=True)
        segment.segid = self.name
        bits = np.unpackbits(np.frombuffer(self.dead, np.uint8), count=self.size)
        return segment.with_dead(np.flatnonzero(bits)) if self.dead else segment


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One commit; a name that is not known is damage, as nothing sums the manifest itself."""

    generation: int
    """Number of the commit: one more than that of the commit before."""
    position: int
    """The checkpoint: the log position up to which the documents are current."""
    schema: int
    """Digest of what the index was made for, see `schema_digest`."""
    files: dict[str, int]
    """File name -> CRC-32."""
    fingerprint: str = msgspec.field(default="", name="mark")
    """The writer's text for the position, which the index does not interpret."""
    sizes: dict[str, int] = msgspec.field(default_factory=dict)
    """File name -> bytes. Manifests of earlier versions have no sizes."""
    searched: SearchedPaths = SearchedPaths()
    """The paths that are searched though no kind declares them."""
    past: tuple[PastSegment, ...] = ()
    """The segments of replaced states."""
    horizon: Horizon = Horizon()
    """The earliest position as of which the commit can be searched."""

    def after(
        self, position: int, fingerprint: str, searched: SearchedPaths | None = None
    ) -> "Manifest":
        """The beginning of the next commit's manifest; None: the same paths are searched."""
        return Manifest(
            self.generation + 1,
            position,
            self.schema,
            {},
            fingerprint,
            searched=self.searched if searched is None else searched,
            horizon=self.horizon,
        )


def read_manifest(storage: Directory) -> Manifest | None:
    """The last commit's manifest, None before the first; StoreUnavailable when it is damaged."""
    if storage.manifest_stamp() is None:
        return None
    try:
        return msgspec.json.decode(storage.read(MANIFEST), type=Manifest)
    except (OSError, msgspec.MsgspecError) as error:
        raise StoreUnavailable(f"the search index has no readable manifest: {error}") from error


def write_manifest(storage: Directory, manifest: Manifest) -> None:
    """Make the manifest the current one; its files must be synced before."""
    temporary = f"{MANIFEST}.new"
    stream = storage.create_file(temporary)
    stream.write(msgspec.json.encode(manifest))
    stream.close()
    storage.sync([temporary])
    storage.rename_file(temporary, MANIFEST)
    storage.sync([])


class OpenedCommit(msgspec.Struct, frozen=True):
    """The segments of a commit; a segment of the commit before is not opened again."""

    manifest: Manifest
    segments: Mapping[str, Segment]
    """Name -> segment, as the table of contents or the manifest has it."""
    views: Mapping[str, SegmentView]
    """Name -> view of the segment as searches read it, in the order of `segments`."""
    snapshot: Snapshot
    """The segments of the current states."""
    past: PastSnapshots
    """All segments, as they were at earlier positions."""

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint committed with the documents, and its fingerprint."""
        return self.manifest.position, self.manifest.fingerprint

    @property
    def horizon(self) -> Horizon:
        """The earliest position as of which the commit can be searched."""
        return self.manifest.horizon

    @property
    def searched(self) -> SearchedPaths:
        """The paths that are searched though no kind declares them."""
        return self.manifest.searched

    def digests(self) -> Mapping[str, tuple[int, int]]:
        """Kind -> number of its documents, and the sum of their digests modulo 2**64."""
        figures: dict[str, tuple[int, int]] = {}
        for view in self.snapshot.views:
            for code, kind in enumerate(view.kinds):
                chosen = view.arrays["kind"] == code
                if view.live is not None:
                    chosen &= view.live
                count, total = figures.get(kind, (0, 0))
                total += int(view.arrays["digest"][chosen].sum(dtype=np.uint64))
                figures[kind] = count + int(chosen.sum()), total % 2**64
        return {kind: of_kind for kind, of_kind in figures.items() if of_kind[0]}

    def entries(self) -> Iterator[tuple[str, str, int]]:
        """Id, kind and digest of every document."""
        for view in self.snapshot.views:
            for doc_id in range(view.size):
                if view.live is None or view.live[doc_id]:
                    stored = view.stored(doc_id)
                    yield stored.id, stored.kind, stored.digest

    def states(self) -> Iterator[StateEntry]:
        """Every state, current or replaced, that the index has a document of."""
        for view in self.views.values():
            since, until = view.arrays["since"], view.arrays["until"]
            for doc_id in range(view.size):
                if view.live is None or view.live[doc_id]:
                    stored = view.stored(doc_id)
                    span = int(since[doc_id]), int(until[doc_id])
                    yield StateEntry(stored.id, stored.kind, stored.digest, *span)


def open_segments(
    storage: Directory, manifest: Manifest, segments: Sequence[Segment], before: OpenedCommit | None
) -> OpenedCommit:
    """A commit of these segments; those of the commit `before` are taken from it.

    Raises OSError when files are gone, as after a newer commit.
    """
    views: dict[str, SegmentView] = {}
    known = {} if before is None else before.views
    for segment in segments:
        name = segment.segment_id()
        view = known.get(name)
        if before is None or view is None:
            view = SegmentView(name, map_arrays(storage, segment.file), segment.dead)
        elif not segment.same_dead(before.segments[name]):
            view = view.with_dead(segment.dead)
        views[name] = view
    current = [views[s.segment_id()] for s in segments if not s.is_past]
    return OpenedCommit(
        manifest,
        {s.segment_id(): s for s in segments},
        views,
        Snapshot(current),
        PastSnapshots(tuple(views.values())),
    )
