"""Drafts: request bodies checked as far as that goes without asking the log.

A draft can be made where there is no log, by a process that only reads lines, and be sent to
where it is resolved (`domain.requests.payloads`). The rules are the same, wherever a draft is made.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from domain.aggregate.entity import STATUS
from domain.errors import InvalidInput
from domain.events import Body, values_by_key
from domain.kinds import names
from domain.kinds.bodies.base import EntityBody, ParentToBring
from domain.kinds.bodies.components import TAG_KINDS, NestedReference, Ref
from domain.kinds.bodies.refused_values import converted
from domain.kinds.entity_kind import EntityKind
from domain.openmetadata.entity_properties import REQUEST_ALIASES, unalias
from domain.patches.json_input import MAX_VALUES
from domain.patches.payload_bounds import MAX_PATHS, check_bounds

MAX_MEMBERS = 1_000
"""The most entities that one request may have refer to its entity (`EntityKind.members`)."""
_EMPTY = frozenset((b"null", b"[]", b"{}"))
_LONGEST_EMPTY = 4
_encode = msgspec.json.Encoder().encode


class Draft(msgspec.Struct, kw_only=True, array_like=True):
    """A request body of a kind, checked as far as that goes without the log."""

    kind: str
    name: str
    parent: tuple[str, Ref] | None
    """The key that holds the parent, and the reference to it."""
    references: dict[str, Ref | list[Ref]]
    """Key -> references to other entities, as the caller wrote them, where there are any."""
    inherited: dict[str, Ref]
    """Key -> value, of the given ones that have to agree with the parent's."""
    tags: list[tuple[str, str]]
    """Kind and qualified name of each tag and term on the entity and its parts, once each."""
    given: list[str]
    """The keys that were given."""
    fqn: str | None = None
    """The qualified name that the caller says the entity has, if any."""
    own_name: str | None = None
    """The qualified name, where it does not follow from the names of parent and entity."""
    brings: ParentToBring | None = None
    """The parent that the entity creates along, where there is none yet."""
    id: str | None = None
    """The id that the caller wants for the entity if it is new; None when any will do."""
    members: dict[str, list[Ref]] = {}
    """Field of `EntityKind.members` -> the entities that are to refer to this one."""
    struct: EntityBody | None
    """The body; None in a draft that another process has made, which sends `completed`."""
    completed: bytes = b""
    """JSON of the body in the form that is recorded, but for references and empty keys."""

    def nested_references(self) -> Iterator[NestedReference]:
        """The references below the top level of the body, to be resolved in place."""
        # A draft from another process has none: `sent` returns None for drafts with some.
        return iter(()) if self.struct is None else self.struct.nested_references()

    def recorded(self, kind: EntityKind, fqn: str) -> Body:
        """The keys that hold something in the form that is recorded, but for top-level references.

        Top-level references stay as they were given. A key that may come from the parent has its
        place in any case. Raises InvalidInput, and EntityOverLimit.
        """
        completed = self.completed if self.struct is None else _completed(kind, self.struct, fqn)
        return {
            key: value
            for key, value in values_by_key(completed).items()
            if (len(value) > _LONGEST_EMPTY or bytes(value) not in _EMPTY) and key != "name"
        }


def draft(
    kind: EntityKind,
    values: Mapping[str, Any],
    changed: Collection[str] | None = None,
    *,
    most_values: int = MAX_VALUES,
) -> Draft:
    """The draft of a decoded request body.

    Where only the keys in `changed` are of interest, the others count for the bounds and are left
    out of the draft, but for those that the kind needs. `most_values` is given for a body which
    `json_input` has decoded and which has no more values than that: small bodies are within the
    bounds. Raises InvalidInput naming the key.
    """
    brings = None
    if kind.suites is not None and changed is None:
        brings = kind.suites.brings(values)
    plain = unalias(values)
    if most_values > MAX_PATHS or plain is not values:
        check_bounds(plain)
    values = plain
    if changed is not None:
        wanted = kind.needed.union(REQUEST_ALIASES.get(key, key) for key in changed)
        values = {key: value for key, value in values.items() if key in wanted}
    struct = _convert(kind, values)
    struct.check()
    names.check_name(struct.name)
    return Draft(
        kind=kind.name,
        name=struct.name,
        parent=_parent(kind, struct),
        references={
            kind.key_of[attribute]: value
            for attribute in kind.references
            if (value := getattr(struct, attribute)) not in (None, [])
        },
        inherited={
            key: value
            for key in kind.inherits
            if (value := getattr(struct, kind.attribute_of[key])) is not None
        },
        tags=list(
            {(TAG_KINDS[label.source], label.tag_fqn): None for label in struct.tag_labels()}
        ),
        given=list(values),
        own_name=struct.own_name(),
        brings=brings,
        members=_members(kind, struct),
        struct=struct,
    )


def _members(kind: EntityKind, struct: EntityBody) -> dict[str, list[Ref]]:
    """The entities that are to refer to this one; raises InvalidInput for too many."""
    members = {
        field: given
        for field in kind.members
        if (given := getattr(struct, kind.attribute_of.get(field, field), None))
    }
    if (count := sum(map(len, members.values()))) > MAX_MEMBERS:
        named = " and ".join(members)
        raise InvalidInput(f"{named} of a request may have {MAX_MEMBERS} elements, got {count}")
    return members


def sent(kind: EntityKind, made: Draft) -> Draft | None:
    """The draft as it is sent to another process, where the body is JSON already.

    None when what is recorded depends on the log: on an entity referred to from inside the body,
    or on a parent that is not given by name. None, too, when the body cannot be recorded: the
    reason counts only if all references lead somewhere.
    """
    fqn = made.fqn if made.fqn is not None else expected_name(kind, made)
    if fqn is None or made.struct is None or next(made.nested_references(), None) is not None:
        return None
    try:
        completed = _completed(kind, made.struct, fqn)
    except InvalidInput:
        return None
    return replace(made, fqn=fqn, struct=None, completed=completed)


def _completed(kind: EntityKind, struct: EntityBody, fqn: str) -> bytes:
    """The JSON of a body in the form that is recorded, but for top-level references."""
    struct.complete(fqn)
    for key in kind.inherits:
        attribute = kind.attribute_of[key]
        if getattr(struct, attribute) is None:
            # A key of None would be left out, and would come last when it is set later.
            setattr(struct, attribute, "")
    return _encode(struct)


def expected_name(kind: EntityKind, made: Draft) -> str | None:
    """The qualified name by the name of the parent; None when the parent is not given by name."""
    if made.own_name is not None:
        return made.own_name
    above = None
    if made.parent is not None:
        ref = made.parent[1]
        if not isinstance(ref, str):
            if ref.id is not None or ref.fully_qualified_name is None:
                return None
            ref = ref.fully_qualified_name
        above = ref
    return kind.qualified_name(above, made.name)


def _convert(kind: EntityKind, values: Mapping[str, Any]) -> EntityBody:
    """The Struct of a decoded body; raises InvalidInput naming the key that does not fit."""
    struct = converted(values, kind.body, kind.name)
    status = values.get(STATUS)
    if kind.statuses and status is not None and status not in kind.statuses:
        raise InvalidInput(
            f"{STATUS} must be one of {', '.join(kind.statuses)}, got {str(status)[:64]!r}"
        )
    return struct


def _parent(kind: EntityKind, struct: EntityBody) -> tuple[str, Ref] | None:
    """The reference to the entity under whose name this one stands; of several, the first."""
    for key in kind.parents:
        value = getattr(struct, kind.attribute_of[key])
        ref = next(iter(value), None) if isinstance(value, list) else value
        if ref is not None:
            return key, ref
    if kind.parents and not kind.root:
        raise InvalidInput(f"{kind.name}: needs its parent in {' or '.join(kind.parents)}")
    return None
