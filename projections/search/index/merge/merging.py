"""Segments to one: arrays concatenated and renumbered, dead documents left out.

Nothing is analysed again.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from projections.search.documents import SORTABLE
from projections.search.index.format.arrays import ArrayFile, Arrays
from projections.search.index.format.arrays import starts as starts_of
from projections.search.index.format.codec import Dead
from projections.search.index.format.doc_ids import document_id
from projections.search.index.format.schema import FIELDS
from projections.search.index.merge.merged_field import (
    MergedField,
    Offsets,
    put_texts,
    read_texts,
    united,
)

_ROWS = 10_000
_NONE = -1


class Part(msgspec.Struct, frozen=True):
    """A segment to be merged."""

    arrays: Arrays
    dead: Dead | None


def merge(parts: Sequence[Part], file: ArrayFile, check: Callable[[], None]) -> list[Offsets]:
    """Write the arrays of the merged segment.

    Returns for each part the new number of each of its documents, -1 for the dead. `check` is
    called often; what it raises ends the merge.
    """
    numbers = _renumbered(parts)
    arrays = [part.arrays for part in parts]
    for field in FIELDS:
        MergedField(field, arrays, numbers, check).write(file)
    kinds, names = _ranks(parts, numbers, "kind", "kind")
    file.put("kind", kinds.astype(np.uint8))
    put_texts(file, "kind", names)
    for name in ("deleted", "digest"):
        file.put(name, _placed([part.arrays[name] for part in parts], numbers))
    for path, kind in SORTABLE.items():
        name = f"sort.{path}"
        if kind is str:
            ranks, texts = _ranks(parts, numbers, name, f"{name}.rank")
            file.put(f"{name}.rank", ranks)
            put_texts(file, name, texts)
        else:
            file.put(f"{name}.value", _placed([p.arrays[f"{name}.value"] for p in parts], numbers))
    _put_rows(parts, numbers, file)
    file.finish()
    return numbers


def _renumbered(parts: Sequence[Part]) -> list[Offsets]:
    """Old number -> new number of each part, in the order of name and id."""
    live = [_live(part) for part in parts]
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
    numbers = []
    for part, some in zip(parts, live, strict=True):
        new = np.full(len(part.arrays["deleted"]), _NONE, np.int64)
        new[some], place = place[: len(some)], place[len(some) :]
        numbers.append(new)
    return numbers


def _live(part: Part) -> Offsets:
    size = len(part.arrays["deleted"])
    return np.arange(size) if part.dead is None else np.flatnonzero(~part.dead)


def _placed(columns: Sequence[NDArray[Any]], numbers: Sequence[Offsets]) -> NDArray[Any]:
    """A column of the merged segment."""
    kept = [new >= 0 for new in numbers]
    made = np.empty(sum(int(some.sum()) for some in kept), columns[0].dtype)
    for column, new, some in zip(columns, numbers, kept, strict=True):
        made[new[some]] = column[some]
    return made


def _ranks(
    parts: Sequence[Part], numbers: Sequence[Offsets], name: str, column_name: str
) -> tuple[NDArray[np.int32], list[bytes]]:
    """The ranks of texts, and the distinct texts that live documents have."""
    mapped, union = united([read_texts(part.arrays, name) for part in parts])
    columns = [
        np.append(new, _NONE)[part.arrays[column_name]]
        for part, new in zip(parts, mapped, strict=True)
    ]
    column = _placed(columns, numbers)
    used = np.zeros(len(union) + 1, np.bool_)
    used[column] = True
    used[_NONE] = False
    again = np.append(np.cumsum(used[:-1]) - 1, _NONE)
    texts = [union[place] for place in np.flatnonzero(used).tolist()]
    return again[column].astype(np.int32), texts


def _put_rows(parts: Sequence[Part], numbers: Sequence[Offsets], file: ArrayFile) -> None:
    sizes = _placed([np.diff(part.arrays["row.offsets"]) for part in parts], numbers)
    part_of = _placed([np.full(len(n), at) for at, n in enumerate(numbers)], numbers).tolist()
    old = _placed([np.arange(len(n)) for n in numbers], numbers).tolist()
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
