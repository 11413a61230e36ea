"""The document of a contract: the given document with later edits, or one made from the values."""

from hashlib import blake2b
from typing import Any

import msgspec

from domain.aggregate.entity import Entity
from domain.aggregate.lifecycle import format_version
from domain.contracts import columns, quality
from domain.contracts.canonical import Document, read_canonical
from domain.contracts.columns import write_columns
from domain.contracts.elements import append, elements, put
from domain.contracts.importing import description, object_at, read_values
from domain.contracts.judging import KIND, WRITTEN
from domain.contracts.quality import write_rules
from domain.contracts.roles import write_security
from domain.contracts.sla import write_sla
from domain.events import Body
from domain.kinds.bodies.contracts import GIVEN, GivenDocument

KEYS = (
    "entityStatus",
    "description",
    "termsOfUse",
    "schema",
    "odcsQualityRules",
    "sla",
    "security",
    "owners",
)
"""Keys of a contract's body that a document can say."""
_STATUSES = {"Active": "active", "Draft": "draft", "Deprecated": "deprecated"}
_given = msgspec.json.Decoder(GivenDocument)


def given_document(body: Body) -> GivenDocument | None:
    """The document that a contract was given, as it is recorded; None where it was given none."""
    return _given.decode(body[GIVEN]) if GIVEN in body else None


def digests(body: Body) -> dict[str, str]:
    """Key of a body -> digest of its value, for those of `KEYS` that are there."""
    return {
        key: blake2b(bytes(body[key]), digest_size=8).hexdigest() for key in KEYS if key in body
    }


def document_of(contract: Entity) -> Document:
    """The document of a contract.

    A document that somebody gave is as it was given, except where it says values of the contract
    that were edited since.
    """
    given = given_document(contract.body)
    if given is None:
        document, place, edited = _skeleton(contract), None, frozenset(KEYS)
    else:
        now = digests(contract.body)
        edited = frozenset(key for key in KEYS if now.get(key) != given.values.get(key))
        document, place = read_canonical(given.text), given.place
    if edited:
        _fold(document, place, contract, edited)
    return document


def _skeleton(contract: Entity) -> Document:
    return {
        "version": format_version(contract.version),
        "apiVersion": WRITTEN,
        "kind": KIND,
        "id": contract.id,
        "name": contract.name,
        "status": _STATUSES["Draft"],
    }


def _fold(document: Document, place: int | None, contract: Entity, edited: frozenset[str]) -> None:
    """Change a document to say the values of a contract that were edited."""
    said = read_values(document, place)
    old = {key: said.get(key) for key in KEYS}
    new = {key: contract.value(key) for key in KEYS}
    if isinstance(new["termsOfUse"], dict):
        new["termsOfUse"] = new["termsOfUse"].get("content")
    changed = {key for key in edited if (old[key] or None) != (new[key] or None)}
    if "entityStatus" in changed and new["entityStatus"]:
        document["status"] = _STATUSES[new["entityStatus"]]
    for key, part in (("description", "purpose"), ("termsOfUse", "limitations")):
        if key in changed:
            described = description(document)
            put(described, part, new[key])
            put(document, "description", described or None)
    if changed & {"schema", "odcsQualityRules"}:
        _fold_schema(document, place, contract, changed, old, new)
    if "sla" in changed:
        write_sla(document, old["sla"] or {}, new["sla"] or {})
    if "security" in changed:
        write_security(document, old["security"] or {}, new["security"] or {})
    if "owners" in edited:
        _fold_owners(document, new["owners"] or [])


def _fold_schema(
    document: Document,
    place: int | None,
    contract: Entity,
    changed: set[str],
    old: dict[str, Any],
    new: dict[str, Any],
) -> None:
    holder = object_at(document, place)
    if not holder:
        entity = contract.value("entity")
        holder.update(name=entity.get("name") or contract.name, logicalType="object")
    if "schema" in changed:
        write_columns(holder, old["schema"] or [], columns.comparable(new["schema"] or []))
    if "odcsQualityRules" in changed:
        rules = quality.comparable(new["odcsQualityRules"] or [])
        write_rules(holder, old["odcsQualityRules"] or [], rules)
    if object_at(document, place) is not holder:
        append(document, "schema", holder)


_OWNER = "owner"


def _fold_owners(document: Document, owners: list[dict[str, Any]]) -> None:
    """Have the team's members with the role of an owner be the owners of the contract."""
    team = document.get("team")
    holder, key = (team, "members") if isinstance(team, dict) else (document, "team")
    names = [each["name"] for each in owners if each.get("name")]
    members = elements(holder, key)
    left = [
        each
        for each in members
        if str(each.get("role")).lower() != _OWNER or each.get("username") in names
    ]
    held = {each.get("username") for each in left if str(each.get("role")).lower() == _OWNER}
    added = [{"username": name, "role": _OWNER} for name in names if name not in held]
    if added or len(left) != len(members):
        put(holder, key, [*left, *added])
