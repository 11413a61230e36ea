"""The columns of a kind of entity: `domain.kinds.registry` has a row for each kind."""

import re
from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
from msgspec.structs import force_setattr

from domain.kinds import names
from domain.kinds.bodies.base import EntityBody, annotated_fields
from domain.kinds.kind_options import (
    Agreement,
    ListOptions,
    Members,
    Naming,
    OwnPaths,
    Suites,
)

RELATIONS = (
    "owners",
    "reviewers",
    "experts",
    "tags",
    "followers",
    "votes",
    "domains",
    "dataProducts",
    "extension",
    "lifeCycle",
    "certification",
    "testSuites",
)
"""Keys that every kind which has them leaves out of lists unless asked."""

FORMER_NAMES = "formerNames"
"""Key of the qualified names that an entity had before it, or something above it, was renamed."""

COMMON_FILTERS: Mapping[str, str] = MappingProxyType(
    {"owner": "owners", "domain": "domains", "tag": "tags", "tier": "tags"}
)
"""List parameters of every kind that has the key of the body behind them."""

_NAMES = {"name": 10.0, "displayName": 10.0, "fullyQualifiedName": 5.0, "description": 2.0}
_RELATED = {"owners.name": 1.0, "tags.tagFQN": 0.5}

_BY_THOSE_ABOVE: Mapping[str, str] = MappingProxyType({})
"""Stands for filters by what is above an entity, until a row of the registry is made."""


class SearchField(msgspec.Struct, frozen=True):
    """A path of the search document that plain text is matched against, and its weight."""

    path: str
    boost: float


class EntityKind(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """All that distinguishes one kind from the others."""

    name: str
    """The name in references and events, such as `databaseSchema`."""
    body: type[EntityBody]
    """The keys a caller may write."""
    collection: str = "{}s"
    """Path of its routes below /v1: `services/databaseServices`; `{}` stands for its name."""
    since: str = "0.2.0"
    """The release that first knew the kind; a new kind names the release to come."""
    own_index: str = ""
    """Name of the kind's search index, where the index is not named after the kind."""
    parents: tuple[str, ...] = ()
    """Keys that may hold the parent, in order of preference; the first present one counts.

    If the key holds a list, its first element is the parent.
    """
    root: bool = False
    """True if an entity of the kind may stand without a parent."""
    inherits: tuple[str, ...] = ()
    """Keys taken from the parent's body where it has them; a caller may repeat them."""
    large: tuple[str, ...] = ()
    """Optional keys that reading a single entity gives without being asked."""
    filters: Mapping[str, str] = _BY_THOSE_ABOVE
    """List parameters that select by an entity referred to: parameter -> key of the body. By
    default the keys of parents and other ancestors name them."""
    columns: str | None = None
    """Key of the columns whose removal or narrowing breaks readers (a major version)."""
    searched: Mapping[str, float] = MappingProxyType({})
    """Paths that plain text is matched against -> weight, beside or instead of the usual ones:
    names, description, owners and tags."""
    search_defaults: Mapping[str, Any] = MappingProxyType({})
    """Values of its search documents where the entity has none, as OpenMetadata's have them."""

    renamable: bool = False
    """True if a patch of `name` may rename an entity of the kind, and with it all that is below.

    The names of other kinds are given by connectors and identity providers, which go on to use
    them.
    """
    attached: bool = False
    """True if it is nothing without the entity that it is attached to, and goes along when that is
    soft-deleted.
    """
    naming: Naming = Naming()
    lists: ListOptions = ListOptions()
    own_paths: OwnPaths = OwnPaths()
    members: Mapping[str, Members] = MappingProxyType({})
    """Fields of single reads that are not recorded, as they follow from what refers to the entity.
    Where a body has a field of this name, a request adds by it what is to refer to the entity."""
    agreement: Agreement | None = None
    suites: Suites | None = None

    def __post_init__(self) -> None:
        force_setattr(self, "collection", self.collection.format(self.name))
        if self.filters is _BY_THOSE_ABOVE:
            above = dict.fromkeys((*reversed(self.parents), *self.inherits))
            force_setattr(self, "filters", {key: key for key in above if key in self.refers_to})

    @cached_property
    def index(self) -> str:
        """Its search index: that of `databaseSchema` is `database_schema_search_index`."""
        return self.own_index or re.sub("([A-Z])", r"_\1", self.name).lower() + "_search_index"

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys of the body that are recorded and shown."""
        left_out = {*annotated_fields(self.body, "unkept"), *annotated_fields(self.body, "apart")}
        return frozenset(key for attribute, key in self.key_of.items() if attribute not in left_out)

    @cached_property
    def apart(self) -> frozenset[str]:
        """Keys of the body that are recorded, and that paths of their own show and change alone."""
        return frozenset(self.key_of[each] for each in annotated_fields(self.body, "apart"))

    @cached_property
    def optional(self) -> tuple[str, ...]:
        """Keys absent from lists unless `fields` names them."""
        judged = ("latestResult", "verdict") if self.agreement else ()
        former = (FORMER_NAMES,) if self.renamable else ()
        return (*(key for key in RELATIONS if key in self.keys), *self.large, *judged, *former)

    @cached_property
    def shown_alone(self) -> tuple[str, ...]:
        """Optional keys that a read of a single entity shows without being asked."""
        return (*self.large, *((FORMER_NAMES,) if self.renamable else ()))

    def spelled(self, fqn: str) -> str:
        """A qualified name as it is recorded: of kinds that stand alone a bare name will do."""
        alone = self.root and not self.parents
        return names.quote(fqn) if alone and not fqn.startswith('"') else fqn

    def qualified_name(self, parent: str | None, name: str) -> str:
        """The qualified name of an entity below the parent that has this one, if there is any."""
        naming = self.naming
        above = names.child(parent, naming.scope) if naming.scope else parent
        last = naming.below if naming.below and parent else naming.prefix + name
        return names.child(above, last)

    @property
    def statuses(self) -> tuple[str, ...]:
        """Values of `entityStatus`, the default first; empty when the kind has none."""
        return self.agreement.statuses if self.agreement else ()

    @property
    def also_in(self) -> tuple[str, ...]:
        """Further keys of references whose ids the filters by id find an entity by."""
        return (self.suites.key,) if self.suites else ()

    @cached_property
    def nests(self) -> bool:
        """True if entities of the kind stand below others of it, or alone, and below no other."""
        above = {self.refers_to[key] for key in self.parents}
        return self.root and above == {(self.name,)}

    @cached_property
    def common_filters(self) -> Mapping[str, str]:
        """The filters of COMMON_FILTERS that the kind has: list parameter -> key of the body."""
        return {name: key for name, key in COMMON_FILTERS.items() if key in self.keys}

    def filter_keys(self, parameter: str) -> tuple[str, ...]:
        """The keys of the references that the list parameter `parameter` selects by.

        These are several for a kind whose entities stand below one of their own kind or directly
        below another: either parent finds them.
        """
        key = self.filters[parameter]
        return self.parents if len(self.parents) > 1 and key == self.parents[0] else (key,)

    @cached_property
    def listed_by(self) -> tuple[str, ...]:
        """Keys of the references that narrow lists of this kind, and not lists of all kinds."""
        own = (key for name, key in self.filters.items() if name not in self.common_filters)
        return (*own, *self.also_in)

    @cached_property
    def list_filters(self) -> Mapping[str, str]:
        """All list parameters that select by an entity referred to, or by a label -> key."""
        return {**self.filters, **self.common_filters}

    @cached_property
    def search(self) -> tuple[SearchField, ...]:
        """Paths that plain text is matched against, with weights."""
        own = {path: weight for path, weight in _RELATED.items() if path.split(".")[0] in self.keys}
        weights = {**_NAMES, **self.searched, **own}
        return tuple(SearchField(path, weight) for path, weight in weights.items())

    @cached_property
    def references(self) -> Mapping[str, tuple[str, ...]]:
        """Attribute of the body -> kinds it may refer to (empty: any)."""
        return annotated_fields(self.body, "refers_to")

    @cached_property
    def refers_to(self) -> Mapping[str, tuple[str, ...]]:
        """Key of the body -> kinds it may refer to (empty: any)."""
        return {self.key_of[attribute]: kinds for attribute, kinds in self.references.items()}

    @cached_property
    def loose(self) -> frozenset[str]:
        """Keys of the body whose references may also lead to what is not held here."""
        return frozenset(
            self.key_of[attribute] for attribute in annotated_fields(self.body, "or_outside")
        )

    @cached_property
    def unordered(self) -> tuple[str, ...]:
        """Keys of the body that hold lists whose order means nothing."""
        return tuple(self.key_of[each] for each in annotated_fields(self.body, "unordered"))

    @cached_property
    def key_of(self) -> Mapping[str, str]:
        """Attribute of the body -> its key in JSON."""
        info = msgspec.structs.fields(self.body)
        return {field.name: field.encode_name for field in info}

    @cached_property
    def attribute_of(self) -> Mapping[str, str]:
        """Key of the body -> its attribute."""
        return {key: attribute for attribute, key in self.key_of.items()}

    @cached_property
    def needed(self) -> frozenset[str]:
        """Keys without which a body is not whole: the name, what is required or holds a parent."""
        fields = msgspec.structs.fields(self.body)
        return frozenset(("name", *(f.encode_name for f in fields if f.required), *self.parents))

    @cached_property
    def arrays(self) -> frozenset[str]:
        """Keys of the body that hold arrays, shown as [] when asked for and empty."""
        hints = get_type_hints(self.body)
        return frozenset(
            self.key_of[attribute]
            for attribute, hint in hints.items()
            if attribute in self.key_of
            and any(get_origin(choice) is list for choice in (hint, *get_args(hint)))
        )

    @cached_property
    def fixed(self) -> frozenset[str]:
        """Keys that cannot change once written, because the qualified name stands on them."""
        return frozenset((*self.parents, *self.inherits, *self.naming.by))
