"""YAML as datacontract-cli reads it, within bounds that hold after aliases are followed.

Plain scalars are resolved by the rules of YAML 1.1, but dates stay texts. The events of libyaml's
parser are put together here, without recursion, because what composes documents in libraries
follows any number of aliases and any depth.
"""

import re
from collections.abc import Iterator
from typing import Any

import yaml
from yaml.constructor import SafeConstructor
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)
from yaml.nodes import ScalarNode
from yaml.resolver import Resolver

from domain.contracts.canonical import MAX_BYTES, MAX_DIGITS, check_size, finite
from domain.errors import InvalidInput, shown
from domain.patches.json_input import MAX_DEPTH

MAX_NODES = 200_000
"""Values of a document, keys included, each counted again wherever an alias repeats it."""

_CORE = "tag:yaml.org,2002:"
_MERGE = object()
"""Stands for the key `<<` that is not in quotes."""
_TAGS = {"str", "int", "float", "bool", "null"}
_NESTED = "exceeded maximum nesting depth"
"""The problem that libyaml has since 0.2.6 with 1,000 levels, before it tells of any of them."""
_FLOAT = re.compile(r"[-+]?[0-9][0-9_]*\.?[0-9_]*(?:[eE][-+]?[0-9]+)?")


_types_of_scalars = Resolver()
_types_of_scalars.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in rules if tag != f"{_CORE}timestamp"]
    for first, rules in Resolver.yaml_implicit_resolvers.items()
}
"""The rules of YAML 1.1, but that dates are texts."""


class _Collection:
    """A mapping or a list that is being put together, and its weight with all inside."""

    def __init__(self, value: Any, anchor: str | None, before: tuple[int, int]) -> None:
        self.value = value
        self.anchor = anchor
        self.before = before
        """Nodes and bytes that had been counted when it began."""
        self.key: Any = None
        self.has_key = False
        self.merged: dict[str, Any] | None = None
        """The mappings that `<<` names."""


def read_yaml(data: bytes) -> Any:
    """Read the one value of a YAML text; JSON can write all of it.

    Raises InvalidInput with the line for what is no YAML, a second document, a tag of its own, a
    key that is no text or comes twice, a number that JSON cannot write, and for more than MAX_BYTES
    bytes, MAX_NODES values or MAX_DEPTH levels.
    """
    check_size(len(data))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"the document is not UTF-8 at byte {error.start + 1}") from None
    try:
        return _Builder().build(yaml.parse(text, Loader=yaml.CSafeLoader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        if error.problem == _NESTED and mark:
            raise _over(f"be {MAX_DEPTH} levels deep", mark) from None
        raise InvalidInput(
            f"the document is no YAML{_at(mark) if mark else ''}: {error.problem or error.context}"
        ) from None
    except yaml.YAMLError as error:
        raise InvalidInput(f"the document is no YAML: {error}") from None


class _Builder:
    """Puts a value together from the events of a parser."""

    def __init__(self) -> None:
        self._open: list[_Collection] = []
        self._anchors: dict[str, tuple[Any, int, int]] = {}
        """Anchor -> value, and the nodes and bytes of it."""
        self._nodes = self._bytes = 0
        self._scalars: dict[str, Any] = {}

    def build(self, events: Iterator[Event]) -> Any:
        """The value of the only document."""
        result: list[Any] = []
        documents = 0
        for event in events:
            if isinstance(event, ScalarEvent):
                value = self._scalar(event)
                self._count(event, 1, len(event.value))
                if event.anchor is not None:
                    self._anchors[event.anchor] = value, 1, len(event.value)
            elif isinstance(event, MappingStartEvent | SequenceStartEvent):
                self._begin(event)
                continue
            elif isinstance(event, MappingEndEvent | SequenceEndEvent):
                value = self._end()
            elif isinstance(event, AliasEvent):
                value = self._alias(event)
            else:
                documents += isinstance(event, DocumentStartEvent)
                if documents > 1:
                    raise InvalidInput(f"there may be one document, a second begins{_at(event)}")
                continue
            if self._open:
                self._put(event, value)
            else:
                result.append(_as_text(value))
        return result[0] if result else None

    def _count(self, event: Event, nodes: int, size: int) -> None:
        self._nodes += nodes
        self._bytes += size
        if self._nodes > MAX_NODES:
            raise _over(f"have {MAX_NODES} values, aliases followed", event)
        if self._bytes > MAX_BYTES:
            raise _over(f"have {MAX_BYTES} bytes, aliases followed", event)

    def _begin(self, event: MappingStartEvent | SequenceStartEvent) -> None:
        is_mapping = isinstance(event, MappingStartEvent)
        if event.tag not in (None, "!", _CORE + ("map" if is_mapping else "seq")):
            raise InvalidInput(f"the tag {shown(event.tag)}{_at(event)} is not taken")
        if len(self._open) == MAX_DEPTH:
            raise _over(f"be {MAX_DEPTH} levels deep", event)
        before = self._nodes, self._bytes
        self._count(event, 1, 2)
        if event.anchor is not None:
            # An alias inside would make the value a part of itself.
            self._anchors.pop(event.anchor, None)
        self._open.append(_Collection({} if is_mapping else [], event.anchor, before))

    def _end(self) -> Any:
        done = self._open.pop()
        if done.merged:
            done.value = {**done.merged, **done.value}
        if done.anchor is not None:
            nodes, size = done.before
            self._anchors[done.anchor] = done.value, self._nodes - nodes, self._bytes - size
        return done.value

    def _alias(self, event: AliasEvent) -> Any:
        if event.anchor not in self._anchors:
            raise InvalidInput(
                f"the alias *{event.anchor[:80]}{_at(event)} has no anchor before it"
            )
        value, nodes, size = self._anchors[event.anchor]
        self._count(event, nodes, size)
        if len(self._open) + _depth(value) > MAX_DEPTH:
            raise _over(f"be {MAX_DEPTH} levels deep", event)
        return value

    def _put(self, event: Event, value: Any) -> None:
        """Put a finished value, or a key, into the collection that it stands in."""
        around = self._open[-1]
        if isinstance(around.value, list):
            around.value.append(_as_text(value))
        elif not around.has_key:
            if not isinstance(value, str) and value is not _MERGE:
                raise InvalidInput(
                    f"a key must be a text, got {shown(value)}{_at(event)}: put it in quotes"
                )
            comes_twice = around.merged is not None if value is _MERGE else value in around.value
            if comes_twice:
                raise InvalidInput(f"the key {shown(_as_text(value))} comes twice{_at(event)}")
            around.key, around.has_key = value, True
        else:
            around.has_key = False
            if around.key is _MERGE:
                around.merged = _merged(event, value)
            else:
                around.value[around.key] = _as_text(value)

    def _scalar(self, event: ScalarEvent) -> Any:
        is_plain = event.implicit[0]
        if event.tag is None or (event.tag == "!" and is_plain):
            if not is_plain:
                return event.value
            if event.value in self._scalars:
                return self._scalars[event.value]
            tag = _types_of_scalars.resolve(ScalarNode, event.value, (True, False))
        else:
            tag = event.tag
        name = str(tag).removeprefix(_CORE) if tag != "!" else "str"
        if is_plain and name in ("merge", "value"):
            return _MERGE if name == "merge" else event.value
        if name not in _TAGS:
            raise InvalidInput(f"the tag {shown(tag)}{_at(event)} is not taken")
        value = event.value if name == "str" else _typed(event, name)
        if is_plain and len(event.value) < MAX_DIGITS:
            self._scalars[event.value] = value
        return value


def _typed(event: ScalarEvent, name: str) -> Any:
    """The value of a scalar that is no text, as PyYAML's safe loader makes it."""
    if len(event.value) > MAX_DIGITS:
        raise InvalidInput(f"a number may have {MAX_DIGITS} digits, there are more{_at(event)}")
    try:
        if name == "float" and _FLOAT.fullmatch(event.value):
            return finite(event.value.replace("_", ""))
        node = ScalarNode(f"{_CORE}{name}", event.value)
        value = getattr(SafeConstructor(), f"construct_yaml_{name}")(node)
    except (ValueError, LookupError):
        raise InvalidInput(f"{shown(event.value)}{_at(event)} is no {name}") from None
    return finite(repr(value)) if name == "float" else value


def _merged(event: Event, value: Any) -> dict[str, Any]:
    """The keys of what `<<` names: a mapping, or a list of mappings of which the first counts."""
    mappings = value if isinstance(value, list) else [value]
    if not all(isinstance(each, dict) for each in mappings):
        raise InvalidInput(f"<< must name a mapping or a list of them{_at(event)}")
    merged: dict[str, Any] = {}
    for each in reversed(mappings):
        merged |= each
    return merged


def _as_text(value: Any) -> Any:
    return "<<" if value is _MERGE else value


def _depth(value: Any) -> int:
    """Levels of a value that was checked before."""
    depth, level = 0, [value]
    while level := [each for each in level if isinstance(each, dict | list)]:
        depth += 1
        level = [i for each in level for i in (each.values() if isinstance(each, dict) else each)]
    return depth


def _over(bound: str, where: Any) -> InvalidInput:
    return InvalidInput(f"a document may {bound}; there is more{_at(where)}")


def _at(where: Any) -> str:
    mark = getattr(where, "start_mark", where)
    return f" in line {mark.line + 1}"
