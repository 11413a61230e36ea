"""Entities as search documents: which paths are indexed, and with which values.

The rule for every kind: each text, number and boolean of the entity counts under its dotted path,
array elements under the path of the array. `children` below the top adds no step (columns at every
depth are under `columns.name`), and `tags` at every depth, but for those inside an `extension`,
are under `tags` too. Dates and times count as milliseconds since 1970. Of a text longer than
`MAX_TEXT` only the beginning counts; null, empty texts and empty arrays are absent. Where the
values weigh more than `MAX_WEIGHT` together, only the first at the paths with most count (see
`_bounded`); what is below a path longer than `MAX_PATH` does not.
"""

import struct
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from itertools import accumulate
from typing import Any

import msgspec

from domain.aggregate.entity import Entity
from domain.errors import InvalidInput
from domain.events import EntityChanged, EntityCreated, Event, encode
from domain.kinds import names
from domain.kinds.registry import KINDS
from domain.openmetadata.verdicts import shown_verdict
from domain.patches.json_patch import pointer
from projections.search.language import dates
from projections.search.language.field_types import (
    MAX_FIELD,
    is_declared,
    moment_paths,
    undeclared_keys,
)

MAX_TEXT = 10_000
MAX_WEIGHT = 2_000_000
"""The most that a document's values weigh: their characters, and VALUE_WEIGHT for each."""
VALUE_WEIGHT = 10
MAX_PATH = MAX_FIELD
"""Characters of a path; what is below a longer path is not indexed."""
MAX_DEPTH = 40
TENTHS = 10

_decode = msgspec.json.Decoder().decode
Scalar = str | int | float | bool
SortValue = str | int | float | None
HOLDS_STILL = 2**63 - 1
"""The `until` of a state that no event has replaced: a position that no log reaches."""


SORTABLE: Mapping[str, type[str] | type[float]] = {
    "name": str,
    "displayName": str,
    "fullyQualifiedName": str,
    "entityType": str,
    "entityStatus": str,
    "serviceType": str,
    "updatedBy": str,
    "updatedAt": float,
    "effectiveFrom": float,
    "effectiveUntil": float,
    "version": float,
    "totalVotes": float,
    "tableType": str,
    "owners.name": str,
    "domains.name": str,
    "service.name": str,
    "database.name": str,
    "databaseSchema.name": str,
    "usageSummary.weeklyStats.count": float,
}
"""Paths that hits can be sorted by -> what their values are compared as; the first one counts."""
SORT_PLACES = {path: place for place, path in enumerate(SORTABLE)}
"""Path -> its place among SORTABLE, as stored documents have the values."""


class SearchDocument(msgspec.Struct, frozen=True):
    """The part of an entity that an engine needs to know."""

    id: str
    kind: str
    deleted: bool
    fields: Mapping[str, tuple[Scalar, ...]]
    """Path -> the values at the path, in their order in the entity."""
    sort: Mapping[str, SortValue]
    """Sortable path -> value; texts are lower-cased."""
    digest: int = 0
    """Digest, 64 bits, of all in the entity that the document is made of; see `entity_digest`."""
    since: int = 0
    """Position of the event that led to the state of the entity."""
    until: int = HOLDS_STILL
    """Position of the event that replaced the state; HOLDS_STILL for the newest one."""


def is_indexed(entity: Entity) -> bool:
    """Return True if an entity that is not purged has a search document: edges have none."""
    return entity.kind in KINDS


def document(entity: Entity, since: int = 0, until: int = HOLDS_STILL) -> SearchDocument:
    """The search document of a state of an entity, and the positions between which it held."""
    kind = KINDS[entity.kind]
    unsearched = {*kind.body.unsearched, *kind.apart}
    body = {key: _decode(raw) for key, raw in entity.body.items() if key not in unsearched}
    votes = body.get("votes")
    whole = {
        **kind.search_defaults,
        **body,
        "id": entity.id,
        "name": entity.name,
        "displayName": body.get("displayName") or entity.name,
        "fullyQualifiedName": entity.fqn,
        "entityType": entity.kind,
        "version": entity.version / TENTHS,
        "updatedAt": entity.updated_at,
        "updatedBy": entity.updated_by,
        "deleted": entity.deleted,
        "totalVotes": _total(votes if isinstance(votes, dict) else {}),
    }
    if kind.agreement:
        whole["verdict"] = {"status": shown_verdict(entity.judged, entity.version).status}
    fields = _gathered(whole)
    if sum(map(len, entity.body.values())) > MAX_WEIGHT // (2 * VALUE_WEIGHT):
        fields = _bounded(fields)
    return SearchDocument(
        id=entity.id,
        kind=entity.kind,
        deleted=entity.deleted,
        fields=fields,
        sort={path: _sort_value(fields.get(path), form) for path, form in SORTABLE.items()},
        digest=entity_digest(entity),
        since=since,
        until=until,
    )


def entity_digest(entity: Entity) -> int:
    """Return a number that tells if a document was made of this state of the entity.

    The first 8 bytes, big-endian, of a BLAKE2b over the parts id, kind, name, qualified name,
    version and time of the last change (in decimal), who made it, `1` when soft-deleted, and each
    key of the body with its JSON bytes, in the order of the keys; of a contract that was judged the
    verdict; before each part its length in bytes, as 8 bytes little-endian.
    """
    parts = [
        entity.id.encode(),
        entity.kind.encode(),
        entity.name.encode(),
        entity.fqn.encode(),
        b"%d" % entity.version,
        b"%d" % entity.updated_at,
        entity.updated_by.encode(),
        b"1" if entity.deleted else b"",
    ]
    for key in sorted(entity.body):
        parts += (key.encode(), bytes(entity.body[key]))
    if entity.judged is not None:
        parts.append(shown_verdict(entity.judged, entity.version).status.encode())
    lengths = struct.pack(f"<{len(parts)}Q", *map(len, parts))
    hashed = blake2b(digest_size=8)
    for at, part in enumerate(parts):
        hashed.update(lengths[8 * at : 8 * at + 8])
        hashed.update(part)
    return int.from_bytes(hashed.digest(), "big")


def undeclared_paths(before: Entity | None, after: Entity) -> list[str]:
    """The undeclared paths of an entity under the keys of its body that an event changed.

    In the order of their names. `before` is the entity before the event, None at its creation.
    """
    paths: set[str] = set()
    for key, marks in undeclared_keys().items():
        raw = after.body.get(key)
        if raw is None or (before is not None and before.body.get(key) is raw):
            continue
        value = bytes(raw)
        if not marks or any(mark in value for mark in marks):
            paths.update(_gathered({key: _decode(value)}))
    return sorted(path for path in paths if not is_declared(path))


def may_add_paths(event: Event) -> bool:
    """Return True if an event may give an entity a path that no kind declares."""
    undeclared = undeclared_keys()
    if isinstance(event, EntityCreated):
        return not undeclared.keys().isdisjoint(event.body)
    if isinstance(event, EntityChanged):
        for operation in event.patch:
            marks = undeclared.get(pointer(operation["path"])[0])
            # Without the quotes: the name may stand in the pointer or in the value.
            if marks is not None and (
                not marks or any(mark[1:-1] in bytes(encode(operation)) for mark in marks)
            ):
                return True
    return False


def nested_objects(
    body: Mapping[str, Any], path: str
) -> Iterator[Mapping[str, tuple[Scalar, ...]]]:
    """The fields of each JSON object at an indexed path of a decoded body, one object at a time.

    An object's `children` are objects at the same path and no part of it.
    """
    for inner in _objects(body, "", 0, path):
        own = {key: value for key, value in inner.items() if key != "children"}
        yield _gathered(own, path)


def _total(votes: Mapping[str, Any]) -> int:
    up, down = votes.get("upVotes", 0), votes.get("downVotes", 0)
    return max(up - down, 0) if isinstance(up, int) and isinstance(down, int) else 0


def _sort_value(values: tuple[Scalar, ...] | None, form: type[str] | type[float]) -> SortValue:
    """The first of the values where it can be compared with those of other documents."""
    first = values[0] if values else None
    if form is str:
        return first.lower() if isinstance(first, str) else None
    return first if isinstance(first, int | float) and not isinstance(first, bool) else None


def _bounded(fields: dict[str, tuple[Scalar, ...]]) -> dict[str, tuple[Scalar, ...]]:
    """The fields as far as they weigh no more than MAX_WEIGHT together.

    Each path has the same share of it: those that need less are whole, the others keep their
    first values.
    """
    weights = {path: list(accumulate(map(_weight, values))) for path, values in fields.items()}

    def weight(share: int) -> int:
        return sum(
            upto[kept - 1] for upto in weights.values() if (kept := bisect_right(upto, share))
        )

    share = bisect_right(range(MAX_WEIGHT + 1), MAX_WEIGHT, key=weight) - 1
    kept = {path: bisect_right(upto, share) for path, upto in weights.items()}
    return {path: values[: kept[path]] for path, values in fields.items() if kept[path]}


def _weight(value: Scalar) -> int:
    return VALUE_WEIGHT + (len(value) if isinstance(value, str) else 0)


def _gathered(value: Any, path: str = "") -> dict[str, tuple[Scalar, ...]]:
    """The values of an entity by their paths; of what is at `path`, when one is given."""
    fields: defaultdict[str, list[Scalar]] = defaultdict(list)
    _gather(value, path, 1 if path else 0, fields)
    for dated in moment_paths().intersection(fields):
        fields[dated] = [_moment(value) for value in fields[dated]]
    return {path: tuple(values) for path, values in fields.items()}


def _moment(value: Scalar) -> Scalar:
    """A date or time in milliseconds since 1970; what is neither stays as it is."""
    moment = dates.moment(value) if isinstance(value, str) else None
    return value if moment is None else moment


def _gather(value: Any, path: str, depth: int, fields: defaultdict[str, list[Scalar]]) -> None:
    form = type(value)
    if form is str:
        if value:
            fields[path].append(value if len(value) <= MAX_TEXT else value[:MAX_TEXT])
    elif form is dict:
        if depth >= MAX_DEPTH or len(path) > MAX_PATH:
            return
        if "type" in value and "name" not in value and "fullyQualifiedName" in value:
            value = {**value, "name": _last_part(value["fullyQualifiedName"])}
        for key, inner in value.items():
            if not path:
                _gather(inner, key, 1, fields)
            elif key == "children":
                _gather(inner, path, depth + 1, fields)
            else:
                _gather(inner, f"{path}.{key}", depth + 1, fields)
                if key == "tags" and "extension" not in path.split("."):
                    _gather(inner, "tags", depth + 1, fields)
    elif form is list:
        if depth < MAX_DEPTH:
            for inner in value:
                _gather(inner, path, depth + 1, fields)
    elif value is not None:
        fields[path].append(value)


def _objects(value: Any, at: str, depth: int, path: str) -> Iterator[Mapping[str, Any]]:
    """The objects at `path` in a value that is itself at the path `at`."""
    if depth >= MAX_DEPTH or len(at) > MAX_PATH:
        return
    if isinstance(value, list):
        for inner in value:
            yield from _objects(inner, at, depth + 1, path)
    elif isinstance(value, dict):
        if at == path:
            yield value
        for key, inner in value.items():
            if key == "extension" and path.partition(".")[0] == "tags":
                continue
            below = key if not at else at if key == "children" else f"{at}.{key}"
            if path == below or path.startswith(f"{below}."):
                yield from _objects(inner, below, depth + 1, path)
            elif path.partition(".")[0] == "tags":
                yield from _objects(inner, "tags" if key == "tags" else below, depth + 1, path)


def _last_part(fqn: Any) -> str | None:
    try:
        return names.split(fqn)[-1] if isinstance(fqn, str) else None
    except InvalidInput:
        return None
