"""Columns of a kind that most kinds leave as they are: its names, lists, paths and groups."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from domain.kinds.bodies.base import ParentToBring


class Naming(msgspec.Struct, frozen=True, kw_only=True):
    """The qualified names of a kind where they are not the parent's and the entity's name."""

    prefix: str = ""
    """Put before the name in the last part of the qualified name."""
    scope: str = ""
    """A part of the qualified name between the parent's and the last part, which sets entities of
    this kind apart from others below the same parent."""
    below: str = ""
    """The last part of the qualified name of an entity that has a parent, whatever its name is: a
    parent has one entity of this kind, and reading the parent shows a reference to it if asked."""
    by: tuple[str, ...] = ()
    """Keys beside those of the parent on which the qualified name stands."""


class NamePart(msgspec.Struct, frozen=True):
    """The name of an entity or of one above it, as a part of the entity's qualified name."""

    key: str
    """Key of the body that holds the name, or the reference with it."""
    depth: int
    """Number of parts of the qualified name that follow this one."""


class ListOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The list of a kind where it differs from the lists of most kinds."""

    limit: int = 1_000
    """The largest `limit` of the list."""
    by_id: tuple[str, ...] = ()
    """Parameters of `EntityKind.filters` that take ids rather than qualified names."""
    names: Mapping[str, NamePart] = MappingProxyType({})
    """Parameters that hold regular expressions -> the name that the expression is about."""


class OwnPaths(msgspec.Struct, frozen=True, kw_only=True):
    """Paths below an entity that read or write one key of its body by itself."""

    put: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """Keys of the body that a PUT to a path of their own replaces -> the keys in the value that
    stay as they are where a request gives nothing for them."""
    deleted: tuple[str, ...] = ()
    """The keys of `put` that a GET of their path shows, and a DELETE removes."""
    added_to: Mapping[str, str] = MappingProxyType({})
    """Path -> key of a list, to which a PUT to the path adds the elements of its own list."""
    caller: str = ""
    """Path below the collection that shows the entity which has the caller's name."""
    offers: str = ""
    """Key by which other entities refer to one of the kind that offers them: `assets/add` and
    `assets/remove` below its name have them do so, or do so no more."""
    texts: tuple[str, ...] = ()
    """Keys of the body that a PUT to a path of their own replaces by its body, which is the text as
    it is and no JSON."""


class Members(msgspec.Struct, frozen=True):
    """The entities of a kind that refer to an entity, which a read of it names if asked."""

    kind: str
    parameter: str
    """Parameter that narrows the list of that kind to the members."""


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """The promise of a kind about another entity, which has at most one such that is live."""

    about: str
    """Key of the entity that it is about, by which it may be asked for."""
    describes: str
    """Key of columns that the entity which it is about must have, if it has any."""
    rules: str
    """Key of rules about all that the entity which it is about says."""
    statuses: tuple[str, ...]
    """Values of `entityStatus`, the default first."""


class Suites(msgspec.Struct, frozen=True, kw_only=True):
    """The groups that an entity is in: its parent, and further ones."""

    key: str
    """Key of references to further groups, which only those may change who may edit the groups,
    too; a group that has a parent takes nobody in by this key. The parameters of
    `ListOptions.by_id` find an entity by the ids of these groups as by its parent's."""
    brings: Callable[[Mapping[str, Any]], ParentToBring | None]
    """Tells from a request the parent that it creates along, where there is none yet."""
