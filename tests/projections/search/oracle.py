"""A slow, plain evaluation of query trees over search documents, for the engine to agree with.

Nothing is indexed: each document is asked in turn. Only the analysis of texts is the engine's.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any

import msgspec

from domain.aggregate.entity import Entity
from domain.kinds.registry import KINDS
from projections.search import tree
from projections.search.analysis import fold, keyword, stem, tokens
from projections.search.documents.documents import Scalar, SearchDocument, document, nested_objects
from projections.search.language.field_types import is_prose, is_whole
from projections.visibility.field_paths import indexed_path

Values = tuple[Scalar, ...]
Occurrences = Mapping[str, frozenset[int]]
"""Token -> its positions in one value; stems stand beside their words."""

_LONGEST_WHOLE = 4_096


class Asked(msgspec.Struct, frozen=True):
    """Subject against which trees are evaluated: a document, or one object inside it."""

    id: str
    kind: str
    fields: Mapping[str, Values]
    body: Mapping[str, Any]
    known: dict[tuple[str, str | None], Any] = msgspec.field(default_factory=dict)
    """Facts that were found out about a field."""


class Oracle:
    """The documents by id; `found` says which of them match."""

    def __init__(self) -> None:
        self._asked: dict[str, Asked] = {}
        self._deleted: set[str] = set()

    def add(self, entity: Entity) -> None:
        """Add or replace the document of an entity."""
        made: SearchDocument = document(entity)
        body = {key: msgspec.json.decode(raw) for key, raw in entity.body.items()}
        if (verdict := made.fields.get("verdict.status")) is not None:
            body["verdict"] = {
                "status": verdict[0]
            }  # no part of the body, but an object to ask for
        self._asked[made.id] = Asked(made.id, made.kind, made.fields, body)
        self._deleted.discard(made.id)
        if made.deleted:
            self._deleted.add(made.id)

    def remove(self, entity_id: str) -> None:
        del self._asked[entity_id]

    def found(
        self,
        *nodes: tree.Node,
        kinds: frozenset[str] | None = None,
        visible: frozenset[str] | None = None,
        include_deleted: bool = False,
    ) -> set[str]:
        """The ids of the documents that satisfy every node."""
        seen = [
            asked
            for asked in self._asked.values()
            if (visible is None or asked.kind in visible)
            and (include_deleted or asked.id not in self._deleted)
        ]
        known: dict[tree.Node, bool] = {}
        nodes = tuple(decided(node, seen, known) for node in nodes)
        return {
            asked.id
            for asked in self._asked.values()
            if (kinds is None or asked.kind in kinds)
            and (include_deleted or asked.id not in self._deleted)
            and all(satisfies(asked, node) for node in nodes)
        }


def decided(node: tree.Node, seen: Sequence[Asked], known: dict[tree.Node, bool]) -> tree.Node:
    """The node with the one of two nodes that is meant, where that depends on what may be seen.

    `known` has what was found out already.
    """
    if isinstance(node, tree.IfFound):
        if node.sought not in known:
            sought = decided(node.sought, seen, known)
            known[node.sought] = any(satisfies(asked, sought) for asked in seen)
        return decided(node.then if known[node.sought] else node.otherwise, seen, known)
    changes: dict[str, Any] = {}
    for name in ("must", "should", "must_not", "filter", "nodes"):
        if isinstance(inner := getattr(node, name, None), tuple):
            changes[name] = tuple(decided(each, seen, known) for each in inner)
    if isinstance(inner := getattr(node, "node", None), tree.Base):
        changes["node"] = decided(inner, seen, known)
    return msgspec.structs.replace(node, **changes)


def satisfies(asked: Asked, node: tree.Node) -> bool:
    """True if the document, or the object, matches the tree."""
    match node:
        case tree.MatchAll():
            return True
        case tree.MatchNone():
            return False
        case tree.Term(field=field, text=text):
            return _term(asked, field, text)
        case tree.Exact(field=field, value=value):
            return _exact(asked, field, value)
        case tree.Phrase(field=field, text=text, slop=slop):
            return _phrase(asked, field, text, slop)
        case tree.PhrasePrefix(field=field, text=text, slop=slop):
            return _begun(asked, field, text, slop)
        case tree.Wildcard(field=field, pattern=pattern):
            return _any_term(asked, field, _wildcard(fold(pattern)))
        case tree.Regex(field=field, pattern=pattern):
            return _any_term(asked, field, re.compile(pattern.lower(), re.ASCII | re.DOTALL))
        case tree.Fuzzy(field=field, text=text, distance=distance, prefix=prefix):
            return _fuzzy(asked, field, fold(text), distance, prefix)
        case tree.Range():
            return _range(asked, node)
        case tree.Exists(field=field):
            path = indexed_path(field)
            return any(p == path or p.startswith(f"{path}.") for p in asked.fields)
        case tree.Ids(values=values):
            return keyword(asked.id) in map(keyword, values)
        case tree.Bool():
            return _bool(asked, node)
        case tree.Constant(node=inner) | tree.Boosted(node=inner):
            return satisfies(asked, inner)
        case tree.DisMax(nodes=nodes):
            return any(satisfies(asked, inner) for inner in nodes)
        case tree.Nested(path=path, node=inner):
            at = indexed_path(path)
            return any(
                satisfies(Asked(asked.id, asked.kind, _below(at, fields), {}), inner)
                for fields in nested_objects(asked.body, at)
            )


def _below(path: str, fields: Mapping[str, Values]) -> Mapping[str, Values]:
    """The fields of an object that lie below its own path: nothing else is known of it."""
    return {name: values for name, values in fields.items() if name.startswith(f"{path}.")}


def _bool(asked: Asked, node: tree.Bool) -> bool:
    matching = sum(satisfies(asked, inner) for inner in node.should)
    return (
        all(satisfies(asked, inner) for inner in (*node.must, *node.filter))
        and not any(satisfies(asked, inner) for inner in node.must_not)
        and matching >= required(node)
    )


def required(node: tree.Bool) -> int:
    """Number of the optional clauses that must match, by the documented rules of OpenSearch."""
    count = len(node.should)
    least = 0 if node.must or node.filter or not count else 1
    if node.minimum_should_match is None:
        return least
    pairs = re.findall(r"(?:(-?\d+)\s*<\s*)?(-?\d+)(%?)", node.minimum_should_match)
    conditions = [(int(limit or -1), int(number), bool(sign)) for limit, number, sign in pairs]
    passed = []
    for limit, number, is_percentage in conditions:
        if count <= limit:
            break
        passed.append((number, is_percentage))
    if not passed:
        return max(count, least)
    number, is_percentage = passed[-1]
    size = math.floor(Fraction(abs(number) * count, 100)) if is_percentage else abs(number)
    return max(count - size if number < 0 else size, least)


# Words


@lru_cache(200_000)
def _occurrences(value: str, prose: bool) -> Occurrences:
    found = tokens(value, prose)
    places: dict[str, set[int]] = {}
    for place, part in enumerate(found.parts):
        places.setdefault(part, set()).add(place)
        places.setdefault(stem(part), set()).add(place)
    for whole, place in found.wholes:
        places.setdefault(whole, set()).add(place)
    return {token: frozenset(at) for token, at in places.items()}


def _texts(asked: Asked, field: str | None) -> Sequence[Occurrences]:
    """The tokens of each text in the field, or in the kind's search fields."""
    known = asked.known.get(("texts", field))
    if known is None:
        known = asked.known["texts", field] = list(_read(asked, field))
    return known


def _read(asked: Asked, field: str | None) -> Iterable[Occurrences]:
    if field is None:
        paths = [searched.path for searched in KINDS[asked.kind].search]
    else:
        path = indexed_path(field)
        paths = [] if is_whole(path) or field.endswith(".keyword") else [path]
    for path in paths:
        for value in asked.fields.get(path, ()):
            if isinstance(value, str):
                yield _occurrences(value, is_prose(path))


def _term(asked: Asked, field: str | None, text: str) -> bool:
    if field is not None and _exact(asked, field, text):
        return True
    found = tokens(text)
    if not found.parts:
        return False
    names = set(found.parts) if len(found.parts) == 1 else set()
    if found.wholes and len(text.split()) == 1:
        names = {found.wholes[0][0]}
    names |= {stem(name) for name in names}
    words = _terms(asked, field)
    if names.isdisjoint(words) and not words.issuperset(found.parts):
        return False
    return any(
        not names.isdisjoint(places) or (len(found.parts) > 1 and _follow(places, found.parts, 0))
        for places in _texts(asked, field)
    )


def _phrase(asked: Asked, field: str | None, text: str, slop: int) -> bool:
    parts = tokens(text).parts
    if len(parts) <= 1:
        return bool(parts) and _term(asked, field, text)
    if field is not None and _exact(asked, field, text):
        return True
    if not _terms(asked, field).issuperset(parts):
        return False
    return any(_follow(places, parts, slop) for places in _texts(asked, field))


def _begun(asked: Asked, field: str | None, text: str, slop: int) -> bool:
    """True if the words stand together, counting as the last one whatever begins with it."""
    parts = tokens(text).parts
    if len(parts) <= 1:
        return any(term.startswith(part) for part in parts for term in _terms(asked, field))
    for places in _texts(asked, field):
        ends = [
            place for token, at in places.items() if token.startswith(parts[-1]) for place in at
        ]
        known = [places.get(part, ()) for part in parts[:-1]]
        if _can_follow([*known, ends], slop):
            return True
    return False


def _follow(places: Occurrences, parts: Sequence[str], slop: int) -> bool:
    """True if the parts can be placed so that their moves differ by the slop at most."""
    return _can_follow([places.get(part, ()) for part in parts], slop)


def _can_follow(places: Sequence[Iterable[int]], slop: int) -> bool:
    moves = [{place - at for place in found} for at, found in enumerate(places)]
    if not all(moves):
        return False
    if not slop:
        return bool(set.intersection(*moves))
    return any(
        all(any(low <= move <= low + slop for move in options) for options in moves)
        for low in set().union(*moves)
    )


# Whole values and single terms


def _exact(asked: Asked, field: str, value: str) -> bool:
    path = indexed_path(field)
    sought = keyword(value)
    if any(_whole(path, known) == sought for known in asked.fields.get(path, ())):
        return True
    number = _number(value)
    if number is not None and number in _numbers(asked, path):
        return True
    return any(sought in places for places in _texts(asked, field))


def _whole(path: str, value: Scalar) -> str | None:
    """The value as one lower-cased term; None where it has none."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str) or is_prose(path) or len(value) > _LONGEST_WHOLE:
        return None
    return keyword(value)


def _numbers(asked: Asked, path: str) -> list[float]:
    return [
        float(value)
        for value in asked.fields.get(path, ())
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]


def _terms(asked: Asked, field: str | None) -> frozenset[str]:
    """Every term of the field: its words, and its whole values but numbers."""
    known = asked.known.get(("terms", field))
    if known is None:
        found = set().union(*_texts(asked, field))
        if field is not None and not is_whole(path := indexed_path(field)):
            for value in asked.fields.get(path, ()):
                if isinstance(value, str) or not field.endswith(".keyword"):
                    found.add(_whole(path, value))
        known = asked.known["terms", field] = frozenset(found - {None})
    return known


def _any_term(asked: Asked, field: str | None, pattern: re.Pattern[str]) -> bool:
    return any(pattern.fullmatch(term) for term in _terms(asked, field))


@lru_cache(1_000)
def _wildcard(pattern: str) -> re.Pattern[str]:
    made = ""
    literal = False
    for character in pattern:
        if literal or character not in "\\*?":
            made += re.escape(character)
            literal = False
        elif character == "\\":
            literal = True
        else:
            made += ".*" if character == "*" else "."
    return re.compile(made, re.DOTALL)


def _fuzzy(asked: Asked, field: str | None, word: str, distance: int, prefix: int) -> bool:
    return any(
        term.startswith(word[:prefix])
        and abs(len(term) - len(word)) <= distance
        and slips(term, word) <= distance
        for term in _terms(asked, field)
    )


@lru_cache(100_000)
def slips(left: str, right: str) -> int:
    """Letters more, less, other, or two neighbours swapped."""
    table = {(i, 0): i for i in range(len(left) + 1)} | {(0, j): j for j in range(len(right) + 1)}
    for i, a in enumerate(left, 1):
        for j, b in enumerate(right, 1):
            ways = [table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (a != b)]
            if i > 1 and j > 1 and a == right[j - 2] and b == left[i - 2]:
                ways.append(table[i - 2, j - 2] + 1)
            table[i, j] = min(ways)
    return table[len(left), len(right)]


# Ranges


def _range(asked: Asked, node: tree.Range) -> bool:
    path = indexed_path(node.field)
    if is_whole(path):
        return False
    bounds = {"gt": node.gt, "gte": node.gte, "lt": node.lt, "lte": node.lte}
    given = {side: text for side, text in bounds.items() if text is not None}
    moments = {side: _moment(text) for side, text in given.items()}
    if all(moment is not None for moment in moments.values()) and any(
        _inside(number, moments) for number in _numbers(asked, path)
    ):
        return True
    words = {side: keyword(text) for side, text in given.items()}
    return any(
        isinstance(value, str)
        and (term := _whole(path, value)) is not None
        and _inside(term, words)
        for value in asked.fields.get(path, ())
    )


def _inside(value: Any, bounds: Mapping[str, Any]) -> bool:
    tests = {
        "gt": lambda bound: value > bound,
        "gte": lambda bound: value >= bound,
        "lt": lambda bound: value < bound,
        "lte": lambda bound: value <= bound,
    }
    return all(tests[side](bound) for side, bound in bounds.items())


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None


def _moment(text: str) -> float | None:
    if (number := _number(text)) is not None:
        return number
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000
