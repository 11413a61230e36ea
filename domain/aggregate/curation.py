"""Curation: what people wrote about an entity survives the later writes of bots.

A bot sends what it found at a source, where nothing is known of the descriptions, owners and tags
that people gave in the catalog. The rule is that of OpenMetadata's server.
"""

from operator import itemgetter
from typing import Any

import msgspec
from msgspec import Raw

from domain.aggregate.commands import Ingestion
from domain.events import Body, encode
from domain.kinds.entity_kind import EntityKind
from domain.patches.json_patch import Operation

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
_TEXTS = ("displayName", "description")
"""Keys of entities and parts whose text a bot's patch does not empty."""
_EMPTY = frozenset((b"null", b"[]", b"{}", b'""'))


_LIFE_CYCLE = "lifeCycle"
_SAME_MS = 86_400_000
"""Milliseconds by which a bot must find data touched later than is recorded, to record it."""

_PLACE = "ordinalPosition"
"""Key of a column that holds its place in the list, from 1."""

_Part = dict[str, Any]
_decode = msgspec.json.decode


def patched_by_bot(kind: EntityKind, before: Body, body: Body) -> Body:
    """The body that a bot's patch leaves of an entity; a person's patch would leave `body`.

    An empty or blank text replaces none that is there: OpenMetadata's dbt workflow sends one for
    what has no description in the project.

    When the patch changes more than what people curate, such as the foreign keys that a connector
    adds once it knows all tables, `sourceHash` no longer stands for what is there. It goes, so that
    the bot's next write is compared with the entity in full.
    """
    body = _with_settled_times(before, body)
    emptied = (key for key in _TEXTS if _is_blank(body.get(key)) and _has_value(before, key))
    kept = {key: before[key] for key in emptied}
    curated = {*_OF_ENTITIES, _TAGS, _LIFE_CYCLE}
    for path in kind.body.parts:
        key, _, inner = path.partition(".")
        if key in before and key in body and before[key] != body[key]:
            old, new = _decode(before[key]), _decode(body[key])
            _keep_texts(_parts_in(old, inner), _parts_in(new, inner))
            kept[key] = encode(new)
            if _of_source(old, inner) == _of_source(new, inner):
                curated.add(key)
    body = {**body, **kept}
    if before.get(SOURCE_HASH) != body.get(SOURCE_HASH):
        return body
    of_source = (before.keys() | body.keys()) - curated
    if any(before.get(key) != body.get(key) for key in of_source):
        return {key: raw for key, raw in body.items() if key != SOURCE_HASH}
    return body


def adds_only_source_hash(before: Body, patch: list[Operation]) -> bool:
    """Return True if a bot's write changes nothing but that the entity gets a `sourceHash`."""
    return SOURCE_HASH not in before and [each["path"] for each in patch] == [f"/{SOURCE_HASH}"]


def ingested(kind: EntityKind, before: Body, target: Body, ingestion: Ingestion) -> Body:
    """The body that a bot's write leaves of an entity that has the body `before`.

    `target` is the body that the same write of a person would leave. Values that are not empty
    stay, tags are joined, and nothing changes when the source is as it was. Under `override` the
    bot's values come first, and the recorded ones fill in where the bot gives none.
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
    body = _with_settled_times(before, {**target, **kept})
    if _has_value(before, _TAGS):
        given = _decode(target[_TAGS]) if _TAGS in target else None
        body[_TAGS] = encode(_tags(_decode(before[_TAGS]), given, override))
    for path in kind.body.parts:
        key, _, inner = path.partition(".")
        if key in before and key in target and before[key] != target[key]:
            body[key] = encode(_joined(_decode(before[key]), _decode(target[key]), inner, override))
    return body


def _with_settled_times(before: Body, body: Body) -> Body:
    """The body that a bot gives, with the times of `lifeCycle` that are hardly later than before.

    Connectors tell of every run when data was last read. Older times never replace newer ones.
    """
    if not (_has_value(before, _LIFE_CYCLE) and _has_value(body, _LIFE_CYCLE)):
        return body
    if before[_LIFE_CYCLE] == body[_LIFE_CYCLE]:
        return body
    old, new = _decode(before[_LIFE_CYCLE]), _decode(body[_LIFE_CYCLE])
    settled = {
        key: old[key]
        for key in old
        if key not in new or new[key]["timestamp"] - old[key]["timestamp"] < _SAME_MS
    }
    return {**body, _LIFE_CYCLE: encode({**new, **settled})}


def _parts_in(value: Any, inner: str) -> list[_Part]:
    """The named parts that are the value of a key, or stand under `inner` in that object."""
    return value.get(inner) or [] if inner else value


def _keep_texts(before: list[_Part], given: list[_Part]) -> None:
    """Put the texts of the parts before into parts of the same name that have empty ones."""
    known = {part["name"]: part for part in before}
    for part in given:
        old = known.get(part["name"], {})
        part.update({key: old[key] for key in _TEXTS if _is_blank(part.get(key)) and old.get(key)})
        _keep_texts(old.get(_CHILDREN) or [], part.get(_CHILDREN) or [])


def _is_blank(text: Any) -> bool:
    """True for a text without anything but blanks, as a value or as its JSON."""
    if isinstance(text, Raw):
        text = _decode(text)
    return isinstance(text, str) and not text.strip()


def _has_value(body: Body, key: str) -> bool:
    raw = body.get(key)
    return raw is not None and bytes(raw) not in _EMPTY


def _joined(before: Any, given: Any, inner: str, override: bool) -> Any:
    """The value of a key that holds named parts: itself, or under the key `inner` of an object."""
    if not inner:
        return _parts(before, given, override)
    if not before.get(inner) or not given.get(inner):
        return given
    return {**given, inner: _parts(before[inner], given[inner], override)}


def _parts(before: list[_Part], given: list[_Part], override: bool) -> list[_Part]:
    """The parts that a bot gives, each with what people wrote on the part of the same name.

    If the recorded parts are numbered and the bot numbers none, the parts get the numbers of their
    places: OpenMetadata's client numbers columns in every patch, and in no other write.
    """
    known = {part["name"]: part for part in before}
    if any(_PLACE in part for part in before) and not any(_PLACE in part for part in given):
        given = [{**part, _PLACE: place} for place, part in enumerate(given, 1)]
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


def _of_source(value: Any, inner: str) -> Any:
    """The value of a key that holds named parts, without what people curate of the parts."""
    parts = [_part_of_source(part) for part in _parts_in(value, inner)]
    return {**value, inner: parts} if inner else parts


def _part_of_source(part: _Part) -> _Part:
    left = {key: part[key] for key in part.keys() - {_TAGS, _PLACE, *_OF_PARTS}}
    if left.get(_CHILDREN):
        left[_CHILDREN] = _of_source(left[_CHILDREN], "")
    return left


def _tags(before: list[_Part], given: list[_Part] | None, override: bool) -> list[_Part]:
    """The labels that are there, then those that a bot adds to them; its own under `override`."""
    if override and given:
        return given
    known = {_label(each) for each in before}
    return [*before, *(each for each in given or () if _label(each) not in known)]


_label = itemgetter("source", "tagFQN")
