"""Segments to one: arrays concatenated and renumbered, dead documents left out.

Nothing is analysed again.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projections.search.documents.documents import SORTABLE
from projections.search.index.evaluate.segments import SegmentView
from projections.search.index.format.arrays import ArrayFile, read_texts, text_arrays
from projections.search.index.format.arrays import starts as starts_of
from projections.search.index.format.doc_ids import document_id
from projections.search.index.format.schema import FIELDS
from projections.search.index.format.sorted_texts import Int64Array, united
from projections.search.index.merge.merged_field import MergedField

_ROWS = 10_000
_NONE = -1


def merge(
    parts: Sequence[SegmentView], file: ArrayFile, check: Callable[[], None], block: int = 250_000
) -> list[Int64Array]:
    """Write the arrays of the merged segment.

    Returns for each part the new number of each of its documents, -1 for the dead. `check` is
    called for each `block` of positions or postings; what it raises ends the merge.
    """
    new_ids = _renumbered(parts)
    for field in FIELDS:
        MergedField(field, parts, new_ids, check, block).write(file)
    kinds, names = _ranks(parts, new_ids, "kind", "kind")
    file.put("kind", kinds.astype(np.uint8))
    file.put_all(text_arrays("kind", names))
    for name in ("deleted", "digest", "since", "until"):
        file.put(name, _placed([part.arrays[name] for part in parts], new_ids))
    for path, kind in SORTABLE.items():
        name = f"sort.{path}"
        if kind is str:
            ranks, texts = _ranks(parts, new_ids, name, f"{name}.rank")
            file.put(f"{name}.rank", ranks)
            file.put_all(text_arrays(name, texts))
        else:
            file.put(f"{name}.value", _placed([p.arrays[f"{name}.value"] for p in parts], new_ids))
    _put_rows(parts, new_ids, file)
    file.finish()
    return new_ids


def _renumbered(parts: Sequence[SegmentView]) -> list[Int64Array]:
    """Old number -> new number of each part, in the order of name and id."""
    live = [
        np.arange(part.size) if part.live is None else np.flatnonzero(part.live) for part in parts
    ]
    names, _ = united([read_texts(part.arrays, "sort.name") for part in parts])
    ranks = [
        np.append(new, _NONE)[part.arrays["sort.name.rank"][some]]
        for part, new, some in zip(parts, names, live, strict=True)
    ]
    ids = [
        document_id(part.arrays, number)
        for part, some in zip(parts, live, strict=True)
        for number in some.tolist()
    ]
    encoded = np.array([i.encode() for i in ids], np.bytes_)
    order = np.lexsort((encoded, np.concatenate(ranks)))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    new_ids = []
    for part, some in zip(parts, live, strict=True):
        new = np.full(part.size, _NONE, np.int64)
        new[some], place = place[: len(some)], place[len(some) :]
        new_ids.append(new)
    return new_ids


def _placed(columns: Sequence[NDArray[Any]], new_ids: Sequence[Int64Array]) -> NDArray[Any]:
    """A column of the merged segment."""
    kept = [new >= 0 for new in new_ids]
    made = np.empty(sum(int(some.sum()) for some in kept), columns[0].dtype)
    for column, new, some in zip(columns, new_ids, kept, strict=True):
        made[new[some]] = column[some]
    return made


def _ranks(
    parts: Sequence[SegmentView], new_ids: Sequence[Int64Array], name: str, column_name: str
) -> tuple[NDArray[np.int32], list[bytes]]:
    """The ranks of texts, and the distinct texts that live documents have."""
    mapped, union = united([read_texts(part.arrays, name) for part in parts])
    columns = [
        np.append(new, _NONE)[part.arrays[column_name]]
        for part, new in zip(parts, mapped, strict=True)
    ]
    column = _placed(columns, new_ids)
    used = np.zeros(len(union) + 1, np.bool_)
    used[column] = True
    used[_NONE] = False
    again = np.append(np.cumsum(used[:-1]) - 1, _NONE)
    texts = [union[place] for place in np.flatnonzero(used).tolist()]
    return again[column].astype(np.int32), texts


def _put_rows(parts: Sequence[SegmentView], new_ids: Sequence[Int64Array], file: ArrayFile) -> None:
    sizes = _placed([np.diff(part.arrays["row.offsets"]) for part in parts], new_ids)
    part_of = _placed([np.full(len(n), at) for at, n in enumerate(new_ids)], new_ids).tolist()
    old = _placed([np.arange(len(n)) for n in new_ids], new_ids).tolist()
    offsets = starts_of(sizes)
    file.put("row.offsets", offsets)
    slot = file.reserve("row.lexicon", np.uint8, int(offsets[-1]))
    places = [part.arrays["row.offsets"] for part in parts]
    data = [part.arrays["row.lexicon"].data for part in parts]
    for begin in range(0, len(old), _ROWS):
        pieces = []
        end = begin + _ROWS
        batched = zip(part_of[begin:end], old[begin:end], strict=True)
        for part, number in batched:
            place = places[part]
            pieces.append(data[part][int(place[number]) : int(place[number + 1])])
        slot.write(np.frombuffer(b"".join(pieces), np.uint8))
