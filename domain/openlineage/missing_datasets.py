"""The datasets that waiting statements miss: counted while they are kept, and listed in order.

A row for each dataset has its number of statements, and one for each namespace its number of
datasets, so that a page reads no more rows than it shows. They change in the transaction that
changes what waits, and are bounded by it.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from domain.measurements.port import KeptBeside, Measurements
from domain.openlineage.kept_rows import (
    Row,
    Sort,
    delete_rows,
    key_of,
    put_rows,
    read_after,
    read_labelled,
    read_rows,
)
from domain.openlineage.statements import DatasetName

MISSING = Sort("openlineage missing", 250_000, 96_000_000)
"""A row for each dataset that a waiting statement misses: at most two for an edge."""
_DATASETS = Sort("openlineage dataset", MISSING.rows, MISSING.bytes)
"""A dataset of any number of statements, by `_place`; goes with the last of them."""
_NAMESPACES = Sort("openlineage namespace", MISSING.rows, MISSING.bytes)
"""A namespace with its number of datasets, those with most first."""
_ALL = ""
"""Id and label of the row that counts all namespaces together; comes before all other rows."""
_MOST_DATASETS = 10**9
"""No namespace has as many."""
_PLAIN_NAMESPACE, _PLAIN_NAME = 100, 300
"""Characters by which rows are in order. Four bytes each, they fit into an index of PostgreSQL."""


class MissingDataset(Struct, frozen=True, array_like=True):
    """A dataset that statements wait for."""

    namespace: str
    name: str
    statements: int = 0
    last_seen: int = 0
    """Latest time of a statement that waits or waited for it, in milliseconds since 1970."""


class MissingIn(Struct, frozen=True, array_like=True):
    """A namespace, and how many datasets of it statements wait for."""

    namespace: str
    datasets: int = 0


class MissingPage(Struct, frozen=True):
    """A page of datasets in order of namespaces and names, those of long ones near each other."""

    datasets: list[MissingDataset]
    total: int
    """Number of all datasets that were asked for, before and after this page included."""
    more: bool
    namespaces: list[MissingIn]
    """Namespaces of the whole list, those with most datasets first."""


_encode = msgspec.msgpack.encode
_decode_name = msgspec.msgpack.Decoder(tuple[str, str]).decode
_decode_dataset = msgspec.msgpack.Decoder(MissingDataset).decode
_decode_namespace = msgspec.msgpack.Decoder(MissingIn).decode


def missing_id(statement: str, name: DatasetName) -> str:
    """The id of the row by which a statement, given by its id, misses a dataset."""
    return f"{statement}{key_of(name.namespace, name.name)}"


def missing_row(statement: str, name: DatasetName, at: int, label: str) -> Row:
    """The row by which a statement misses a dataset since a time; it is found by the label."""
    return Row(missing_id(statement, name), at, _encode([name.namespace, name.name]), label)


def missing_page(
    measurements: Measurements,
    *,
    namespace: str | None = None,
    after: tuple[str, str] | None = None,
    limit: int,
    namespaces: int,
) -> MissingPage:
    """The `limit` datasets after a namespace and name, and as many namespaces as are asked for."""
    ask = measurements.read_beside
    prefix = "" if namespace is None else _place(namespace)
    last = max(prefix, _place(*after) if after else "")
    rows = [row for row in read_after(ask, _DATASETS, last, limit + 1) if row[0].startswith(prefix)]
    label = _ALL if namespace is None else key_of(namespace)
    totals = [_decode_namespace(body) for _, body in read_labelled(ask, _NAMESPACES, [label])]
    return MissingPage(
        [_decode_dataset(body) for _, body in rows[:limit]],
        sum(each.datasets for each in totals),
        len(rows) > limit,
        [_decode_namespace(body) for _, body in read_after(ask, _NAMESPACES, _ALL, namespaces)],
    )


def count_changes(kept: KeptBeside, put: Collection[Row], deleted: Collection[str]) -> None:
    """Update the counts by the rows of `MISSING` that a transaction is about to put and delete."""
    put_ids = {row.id for row in put}
    held = read_rows(kept.rows, MISSING, [*put_ids, *deleted])
    added: Counter[bytes] = Counter(row.body for row in put if row.id not in held)
    for id_ in held.keys() & {*deleted} - put_ids:
        added[held[id_]] -= 1
    seen: dict[bytes, int] = {}
    for row in put:
        seen[row.body] = max(row.at, seen.get(row.body, 0))
    _add(kept, added, seen)


def count_gone(kept: KeptBeside, rows: Iterable[tuple[bytes, int]]) -> None:
    """Update the counts by deleted rows of `MISSING`: bodies with their numbers of rows."""
    _add(kept, {bytes(body): -number for body, number in rows}, {})


def _add(kept: KeptBeside, added: Mapping[bytes, int], seen: Mapping[bytes, int]) -> None:
    """Add to the statements of datasets by the bodies of their rows, and to their times."""
    names = {body: _decode_name(body) for body in {**added, **seen}}
    held = read_rows(kept.rows, _DATASETS, [_place(*name) for name in names.values()])
    rows, gone = [], []
    datasets: Counter[str] = Counter()
    for body, name in names.items():
        id_ = _place(*name)
        known = _decode_dataset(held[id_]) if id_ in held else MissingDataset(*name)
        now = replace(
            known,
            statements=known.statements + added.get(body, 0),
            last_seen=max(known.last_seen, seen.get(body, 0)),
        )
        if now.statements > 0:
            rows.append(Row(id_, now.last_seen, _encode(now)))
        elif id_ in held:
            gone.append(id_)
        datasets[name[0]] += (now.statements > 0) - (id_ in held)
    delete_rows(kept, _DATASETS, gone)
    put_rows(kept, _DATASETS, rows)
    _add_datasets(kept, {namespace: number for namespace, number in datasets.items() if number})


def _add_datasets(kept: KeptBeside, added: Mapping[str, int]) -> None:
    """Add to the numbers of datasets of namespaces, none of them empty, and to that of all."""
    if not added:
        return
    changes = {**added, _ALL: sum(added.values())}
    labels = {namespace: namespace and key_of(namespace) for namespace in changes}
    held = read_labelled(kept.rows, _NAMESPACES, labels.values())
    known = {
        each.namespace: each.datasets for each in (_decode_namespace(body) for _, body in held)
    }
    rows = []
    for namespace, number in changes.items():
        now = MissingIn(namespace, known.get(namespace, 0) + number)
        if now.datasets > 0:
            place = f"{_MOST_DATASETS - now.datasets:010}{_place(namespace)}"
            rows.append(Row(namespace and place, 0, _encode(now), labels[namespace]))
    delete_rows(kept, _NAMESPACES, [id_ for id_, _ in held])
    put_rows(kept, _NAMESPACES, rows)


def _place(namespace: str, name: str = "") -> str:
    """An id in order of namespaces and names; without a name, the beginning of these ids."""
    return f"{_plain(namespace, _PLAIN_NAMESPACE)}\x01{name and _plain(name, _PLAIN_NAME)}"


def _plain(text: str, most: int) -> str:
    """The text itself if it is short and any database takes it, else its beginning and a digest."""
    if len(text) <= most and text.isprintable():
        return text
    return "".join(filter(str.isprintable, text[: most - 40])) + "\x02" + key_of(text)
