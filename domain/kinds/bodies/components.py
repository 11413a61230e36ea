"""Elements of payloads: references, tag labels and the small objects that kinds share."""

from collections.abc import Iterator, Mapping
from datetime import date, datetime
from typing import Annotated, Any, Literal
from uuid import UUID, uuid5

from msgspec import Meta, Struct, field

from domain.errors import InvalidInput, shown
from domain.kinds.bodies.enumerations import LabelState, LabelType, TagSource
from domain.kinds.ids import parse_id
from domain.kinds.names import quote, split

Url = Annotated[str, Meta(pattern=r"^[A-Za-z][A-Za-z0-9+.-]*:\S+$")]
"""An absolute address; OpenMetadata's client refuses relative ones."""
MAX_INTEGER = 2**63 - 1
Integer = Annotated[int, Meta(ge=-MAX_INTEGER - 1, le=MAX_INTEGER)]
"""A whole number of 64 bits, as databases and other programs have it."""
Share = Annotated[float, Meta(ge=0, le=1)]
"""A part of a whole, from 0 to 1."""
Percent = Annotated[float, Meta(ge=0, le=100)]
Email = Annotated[str, Meta(pattern=r"^[^\s@]+@[^\s@]+\.[^\s@]+$", min_length=6, max_length=127)]
"""A mail address."""

_OUTSIDERS = UUID("7c1f8a52-6c0b-5d0e-9a4e-0f2a6b1d3c47")
"""Namespace of the ids that are derived from names; never change it, ids are recorded."""


class Identified(Struct):
    """An entity, or a reference to one, of which the id alone is read."""

    id: str


class Part(Struct, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """An object inside a payload; an unknown key is an error that names it."""


class Reference(Part, kw_only=True):
    """Another entity: by `id`, or by `fullyQualifiedName`, with its kind in `type`.

    The remaining keys are what OpenMetadata's own references carry; they are accepted so that
    a reference read from the API can be written back, and recorded afresh from the claim.
    """

    type: str | None = None
    id: str | None = None
    fully_qualified_name: str | None = None
    name: str | None = None
    display_name: str | None = None
    description: str | None = None
    deleted: bool | None = None
    inherited: bool | None = None
    href: Url | None = None


Ref = Reference | str
"""A reference as callers write it: an object, or a bare qualified name."""


def refers_to(*kinds: str, or_outside: bool = False) -> Meta:
    """Annotate a field that refers to one entity or more of `kinds` (none: of any kind).

    With `or_outside`, given with one kind, the field may also name what nobody has written here.
    """
    return Meta(extra={"refers_to": kinds, **({"or_outside": True} if or_outside else {})})


def outside(kind: str) -> Meta:
    """Annotate a field that refers to one thing or more of a kind that is not kept here."""
    return Meta(extra={"outside": kind})


UNORDERED = Meta(extra={"unordered": True})
"""Annotates a field that holds a list whose order means nothing."""
UNKEPT = Meta(extra={"unkept": True})
"""Annotates a field that OpenMetadata's client sends and that is not recorded, such as a secret."""
APART = Meta(extra={"apart": True})
"""Annotates a field that paths of its own write and read: no other way shows or changes it."""


def as_reference(given: Ref, kind: str) -> Reference:
    """`given` as an object; a bare text that is a UUID is an id, any other a qualified name."""
    if not isinstance(given, str):
        return given
    try:
        return Reference(type=kind, id=parse_id(given, "id"))
    except InvalidInput:
        return Reference(type=kind, fully_qualified_name=given)


def outsider(given: Ref, kind: str) -> Reference:
    """A reference to something not kept here, with the id and type that clients insist on.

    The id is derived from the qualified name, so that equal names stay equal references.
    Raises InvalidInput for a reference that names nothing, or has another type.
    """
    reference = as_reference(given, kind)
    if reference.type not in (None, kind):
        raise InvalidInput(f"a reference to a {kind} has the type {shown(reference.type)}")
    reference.type = kind
    if reference.fully_qualified_name is None and reference.name:
        reference.fully_qualified_name = quote(reference.name)
    fqn = reference.fully_qualified_name
    if reference.id is not None:
        reference.id = parse_id(reference.id, f"id of a {kind}")
    elif fqn is not None:
        reference.id = str(uuid5(_OUTSIDERS, f"{kind}:{fqn}"))
    else:
        raise InvalidInput(f"a reference to a {kind} needs an id, a fullyQualifiedName or a name")
    if fqn is not None and reference.name is None:
        reference.name = split(fqn)[-1]
    return reference


NestedReference = tuple[Reference, tuple[str, ...]]
"""A reference below the top level of a payload, and the kinds it may refer to (empty: any)."""


def to_people(references: list[Reference] | None) -> Iterator[NestedReference]:
    """The references of a field, each to a user or a team."""
    for reference in references or ():
        yield reference, ("user", "team")


class CoverImage(Part, kw_only=True):
    """The picture at the head of a page."""

    url: str | None = None
    position: str | None = None


class Style(Part, kw_only=True):
    """The looks of an entity: its colour and icon."""

    color: str | None = None
    icon_url: str | None = field(default=None, name="iconURL")
    cover_image: CoverImage | None = None


class PatternMatch(Part, kw_only=True):
    """A pattern by which a recognizer found what it labels."""

    name: str
    score: Share
    regex: str | None = None


class LabelRecognizer(Part, kw_only=True):
    """The recognizer that attached a label by itself."""

    recognizer_id: str
    recognizer_name: str
    score: Share
    target: Literal["content", "column_name"] | None = None
    patterns: list[PatternMatch] | None = None


class LabelMetadata(Part, kw_only=True):
    """The source of a label and the time that it lasts."""

    recognizer: LabelRecognizer | None = None
    expiry_date: Integer | None = None


class TagLabel(Part, kw_only=True):
    """A tag or glossary term attached to something.

    Three defaults come from factories: plain defaults would be left out of what is recorded.
    """

    tag_fqn: str = field(name="tagFQN")
    source: TagSource = field(default_factory=lambda: "Classification")
    label_type: LabelType = field(default_factory=lambda: "Manual")
    state: LabelState = field(default_factory=lambda: "Confirmed")
    name: str | None = None
    display_name: str | None = None
    description: str | None = None
    style: Style | None = None
    href: Url | None = None
    reason: str | None = None
    applied_at: datetime | None = None
    applied_by: str | None = None
    metadata: LabelMetadata | None = None


TAG_SOURCES: Mapping[str, str] = {"tag": "Classification", "glossaryTerm": "Glossary"}
"""Kind of what a label names -> the source in the label."""
TAG_KINDS: Mapping[str, str] = {source: kind for kind, source in TAG_SOURCES.items()}
"""Source in a label -> kind of what the label names."""


class Certification(Part, kw_only=True):
    """A label that vouches for an asset until a day."""

    tag_label: TagLabel
    applied_date: Integer
    expiry_date: Integer


class Votes(Part, kw_only=True):
    """Votes of users on an entity."""

    up_votes: Integer | None = None
    down_votes: Integer | None = None
    up_voters: list[Reference] | None = None
    down_voters: list[Reference] | None = None

    def references(self) -> Iterator[NestedReference]:
        """References to the users who voted."""
        for reference in (*(self.up_voters or ()), *(self.down_voters or ())):
            yield reference, ("user",)


class Access(Part, kw_only=True):
    """The last touch of the data: its time, and who or what it was."""

    timestamp: Integer
    accessed_by: Reference | None = None
    accessed_by_a_process: str | None = None


class LifeCycle(Part, kw_only=True):
    """The last times the data of an asset was created, updated and read."""

    created: Access | None = None
    updated: Access | None = None
    accessed: Access | None = None

    def references(self) -> Iterator[NestedReference]:
        """References to those who created, updated and read the data."""
        for access in (self.created, self.updated, self.accessed):
            if access is not None and access.accessed_by is not None:
                yield access.accessed_by, ()


class UsageStats(Part, kw_only=True):
    """Use of something by number, and its rank among its like."""

    count: Annotated[int, Meta(ge=0, le=MAX_INTEGER)]
    percentile_rank: Percent | None = None


class UsageSummary(Part, kw_only=True):
    """Use of an asset over the day, week and month that end with `date`."""

    daily_stats: UsageStats
    date: date
    weekly_stats: UsageStats | None = None
    monthly_stats: UsageStats | None = None


Extension = dict[str, Any]
"""Custom properties: whatever the organisation defines."""
