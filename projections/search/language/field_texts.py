"""The indexing of the texts of a field: as sentences, as names, or only whole."""

from functools import cache, lru_cache

from msgspec import inspect

from domain.kinds.bodies.components import Reference
from projections.search.language.field_types import declared_paths

_PROSE = "description"
_WHOLE = frozenset({"id", "href"})
_NAME = "fullyQualifiedName"


def is_prose(path: str) -> bool:
    """Return True if the texts of the path are sentences, whose words are stemmed."""
    return path.rpartition(".")[2] == _PROSE


@lru_cache(4_096)
def is_whole(path: str) -> bool:
    """Return True if the texts of the path are only ever matched whole.

    Ids, addresses, and the qualified names of an entity's parts are. The qualified names of the
    entity and of what it refers to can be found by their words too.
    """
    return path.rpartition(".")[2] in _WHOLE or path in _names_of_parts()


@cache
def _names_of_parts() -> frozenset[str]:
    """The paths of the qualified names of columns, tasks and whatever else consists in its kind."""
    return frozenset(
        f"{path}.{_NAME}"
        for _, path, declared in declared_paths()
        if isinstance(declared, inspect.StructType) and declared.cls is not Reference
        if any(field.encode_name == _NAME for field in declared.fields)
    )
