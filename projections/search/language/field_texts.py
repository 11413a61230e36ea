"""How the texts of a field are indexed: as sentences, as names, or only whole."""

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

from msgspec import inspect

from domain.kinds.bodies.components import Reference
from projections.search.language.payload_types import payload_fields

_PROSE = "description"
_WHOLE = frozenset({"id", "href"})
_NAME = "fullyQualifiedName"


def is_prose(path: str) -> bool:
    """Whether the texts of the path are sentences: words are stemmed, nothing is kept whole."""
    return path.rpartition(".")[2] == _PROSE


@lru_cache(4_096)
def is_whole(path: str) -> bool:
    """Whether the texts of the path are only ever matched whole.

    Ids, addresses, and the qualified names of an entity's parts are. The qualified names of the
    entity and of what it refers to can be found by their words too.
    """
    return path.rpartition(".")[2] in _WHOLE or path in _names_of_parts()


@cache
def _names_of_parts() -> frozenset[str]:
    """The paths of the qualified names of columns, tasks and whatever else consists in its kind."""
    paths: set[str] = set()
    for fields in payload_fields().values():
        for field in fields:
            paths.update(_names_below(field.type, field.encode_name, ()))
    return frozenset(paths)


def _names_below(declared: inspect.Type, path: str, inside: tuple[Any, ...]) -> Iterator[str]:
    match declared:
        case inspect.Metadata(type=inner) | inspect.ListType(item_type=inner):
            yield from _names_below(inner, path, inside)
        case inspect.UnionType(types=types):
            for choice in types:
                yield from _names_below(choice, path, inside)
        case inspect.StructType(cls=cls, fields=fields) if cls not in (Reference, *inside):
            for field in fields:
                key = field.encode_name
                if key == _NAME:
                    yield f"{path}.{key}"
                elif key != "children":
                    yield from _names_below(field.type, f"{path}.{key}", (*inside, cls))
