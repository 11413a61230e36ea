"""Which segments are merged, and when."""

from collections.abc import Sequence

from projections.search.index.format.codec import Segment

MERGE_AT = 8
"""Segments of about one size that are merged into one."""
MAX_SEGMENTS = 16
"""More than these are merged whatever their sizes."""
MAX_DOCUMENTS = 300_000
"""Larger segments are left alone, but for their dead documents."""
FULL_DOCUMENTS = 250_000
"""The most that merging everything puts into one segment."""
DEAD_SHARE = 0.2
"""Segments with more dead documents than this are written anew."""
_BITS = 3


def next_merge(segments: Sequence[Segment]) -> list[Segment]:
    """The segments that should become one, none when all is well."""
    classes: dict[int, list[Segment]] = {}
    small = sorted((s for s in segments if s.doc_count() <= MAX_DOCUMENTS), key=Segment.doc_count)
    for segment in small:
        classes.setdefault(segment.doc_count().bit_length() // _BITS, []).append(segment)
    for group in classes.values():
        if len(group) >= MERGE_AT and len(fitting := _fitting(group)) > 1:
            return fitting
    for segment in segments:
        if segment.deleted_count() > DEAD_SHARE * segment.size:
            return [segment]
    if len(segments) > MAX_SEGMENTS and len(group := _fitting(small)) > 1:
        return group[: len(segments) // 2]
    return []


def _fitting(segments: Sequence[Segment]) -> list[Segment]:
    """The first segments that fit into one."""
    fitting: list[Segment] = []
    total = 0
    for segment in segments:
        total += segment.doc_count()
        if total > MAX_DOCUMENTS:
            break
        fitting.append(segment)
    return fitting


def full_merges(segments: Sequence[Segment]) -> list[list[Segment]]:
    """Groups that leave as few segments as may be, without dead documents."""
    groups: list[list[Segment]] = []
    total = FULL_DOCUMENTS
    for segment in sorted(segments, key=Segment.doc_count):
        total += segment.doc_count()
        if total > FULL_DOCUMENTS:
            groups.append([])
            total = segment.doc_count()
        groups[-1].append(segment)
    return [group for group in groups if len(group) > 1 or group[0].has_deletions()]
