"""Turns what a caller sent into a checked body with its name, parent and references."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from domain import commands, names
from domain.bodies.base import EntityBody
from domain.bodies.components import Reference
from domain.entity import STATUS, Entity
from domain.errors import InvalidInput
from domain.event_store.port import Claim
from domain.events import Body
from domain.kinds import EntityKind
from domain.openmetadata.request_aliases import REQUEST_ALIASES, unalias
from domain.payload_bounds import check_bounds, check_entity_bytes
from domain.references import ClaimLookup, check_tags, find, reference_to, resolve
from domain.write_context import WriteContext

_EMPTY = frozenset((b"null", b"[]", b"{}"))
_LONGEST_EMPTY = 4
_decode = msgspec.json.Decoder(dict[str, Raw]).decode


ParentBodies = Callable[[str], Body]
"""The body of an entity by id."""

Holder = Callable[[str], Entity | None]
"""The entity, if any, that holds a qualified name and that the payload is to change."""


class Payload(msgspec.Struct, frozen=True, kw_only=True):
    """A request body, checked and resolved."""

    name: str
    fqn: str
    parent_id: str | None
    body: Body
    """The keys that were given and hold something."""
    emptied: frozenset[str]
    """The keys that were given as null, [] or {}."""
    state: Entity | None
    """The entity that it is to change; None when it is to create one."""

    def onto(self, state: Entity) -> Body:
        """The body after a create-or-update: given keys replace, others stay."""
        kept = {key: raw for key, raw in state.body.items() if key not in self.emptied}
        return {**kept, **self.body}

    def creation(self, kind: EntityKind, context: WriteContext, at: int) -> commands.CreateEntity:
        """The command that creates what the payload describes, at a time in milliseconds."""
        return commands.CreateEntity(
            actor=context.actor,
            at=at,
            request_id=context.request_id,
            kind=kind.name,
            name=self.name,
            fqn=self.fqn,
            parent_id=self.parent_id,
            body=self.body,
        )


def read(
    kind: EntityKind,
    values: Mapping[str, Any],
    claims: ClaimLookup,
    parent_bodies: ParentBodies,
    holder: Holder,
    changed: Collection[str] | None = None,
) -> Payload:
    """Check a decoded request body against its kind and resolve what it refers to.

    References and tags which the entity of `holder` has already are not looked up again. Where
    only the keys in `changed` may differ from what that entity has, the others count for the
    bounds and are left out of the payload, but for those that the kind needs.
    Raises InvalidInput or NotFound naming the key, and EntityOverLimit.
    """
    values = unalias(dict(values))
    check_bounds(values)
    if changed is not None:
        wanted = kind.needed.union(REQUEST_ALIASES.get(key, key) for key in changed)
        values = {key: value for key, value in values.items() if key in wanted}
    struct = _convert(kind, values)
    names.check_name(struct.name)
    claims.look_ahead(kind, struct)
    parent = _parent(kind, struct, claims)
    fqn = names.child(parent.fqn if parent else None, kind.name_prefix + struct.name)
    state = holder(fqn)
    known_references: dict[str, Reference] = {}
    known_tags: frozenset[str] = frozenset()
    if state is not None and _refers(kind, struct):
        known_references, known_tags = _known(kind, state)
    if parent is not None:
        known_references[parent.id] = reference_to(parent)
        if kind.inherits:
            known_references |= _inherit(kind, struct, parent_bodies(parent.id))
    check_entity_bytes(resolve(claims, kind, struct, known_references))
    check_tags(claims, struct.tag_labels(), known_tags)
    struct.complete(fqn)
    body = _recorded(struct)
    emptied = values.keys() - body.keys() - {"name"}
    return Payload(
        name=struct.name,
        fqn=fqn,
        parent_id=parent.id if parent else None,
        body=body,
        emptied=frozenset(emptied),
        state=state,
    )


def _recorded(struct: EntityBody) -> Body:
    """The keys of a payload that hold something, as an event records them.

    Raises EntityOverLimit.
    """
    body = {
        key: value
        for key, value in _decode(msgspec.json.encode(struct)).items()
        if key != "name" and (len(value) > _LONGEST_EMPTY or bytes(value) not in _EMPTY)
    }
    check_entity_bytes(sum(map(len, body.values())))
    return body


def _convert(kind: EntityKind, values: Mapping[str, Any]) -> EntityBody:
    """The Struct of a decoded body; raises InvalidInput naming the key that does not fit."""
    try:
        struct = msgspec.convert(values, type=kind.body)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"{kind.name}: {error}") from None
    status = values.get(STATUS)
    if kind.statuses and status is not None and status not in kind.statuses:
        raise InvalidInput(
            f"{STATUS} must be one of {', '.join(kind.statuses)}, got {str(status)[:64]!r}"
        )
    return struct


def _parent(kind: EntityKind, struct: EntityBody, claims: ClaimLookup) -> Claim | None:
    """The entity under whose name this one stands; of several in a list, the first.

    A parent given alone is resolved in place on the way.
    """
    for key in kind.parents:
        attribute = kind.attribute_of[key]
        value = getattr(struct, attribute)
        ref = next(iter(value), None) if isinstance(value, list) else value
        if ref is not None:
            parent = find(claims, ref, kind.references[attribute], key)
            if value is ref:
                setattr(struct, attribute, reference_to(parent))
            return parent
    if kind.parents and not kind.root:
        raise InvalidInput(f"{kind.name}: needs its parent in {' or '.join(kind.parents)}")
    return None


def _inherit(kind: EntityKind, struct: EntityBody, parent_body: Body) -> dict[str, Reference]:
    """Set the keys that come from the parent; returns the references among them by id.

    Raises InvalidInput when the caller gave another value.
    """
    inherited: dict[str, Reference] = {}
    for key in kind.inherits:
        if key not in parent_body:
            continue
        attribute = kind.attribute_of[key]
        given = getattr(struct, attribute)
        if attribute in kind.references:
            value: Any = msgspec.json.decode(parent_body[key], type=Reference)
            inherited[value.id] = value
            agrees = given is None or _means(given, value)
        else:
            value = msgspec.json.decode(parent_body[key])
            agrees = given in (None, value)
        if not agrees:
            shown = getattr(value, "fully_qualified_name", value)
            raise InvalidInput(f"{key} follows from the parent and is {shown!r}; leave it out")
        setattr(struct, attribute, value)
    return inherited


def _means(given: Reference | str, value: Reference) -> bool:
    """Whether a caller's reference names the entity that `value` refers to."""
    if isinstance(given, str):
        return given == value.fully_qualified_name
    if given.id is not None:
        return given.id == value.id
    return given.fully_qualified_name == value.fully_qualified_name


def _refers(kind: EntityKind, struct: EntityBody) -> bool:
    """Whether there is any reference or tag, beside those to parents, which never change."""
    values = ((kind.key_of[each], getattr(struct, each)) for each in kind.references)
    return (
        any(value and (key not in kind.fixed or isinstance(value, list)) for key, value in values)
        or next(iter(struct.tag_labels()), None) is not None
        or next(iter(struct.nested_references()), None) is not None
    )


def _known(kind: EntityKind, state: Entity) -> tuple[dict[str, Reference], frozenset[str]]:
    """The references, by id, and the tags that an entity has already."""
    body = {**state.body, "name": Raw(msgspec.json.encode(state.name))}
    struct = msgspec.json.decode(msgspec.json.encode(body), type=kind.body)
    references: dict[str, Reference] = {}
    for attribute in kind.references:
        value = getattr(struct, attribute) or ()
        for reference in value if isinstance(value, list) else (value,):
            if isinstance(reference, Reference) and reference.id:
                references[reference.id] = reference
    references.update((nested.id, nested) for nested, _ in struct.nested_references() if nested.id)
    return references, frozenset(label.tag_fqn for label in struct.tag_labels())
