"""Turns what a caller sent into a checked body with its name, parent and references."""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Raw

from domain.aggregate.entity import Entity
from domain.errors import InvalidInput, shown
from domain.event_store.entity_reads import EntityReads
from domain.events import Body, encode
from domain.kinds.bodies.components import Ref, Reference
from domain.kinds.entity_kind import EntityKind
from domain.patches.payload_bounds import check_entity_bytes
from domain.requests.drafts import Draft, expected_name
from domain.requests.new_names import NewNames, with_new_names
from domain.requests.references import (
    check_tags,
    find,
    reference_to,
    resolve_nested,
    resolve_references,
)


class Payload(msgspec.Struct, frozen=True, kw_only=True):
    """A request body, checked and resolved."""

    name: str
    fqn: str
    parent_id: str | None
    body: Body
    """The keys that were given and hold something."""
    emptied: frozenset[str]
    """The keys that were given as null, [] or {}; of use for what exists already."""
    state: Entity | None
    """The entity that it is to change; None when it is to create one."""

    def onto(self, state: Entity) -> Body:
        """The body after a create-or-update: given keys replace, others stay."""
        kept = {key: raw for key, raw in state.body.items() if key not in self.emptied}
        return {**kept, **self.body}


def resolve(
    kind: EntityKind,
    draft: Draft,
    claims: EntityReads,
    parent_bodies: Callable[[str], Body],
    holder: Callable[[str], Entity | None],
) -> Payload:
    """Resolve what a draft refers to; only this part of reading a payload needs the log.

    `parent_bodies` gives the body of an entity by its id, and `holder` the entity, if any, that
    holds a qualified name and that the payload is to change. References and tags which that entity
    has already are not looked up again. Raises InvalidInput or NotFound naming the key, and
    EntityOverLimit.
    """
    parent = None
    if draft.parent is not None:
        key, ref = draft.parent
        parent = find(claims, ref, kind.refers_to[key], key)
    fqn = draft.own_name or kind.qualified_name(parent.fqn if parent else None, draft.name)
    fqn = _settled_name(kind, draft, fqn, claims)
    state = holder(fqn)
    known_references: dict[str, Reference] = {}
    known_tags: frozenset[str] = frozenset()
    if state is not None and _refers(kind, draft):
        known_references, known_tags = _known(kind, state)
    settled: Body = {}
    if parent is not None:
        known_references[parent.id] = own = reference_to(parent)
        settled = _settled(kind, draft, own, parent_bodies, claims)
    if draft.struct is not None:
        draft.struct.name_references(fqn)
    references = resolve_references(claims, kind, draft, settled, known_references)
    check_entity_bytes(resolve_nested(claims, draft, known_references))
    renamed = check_tags(claims, draft.tags, known_tags)
    body = draft.recorded(kind, fqn)
    if renamed:
        body = with_new_names(kind, body, NewNames({}, renamed))
    for key, value in references.items():
        body[key] = encode(value)
    body.update(settled)
    for key in kind.inherits:
        if key not in settled and key not in draft.inherited:
            del body[key]
    check_entity_bytes(sum(map(len, body.values())))
    emptied: frozenset[str] = frozenset()
    if state is not None:
        body.update(_reordered(kind, body, state.body))
        emptied = frozenset(key for key in draft.given if key not in body and key != "name")
    return Payload(
        name=draft.name,
        fqn=fqn,
        parent_id=parent.id if parent else None,
        body=body,
        emptied=emptied,
        state=state,
    )


def _settled_name(kind: EntityKind, draft: Draft, fqn: str, claims: EntityReads) -> str:
    """The qualified name of a draft's entity, which `fqn` is unless it was renamed.

    A draft may call the entity, and its parent, as they were called before. Raises InvalidInput
    where the caller says another qualified name than name and parent make.
    """
    expected = expected_name(kind, draft)
    if draft.fqn not in (None, fqn, expected):
        claim = claims.claim(kind.name, draft.fqn)
        if claim is None or claim.fqn != fqn:
            raise InvalidInput(
                f"fullyQualifiedName is {shown(draft.fqn)}, but name and parent make it {fqn!r}"
            )
    if expected not in (None, fqn):
        former = claims.claim(kind.name, expected)
        if former is not None and former.fqn != expected:
            return former.fqn
    return fqn


def _settled(
    kind: EntityKind,
    draft: Draft,
    parent: Reference,
    parent_bodies: Callable[[str], Body],
    claims: EntityReads,
) -> Body:
    """Key -> value as it is recorded, of the keys that follow from the parent.

    Raises InvalidInput when the caller gave another value than the parent has.
    """
    assert draft.parent is not None
    assert parent.id is not None
    settled: Body = {}
    parent_key = draft.parent[0]
    if not isinstance(draft.references.get(parent_key), list):
        settled[parent_key] = encode(parent)
    if not kind.inherits:
        return settled
    parent_body = parent_bodies(parent.id)
    for key in kind.inherits:
        raw = parent_body.get(key)
        if raw is not None:
            given = draft.inherited.get(key)
            if given is not None:
                _check_agreement(kind, key, given, raw, claims)
            settled[key] = raw
    return settled


def _reordered(kind: EntityKind, body: Body, before: Body) -> Body:
    """The lists as they were of the keys that have the same elements in another order now."""
    return {
        key: before[key]
        for key in kind.unordered
        if body.get(key) != before.get(key)
        and key in body
        and key in before
        and _elements(body[key]) == _elements(before[key])
    }


def _elements(raw: Raw) -> list[bytes]:
    return sorted(map(bytes, msgspec.json.decode(raw, type=list[Raw])))


def _check_agreement(kind: EntityKind, key: str, given: Ref, raw: Raw, claims: EntityReads) -> None:
    """Raise InvalidInput unless a given value is the one that the parent has."""
    if key in kind.refers_to:
        parent = msgspec.json.decode(raw, type=Reference)
        value: Any = parent.fully_qualified_name
        if isinstance(given, Reference) and given.id is not None:
            agrees = given.id == parent.id
        else:
            name = given if isinstance(given, str) else given.fully_qualified_name
            agrees = value == name
            if not agrees and name is not None:
                formers = (claims.claim(each, name) for each in kind.refers_to[key])
                agrees = any(each is not None and each.id == parent.id for each in formers)
    else:
        value = msgspec.json.decode(raw)
        agrees = given == value
    if not agrees:
        raise InvalidInput(f"{key} follows from the parent and is {value!r}; leave it out")


def _refers(kind: EntityKind, draft: Draft) -> bool:
    """Return True if there is any reference or tag, beside those to parents, which never change."""
    return (
        any(
            key not in kind.fixed or isinstance(value, list)
            for key, value in draft.references.items()
        )
        or bool(draft.tags)
        or next(draft.nested_references(), None) is not None
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
