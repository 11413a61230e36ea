"""What people wrote about an entity survives what a bot, such as a connector, writes of it later.

A bot sends what it found at a source, where nothing is known of the descriptions, owners and tags
that people gave in the catalog. The rule is that of OpenMetadata's server.
"""

from typing import Any

import msgspec
from msgspec import Raw

from domain.commands import Ingestion
from domain.events import Body
from domain.kinds import EntityKind

SOURCE_HASH = "sourceHash"
_TAGS = "tags"
_CHILDREN = "children"
_OF_ENTITIES = (
    "displayName",
    "description",
    "owners",
    "domains",
    "dataProducts",
    "certification",
    "extension",
)
"""Keys of an entity whose value stays once it is not empty."""
_OF_PARTS = ("displayName", "description", "extension")
"""Keys of a column or another named part whose value stays once it is not empty."""
_EMPTY = frozenset((b"null", b"[]", b"{}", b'""'))

_Part = dict[str, Any]
_decode = msgspec.json.decode


def ingested(kind: EntityKind, before: Body, target: Body, ingestion: Ingestion) -> Body:
    """The body that a bot's write leaves of an entity that has the body `before`.

    `target` is the body that the same write of a person would leave. Values that are not empty
    stay, tags are joined, and nothing changes when the source is as it was. Under `override` the
    bot's values come first, and those that are there fill in where it gives none.
    """
    override = ingestion.override
    source_hash = ingestion.source_hash
    if not override and source_hash is not None and source_hash == before.get(SOURCE_HASH):
        return before
    kept = {
        key: before[key]
        for key in _OF_ENTITIES
        if _has_value(before, key) and not (override and _has_value(target, key))
    }
    body = {**target, **kept}
    if _has_value(before, _TAGS):
        given = _decode(target[_TAGS]) if _TAGS in target else None
        body[_TAGS] = _encode(_tags(_decode(before[_TAGS]), given, override))
    for path in kind.body.parts:
        key, _, inner = path.partition(".")
        if key in before and key in target and before[key] != target[key]:
            body[key] = _encode(
                _joined(_decode(before[key]), _decode(target[key]), inner, override)
            )
    return body


def _has_value(body: Body, key: str) -> bool:
    raw = body.get(key)
    return raw is not None and bytes(raw) not in _EMPTY


def _encode(value: Any) -> Raw:
    return Raw(msgspec.json.encode(value))


def _joined(before: Any, given: Any, inner: str, override: bool) -> Any:
    """The value of a key that holds named parts: itself, or under the key `inner` of an object."""
    if not inner:
        return _parts(before, given, override)
    if not before.get(inner) or not given.get(inner):
        return given
    return {**given, inner: _parts(before[inner], given[inner], override)}


def _parts(before: list[_Part], given: list[_Part], override: bool) -> list[_Part]:
    """The parts that a bot gives, each with what people wrote on the part of the same name."""
    known = {part["name"]: part for part in before}
    return [
        _part(known[part["name"]], part, override) if part["name"] in known else part
        for part in given
    ]


def _part(before: _Part, given: _Part, override: bool) -> _Part:
    part = dict(given)
    for key in _OF_PARTS:
        if before.get(key) and not (override and given.get(key)):
            part[key] = before[key]
    if before.get(_TAGS):
        part[_TAGS] = _tags(before[_TAGS], given.get(_TAGS), override)
    if before.get(_CHILDREN) and given.get(_CHILDREN):
        part[_CHILDREN] = _parts(before[_CHILDREN], given[_CHILDREN], override)
    return part


def _tags(before: list[_Part], given: list[_Part] | None, override: bool) -> list[_Part]:
    """The labels that are there, then those that a bot adds to them; its own under `override`."""
    if override and given:
        return given
    known = {_label(each) for each in before}
    return [*before, *(each for each in given or () if _label(each) not in known)]


def _label(tag: _Part) -> tuple[str, str]:
    return tag["source"], tag["tagFQN"]
