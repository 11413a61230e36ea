"""Entities as the rows of a binary COPY, which the processes that fold them can make.

The one that loads hands the bytes on to the database as they are. The format is in PostgreSQL's
documentation of COPY: fields with their lengths before them, numbers with the high byte first.
"""

from collections.abc import Iterable
from struct import Struct
from typing import Any

import msgspec

from domain.event_store.postgres.link import Link
from domain.kinds.names import name_key
from projections.entities.folding_process import FoldedPart
from projections.entities.postgres.database import EntityTables
from projections.entities.stored_entity import COLUMNS, add_digests, added_digests

_ENTITIES = f"COPY {{}}.entities ({COLUMNS}, fqn_key) FROM STDIN (FORMAT binary, FREEZE)"
_SCOPES = (
    "COPY {}.scopes (scope, kind, deleted, name, id, status, since) FROM STDIN"
    " (FORMAT binary, FREEZE)"
)
_BEGINNING = b"PGCOPY\n\xff\r\n\0" + bytes(8)
"""Of each COPY: the signature, no flags, no extension of the header."""
_END = b"\xff\xff"
"""Of each COPY, in place of the number of fields of another row."""
_number = Struct(">h").pack
_length = Struct(">i").pack
_int4 = Struct(">ii").pack
_int8 = Struct(">iq").pack
_NULL, _DIGEST = _length(-1), _length(16)
"""Lengths as COPY has them: of null, and of digests and of keys of names."""
_ENTITY_FIELDS, _SCOPE_FIELDS = _number(14), _number(7)
"""Numbers of fields of a row, with which it begins."""


class CopyPart(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Some entities, as COPY and the digests of a generation take them."""

    number: int
    """Number of entities."""
    entities: bytes
    """Their rows in the table of entities."""
    scopes: bytes
    """Their rows in the table of scopes."""
    sums: list[tuple[str, int, bytes]]
    """For each kind the number of its entities, and the sum of their digests in 16 bytes."""
    past: FoldedPart
    """The part that this was made of, without its entities and their scopes."""


def copy_part(part: FoldedPart) -> CopyPart:
    """The rows of the entities of a part, and what they add to the digests."""
    entities = part.entities
    sums = dict[str, tuple[int, int]]()
    add_digests(sums, ((one.kind, 1, one.digest) for one in entities))
    rows, scopes = list[bytes](), list[bytes]()
    # By id: the fields by which lists are sorted, and the status, which both tables have.
    shared = dict[str, tuple[bytes, bytes]]()
    for one in entities:
        key = b"".join((_text(one.kind), _int4(4, one.deleted), _text(one.name), _text(one.id)))
        status = _NULL if one.status is None else _text(one.status)
        shared[one.id] = key, status
        core, optional = one.core, one.optional
        rows += (
            *(_ENTITY_FIELDS, key, _text(one.fqn), status, _text(one.scopes)),
            *(_int4(4, one.covered), _int8(8, one.position), _text(one.last_event)),
            *(_length(len(core)), core, _length(len(optional)), optional),
            *(_DIGEST, one.digest, _DIGEST, name_key(one.kind, one.fqn)),
        )
    for scope, _, _, _, entity_id, _, since in part.listed:
        key, status = shared[entity_id]
        scopes += (_SCOPE_FIELDS, _text(scope), key, status, _int8(8, since))
    added = added_digests({}, sums)
    past = msgspec.structs.replace(part, entities=[], listed=[])
    return CopyPart(len(entities), b"".join(rows), b"".join(scopes), added, past)


def copy_in(link: Link, tables: EntityTables, part: CopyPart) -> None:
    """Put rows into tables that the link's transaction has made; raises psycopg.Error."""
    for statement, rows in ((_ENTITIES, part.entities), (_SCOPES, part.scopes)):
        with link.cursor() as cursor, cursor.copy(tables.within(statement).encode()) as copy:
            for piece in (_BEGINNING, rows, _END):
                copy.write(piece)


def copy_tuples(
    link: Link, tables: EntityTables, table: str, rows: Iterable[tuple[Any, ...]]
) -> None:
    """Put rows into a table that the link's transaction has made; raises psycopg.Error."""
    statement = f"COPY {table} FROM STDIN"
    with link.cursor() as cursor, cursor.copy(tables.within(statement).encode()) as copy:
        for row in rows:
            copy.write_row(row)


def _text(text: str) -> bytes:
    """A field of text."""
    value = text.encode()
    return _length(len(value)) + value
