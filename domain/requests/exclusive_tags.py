"""Tags that exclude each other: of a mutually exclusive classification, one may stand in a place.

The same goes for the tags below a tag, and for the terms of a glossary or below a term, where what
stands above them is `mutuallyExclusive`. A place is an entity, or one of its named parts.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from domain.errors import InvalidInput
from domain.events import Body, encode
from domain.kinds import names
from domain.kinds.entity_kind import EntityKind

EXCLUSIVE = "mutuallyExclusive"
"""The key of what excludes all but one of the labels below it."""
_TAGS, _CHILDREN = "tags", "children"
_REMEMBERED = 512
"""Labels whose vocabularies are remembered at most."""
_LABEL = re.compile(rb'"tagFQN":("(?:[^"\\]+|\\.)*"),"source":("\w+")')
"""The beginning of a label as it is recorded."""
_ABOVE = {
    "Classification": ("classification", "tag"),
    "Glossary": ("glossary", "glossaryTerm"),
}
"""Source of a label -> the kinds of what stands above it: the vocabulary, or another label."""

Label = dict[str, Any]
_Labels = list[Label]
_decode = msgspec.json.decode


class Above(NamedTuple):
    """The vocabulary, tag or term that a label stands directly below."""

    kind: str
    fqn: str


class ExclusiveTags:
    """Holds the labels of one body, as a write would leave it, to the rule."""

    def __init__(
        self,
        kind: EntityKind,
        before: Body,
        is_exclusive: Callable[[Above], bool],
        *,
        by_bot: bool,
        joined: bool,
    ) -> None:
        """`before` is the recorded body; labels that it has together may stay together.

        `joined` is true if the recorded labels are going to be joined with those of the new body.
        """
        self._kind = kind
        self._before = before
        self._is_exclusive = is_exclusive
        self._by_bot = by_bot
        self._joined = joined
        self.dropped: list[str] = []
        """The labels of a bot that were left out, each with its place."""

    def settle(self, body: Body) -> Body:
        """The body without labels of a bot that others exclude; the first of new ones stays.

        Raises InvalidInput where a person gives labels that exclude each other.
        """
        paths = [_TAGS, *self._kind.body.parts]
        changed = {
            key
            for key in (path.partition(".")[0] for path in paths)
            if key in body and body[key] != self._before.get(key)
        }
        if not changed:
            return body
        # An entity may have a label in thousands of places.
        self._is_exclusive = cache(self._is_exclusive)
        if not self._may_clash(body, changed):
            return body
        settled: Body = {}
        for path in paths:
            key, _, inner = path.partition(".")
            if key not in changed:
                continue
            value = _decode(settled.get(key, body[key]))
            old = _decode(self._before[key]) if key in self._before else None
            number = len(self.dropped)
            if key == _TAGS:
                value = self._labels(value, old or [], _TAGS)
            elif inner:
                self._part(value, old or {}, key, inner)
            else:
                self._parts(value, old or [], key)
            if len(self.dropped) > number:
                settled[key] = encode(value)
        return {**body, **settled}

    def _may_clash(self, body: Body, changed: set[str]) -> bool:
        """Return True if two labels anywhere in these keys stand below the same exclusive thing."""
        given = {label for key in changed for label in _labels_in(body.get(key))}
        if self._joined:
            given.update(label for key in changed for label in _labels_in(self._before.get(key)))
        below = Counter(_above(source, fqn) for source, fqn in given)
        return any(
            number > 1 and above is not None and self._is_exclusive(above)
            for above, number in below.items()
        )

    def _parts(self, parts: list[Any], before: list[Any], place: str) -> None:
        known = {part["name"]: part for part in before}
        for part in parts:
            old = known.get(part["name"], {})
            self._part(part, old, f"{place}.{names.quote(part['name'])}", _CHILDREN)

    def _part(self, part: Label, before: Label, place: str, inner: str) -> None:
        """Settle the labels of an object, and of the named parts that it has under `inner`."""
        if part.get(_TAGS):
            part[_TAGS] = self._labels(part[_TAGS], before.get(_TAGS) or [], place)
        self._parts(part.get(inner) or [], before.get(inner) or [], place)

    def _labels(self, labels: _Labels, before: _Labels, place: str) -> _Labels:
        there = {_identity(label) for label in before}
        holds: dict[Above, Label] = {}
        """The label that excludes others: one that was there, else the first that is given."""
        for label in (*(before if self._joined else ()), *labels):
            if _identity(label) in there and (above := _above(*_identity(label))) is not None:
                holds.setdefault(above, label)
        kept: _Labels = []
        for label in labels:
            above = _above(*_identity(label))
            if above is None or _identity(label) in there:
                kept.append(label)
                continue
            first = holds.setdefault(above, label)
            if _identity(first) == _identity(label) or not self._is_exclusive(above):
                kept.append(label)
            elif self._by_bot:
                self.dropped.append(f"{label['tagFQN']} of {place}")
            else:
                raise InvalidInput(
                    f"{place}: {first['tagFQN']!r} and {label['tagFQN']!r} exclude each other:"
                    f" {above.kind} {above.fqn!r} is mutually exclusive, so that one of its"
                    " labels alone may be attached"
                )
        return kept


@lru_cache(_REMEMBERED)
def _above(source: str, fqn: str) -> Above | None:
    """The name right above a label; None for a name that has nothing above it."""
    vocabulary, label = _ABOVE[source]
    *above, _ = names.split(fqn)
    if not above:
        return None
    return Above(vocabulary if len(above) == 1 else label, names.join(above))


def _identity(label: Label) -> tuple[str, str]:
    return label["source"], label["tagFQN"]


def _labels_in(raw: Raw | None) -> Iterator[tuple[str, str]]:
    """Source and name of all labels in a JSON value, however deep."""
    if raw is not None:
        for name, source in dict.fromkeys(_LABEL.findall(bytes(raw))):
            yield _decode(source), _decode(name)
