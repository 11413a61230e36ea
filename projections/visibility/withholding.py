"""Fields that a caller may not see: cut from answers, refused in requests.

A withheld path stands for everything below it, and `children` adds no step to it. A refusal depends
on the request and the policies alone, never on stored values.
"""

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from hashlib import blake2b
from typing import Any, NoReturn

import msgspec
from msgspec import Raw

from domain.errors import RequestRefused
from domain.events import values_by_key
from domain.openmetadata.entity_properties import REQUEST_ALIASES
from domain.patches.json_patch import unescape
from projections.visibility.field_paths import (
    NESTED,
    PathTree,
    field_paths,
    indexed_path,
    path_tree,
    pruned,
)

_DERIVED = {"votes": "totalVotes"}
"""Field -> path of search documents that is computed from it."""
_TAGS = "tags"


class FieldWithheld(RequestRefused):
    """The request names a field that is withheld from its caller."""


class Withheld(msgspec.Struct, frozen=True, dict=True):
    """The fields of one kind that are withheld from a caller."""

    kind: str
    paths: frozenset[str]

    def cut(self, entity_json: bytes) -> bytes:
        """The JSON of an entity without the withheld fields; other fields are not decoded."""
        shown = values_by_key(entity_json)
        for key, below in self._tree.items():
            if key in shown:
                if below is None:
                    del shown[key]
                else:
                    inner = pruned(shown[key], below, through=(NESTED,))
                    shown[key] = Raw(msgspec.json.encode(inner))
        return msgspec.json.encode(shown)

    @cached_property
    def digest(self) -> str:
        """Eight hexadecimal digits that identify this set of withheld fields."""
        return blake2b("\0".join(sorted(self.paths)).encode(), digest_size=4).hexdigest()

    def covers(self, path: str) -> bool:
        """True if everything at a path is withheld."""
        return covered(path, self.paths)

    def refuse_writing(self, values: Mapping[str, Any], *, replacing: bool) -> None:
        """Raise FieldWithheld for a body with a withheld field.

        A body that replaces the entity (`replacing`) may not even have a field that contains a
        withheld one: that one would be overwritten unseen, and an answer of no change would reveal
        its value.
        """
        for given, value in values.items():
            key = REQUEST_ALIASES.get(given, given)
            if key in self._tree:
                below = self._tree[key]
                if below is None or replacing or pruned(value, below, through=(NESTED,)) != value:
                    raise self._refusal(given)

    def refuse_patching(self, operations: Iterable[Mapping[str, Any]]) -> None:
        """Raise FieldWithheld for a JSON Patch that tests, copies or changes a withheld field."""
        for operation in operations:
            for member in ("path", "from"):
                pointer = operation.get(member)
                if isinstance(pointer, str) and self._touches(_steps(pointer), self.paths):
                    raise self._refusal(pointer)

    def refuse_field(self, path: str, parameter: str) -> None:
        """Raise FieldWithheld if a parameter names a withheld field, or one inside it."""
        if self.covers(path):
            raise self._refusal(path, parameter)

    def touches_indexed(self, field: str) -> bool:
        """True if a field, as written in a query, holds anything withheld."""
        return self._touches(indexed_path(field), self._indexed)

    def refuse_searched(self, field: str, parameter: str) -> None:
        """Raise FieldWithheld for a field of a query that holds anything withheld."""
        if self.touches_indexed(field):
            raise self._refusal(field, parameter)

    def refuse_all(self, what: str) -> NoReturn:
        """Raise FieldWithheld for a request that needs all of an entity; `what` says which."""
        named = ", ".join(sorted(self.paths))
        raise FieldWithheld(f"{what}, of which {named[:200]} is withheld from your roles")

    def _refusal(self, named: str, parameter: str = "") -> FieldWithheld:
        where = f"{parameter}: " if parameter else ""
        return FieldWithheld(f"{where}{named[:80]!r} of {self.kind} is withheld from your roles")

    @staticmethod
    def _touches(path: str, hidden: Collection[str]) -> bool:
        """True if the path is at, below or above a hidden one; "" is above every path."""
        return any(
            not path or path == each or path.startswith(each + ".") or each.startswith(path + ".")
            for each in hidden
        )

    @cached_property
    def _tree(self) -> PathTree:
        return path_tree(self.paths)

    @cached_property
    def _indexed(self) -> frozenset[str]:
        """The paths of search documents in which anything withheld is."""
        indexed = set(self.paths)
        indexed.update(derived for field, derived in _DERIVED.items() if self.covers(field))
        for path, about in field_paths(self.kind).items():
            if self.covers(path):
                # Tags at every depth are indexed under `tags` too, but for those of extensions.
                first, *steps = path.split(".")
                if _TAGS in steps:
                    indexed.add(".".join(steps[steps.index(_TAGS) :]))
                elif about.open and "extension" not in (first, *steps):
                    indexed.add(_TAGS)
        return frozenset(indexed)


def covered(path: str, paths: Collection[str]) -> bool:
    """True if `paths` has this path, or one above it."""
    steps = path.split(".")
    return any(".".join(steps[:count]) in paths for count in range(1, len(steps) + 1))


def simplest(paths: Iterable[str]) -> frozenset[str]:
    """The paths without those that lie below another of them."""
    kept = frozenset(paths)
    return frozenset(
        path for path in kept if "." not in path or not covered(path.rpartition(".")[0], kept)
    )


def in_both(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    """The paths that are withheld by both sets of withheld paths."""
    return simplest(
        {path for path in one if covered(path, other)}
        | {path for path in other if covered(path, one)}
    )


def _steps(pointer: str) -> str:
    """A JSON pointer as a dotted path, without places in arrays."""
    steps = [*map(unescape, pointer.removeprefix("/").split("/"))]
    kept = [s for s in steps[1:] if s not in (NESTED, "-") and not s.isdigit()]
    return ".".join((*steps[:1], *kept))
