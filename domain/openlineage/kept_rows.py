"""Rows that are kept beside the measurements: how they are named, read and written."""

from collections.abc import Callable, Collection, Iterator, Sequence
from hashlib import blake2b
from typing import Any

from msgspec import Struct

from domain.measurements.port import KeptBeside

_IDS = 500
"""Ids in one statement."""


class Sort(Struct, frozen=True):
    """A sort of rows with its bounds."""

    name: str
    rows: int
    bytes: int
    parts: str = ""
    """Name of the sort whose rows are parts of these rows, and go with the oldest of them."""


class Row(Struct, frozen=True):
    """A row as it is kept."""

    id: str
    at: int
    """Milliseconds since 1970."""
    body: bytes
    label: str = ""
    """A text by which rows are found beside their ids."""


def key_of(*texts: str) -> str:
    """An id made of texts of any length."""
    digest = blake2b(digest_size=16)
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(encoded))
        digest.update(encoded)
    return digest.hexdigest()


def read_rows(ask: Callable[..., list[Any]], sort: Sort, ids: Collection[str]) -> dict[str, bytes]:
    """Id -> body of the rows that are kept; `ask` runs a statement with values."""
    bodies: dict[str, bytes] = {}
    for some in _parts([*dict.fromkeys(ids)]):
        marks = ", ".join("?" * len(some))
        statement = f"SELECT id, body FROM kept_beside WHERE sort = ? AND id IN ({marks})"
        bodies.update((id_, bytes(body)) for id_, body in ask(statement, sort.name, *some))
    return bodies


def read_labelled(
    ask: Callable[..., list[Any]], sort: Sort, labels: Collection[str]
) -> list[tuple[str, bytes]]:
    """Ids and bodies of all rows that have one of some labels."""
    rows: list[tuple[str, bytes]] = []
    for some in _parts([*dict.fromkeys(labels)]):
        marks = ", ".join("?" * len(some))
        statement = f"SELECT id, body FROM kept_beside WHERE sort = ? AND label IN ({marks})"
        rows += ((id_, bytes(body)) for id_, body in ask(statement, sort.name, *some))
    return rows


def read_after(
    ask: Callable[..., list[Any]], sort: Sort, last: str, limit: int
) -> list[tuple[str, bytes]]:
    """Id and body of at most `limit` rows whose ids come after one, in their order."""
    statement = "SELECT id, body FROM kept_beside WHERE sort = ? AND id > ? ORDER BY id LIMIT ?"
    return [(id_, bytes(body)) for id_, body in ask(statement, sort.name, last, limit)]


def put_rows(kept: KeptBeside, sort: Sort, rows: Sequence[Row]) -> None:
    """Put rows in place of those of their ids."""
    kept.change(
        "INSERT INTO kept_beside (sort, id, at, size, label, body) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (sort, id) DO UPDATE SET at = excluded.at, size = excluded.size,"
        " label = excluded.label, body = excluded.body",
        [
            (sort.name, row.id, row.at, len(row.body) + len(row.id) + 64, row.label, row.body)
            for row in rows
        ],
    )


def delete_rows(kept: KeptBeside, sort: Sort, ids: Collection[str]) -> None:
    """Delete the rows of some ids, as far as there are any."""
    kept.change(
        "DELETE FROM kept_beside WHERE sort = ? AND id = ?", [(sort.name, id_) for id_ in ids]
    )


def _parts(ids: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), _IDS):
        yield ids[start : start + _IDS]
