"""Resolves what a payload refers to, by name or id, to the entities that hold those names."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from itertools import chain

from domain.aggregate.entity import Entity
from domain.errors import InvalidInput, NotFound, shown
from domain.event_store.entity_reads import EntityReads
from domain.event_store.stored import Claim
from domain.kinds.bodies.components import TAG_SOURCES, Ref, Reference, as_reference, outsider
from domain.kinds.entity_kind import EntityKind
from domain.kinds.ids import parse_id
from domain.kinds.registry import KINDS
from domain.requests.drafts import Draft, expected_name

Name = tuple[str, str]
"""A kind and a qualified name."""


def reference_to(claim: Claim) -> Reference:
    """The full reference to the holder of a claim, as events record it and documents show it."""
    return Reference(type=claim.kind, id=claim.id, name=claim.name, fully_qualified_name=claim.fqn)


def name_is_taken(taken: Claim, fqn: str) -> str:
    """Words on why nothing new can have a qualified name that leads to an entity already."""
    if fqn != taken.fqn:
        return f"{fqn!r} is a former name of {taken.kind} {taken.fqn!r}, which keeps it"
    return f"a{' soft-deleted' * taken.deleted} {taken.kind} named {fqn!r} exists already"


def recorded_parent(kind: EntityKind, state: Entity) -> Claim | None:
    """The claim of the parent of a live entity, as the entity refers to it; None without a parent.

    A live entity's parent is live, and what refers to it follows where it is renamed; the claim
    says nothing of what stands above the parent.
    """
    for key in kind.parents if state.parent_id is not None else ():
        value = state.value(key)
        one = next(iter(value), None) if isinstance(value, list) else value
        if one is not None and one.get("id") == state.parent_id:
            held = one["type"], one["fullyQualifiedName"], one["id"], one["name"]
            return Claim(*held, parent_id=None, deleted=False)
    return None


def find(claims: EntityReads, ref: Ref, kinds: tuple[str, ...], where: str) -> Claim:
    """The live entity that `ref`, at key `where`, refers to; no `kinds` means any kind.

    Raises InvalidInput for a malformed reference, NotFound when no live entity has its name or
    id.
    """
    if isinstance(ref, str):
        ref = Reference(fully_qualified_name=ref)
    if ref.type is not None and kinds and ref.type not in kinds:
        raise InvalidInput(f"{where}.type must be {' or '.join(kinds)}, got {shown(ref.type)}")
    if ref.id is not None:
        return _find_by_id(claims, ref, kinds, where)
    if (fqn := ref.fully_qualified_name) is None:
        raise InvalidInput(f"{where}: a reference needs `id` or `fullyQualifiedName`")
    candidates = kinds if ref.type is None else (ref.type,)
    if not candidates:
        raise InvalidInput(f"{where}: a reference by name needs its `type` here")
    for kind in candidates:
        claim = claims.claim(kind, fqn) if kind in KINDS else None
        # A name may be held once in each kind: a deleted holder does not hide a live one.
        if claim is not None and not claim.deleted:
            return claim
    raise _not_found(shown(fqn), kinds, where)


def _find_by_id(claims: EntityReads, ref: Reference, kinds: tuple[str, ...], where: str) -> Claim:
    assert ref.id is not None
    claim = claims.claim_by_id(parse_id(ref.id, f"{where}.id"))
    # An edge of the lineage has an id too, and nothing refers to one.
    if claim is None or claim.deleted or claim.kind not in (kinds or KINDS):
        raise _not_found(ref.id, kinds, where)
    if ref.type not in (None, claim.kind):
        raise _not_found(ref.id, kinds, where)
    return claim


def _not_found(sought: str, kinds: tuple[str, ...], where: str) -> NotFound:
    kind = " or ".join(kinds) or "entity"
    # A key that is named as its kind, such as `databaseSchema`, need not stand before it.
    key = "" if where == kind else f"{where}: "
    return NotFound(f"{key}{kind} instance for {sought} not found")


def add_looked_up(kind: EntityKind, draft: Draft, names: set[Name], ids: set[str]) -> None:
    """Add the names and the ids by which a draft is resolved and decided, as far as they are known.

    They are those of what it refers to, of its tags, of the parent that it brings, and of the
    draft's own entity.
    """
    names.update(draft.tags)
    given = ((value, kind.refers_to[key]) for key, value in draft.references.items())
    members = ((refs, (kind.members[field].kind,)) for field, refs in draft.members.items())
    for refs, kinds in chain(given, draft.nested_references(), members):
        more_names, more_ids = names_and_ids(refs, kinds)
        names.update(more_names)
        ids.update(more_ids)
    if draft.brings is not None:
        names.add((draft.brings.kind, draft.brings.fqn))
    if (fqn := draft.fqn or expected_name(kind, draft)) is not None:
        names.add((kind.name, fqn))
    if draft.id is not None:
        ids.add(draft.id)


def names_and_ids(value: Ref | list[Ref], kinds: tuple[str, ...]) -> tuple[list[Name], list[str]]:
    """The names and the ids by which references to some kinds refer.

    A malformed reference is passed over here, and refused when it is resolved.
    """
    names: list[Name] = []
    ids: list[str] = []
    for ref in value if isinstance(value, list) else [value]:
        if isinstance(ref, str):
            names += [(kind, ref) for kind in kinds]
        elif ref.id is not None:
            with suppress(InvalidInput):
                ids.append(parse_id(ref.id, ""))
        elif ref.fully_qualified_name is not None:
            candidates = kinds if ref.type is None else (ref.type,)
            names += [(kind, ref.fully_qualified_name) for kind in candidates]
    return names, ids


def resolve_references(
    claims: EntityReads,
    kind: EntityKind,
    draft: Draft,
    settled: Collection[str],
    known: Mapping[str, Reference],
) -> dict[str, Reference | list[Reference]]:
    """The full references under the draft's keys, but for those in `settled`.

    `known` holds, by id, the references that the entity has already: these stay as they are,
    even when their entities are gone. Raises NotFound or InvalidInput naming the key.
    """
    resolved: dict[str, Reference | list[Reference]] = {}
    for key, value in draft.references.items():
        if key in settled:
            continue
        kinds, loosely = kind.refers_to[key], key in kind.loose
        if isinstance(value, list):
            targets = [
                _resolve(claims, ref, kinds, f"{key}[{place}]", known, loosely=loosely)
                for place, ref in enumerate(value)
            ]
            resolved[key] = list({ref.id: ref for ref in targets}.values())
        else:
            resolved[key] = _resolve(claims, value, kinds, key, known, loosely=loosely)
    return resolved


def resolve_nested(claims: EntityReads, draft: Draft, known: Mapping[str, Reference]) -> int:
    """Replace every reference below the top level, in place, by the full reference to its entity.

    `known` and the errors are those of `resolve_references`. Returns how many characters the names
    have that these references are given: a caller may write the same id 100,000 times, and each is
    recorded with its names.
    """
    characters = 0
    for nested, kinds in draft.nested_references():
        target = _resolve(claims, nested, kinds, "a reference inside the body", known)
        nested.type, nested.id, nested.name = target.type, target.id, target.name
        nested.fully_qualified_name = target.fully_qualified_name
        characters += len(nested.name or "") + len(nested.fully_qualified_name or "")
    return characters


def _resolve(
    claims: EntityReads,
    ref: Ref,
    kinds: tuple[str, ...],
    where: str,
    known: Mapping[str, Reference],
    *,
    loosely: bool = False,
) -> Reference:
    """The full reference to an entity; `loosely`, one that is not held here is outside."""
    if loosely:
        ref = as_reference(ref, kinds[0])
    if isinstance(ref, Reference) and ref.id is not None and ref.id in known:
        return known[ref.id]
    try:
        return reference_to(find(claims, ref, kinds, where))
    except NotFound:
        if not loosely:
            raise
        return outsider(ref, kinds[0])


def check_tags(
    claims: EntityReads, tags: Iterable[tuple[str, str]], known: Collection[str]
) -> dict[tuple[str, str], str]:
    """Raise NotFound unless each pair of kind and name is a live tag or term, or one in `known`.

    Returns the names that those have now which are named by a former one: see `NewNames.labels`.
    """
    renamed: dict[tuple[str, str], str] = {}
    for kind, fqn in tags:
        if fqn not in known:
            claim = claims.claim(kind, fqn)
            if claim is None or claim.deleted:
                raise _not_found(shown(fqn), (kind,), "tags")
            if claim.fqn != fqn:
                renamed[TAG_SOURCES[kind], fqn] = claim.fqn
    return renamed
