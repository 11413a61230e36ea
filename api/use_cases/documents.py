"""Documents of contracts: written, read as far as a caller may see them, and judged."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec

from api.callers.permissions import Access, Action
from api.services import Services
from api.use_cases.entity_reads import etag
from api.use_cases.entity_writes import Asked
from domain.aggregate.entity import Entity
from domain.aggregate.lifecycle import format_version
from domain.contracts.canonical import Document, read_json
from domain.contracts.columns import column_names, read_columns
from domain.contracts.elements import Element
from domain.contracts.exporting import document_of
from domain.contracts.importing import find_object, object_at
from domain.contracts.judging import check_shape, faults, refuse_faults
from domain.contracts.validation.columns import columns_of, compare, paths_to_columns
from domain.contracts.validation.results import SchemaValidation
from domain.contracts.yaml_input import read_yaml
from domain.kinds.bodies.components import Reference
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import CONTRACT, KINDS
from domain.writing.documents import DocumentRequest, plan_document
from domain.writing.entity_cache import ByName
from domain.writing.planning import Planner
from domain.writing.plans import Plan
from projections.visibility.documents import cut_document, document_is_withheld


class ContractValidation(msgspec.Struct, rename="camel", omit_defaults=True):
    """Tells if a document is valid by the standard, and its entity has what it promises."""

    valid: bool
    schema_validation: SchemaValidation | None = None
    """There where the entity is of a kind that has columns."""
    entity_errors: list[str] = []
    """What is wrong with the contract itself; of a document JSON path and fault of each place that
    the schema of the standard refuses, 100 at most."""
    constraint_errors: list[str] = []
    """What is wrong with it beside what is there already."""


def read_given(body: bytes, *, is_yaml: bool) -> Any:
    """The value of a body in YAML or JSON; raises InvalidInput."""
    return read_yaml(body) if is_yaml else read_json(body)


def refuse_withheld(access: Access, action: Action) -> None:
    """Raise FieldWithheld for a document of a caller who may not see all that documents say.

    A document is written as a whole, and what of it is withheld would be overwritten unseen.
    """
    withheld = access.withheld(action, CONTRACT.name)
    if withheld and document_is_withheld(withheld):
        withheld.refuse_all("a document says all of a contract")


def plan_of_document(
    planner: Planner,
    action: Action,
    entity: Reference,
    object_name: str | None,
    asked: Asked,
    *,
    strict: bool,
    replaces: bool = False,
) -> Callable[[], Plan]:
    """Write the contract of an entity from the document in a body.

    Raises InvalidInput for a document that is not taken, which of one that is `strict` are all that
    are not valid; and FieldWithheld.
    """
    refuse_withheld(asked.access, action)
    document = check_shape(read_given(asked.body, is_yaml=asked.is_yaml))
    if strict:
        refuse_faults(document)
    request = DocumentRequest(
        document=document, entity=entity, object_name=object_name, replaces=replaces
    )
    creating = action is Action.CREATE
    return partial(plan_document, planner, request, asked.context, creating=creating)


def read_document(
    services: Services, access: Access, which: str | ByName, encode: Callable[[Document], bytes]
) -> tuple[bytes, Mapping[str, Any]]:
    """The document of a contract as far as a caller may see it, and what else is answered.

    Raises NotFound, and FieldWithheld where all of a document is withheld.
    """
    contract = services.catalog.planner.live(CONTRACT, which)
    document, digest = document_of(contract), None
    if withheld := access.withheld(Action.VIEW, CONTRACT.name):
        document, digest = cut_document(document, withheld), withheld.digest
    tag = etag(format_version(contract.version), contract.last_event, digest)
    return encode(document), {"headers": {"ETag": tag}, "conditional": True}


def validate_document(
    services: Services,
    access: Access,
    entity: Reference,
    object_name: str | None,
    document: Document,
) -> ContractValidation:
    """Judge a document for the contract of an entity; nothing is stored.

    Raises InvalidInput for the name of no schema object, NotFound without the entity, and Forbidden
    and FieldWithheld where the caller may not see it.
    """
    kind = KINDS[entity.type or ""]
    access.require(Action.VIEW, kind.name)
    columns = paths_to_columns(kind)
    if columns and (withheld := access.withheld(Action.VIEW, kind.name)):
        for path in columns:
            withheld.refuse_field(path, "entityType")
    state = services.catalog.planner.live(kind, entity.id or "")
    problems = [str(fault) for fault in faults(document)]
    compared = None
    if columns:
        place = find_object(document, state.name, object_name)
        compared = _compared(object_at(document, place), state, kind)
    is_valid = not problems and (compared is None or not compared.failed)
    return ContractValidation(valid=is_valid, schema_validation=compared, entity_errors=problems)


def _compared(holder: Element, state: Entity, kind: EntityKind) -> SchemaValidation:
    """The properties of a schema object held against the columns of its entity."""
    promised = {column["name"]: column for column in read_columns(holder)}
    # A property that can stand for no column is compared as one of unknown type.
    unfit = {"dataType": "UNKNOWN"}
    wanted = [promised.get(name, {"name": name, **unfit}) for name in column_names(holder)]
    return compare(wanted, columns_of(kind, state), strict=False)
