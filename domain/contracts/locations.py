"""Entities and places that a document names for its schema objects."""

import json
from collections.abc import Iterator

import msgspec

from domain.contracts.canonical import Document
from domain.contracts.elements import Element, elements, is_name, text
from domain.contracts.exporting import given_document
from domain.errors import Unplaced, shown
from domain.events import Body
from domain.kinds import names

ENTITY = "catalogEntity"
"""The custom property that gives the qualified name of the entity which a contract is about."""
ONLY_DATABASE = "default"
"""Name of the database of servers that have no schemas beside it, as OpenMetadata's connectors name
it: MySQL's database `shop` is the schema `default.shop` of its service."""
_DATABASES = ("database", "catalog", "project")
_SCHEMAS = ("schema", "dataset")


class _Head(msgspec.Struct):
    """The id and the schema objects of a recorded document, not yet decoded."""

    id: msgspec.Raw
    schema: msgspec.Raw = msgspec.Raw(b"null")


_head = msgspec.json.Decoder(_Head)


def document_id(body: Body) -> str | None:
    """The id of the document that a contract was given, as text; None where it was given none."""
    given = given_document(body)
    return None if given is None else str(json.loads(bytes(_head.decode(given.text).id)))


def object_of(body: Body) -> Element:
    """The schema object that stands for the entity of a contract, in the document it was given.

    Empty where there is none. Only this object of the document is decoded.
    """
    given = given_document(body)
    if given is None or given.place is None:
        return {}
    held = msgspec.json.decode(_head.decode(given.text).schema, type=list[msgspec.Raw])
    schema_object: Element = json.loads(bytes(held[given.place]))
    return schema_object


def named_entity(holder: Element) -> str | None:
    """The value of the custom property `catalogEntity` of a document, or of one of its objects.

    Raises Unplaced where it is no text.
    """
    for each in elements(holder, "customProperties"):
        if each.get("property") == ENTITY:
            if (name := text(each, "value")) is None:
                given = shown(each.get("value"))
                raise Unplaced(f"{ENTITY} is the qualified name of an entity, got {given}")
            return name
    return None


def schemas_of_servers(document: Document) -> list[str]:
    """The qualified names, below their services, of the schemas that servers name; each once.

    The database is `database`, `catalog` or `project`, the schema `schema` or `dataset`.
    """
    return [*dict.fromkeys(_schemas(document))]


def _schemas(document: Document) -> Iterator[str]:
    for server in elements(document, "servers"):
        database = _first(server, _DATABASES)
        schema = _first(server, _SCHEMAS)
        if database and schema:
            yield names.join((database, schema))
        elif alone := schema or database:
            yield names.join((ONLY_DATABASE, alone))


def _first(server: Element, keys: tuple[str, ...]) -> str | None:
    return next((value for key in keys if is_name(value := server.get(key))), None)


def table_name(schema_object: Element) -> str | None:
    """The name of the table that a schema object stands for; None for one that cannot be a name."""
    name = schema_object.get("physicalName") or schema_object.get("name")
    return name if is_name(name) else None


def called(schema_object: Element, place: int | None) -> str:
    """A schema object as messages and answers name it."""
    name = schema_object.get("name") or schema_object.get("physicalName")
    return name if isinstance(name, str) else f"schema[{place}]"
