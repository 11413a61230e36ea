"""The columns of a kind of entity: `domain.kinds.registry` has a row for each kind."""

from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, get_args, get_origin, get_type_hints

import msgspec

from domain.kinds import names
from domain.kinds.bodies.base import EntityBody, ParentToBring, loose_fields, reference_fields

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

COMMON_FILTERS: Mapping[str, str] = MappingProxyType(
    {"owner": "owners", "domain": "domains", "tag": "tags", "tier": "tags"}
)
"""List parameters of every kind that has the key of the body behind them."""

_NAMES = {"name": 10.0, "displayName": 10.0, "fullyQualifiedName": 5.0, "description": 2.0}
_RELATED = {"owners.name": 1.0, "tags.tagFQN": 0.5}


class SearchField(msgspec.Struct, frozen=True):
    """A path of the search document that plain text is matched against, and its weight."""

    path: str
    boost: float


class NamePart(msgspec.Struct, frozen=True):
    """The name of an entity or of one above it, as a part of the entity's qualified name."""

    key: str
    """Key of the body that holds the name, or the reference with it."""
    depth: int
    """How many parts of the qualified name follow this one."""


class EntityKind(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """All that distinguishes one kind from the others."""

    name: str
    """As it stands in references and events: `databaseSchema`."""
    collection: str
    """Path of its routes below /v1: `services/databaseServices`."""
    body: type[EntityBody]
    """The keys a caller may write."""
    index: str
    """Its search index."""
    parents: tuple[str, ...] = ()
    """Keys that may hold the parent, in order of preference; the first present one counts.

    Of a key that holds a list, its first element is the parent.
    """
    root: bool = False
    """Whether it may stand without a parent."""
    inherits: tuple[str, ...] = ()
    """Keys taken from the parent's body where it has them; a caller may repeat them."""
    name_prefix: str = ""
    """Put before the name in the last part of the qualified name."""
    name_scope: str = ""
    """A part of the qualified name between the parent's and the last part, which sets entities of
    this kind apart from others below the same parent."""
    name_below: str = ""
    """The last part of the qualified name of an entity that has a parent, whatever its name is: a
    parent has one entity of this kind."""
    named_by: tuple[str, ...] = ()
    """Keys beside those of the parent on which the qualified name stands."""
    goes_along: bool = False
    """Whether a soft delete of its parent takes it along without being asked to."""
    shows_below: Mapping[str, str] = MappingProxyType({})
    """Properties that reading a single entity adds when asked -> the kind of the one entity below
    it (see `name_below`) that the property refers to."""
    brings_parent: Callable[[Mapping[str, Any]], ParentToBring | None] | None = None
    """Tells from a request the parent that it creates along, where there is none yet."""
    statuses: tuple[str, ...] = ()
    """Values of `entityStatus`, the default first; empty when the kind has none."""
    large: tuple[str, ...] = ()
    """Optional keys that reading a single entity gives without being asked."""
    field_aliases: Mapping[str, str] = MappingProxyType({})
    """Other spellings accepted in `fields`: alias -> key."""
    filters: Mapping[str, str] = MappingProxyType({})
    """List parameters that select by an entity referred to: parameter -> key of the body."""
    attached_by: str | None = None
    """Key of the entity that this one is attached to, by which it may be asked for."""
    describes: str | None = None
    """Key of columns that the entity which this one is attached to must have, if it has any."""
    filters_by_id: tuple[str, ...] = ()
    """List parameters of `filters` that take ids rather than qualified names."""
    also_in: tuple[str, ...] = ()
    """Keys of further references by whose ids the parameters of `filters_by_id` find an entity."""
    name_filters: Mapping[str, NamePart] = MappingProxyType({})
    """List parameters that hold regular expressions: parameter -> the name that it is about."""
    list_limit: int = 1_000
    """The largest `limit` of its list."""
    put_alone: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """Keys of the body that a PUT to a path of their own replaces -> the keys in the value that
    stay as they are where a request gives nothing for them."""
    put_into: Mapping[str, str] = MappingProxyType({})
    """Paths below an entity, a PUT to which adds what its list has -> the key of the list."""
    deleted_alone: tuple[str, ...] = ()
    """Those of the keys of `put_alone` that a GET of their path shows and a DELETE removes."""
    groups: str | None = None
    """Key of references to groups that an entity is in, which only those may change who may edit
    the groups, too; a group that has a parent takes nobody in by this key."""
    profiled: str | None = None
    """Key of what a profiler is to measure, which may name columns that the entity has."""
    columns: str | None = None
    """Key of the columns whose removal or narrowing breaks readers (a major version)."""
    searched: Mapping[str, float] = MappingProxyType({})
    """Paths that plain text is matched against -> weight, beside or instead of the usual ones:
    names, description, owners and tags."""

    search_defaults: Mapping[str, Any] = MappingProxyType({})
    """What its search documents hold where the entity holds nothing, as OpenMetadata's do."""

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys of the body that are recorded."""
        return frozenset(
            key for attribute, key in self.key_of.items() if attribute not in self.body.unkept
        )

    @cached_property
    def optional(self) -> tuple[str, ...]:
        """Keys absent from lists unless `fields` names them."""
        return (*(key for key in RELATIONS if key in self.keys), *self.large)

    def spelled(self, fqn: str) -> str:
        """A qualified name as it is recorded: of kinds that stand alone a bare name will do."""
        alone = self.root and not self.parents
        return names.quote(fqn) if alone and not fqn.startswith('"') else fqn

    def qualified_name(self, parent: str | None, name: str) -> str:
        """The qualified name of an entity below the parent that has this one, if there is any."""
        above = names.child(parent, self.name_scope) if self.name_scope else parent
        last = self.name_below if self.name_below and parent else self.name_prefix + name
        return names.child(above, last)

    @cached_property
    def common_filters(self) -> Mapping[str, str]:
        """Those of COMMON_FILTERS that the kind has: list parameter -> key of the body."""
        return {name: key for name, key in COMMON_FILTERS.items() if key in self.keys}

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
        return reference_fields(self.body)

    @cached_property
    def refers_to(self) -> Mapping[str, tuple[str, ...]]:
        """Key of the body -> kinds it may refer to (empty: any)."""
        return {self.key_of[attribute]: kinds for attribute, kinds in self.references.items()}

    @cached_property
    def loose(self) -> frozenset[str]:
        """Keys of the body whose references may also lead to what is not held here."""
        return frozenset(self.key_of[attribute] for attribute in loose_fields(self.body))

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
        return frozenset((*self.parents, *self.inherits, *self.named_by))
