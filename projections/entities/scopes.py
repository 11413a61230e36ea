"""The scopes that an entity is listed in, and the scope to which a filter narrows a list.

A scope is a text that many entities have in common, such as the id of their database. A list that
is narrowed to a scope is a range of the entities in it, in order, with a total that is kept.

- Under a filter of its kind alone, an entity is in the scope of each id that it refers to. What has
  two kinds of parents, as a tag has a tag or its classification alone, is sought below either.
- Under the filters that all kinds share, the parameter stands before the rest of the scope: a team
  may be owned by a team and have another as its parent. After `owner:` and `domain:` comes the id;
  where the name is not the qualified name, as of a subdomain, also the key of the name.
- A label has no id. After `tag:` comes the key of the qualified name, and in two further scopes
  those of its first and its last part: the classification, and the bare name of the tag. After
  `tier:` comes the key of the qualified name, of labels of the classification `Tier` alone.

- After `former:` comes the key of a qualified name that the entity had before it was renamed. By it
  alone an entity is found by such a name.
- After `verdict:` comes the verdict on a contract.
- After `odcs:` comes the key of the id of the document that a contract was given. Lists have no
  parameter for it.

A key is a digest, as names may be longer than an index takes.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from domain.aggregate.entity import Entity
from domain.contracts.locations import document_id
from domain.errors import InvalidInput
from domain.kinds import names
from domain.kinds.bodies.components import TAG_KINDS, TAG_SOURCES
from domain.kinds.entity_kind import EntityKind
from domain.kinds.ids import parse_id
from domain.kinds.names import name_key
from domain.kinds.registry import ALL_KINDS, KINDS
from domain.openmetadata.verdicts import KEY as VERDICT
from domain.openmetadata.verdicts import shown_verdict

DOCUMENT = "odcs"
"""Filter of contracts by the id of the document that they were given."""
NOWHERE = "-"
"""A scope that no entity has, for a filter that names an entity that does not exist."""
_LABELS = "tags"
_LABELLED = b'"tagFQN"'
"""The key of each label, as it stands in JSON."""
_LABEL_KINDS = {"tag": (*TAG_SOURCES,), "tier": ("tag",)}
"""List parameter -> kinds of the entities that labels name."""
LABEL_ROOTS = ("classification", "glossary")
"""Kinds of what the first part of a label's name names."""
_CONTAINERS = frozenset({dict, list})
_FORMER = "former"
_TIER = "Tier"
"""The classification whose tags are tiers."""


class _Referred(msgspec.Struct, rename="camel"):
    id: str
    name: str | None = None
    fully_qualified_name: str | None = None


_references = msgspec.json.Decoder(_Referred | list[_Referred])
_decode = msgspec.json.Decoder().decode


class Sought(msgspec.Struct, frozen=True):
    """The search for the scope to which the value of a filter narrows a list.

    An entity is looked up by its names, or by its id; without such an entity the scope is
    `otherwise`.
    """

    prefix: str = ""
    """Beginning of the scope of an entity that is found; its id or key follows."""
    names: tuple[tuple[str, str], ...] = ()
    """Kind and qualified name of the entities that may be meant; the first that exists counts."""
    entity_id: str | None = None
    """Id of the entity that is meant."""
    keyed: bool = False
    """True if the remainder of the scope is the key of the entity's name, rather than its id."""
    labels: tuple[str, ...] = ()
    """Scopes of labels with the name, of which the first that exists counts before `otherwise`:
    labels outlive the entity that they name."""
    otherwise: str = NOWHERE


def sought_scope(kind: EntityKind, parameter: str, value: str) -> Sought:
    """Return the search for the scope that a filter of a kind's list means by a value."""
    if parameter == VERDICT:
        return Sought(otherwise=f"{VERDICT}:{value}")
    if parameter in kind.common_filters:
        return _sought_in_common(kind, parameter, value)
    if parameter == DOCUMENT:
        return Sought(otherwise=f"{DOCUMENT}:{_key(value)}")
    if parameter in kind.lists.by_id:
        return Sought(otherwise=value)
    keys = kind.filter_keys(parameter)
    return Sought(names=_names(tuple(each for key in keys for each in kind.refers_to[key]), value))


def scope_of_then(sought: Sought, kind: str, fqn: str) -> str:
    """The scope of labels that named an entity of a kind when it had a qualified name.

    A classification or glossary is found by the bare name of then.
    """
    if kind in LABEL_ROOTS:
        return f"{sought.prefix}{_key(names.split(fqn)[-1])}"
    return f"{sought.prefix}{_key(fqn, kind)}"


def _sought_in_common(kind: EntityKind, parameter: str, value: str) -> Sought:
    prefix = f"{parameter}:"
    labelled = parameter in _LABEL_KINDS
    with suppress(InvalidInput):
        entity_id = parse_id(value, parameter)
        if labelled:
            return Sought(prefix, entity_id=entity_id, keyed=True)
        return Sought(otherwise=prefix + entity_id)
    if parameter == "tier" and not value.startswith(f"{_TIER}."):
        value = f"{_TIER}.{value}"
    kinds = _LABEL_KINDS[parameter] if labelled else kind.refers_to[kind.common_filters[parameter]]
    named = _names(kinds, value)
    return Sought(
        prefix,
        named,
        keyed=labelled,
        labels=_labels_named(prefix, named) if labelled else (),
        otherwise=prefix + _key(value),
    )


def _labels_named(prefix: str, named: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """The scopes of labels that have one of some names whole; a name of one part is no label's."""
    scopes = []
    for kind, fqn in named:
        with suppress(InvalidInput):
            if len(names.split(fqn)) > 1:
                scopes.append(f"{prefix}{_key(fqn, kind)}")
    return tuple(scopes)


def _names(kinds: tuple[str, ...], fqn: str) -> tuple[tuple[str, str], ...]:
    return tuple((referred, KINDS[referred].spelled(fqn)) for referred in kinds)


def _key(name: str, kind: str = "") -> str:
    """The key of a name by itself, or of an entity of a kind, as a text."""
    return name_key(kind, name).hex()


def former_scope(fqn: str) -> str:
    """The scope of the entities, one of each kind, that had a qualified name before a rename."""
    return f"{_FORMER}:{_key(fqn)}"


def scopes_of(entity: Entity) -> list[str]:
    """The scopes of all lists that can be narrowed and then still show the entity, in order."""
    kind, body = ALL_KINDS[entity.kind], entity.body
    scopes = {one.id for key in kind.listed_by for one in _referred(body, key)}
    for parameter, key in kind.common_filters.items():
        if parameter not in _LABEL_KINDS:
            for one in _referred(body, key):
                scopes.add(f"{parameter}:{one.id}")
                if one.name and one.name != one.fully_qualified_name:
                    scopes.add(f"{parameter}:{_key(one.name)}")
    if _LABELS in kind.common_filters.values():
        for fqn, source, is_own in {*_labels(body)}:
            key = _key(fqn, TAG_KINDS.get(source, ""))
            scopes.update((f"tag:{key}", *(f"tag:{_key(part)}" for part in _ends(fqn))))
            if is_own and fqn.startswith(f"{_TIER}."):
                scopes.add(f"tier:{key}")
    if kind.agreement:
        scopes.add(f"{VERDICT}:{shown_verdict(entity.judged, entity.version).status}")
    scopes.update(map(former_scope, entity.former_names))
    if (of_document := document_id(body)) is not None:
        scopes.add(f"{DOCUMENT}:{_key(of_document)}")
    return sorted(scopes)


def _referred(body: Mapping[str, msgspec.Raw], key: str) -> list[_Referred]:
    """Return the entities to which the references at a key lead."""
    if (raw := body.get(key)) is None:
        return []
    value = _references.decode(raw)
    return value if isinstance(value, list) else [value]


def _labels(body: Mapping[str, msgspec.Raw]) -> Iterator[tuple[str, str, bool]]:
    """Qualified name and source of each label under `tags`, and whether it is the entity's own.

    Labels of its parts count too, at every depth, as in search documents; those of an extension do
    not.
    """
    if _LABELLED not in b"".join(body.values()):
        # Most entities have no label.
        return
    for top, raw in body.items():
        if top == "extension" or _LABELLED not in bytes(raw):
            continue
        left: list[tuple[str, Any]] = [(top, _decode(raw))]
        while left:
            key, value = left.pop()
            if type(value) is list:
                left += [(key, each) for each in value if type(each) in _CONTAINERS]
                continue
            if key == _LABELS and isinstance(fqn := value.get("tagFQN"), str):
                yield fqn, str(value.get("source")), top == _LABELS
            left += [
                (each, inner)
                for each, inner in value.items()
                if inner and type(inner) in _CONTAINERS and each != "extension"
            ]


def _ends(fqn: str) -> list[str]:
    """The first and the last part of a label's name, which nobody may have checked."""
    try:
        parts = names.split(fqn)
    except InvalidInput:
        return []
    return [parts[0], parts[-1]]
