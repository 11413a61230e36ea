"""Plans of a published document: a contract for each schema object that has an entity."""

from collections.abc import Sequence

import msgspec

from domain.contracts.canonical import Document, canonical
from domain.contracts.importing import schema_objects
from domain.contracts.locations import ENTITY, called, schemas_of_servers
from domain.errors import Conflict, InvalidInput, Unplaced, shown
from domain.kinds.bodies.components import Reference
from domain.write_context import WriteContext
from domain.writing.documents import DocumentRequest, plan_document
from domain.writing.placing import (
    NAMED,
    Object,
    Publication,
    holders,
    named_entities,
    tables_at_servers,
)
from domain.writing.planning import Planner
from domain.writing.plans import Plan

MOST_CONTRACTS = 100
"""Contracts that have one document."""
MOST_BYTES = 16_000_000
"""Bytes of a document, counted once for each contract that is to have it."""


class Published(msgspec.Struct, frozen=True, kw_only=True):
    """The plans for a document."""

    plans: Sequence[tuple[str, Plan]]
    """Name of a schema object, and the plan of the contract that has it."""
    without_entity: Sequence[str]
    """Names of the schema objects of which no entity was found."""
    without_object: Sequence[str]
    """Qualified names of contracts with a document of this id, which stay as they are: their schema
    object is no longer in it."""


class _Target(msgspec.Struct, frozen=True):
    """A schema object and the entity that it stands for."""

    place: int | None
    name: str
    entity: Reference


def plan_publication(
    planner: Planner, publication: Publication, context: WriteContext
) -> Published:
    """Give each contract that a document is about the whole document.

    Raises Unplaced where no entity is found or several might be meant, Conflict where a contract of
    this id is about another entity than `catalogEntity` names, InvalidInput for more contracts or
    bytes than one document may have, and what `plan_document` raises: either all of it is done or
    nothing.
    """
    document = publication.document
    objects: Sequence[Object] = schema_objects(document) or [(None, {})]
    held, strays = holders(planner, publication, objects)
    named = named_entities(planner, document, objects)
    targets: dict[str, _Target] = {}
    left: list[Object] = []
    for place, each in objects:
        entities = held.get(place, [])
        if place in named:
            _check_place(document, named[place], entities)
            entities = entities or [named[place]]
        for entity in entities:
            _add(targets, _Target(place, called(each, place), entity))
        if not entities:
            left.append((place, each))
    found = tables_at_servers(planner, publication, left)
    for place, each in left:
        if place in found:
            _add(targets, _Target(place, called(each, place), found[place]))
    if not targets:
        raise Unplaced(_nowhere(publication, left))
    _check_amount(document, len(targets))
    return Published(
        plans=[
            (target.name, _plan(planner, document, target, context)) for target in targets.values()
        ],
        without_entity=[called(each, place) for place, each in left if place not in found],
        without_object=strays,
    )


def _plan(planner: Planner, document: Document, target: _Target, context: WriteContext) -> Plan:
    entity = Reference(type=target.entity.type, id=target.entity.id)
    request = DocumentRequest(document=document, entity=entity, place=target.place)
    return plan_document(planner, request, context)


def _check_place(document: Document, named: Reference, entities: Sequence[Reference]) -> None:
    if entities and all(each.id != named.id for each in entities):
        raise Conflict(
            f"the contract with the id {shown(str(document['id']))} is about"
            f" {entities[0].fully_qualified_name}, and {ENTITY} names"
            f" {named.fully_qualified_name}: delete the contract to have it there"
        )


def _add(targets: dict[str, _Target], target: _Target) -> None:
    assert target.entity.id is not None
    other = targets.setdefault(target.entity.id, target)
    if other is not target:
        raise Unplaced(
            f"schema objects {shown(other.name)} and {shown(target.name)} are both about"
            f" {target.entity.fully_qualified_name}, which has one contract: name another entity by"
            f" {ENTITY}"
        )


def _check_amount(document: Document, count: int) -> None:
    size = len(canonical(document).encode())
    if count > MOST_CONTRACTS or count * size > MOST_BYTES:
        raise InvalidInput(
            f"each contract is given the whole document: one document may have {MOST_CONTRACTS}"
            f" contracts, and {MOST_BYTES} bytes in all of them, got {count} of {size} bytes"
        )


def _nowhere(publication: Publication, objects: Sequence[Object]) -> str:
    """The refusal of a document of which no entity was found."""
    sought = ", ".join(shown(called(each, place)) for place, each in objects[:NAMED])
    schemas = schemas_of_servers(publication.document)
    if publication.services is None:
        why = "you may not see tables, so that its servers are not looked at"
    elif not schemas:
        why = "no server of it names a database or schema"
    else:
        why = f"there is no such table in {', '.join(schemas[:NAMED])} of any service"
    return (
        f"the catalog has no entity that this document is about ({sought}): {why}. Give the"
        f" qualified name of the entity as custom property {ENTITY} of the document or of its"
        " schema object"
    )
