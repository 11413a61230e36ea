"""The document of a contract with what dbt says of it; what people wrote in it stays."""

from typing import Any

import msgspec

from domain.aggregate.entity import Entity
from domain.contracts.canonical import Document
from domain.contracts.elements import Element, append, elements, put, text
from domain.contracts.exporting import document_of, given_document
from domain.contracts.importing import description, find_object, object_at
from domain.contracts.judging import KIND, WRITTEN
from domain.dbt.manifest import Model
from domain.dbt.quality import owner_of

MODEL, PROJECT, ENDS, WITHDRAWN = "dbtModel", "dbtProject", "dbtEnds", "dbtWithdrawn"
"""Custom properties of the schema object of a contract that dbt says: the unique id of the model,
the project, the end that it gave, and true once its contract is no longer enforced."""
_FIRST_VERSION = "1.0.0"
_FLAGS = ("required", "unique", "primaryKey", "primaryKeyPosition")
_OF_TYPE = ("logicalType", "logicalTypeOptions")
"""Keys that people may have beside `physicalType`, and that no longer fit another one."""


class Origin(msgspec.Struct, frozen=True):
    """The part of dbt in a contract."""

    model: str
    project: str
    tests: frozenset[str]
    """Unique ids of the tests of which the contract has a rule."""
    ends: str | None = None
    withdrawn: bool = False


def origin_of(document: Document, place: int | None) -> Origin | None:
    """The part of dbt in a document, of which the schema object at a place counts; None without."""
    holder = object_at(document, place)
    said = {text(each, "property"): each.get("value") for each in _properties(holder)}
    if MODEL not in said:
        return None
    ends = said.get(ENDS)
    return Origin(
        model=str(said[MODEL]),
        project=str(said.get(PROJECT)),
        tests=frozenset(_tests(holder)),
        ends=ends if isinstance(ends, str) else None,
        withdrawn=said.get(WITHDRAWN) is True,
    )


def origin_in(contract: Entity) -> Origin | None:
    """The part of dbt in a contract as it is; None without."""
    given = given_document(contract.body)
    if given is None or f'"{MODEL}"' not in given.text:
        return None
    return origin_of(document_of(contract), given.place)


def with_model(held: Document | None, model: Model, project: str, *, declared: bool) -> Document:
    """The document of a contract with what a model promises.

    `held` is what the contract says so far, None for a new one, and is changed in place; `declared`
    is true where somebody gave it, and so chose its version. The status becomes `active`, unless
    people deprecated the contract: one that was withdrawn is reinstated.
    """
    table = model.place[-1]
    document: Document = {} if held is None else held
    if held is None:
        document |= {"version": _FIRST_VERSION, "apiVersion": WRITTEN, "kind": KIND}
        document |= {"id": model.unique_id, "name": table, "status": "active"}
    if model.version is not None or not declared:
        document["version"] = model.version or _FIRST_VERSION
    if model.description:
        described = description(document)
        document["description"] = {**described, "purpose": model.description}
    place = find_object(document, table)
    holder = object_at(document, place)
    if not holder:
        holder |= {"name": table, "logicalType": "object"}
        append(document, "schema", holder)
    was = origin_of(document, place)
    if (was is not None and was.withdrawn) or _is_draft(document):
        document["status"] = "active"
    _write_object(holder, model.promise)
    for name, value in ((MODEL, model.unique_id), (PROJECT, project), (ENDS, model.ends)):
        _set_property(holder, name, value)
    _set_property(holder, WITHDRAWN, None)
    return document


def without_model(document: Document, place: int | None) -> Document:
    """The document of a contract that dbt no longer enforces; it is changed in place."""
    document["status"] = "deprecated"
    _set_property(object_at(document, place), WITHDRAWN, True)
    return document


def _is_draft(document: Document) -> bool:
    return str(document.get("status")).lower() in ("draft", "proposed")


def _write_object(holder: Element, promise: Element) -> None:
    """Give a schema object, or a property, what dbt says; keys that are there keep their places."""
    for key in ("quality", "relationships"):
        others = [each for each in elements(holder, key) if owner_of(each) is None]
        put(holder, key, [*others, *elements(promise, key)])
    if "properties" not in promise:
        return
    held = {text(each, "name"): each for each in elements(holder, "properties")}
    written = []
    for said in promise["properties"]:
        each = held.get(said["name"], {"name": said["name"]})
        _write_property(each, said)
        written.append(each)
    put(holder, "properties", written)


def _write_property(each: Element, said: Element) -> None:
    if text(each, "physicalType") != text(said, "physicalType"):
        for key in _OF_TYPE:
            each.pop(key, None)
        put(each, "physicalType", text(said, "physicalType"))
    if "description" in said:
        each["description"] = said["description"]
    for key in _FLAGS:
        put(each, key, said.get(key))
    _write_object(each, said)


def _properties(holder: Element) -> list[Element]:
    return elements(holder, "customProperties")


def _set_property(holder: Element, name: str, value: Any) -> None:
    held = _properties(holder)
    own = next((each for each in held if each.get("property") == name), None)
    if value is None:
        put(holder, "customProperties", [each for each in held if each is not own])
    elif own is None:
        append(holder, "customProperties", {"property": name, "value": value})
    else:
        own["value"] = value


def _tests(holder: Element) -> list[str]:
    """The unique ids of the tests in an object and its properties at all levels."""
    unique_ids = [owner for each in elements(holder, "quality") if (owner := owner_of(each))]
    for each in elements(holder, "properties"):
        unique_ids += _tests(each)
    return unique_ids
