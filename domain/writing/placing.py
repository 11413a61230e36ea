"""Entities that a published document is about: by contracts that have it, names, and servers."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from domain.aggregate.entity import Entity
from domain.contracts.canonical import Document
from domain.contracts.elements import Element
from domain.contracts.importing import find_object
from domain.contracts.locations import (
    ENTITY,
    document_id,
    named_entity,
    object_of,
    schemas_of_servers,
    table_name,
)
from domain.errors import NotFound, Unplaced, shown
from domain.event_store.stored import Claim
from domain.kinds.bodies.components import Reference
from domain.kinds.bodies.contracts import GIVEN
from domain.kinds.names import child
from domain.kinds.registry import CONTRACT, KINDS
from domain.requests.references import reference_to
from domain.writing.planning import Planner

NAMED = 10
"""Things that a refusal names of each sort."""
_MOST_NAMES = 20_000
"""Qualified names that are looked up for the servers of a document."""
_AT_ONCE = 1_000
_SCHEMA, _TABLE = KINDS["databaseSchema"], KINDS["table"]

Object = tuple[int | None, Element]
"""A schema object with its place; no place for a document without schema objects."""


class Publication(msgspec.Struct, frozen=True, kw_only=True):
    """A document, and what read models know of the places where it belongs."""

    document: Document
    known: Callable[[], Sequence[str]]
    """Gives the ids of contracts that may have a document of this id; called for each plan."""
    services: Callable[[], Sequence[str]] | None
    """Gives the qualified names of all database services; None if tables are not looked for."""


def holders(
    planner: Planner, publication: Publication, objects: Sequence[Object]
) -> tuple[dict[int | None, list[Reference]], list[str]]:
    """Place of a schema object -> entities with a contract that has it already.

    Returns as well the qualified names of the contracts with a document of this id that have none
    of the objects.
    """
    by_name: dict[str, int | None] = {}
    by_entity: dict[str, int | None] = {}
    for key in ("name", "physicalName"):
        for place, each in objects:
            if isinstance(name := each.get(key), str):
                by_entity.setdefault(name.lower(), place)
                if key == "name":
                    by_name.setdefault(name, place)
    held: dict[int | None, list[Reference]] = {}
    strays: list[str] = []
    sought = str(publication.document["id"])
    for contract in contracts_with(planner, publication.known(), sought):
        entity = contract.value(CONTRACT.parents[0])
        before = object_of(contract.body).get("name")
        if isinstance(before, str) and before in by_name:
            place = by_name[before]
        elif entity["name"].lower() in by_entity:
            place = by_entity[entity["name"].lower()]
        elif len(objects) == 1:
            place = objects[0][0]
        else:
            strays.append(contract.fqn)
            continue
        holder = Reference(
            type=entity["type"],
            id=entity["id"],
            fully_qualified_name=entity["fullyQualifiedName"],
        )
        held.setdefault(place, []).append(holder)
    return held, strays


def contracts_with(planner: Planner, contract_ids: Iterable[str], sought: str) -> Iterator[Entity]:
    """The live contracts, among those with these ids, whose document has the id that is sought."""
    for contract_id in contract_ids:
        try:
            contract = planner.live(CONTRACT, contract_id)
        except NotFound:
            continue
        # The document of a contract that was given none has the id of the contract.
        own = document_id(contract.body) if GIVEN in contract.body else contract.id
        if own == sought:
            yield contract


def named_entities(
    planner: Planner, document: Document, objects: Sequence[Object]
) -> dict[int | None, Reference]:
    """Place of a schema object -> entity that `catalogEntity` names for it.

    A `catalogEntity` of the document itself counts for the schema object that fits the entity.
    """
    named: dict[int | None, Reference] = {}
    for place, each in objects:
        if (fqn := named_entity(each)) is not None:
            named[place] = _entity(planner, fqn)
    if (fqn := named_entity(document)) is not None:
        entity = _entity(planner, fqn)
        named.setdefault(find_object(document, entity.name or ""), entity)
    return named


def _entity(planner: Planner, fqn: str) -> Reference:
    """The live entity of any kind with a qualified name; raises Unplaced."""
    wanted = [(kind.name, kind.spelled(fqn)) for kind in KINDS.values() if kind is not CONTRACT]
    holders = [claim for claim in planner.log.claims(names=wanted) if not claim.deleted]
    if not holders:
        raise Unplaced(f"{ENTITY}: nothing in the catalog is named {shown(fqn)}")
    if len(holders) > 1:
        kinds = " and a ".join(claim.kind for claim in holders)
        raise Unplaced(
            f"{ENTITY}: there is a {kinds} named {shown(fqn)}; PUT the document to"
            f" {CONTRACT.collection}/{GIVEN} once, with entityId, to tell which one is meant"
        )
    return reference_to(holders[0])


def tables_at_servers(
    planner: Planner, publication: Publication, objects: Sequence[Object]
) -> dict[int | None, Reference]:
    """Place of a schema object -> the table at the servers of the document that has its name.

    Raises Unplaced for an object that several tables fit.
    """
    schemas = schemas_of_servers(publication.document)
    wanted = [(name, place) for place, each in objects if (name := table_name(each)) is not None]
    if not schemas or not wanted or publication.services is None:
        return {}
    services = publication.services()
    _check_lookups(len(services) * len(schemas))
    above = _claims(planner, _SCHEMA.name, (f"{a}.{b}" for a in services for b in schemas))
    _check_lookups(len(above) * len(wanted))
    places = {child(each.fqn, name): place for each in above for name, place in reversed(wanted)}
    tables: dict[int | None, list[Claim]] = {}
    for claim in _claims(planner, _TABLE.name, places):
        tables.setdefault(places[claim.fqn], []).append(claim)
    for found in tables.values():
        if len(found) > 1:
            names = " or ".join(claim.fqn for claim in found[:NAMED])
            raise Unplaced(
                f"schema object {shown(found[0].name)} may be about {names}: name one of them by"
                f" the custom property {ENTITY}"
            )
    return {place: reference_to(claim) for place, (claim,) in tables.items()}


def _check_lookups(count: int) -> None:
    if count > _MOST_NAMES:
        raise Unplaced(
            f"the servers of the document may mean {count} places, more than {_MOST_NAMES}: name"
            f" the entity of each schema object by the custom property {ENTITY}"
        )


def _claims(planner: Planner, kind: str, fqns: Iterable[str]) -> list[Claim]:
    """The live entities of a kind with these qualified names."""
    wanted = [(kind, fqn) for fqn in fqns]
    parts = (wanted[begin : begin + _AT_ONCE] for begin in range(0, len(wanted), _AT_ONCE))
    return [
        claim for part in parts for claim in planner.log.claims(names=part) if not claim.deleted
    ]
