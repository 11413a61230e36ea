"""Resolves what a payload refers to, by name or id, to the entities that hold those names."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from domain.bodies.base import EntityBody
from domain.bodies.components import Ref, Reference, TagLabel
from domain.errors import InvalidInput, NotFound, shown
from domain.event_store.port import Claim
from domain.ids import parse_id
from domain.kinds import EntityKind

_TAG_KINDS = {"Classification": "tag", "Glossary": "glossaryTerm"}


class Claims(Protocol):
    """Where names are looked up: the event store, or a batch on its way into it."""

    def claim(self, kind: str, fqn: str) -> Claim | None:
        """Who holds a qualified name."""

    def claim_by_id(self, entity_id: str) -> Claim | None:
        """What name an entity holds."""


class AskedOnce:
    """Claims as they were when first asked for: a payload may name one thing 100,000 times."""

    def __init__(self, claims: Claims) -> None:
        self._claims = claims
        self._known: dict[tuple[str, str] | str, Claim | None] = {}

    def claim(self, kind: str, fqn: str) -> Claim | None:
        """Who holds a qualified name."""
        key = kind, fqn
        if key not in self._known:
            self._known[key] = self._claims.claim(kind, fqn)
        return self._known[key]

    def claim_by_id(self, entity_id: str) -> Claim | None:
        """What name an entity holds."""
        if entity_id not in self._known:
            self._known[entity_id] = self._claims.claim_by_id(entity_id)
        return self._known[entity_id]


def reference_to(claim: Claim) -> Reference:
    """A reference as it is recorded and shown."""
    return Reference(type=claim.kind, id=claim.id, name=claim.name, fully_qualified_name=claim.fqn)


def find(claims: Claims, ref: Ref, kinds: tuple[str, ...], where: str) -> Claim:
    """The live entity that `ref`, at key `where`, refers to; no `kinds` means any kind.

    Raises InvalidInput when the reference is not one, NotFound when nothing live has that
    name or id.
    """
    claim, sought = _look_up(claims, ref, kinds, where)
    if claim is None or claim.deleted or (kinds and claim.kind not in kinds):
        raise NotFound(f"{where}: {' or '.join(kinds) or 'entity'} instance for {sought} not found")
    return claim


def _look_up(
    claims: Claims, ref: Ref, kinds: tuple[str, ...], where: str
) -> tuple[Claim | None, str]:
    if isinstance(ref, str):
        ref = Reference(fully_qualified_name=ref)
    if ref.type is not None and kinds and ref.type not in kinds:
        raise InvalidInput(f"{where}.type must be {' or '.join(kinds)}, got {shown(ref.type)}")
    if ref.id is not None:
        claim = claims.claim_by_id(parse_id(ref.id, f"{where}.id"))
        if claim is not None and ref.type not in (None, claim.kind):
            claim = None
        return claim, ref.id
    if ref.fully_qualified_name is None:
        raise InvalidInput(f"{where}: a reference needs `id` or `fullyQualifiedName`")
    candidates = (ref.type,) if ref.type is not None else kinds
    if not candidates:
        raise InvalidInput(f"{where}: a reference by name needs its `type` here")
    for kind in candidates:
        claim = claims.claim(kind, ref.fully_qualified_name)
        # A name may be held once in each kind: a deleted holder does not hide a live one.
        if claim is not None and not claim.deleted:
            return claim, shown(ref.fully_qualified_name)
    return None, shown(ref.fully_qualified_name)


def resolve(
    claims: Claims, kind: EntityKind, body: EntityBody, known: Mapping[str, Reference]
) -> None:
    """Replace every reference of `body`, in place, by one to the entity that it means.

    `known` holds, by id, the references that the entity has already: they stay as they are,
    even when what they refer to is gone. Raises NotFound or InvalidInput naming the key.
    """
    for attribute, kinds in kind.references.items():
        value = getattr(body, attribute)
        if not value:
            continue
        where = kind.key_of[attribute]
        if isinstance(value, list):
            resolved = [
                _resolve_one(claims, ref, kinds, f"{where}[{place}]", known)
                for place, ref in enumerate(value)
            ]
            setattr(body, attribute, list({ref.id: ref for ref in resolved}.values()))
        else:
            setattr(body, attribute, _resolve_one(claims, value, kinds, where, known))
    for nested, kinds in body.nested_references():
        found = _resolve_one(claims, nested, kinds, "a reference inside the body", known)
        nested.type, nested.id, nested.name = found.type, found.id, found.name
        nested.fully_qualified_name = found.fully_qualified_name


def _resolve_one(
    claims: Claims, ref: Ref, kinds: tuple[str, ...], where: str, known: Mapping[str, Reference]
) -> Reference:
    if isinstance(ref, Reference) and ref.id is not None and ref.id in known:
        return known[ref.id]
    return reference_to(find(claims, ref, kinds, where))


def check_tags(claims: Claims, labels: Iterable[TagLabel], known: frozenset[str]) -> None:
    """Raise NotFound unless each label names a live tag or term, or one in `known`."""
    for label in labels:
        if label.tag_fqn not in known:
            kind = _TAG_KINDS[label.source]
            find(claims, Reference(fully_qualified_name=label.tag_fqn), (kind,), "tags")
