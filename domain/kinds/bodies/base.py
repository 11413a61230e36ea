"""The payloads that every kind extends, and what annotations of their fields say."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, get_args, get_origin, get_type_hints

from msgspec import Meta, Struct

from domain.kinds.bodies.columns import NamedPart, name_parts, part_tags
from domain.kinds.bodies.components import (
    Certification,
    Extension,
    LifeCycle,
    NestedReference,
    Part,
    Ref,
    TagLabel,
    Votes,
    outsider,
    refers_to,
)
from domain.kinds.bodies.refused_values import alternatives

Owners = Annotated[list[Ref] | None, refers_to("user", "team")]
Users = Annotated[list[Ref] | None, refers_to("user")]
Domains = Annotated[list[Ref] | None, refers_to("domain")]
DataProducts = Annotated[list[Ref] | None, refers_to("dataProduct")]


class ParentToBring(Struct, frozen=True):
    """An entity that one below it creates along, where there is none yet."""

    kind: str
    fqn: str
    values: dict[str, Any]
    """The request that creates it."""


class EntityBody(Part, kw_only=True):
    """The keys that every kind has."""

    unsearched: ClassVar[tuple[str, ...]] = ()
    """Keys that search documents, and what searches show of an entity, do not have."""

    parts: ClassVar[tuple[str, ...]] = ()
    """Keys, or dotted paths, of the columns and other named parts on which people write."""

    name: str
    display_name: str | None = None
    description: str | None = None

    def tag_labels(self) -> Iterator[TagLabel]:
        """Every tag label in the payload, at whatever depth the kind holds them."""
        yield from getattr(self, "tags", None) or ()
        certification: Certification | None = getattr(self, "certification", None)
        if certification is not None:
            yield certification.tag_label
        for holder, parts in self.part_lists():
            if holder is not self:
                yield from getattr(holder, "tags", None) or ()
            yield from part_tags(parts)

    def part_lists(self) -> Iterator[tuple[Part, Sequence[NamedPart]]]:
        """The lists of named parts, each with the object that has it: the payload or one in it."""
        for key, attribute in part_fields(type(self)):
            holder: Part | None = getattr(self, key) if key else self
            if holder is not None:
                yield holder, getattr(holder, attribute) or ()

    def nested_references(self) -> Iterator[NestedReference]:
        """The references below the top level of the payload; the catalog resolves them in place."""
        votes: Votes | None = getattr(self, "votes", None)
        if votes is not None:
            yield from votes.references()
        life_cycle: LifeCycle | None = getattr(self, "life_cycle", None)
        if life_cycle is not None:
            yield from life_cycle.references()

    def name_references(self, fqn: str) -> None:
        """Give references by a bare name the qualified names that follow from the entity's own."""

    def name_parts(self, fqn: str) -> None:
        """Give the named parts their qualified names, which begin with the entity's own."""
        for _, parts in self.part_lists():
            name_parts(parts, fqn)

    def own_name(self) -> str | None:
        """The qualified name, of kinds where it does not follow from the names of parent and
        entity."""
        return None

    def check(self) -> None:
        """Raise InvalidInput for what may not be written, though what is stored may have it."""

    def complete(self, fqn: str) -> None:
        """Bring the payload into the form that is recorded; a second call changes nothing.

        `fqn` is the qualified name of the entity, from which the names of its parts follow.
        """
        self.name_references(fqn)
        for attribute in annotated_fields(type(self), "unkept"):
            setattr(self, attribute, None)
        for attribute, kind in annotated_fields(type(self), "outside").items():
            given = getattr(self, attribute)
            if isinstance(given, list):
                setattr(self, attribute, [outsider(each, kind) for each in given])
            elif given is not None:
                setattr(self, attribute, outsider(given, kind))
        self.name_parts(fqn)


class Owned(EntityBody, kw_only=True):
    """The keys of what has owners and lies in domains."""

    owners: Owners = None
    domains: Domains = None


class Tagged(Owned, kw_only=True):
    """The keys of what also has tags and belongs to data products."""

    tags: list[TagLabel] | None = None
    data_products: DataProducts = None


class Asset(Tagged, kw_only=True):
    """The keys of everything that a service holds."""

    service_type: str | None = None
    followers: Users = None
    votes: Votes | None = None
    extension: Extension | None = None
    life_cycle: LifeCycle | None = None
    certification: Certification | None = None
    source_hash: Annotated[str, Meta(min_length=1, max_length=32)] | None = None


@cache
def part_fields(body: type[Part], inside: str = "") -> tuple[tuple[str, str], ...]:
    """The attributes of `body`, and of the objects right inside it, that hold lists of named parts.

    Each comes after the attribute of the object that has it, which is empty for `body` itself.
    """
    fields: list[tuple[str, str]] = []
    for attribute, hint in get_type_hints(body).items():
        for each in alternatives(hint):
            if get_origin(each) is list and isinstance(get_args(each)[0], type):
                if issubclass(get_args(each)[0], NamedPart):
                    fields.append((inside, attribute))
            elif not inside and isinstance(each, type) and issubclass(each, Part):
                fields += part_fields(each, attribute)
    return tuple(fields)


@cache
def annotated_fields(body: type[EntityBody], key: str) -> Mapping[str, Any]:
    """Attribute -> what its annotation says under a key, for each field of `body` with the key.

    `refers_to` has the kinds that the field may refer to (empty: any), `outside` a kind that is not
    kept here, `or_outside` is there where the field may also refer to what is not held here,
    `unordered` where it holds a list whose order means nothing, `unkept` where it is not recorded,
    and `apart` where paths of its own alone show and change it.
    """
    return MappingProxyType(
        {
            attribute: meta.extra[key]
            for attribute, hint in get_type_hints(body, include_extras=True).items()
            for meta in getattr(hint, "__metadata__", ())
            if isinstance(meta, Meta) and meta.extra and key in meta.extra
        }
    )
