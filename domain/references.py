"""Resolves what a payload refers to, by name or id, to the entities that hold those names."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import Protocol

import msgspec

from domain.bodies.base import EntityBody
from domain.bodies.components import Ref, Reference, TagLabel
from domain.errors import InvalidInput, NotFound, shown
from domain.event_store.port import Claim
from domain.ids import parse_id
from domain.kinds import EntityKind

_TAG_KINDS = {"Classification": "tag", "Glossary": "glossaryTerm"}


class Claims(Protocol):
    """Where names are looked up: the event store, or a batch on its way into it."""

    def claims(
        self, *, names: Collection[tuple[str, str]] = (), ids: Collection[str] = ()
    ) -> list[Claim]:
        """The claims on names (pairs of kind and qualified name) and of entities by their ids."""


class AskedOnce:
    """Remembers every claim from its first look-up: a payload may name one thing 100,000 times."""

    def __init__(self, claims: Claims) -> None:
        self._claims = claims
        self._known: dict[tuple[str, str] | str, Claim | None] = {}

    def ask(self, names: Iterable[tuple[str, str]], ids: Iterable[str]) -> None:
        """Look up, in one call of the store, those names and ids that are not remembered yet."""
        new_names = {key for key in names if key not in self._known}
        new_ids = {key for key in ids if key not in self._known}
        if not new_names and not new_ids:
            return
        self._known.update(dict.fromkeys((*new_names, *new_ids)))
        for claim in self._claims.claims(names=new_names, ids=new_ids):
            self._known[claim.kind, claim.fqn] = self._known[claim.id] = claim

    def claim(self, kind: str, fqn: str) -> Claim | None:
        """The claim on a qualified name; None when no entity holds the name."""
        key = kind, fqn
        if key not in self._known:
            self.ask([key], ())
        return self._known[key]

    def claim_by_id(self, entity_id: str) -> Claim | None:
        """The claim of an entity; None when the entity holds no name."""
        if entity_id not in self._known:
            self.ask((), [entity_id])
        return self._known[entity_id]


def reference_to(claim: Claim) -> Reference:
    """The full reference to the holder of a claim, as events record it and documents show it."""
    return Reference(type=claim.kind, id=claim.id, name=claim.name, fully_qualified_name=claim.fqn)


class _Sought(msgspec.Struct, frozen=True):
    """What a reference may mean: an entity by id, or the holder of one of several names."""

    shown: str
    names: tuple[tuple[str, str], ...] = ()
    """Pairs of kind and qualified name."""
    id: str | None = None
    kind: str | None = None
    """The kind that the entity with the id must have, None for any."""


def find(claims: AskedOnce, ref: Ref, kinds: tuple[str, ...], where: str) -> Claim:
    """The live entity that `ref`, at key `where`, refers to; no `kinds` means any kind.

    Raises InvalidInput for a malformed reference, NotFound when no live entity has its name or
    id.
    """
    sought = _sought(ref, kinds, where)
    if sought.id is not None:
        candidates = [claims.claim_by_id(sought.id)]
    else:
        candidates = [claims.claim(kind, fqn) for kind, fqn in sought.names]
    for claim in candidates:
        # A name may be held once in each kind: a deleted holder does not hide a live one.
        if (
            claim is not None
            and not claim.deleted
            and (not kinds or claim.kind in kinds)
            and sought.kind in (None, claim.kind)
        ):
            return claim
    kind_names = " or ".join(kinds) or "entity"
    raise NotFound(f"{where}: {kind_names} instance for {sought.shown} not found")


def _sought(ref: Ref, kinds: tuple[str, ...], where: str) -> _Sought:
    """The id or the names that a reference asks for; raises InvalidInput for a malformed one."""
    if isinstance(ref, str):
        ref = Reference(fully_qualified_name=ref)
    if ref.type is not None and kinds and ref.type not in kinds:
        raise InvalidInput(f"{where}.type must be {' or '.join(kinds)}, got {shown(ref.type)}")
    if ref.id is not None:
        return _Sought(ref.id, id=parse_id(ref.id, f"{where}.id"), kind=ref.type)
    if ref.fully_qualified_name is None:
        raise InvalidInput(f"{where}: a reference needs `id` or `fullyQualifiedName`")
    candidates = (ref.type,) if ref.type is not None else kinds
    if not candidates:
        raise InvalidInput(f"{where}: a reference by name needs its `type` here")
    fqn = ref.fully_qualified_name
    return _Sought(shown(fqn), names=tuple((kind, fqn) for kind in candidates))


def look_up_all(claims: AskedOnce, kind: EntityKind, body: EntityBody) -> None:
    """Look up, in one call of the store, all that a body refers to, its tags included.

    A malformed reference is passed over here: `resolve` refuses it.
    """
    references: list[tuple[Ref, tuple[str, ...]]] = list(body.nested_references())
    for attribute, kinds in kind.references.items():
        value = getattr(body, attribute)
        if value:
            references += [(ref, kinds) for ref in (value if isinstance(value, list) else [value])]
    names = {(_TAG_KINDS[label.source], label.tag_fqn) for label in body.tag_labels()}
    ids: set[str] = set()
    for ref, kinds in references:
        if isinstance(ref, str):
            names.update([(kind, ref) for kind in kinds])
        elif ref.id is not None:
            with suppress(InvalidInput):
                ids.add(parse_id(ref.id, ""))
        elif ref.fully_qualified_name is not None:
            candidates = kinds if ref.type is None else (ref.type,)
            names.update([(kind, ref.fully_qualified_name) for kind in candidates])
    claims.ask(names, ids)


def resolve(
    claims: AskedOnce, kind: EntityKind, body: EntityBody, known: Mapping[str, Reference]
) -> int:
    """Replace every reference of `body`, in place, by the full reference to its entity.

    `known` holds, by id, the references that the entity has already: these stay as they are,
    even when their entities are gone. Raises NotFound or InvalidInput naming the key.

    Returns how many characters the names have that references below the top level are given: a
    caller may write the same id 100,000 times, and each is recorded with its names.
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
    characters = 0
    for nested, kinds in body.nested_references():
        target = _resolve_one(claims, nested, kinds, "a reference inside the body", known)
        nested.type, nested.id, nested.name = target.type, target.id, target.name
        nested.fully_qualified_name = target.fully_qualified_name
        characters += len(nested.name or "") + len(nested.fully_qualified_name or "")
    return characters


def _resolve_one(
    claims: AskedOnce, ref: Ref, kinds: tuple[str, ...], where: str, known: Mapping[str, Reference]
) -> Reference:
    if isinstance(ref, Reference) and ref.id is not None and ref.id in known:
        return known[ref.id]
    return reference_to(find(claims, ref, kinds, where))


def check_tags(claims: AskedOnce, labels: Iterable[TagLabel], known: frozenset[str]) -> None:
    """Raise NotFound unless each label names a live tag or term, or one in `known`."""
    for label in labels:
        if label.tag_fqn not in known:
            kind = _TAG_KINDS[label.source]
            find(claims, Reference(fully_qualified_name=label.tag_fqn), (kind,), "tags")
