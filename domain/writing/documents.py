"""Plans of contracts that are given as documents of the Open Data Contract Standard."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec.structs import replace

from domain.aggregate.entity import Entity
from domain.contracts.canonical import Document, canonical
from domain.contracts.columns import kept_columns
from domain.contracts.exporting import digests
from domain.contracts.importing import Said, find_object, read_document
from domain.contracts.roles import kept_security
from domain.kinds.bodies.components import Reference
from domain.kinds.bodies.contracts import DataContract, GivenDocument
from domain.kinds.registry import CONTRACT
from domain.requests import drafts
from domain.requests.drafts import Draft
from domain.requests.references import find
from domain.write_context import WriteContext
from domain.writing.planning import Planner
from domain.writing.plans import Plan

_SAID_ALONE = ("description", "termsOfUse", "schema", "odcsQualityRules", "sla")
"""Keys that a document which replaces the contract removes where it does not say them. `security`
is not among them: roles say but a part of it."""


class DocumentRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A document for the contract of an entity."""

    document: Document
    entity: Reference
    object_name: str | None = None
    """Name of the schema object that stands for the entity; None for the one that fits best."""
    place: int | None = None
    """Place of that schema object, where it is known."""
    replaces: bool = False
    """True if values go that the document does not say, though documents can."""
    beside: Mapping[str, Any] = MappingProxyType({})
    """Further values of the contract, by the keys of its body; None for one that goes."""


def plan_document(
    planner: Planner, request: DocumentRequest, context: WriteContext, *, creating: bool = False
) -> Plan:
    """Create the contract of an entity from a document, or change it to say what the document says.

    The contract keeps the name that it has, and what no document says. With `creating` there must
    be no contract yet. Raises what `Planner.put_draft` raises, and NotFound without the entity.
    """
    claims = planner.log
    entity = find(claims, request.entity, (), "entity")
    place = request.place
    if place is None:
        place = find_object(request.document, entity.name, request.object_name)
    said = read_document(request.document, place)
    held = None if creating else contract_of(planner, entity.id)
    values = _values(said, held, replaces=request.replaces)
    values |= {**request.beside, "entity": {"id": entity.id, "type": entity.kind}}
    context = replace(context, contract_first=True)

    def plan(by: Planner) -> Plan:
        draft: Draft = drafts.draft(CONTRACT, values)
        assert isinstance(draft.struct, DataContract)
        draft.struct.odcs = given
        known = by.claims(CONTRACT, draft)
        return by.put_draft(CONTRACT, draft, context, known, creating=creating)

    given = GivenDocument(text=canonical(request.document), values={}, place=place)
    # The values depend on what is stored, so they are known only after a first plan.
    given.values = digests(plan(planner.without_gate()).own.after.body)
    return plan(planner)


def contract_of(planner: Planner, entity_id: str) -> Entity | None:
    """The live contract of an entity, if there is one."""
    for claim in planner.log.claims(parents=[entity_id]):
        if claim.kind == CONTRACT.name and not claim.deleted:
            return planner.live(CONTRACT, claim.id)
    return None


def _values(said: Said, held: Entity | None, *, replaces: bool) -> dict[str, Any]:
    """The body to put: the document's values, with details that only the `held` contract has."""
    values = dict(said.values)
    if held is None:
        return {"name": said.name, **values}
    if "schema" in values:
        values["schema"] = kept_columns(held.value("schema") or [], values["schema"])
    if "security" in values:
        values["security"] = kept_security(held.value("security") or {}, values["security"])
    if "sla" in values and not replaces:
        values["sla"] = {**(held.value("sla") or {}), **values["sla"]}
    removed = {key: None for key in _SAID_ALONE if key not in values} if replaces else {}
    return {"name": held.name, **values, **removed}
