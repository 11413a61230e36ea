"""Entities as search documents: which paths are indexed, and with which values.

The rule for every kind: each text, number and boolean of the entity counts under its dotted path,
array elements under the path of the array. `children` below the top adds no step (columns at every
depth are under `columns.name`), and `tags` at every depth are under `tags` too. Of a text longer
than `MAX_TEXT` only the beginning counts; null, empty texts and empty arrays are absent.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from domain import names
from domain.entity import Entity
from domain.errors import InvalidInput
from domain.registry import KINDS

MAX_TEXT = 10_000
MAX_DEPTH = 40
TENTHS = 10

Scalar = str | int | float | bool
SortValue = str | int | float | None

_ALIASES = {
    "columnNames": "columns.name",
    "columnNamesFuzzy": "columns.name",
    "fqnParts": "fullyQualifiedName",
    "ownerName": "owners.name",
    "ownerDisplayName": "owners.displayName",
    "tier.tagFQN": "tags.tagFQN",
}
"""Paths that OpenMetadata's documents have beside the entity's own."""

_PROSE = "description"
_WHOLE = frozenset({"id", "href", "fullyQualifiedName"})

SORTABLE: Mapping[str, type[str] | type[float]] = {
    "name": str,
    "displayName": str,
    "fullyQualifiedName": str,
    "entityType": str,
    "entityStatus": str,
    "serviceType": str,
    "updatedBy": str,
    "updatedAt": float,
    "version": float,
    "totalVotes": float,
}
"""Paths that hits can be sorted by -> what their values are compared as."""


class SearchDocument(msgspec.Struct, frozen=True):
    """What an engine needs to know about an entity."""

    id: str
    kind: str
    deleted: bool
    fields: Mapping[str, tuple[Scalar, ...]]
    """Path -> its values, in order."""
    sort: Mapping[str, SortValue]
    """Sortable path -> value; texts are lower-cased."""


def document(entity: Entity) -> SearchDocument:
    """The search document of an entity."""
    body = {key: msgspec.json.decode(raw) for key, raw in entity.body.items()}
    votes = body.get("votes")
    whole = {
        **KINDS[entity.kind].search_defaults,
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
    fields: dict[str, list[Scalar]] = {}
    for path, value in _leaves(whole, "", 0):
        fields.setdefault(path, []).append(value)
    return SearchDocument(
        id=entity.id,
        kind=entity.kind,
        deleted=entity.deleted,
        fields={path: tuple(values) for path, values in fields.items()},
        sort={path: _sort_value(whole.get(path)) for path in SORTABLE},
    )


def indexed_path(field: str) -> str:
    """The path under which a field as written in a query is indexed, without `.keyword`."""
    path = field.removesuffix(".keyword").removesuffix(".ngram").removesuffix(".compound")
    first, dot, rest = path.partition(".")
    path = first + (dot + rest).replace(".children.", ".")
    return _ALIASES.get(path, path)


def is_prose(path: str) -> bool:
    """Whether the texts of the path are sentences: words are stemmed, nothing is kept whole."""
    return path.rpartition(".")[2] == _PROSE


def is_whole(path: str) -> bool:
    """Whether the texts of the path are only ever matched whole, as ids and references are."""
    return path != "fullyQualifiedName" and path.rpartition(".")[2] in _WHOLE


def _total(votes: Mapping[str, Any]) -> int:
    up, down = votes.get("upVotes", 0), votes.get("downVotes", 0)
    return max(up - down, 0) if isinstance(up, int) and isinstance(down, int) else 0


def _sort_value(value: Any) -> SortValue:
    return value.lower() if isinstance(value, str) else value


def _leaves(value: Any, path: str, depth: int) -> Iterator[tuple[str, Scalar]]:
    if isinstance(value, dict):
        if depth >= MAX_DEPTH:
            return
        if "type" in value and "name" not in value and "fullyQualifiedName" in value:
            value = {**value, "name": _last_part(value["fullyQualifiedName"])}
        for key, inner in value.items():
            if not path:
                yield from _leaves(inner, key, 1)
            elif key == "children":
                yield from _leaves(inner, path, depth + 1)
            else:
                yield from _leaves(inner, f"{path}.{key}", depth + 1)
                if key == "tags":
                    yield from _leaves(inner, "tags", depth + 1)
    elif isinstance(value, list):
        if depth < MAX_DEPTH:
            for inner in value:
                yield from _leaves(inner, path, depth + 1)
    elif isinstance(value, str):
        if value:
            yield path, value[:MAX_TEXT]
    elif value is not None:
        yield path, value


def _last_part(fqn: Any) -> str | None:
    try:
        return names.split(fqn)[-1] if isinstance(fqn, str) else None
    except InvalidInput:
        return None
