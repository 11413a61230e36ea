"""The values of a contract that a document gives."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from domain.contracts.canonical import Document
from domain.contracts.columns import read_columns
from domain.contracts.elements import Element, elements, is_name, text
from domain.contracts.quality import read_rules
from domain.contracts.roles import read_security
from domain.contracts.sla import read_sla
from domain.errors import InvalidInput, shown
from domain.kinds.names import check_name

STATUSES: Mapping[str, str] = MappingProxyType(
    {
        "active": "Active",
        "deprecated": "Deprecated",
        "retired": "Deprecated",
        "proposed": "Draft",
        "draft": "Draft",
    }
)
"""Status of a document -> status of the contract; any other status of a document is ignored."""


class Said(msgspec.Struct, frozen=True):
    """The name and the values that a document gives a contract."""

    name: str
    """The document's `name`, or else its `id`."""
    values: dict[str, Any]
    """Key of the contract's body -> value, for each of `KEYS` of which the document says something;
    `termsOfUse` as its text."""


def read_document(document: Document, place: int | None) -> Said:
    """Read a document, of which the schema object at a place stands for the contract's entity.

    Raises InvalidInput when the contract can have neither the name nor the id of the document.
    """
    return Said(_name(document), read_values(document, place))


def read_values(document: Document, place: int | None) -> dict[str, Any]:
    """The values that follow from a document, of whose schema objects the one at a place counts."""
    described = description(document)
    schema_object = object_at(document, place)
    status = document.get("status")
    values = {
        "entityStatus": STATUSES.get(status.lower()) if isinstance(status, str) else None,
        "description": text(described, "purpose"),
        "termsOfUse": text(described, "limitations"),
        "schema": read_columns(schema_object),
        "odcsQualityRules": read_rules(schema_object),
        "sla": read_sla(document),
        "security": read_security(document),
    }
    return {key: value for key, value in values.items() if value}


def description(document: Document) -> Element:
    """The description of a document as an object; where it is a text, that is the purpose."""
    held = document.get("description")
    if isinstance(held, str):
        return {"purpose": held}
    return held if isinstance(held, dict) else {}


def object_at(document: Document, place: int | None) -> Element:
    """The schema object at a place; an empty one where there is none."""
    return dict(schema_objects(document)).get(place, {}) if place is not None else {}


def schema_objects(document: Document) -> list[tuple[int, Element]]:
    """The schema objects with their places; elements that are no mappings are left out."""
    schema = document.get("schema")
    held = enumerate(schema) if isinstance(schema, list) else ()
    return [(place, each) for place, each in held if isinstance(each, dict)]


def object_names(document: Document) -> list[str]:
    """The names of the schema objects that have one."""
    return [name for each in elements(document, "schema") if (name := text(each, "name"))]


def find_object(document: Document, name: str, object_name: str | None = None) -> int | None:
    """The place of the schema object that stands for an entity.

    The object is the one named `object_name`. Without such a name it is the one that has the name
    of the entity as its name or physical name, or else the first. Raises InvalidInput when none is
    named `object_name`.
    """
    objects = schema_objects(document)
    if object_name is not None:
        for place, each in objects:
            if each.get("name") == object_name:
                return place
        known = ", ".join(object_names(document)) or "none at all"
        raise InvalidInput(f"no schema object is named {shown(object_name)}; there are {known}")
    for key in ("name", "physicalName"):
        for place, each in objects:
            if str(each.get(key)).lower() == name.lower():
                return place
    return objects[0][0] if objects else None


def _name(document: Document) -> str:
    if is_name(name := document.get("name")):
        return name
    return check_name(str(document["id"]), "id of the document")
