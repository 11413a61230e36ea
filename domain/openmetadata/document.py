"""An entity as the API shows it: the body between its identity and its version."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import Raw

from domain.aggregate.entity import Entity
from domain.aggregate.lifecycle import format_version
from domain.errors import InvalidInput
from domain.events import Body
from domain.kinds.entity_kind import FORMER_NAMES
from domain.kinds.registry import ALL_KINDS, KINDS, TYPE
from domain.patches import json_patch

_NO_MAIL = "example.org"
"""Reserved by RFC 2606, so that a made-up address never reaches anybody."""
_MAILBOX = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*", re.IGNORECASE)
_MAX_MAILBOX = 64
_DESCRIBED = ("domain", "dataProduct", "classification", "tag", "glossary", "glossaryTerm")
_STAND_INS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        **{kind: {"description": ""} for kind in _DESCRIBED},
        "table": {"columns": []},
        "storedProcedure": {"storedProcedureCode": {}},
        "dashboardDataModel": {"columns": []},
        "mlmodel": {"algorithm": "mlmodel"},
        "searchIndex": {"fields": []},
        "ingestionPipeline": {"sourceConfig": {}, "airflowConfig": {}},
    }
)
"""Kind -> the keys that its entities cannot be read without, and what is shown for each."""


def stand_ins(kind: str, name: str) -> Mapping[str, Any]:
    """The keys that an entity of this kind and name cannot be read without, and their values."""
    if kind == "user":
        fit = _MAILBOX.fullmatch(name) and len(name) <= _MAX_MAILBOX
        return {"email": f"{name if fit else 'unknown'}@{_NO_MAIL}"}
    if kind == TYPE.name:
        about = KINDS[name].body.__doc__ if name in KINDS else None
        described = (about or "").partition("\n")[0]
        return {"description": described, "category": "entity", "nameSpace": "data"}
    return _STAND_INS.get(kind, {})


SERVER_KEYS = (
    "id",
    "name",
    "fullyQualifiedName",
    "version",
    "updatedAt",
    "updatedBy",
    "deleted",
    FORMER_NAMES,
)
"""Keys that callers read and only the catalog writes."""
_RENAMABLE = ", ".join(sorted(kind.name for kind in KINDS.values() if kind.renamable))
_raw = msgspec.json.Encoder().encode


class _Group(msgspec.Struct, rename="camel"):
    """A suite as its test cases show it."""

    id: str
    name: str
    fully_qualified_name: str


_groups = msgspec.json.Decoder(list[_Group])


def fields(entity: Entity) -> Body:
    """Every key of the entity's document with its JSON bytes, in the order they are shown.

    `deleted` is there only when it is true: OpenMetadata's client has no such key on kinds
    that it never soft-deletes.
    """
    body = entity.body
    shown = {
        "id": Raw(_raw(entity.id)),
        "name": Raw(_raw(entity.name)),
        "fullyQualifiedName": Raw(_raw(entity.fqn)),
    }
    # One dict is filled, as this is done for each entity of the log.
    for key, value in stand_ins(entity.kind, entity.name).items():
        if key not in body:
            shown[key] = Raw(_raw(value))
    shown |= body
    kind = ALL_KINDS[entity.kind]
    for key in kind.apart:
        shown.pop(key, None)
    suites = kind.suites
    if suites is not None and suites.key in body:
        # OpenMetadata has whole suites there, which have no type as references have.
        shown[suites.key] = Raw(_raw(_groups.decode(body[suites.key])))
    shown["version"] = Raw(format_version(entity.version).encode())
    shown["updatedAt"] = Raw(_raw(entity.updated_at))
    shown["updatedBy"] = Raw(_raw(entity.updated_by))
    if entity.deleted:
        shown["deleted"] = Raw(b"true")
    if entity.former_names:
        shown[FORMER_NAMES] = Raw(_raw(entity.former_names))
    return shown


def _stand_ins(entity: Entity) -> Mapping[str, Any]:
    """Values shown in place of keys that clients need and the entity does not have."""
    missing = stand_ins(entity.kind, entity.name)
    return {key: value for key, value in missing.items() if key not in entity.body}


def encode(shown: Body) -> bytes:
    """The JSON object of keys and finished values; no value is decoded."""
    return _raw(shown)


def patched(entity: Entity, patch: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The values of the entity's body after an RFC 6902 patch of its document, and its name.

    The name is the one that the patch gives, of kinds that may be renamed. The document that is
    patched shows absent arrays as []. Values that the patch does not touch stay JSON bytes (`Raw`),
    but for those that the kind needs. Raises InvalidInput naming the operation that cannot be
    applied, or the key that only the catalog writes.
    """
    kind, shown = ALL_KINDS[entity.kind], dict[str, Any](fields(entity))
    touched = json_patch.touched_keys(patch, shown)
    for key in touched.union(kind.needed, _stand_ins(entity)) & shown.keys():
        shown[key] = msgspec.json.decode(shown[key])
    kept = {key: shown.pop(key, None) for key in SERVER_KEYS}
    arrays: dict[str, Any] = {key: [] for key in sorted(kind.arrays)}
    document: dict[str, Any] = {**kept, **arrays, **shown}
    values = json_patch.apply(document, patch)
    if not isinstance(values, dict):
        raise InvalidInput("a patch cannot replace the entity by something else")
    name = values.get("name") if kind.renamable else kept["name"]
    for key, value in kept.items():
        given = values.pop(key, None)
        if json_patch.same(given, value) or (key == "name" and kind.renamable):
            continue
        if key == "name":
            raise InvalidInput(
                f"name of a {kind.name} cannot be patched: it is the one that its source knows it"
                f" by; what may be renamed is {_RENAMABLE}"
            )
        raise InvalidInput(f"{key} is set by the catalog and cannot be patched")
    for key, value in _stand_ins(entity).items():
        if json_patch.same(values.get(key), value):
            values.pop(key, None)
    return {"name": name, **values}
