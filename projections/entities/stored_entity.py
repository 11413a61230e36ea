"""Stored entities: rows of the sorted read model, made from a state folded from the log."""

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any

import msgspec

from domain.aggregate.entity import Entity
from domain.edges import EDGE
from domain.events import Body, encode
from domain.kinds.registry import ALL_KINDS
from domain.openmetadata import document
from domain.openmetadata.document import stand_ins
from domain.openmetadata.verdicts import KEY, shown_verdict
from projections.entities.scopes import scopes_of
from projections.feeding.port import Folded

VERSION = 7
"""Raised whenever the same states give other stored entities."""
DIGEST_MODULUS = 1 << 128
"""Sums of digests are kept modulo this number, so that they fit in 16 bytes."""


COVERED = ("description", "owners", "domains", "tags")
"""Keys of bodies of which is counted on how many entities they have content."""
_EMPTY = frozenset({b"null", b"[]", b'""'})


class StoredEntity(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One entity as the sorted read model stores it; encoded as an array of its fields."""

    kind: str
    deleted: int
    """1 for a soft-deleted entity, else 0."""
    name: str
    id: str
    fqn: str
    status: str | None
    scopes: str
    """JSON array of the scopes to which lists that show this entity can be narrowed."""
    covered: int
    """The bit `1 << n` is set if the entity is live and COVERED[n] has content; 0 for edges."""
    position: int
    """Position in the log of the entity's last event."""
    last_event: str
    """`Entity.last_event`: the digest of which entity this is and of its last event."""
    core: bytes
    """JSON object of the fields that every answer shows."""
    optional: bytes
    """JSON object of the fields that an answer shows only when they are asked for."""
    digest: bytes
    """Digest of all other fields, 16 bytes."""


COLUMNS = ", ".join(StoredEntity.__struct_fields__)
HELD_DIGESTS = "SELECT kind, n, sum FROM {}.digests WHERE n > 0 ORDER BY kind"
"""Gives kind, number and digest of the kinds that have entities."""
_scopes = msgspec.json.Decoder(list[str])
_columns = msgspec.msgpack.Encoder()


def stored_code() -> str:
    """Digest of what decides how entities are stored, apart from the tables of a database."""
    kinds = [
        (
            kind.name,
            sorted(kind.optional),
            sorted(kind.filters.items()),
            kind.also_in,
            sorted(kind.common_filters.items()),
            stand_ins(kind.name, "x"),
        )
        for kind in ALL_KINDS.values()
    ]
    return blake2b(msgspec.json.encode((VERSION, kinds)), digest_size=8).hexdigest()


def stored_entity(folded: Folded) -> StoredEntity:
    """Return the row of an entity in this state, which must not be purged."""
    entity = folded.entity
    core, optional = split_fields(entity)
    columns = (
        entity.kind,
        int(entity.deleted),
        entity.name,
        entity.id,
        entity.fqn,
        entity.status,
        msgspec.json.encode(scopes_of(entity)).decode(),
        covered_by(entity),
        folded.position,
        entity.last_event,
        document.encode(core),
        document.encode(optional),
    )
    return StoredEntity(*columns, columns_digest(columns))


def covered_by(entity: Entity) -> int:
    """The `covered` of a StoredEntity."""
    if entity.deleted or entity.purged or entity.kind == EDGE:
        return 0
    covered = 0
    for n, key in enumerate(COVERED):
        raw = entity.body.get(key)
        # Most values are too long to be empty, and large ones are not to be copied.
        if raw is not None and (len(raw) > 4 or bytes(raw) not in _EMPTY):
            covered |= 1 << n
    return covered


def columns_digest(columns: tuple[Any, ...]) -> bytes:
    """Digest, 16 bytes, of the fields of a StoredEntity in order, without the digest itself.

    The sum of the digests of a set of entities is a digest of the set.
    """
    return blake2b(_columns.encode(columns), digest_size=16).digest()


def actual_digest(row: msgspec.Struct) -> bytes:
    """The digest, 16 bytes, of a row as it is stored, whatever digest its last field has."""
    return columns_digest(msgspec.structs.astuple(row)[:-1])


def split_fields(entity: Entity) -> tuple[Body, Body]:
    """The fields that every answer shows, and those that `fields` of a request may add."""
    core = document.fields(entity)
    kind = ALL_KINDS[entity.kind]
    optional = {key: core.pop(key) for key in kind.optional if key in core}
    if kind.agreement:
        # No part of the document: writes and versions do not show it.
        optional[KEY] = encode(shown_verdict(entity.judged, entity.version))
        if entity.judged is not None and entity.judged.latest is not None:
            optional["latestResult"] = encode(entity.judged.latest)
    return core, optional


def decode_scopes(scopes: str) -> list[str]:
    """The scopes in the `scopes` of a StoredEntity."""
    return _scopes.decode(scopes)


def held_digests(rows: Iterable[tuple[str, int, bytes]]) -> dict[str, tuple[int, int]]:
    """Kind -> number of its entities and sum of their digests, as the rows of `digests` say."""
    return {kind: (n, int.from_bytes(total, "big")) for kind, n, total in rows}


def add_digests(sums: dict[str, tuple[int, int]], rows: Iterable[tuple[str, int, bytes]]) -> None:
    """Add to the sums by kind what rows of kind, number and digest (16 bytes) say."""
    for kind, number, digest in rows:
        n, total = sums.get(kind, (0, 0))
        sums[kind] = n + number, (total + int.from_bytes(digest, "big")) % DIGEST_MODULUS


def added_digests(
    held: Mapping[str, tuple[int, int]], changes: Mapping[str, tuple[int, int]]
) -> list[tuple[str, int, bytes]]:
    """The rows of kind, number and digest (16 bytes) that changes make of those that are held.

    Both are by kind; either part of a change may be negative.
    """
    rows = []
    for kind, (n, total) in changes.items():
        before, sum_before = held.get(kind, (0, 0))
        whole = (sum_before + total) % DIGEST_MODULUS
        rows.append((kind, before + n, whole.to_bytes(16, "big")))
    return rows
