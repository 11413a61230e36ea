"""Documents that tools publish: one contract for each entity that a document is about."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import msgspec

from api.callers.permissions import Access, Action, Permission
from api.declaring.signatures import AnyRequest
from api.paths.base_path import origin
from api.paths.entity_pages import entity_address
from api.services import Services, Written
from api.use_cases.documents import read_given, refuse_withheld
from api.use_cases.entity_writes import Asked, with_changes
from domain.contracts.judging import check_shape, refuse_faults
from domain.errors import InvalidInput, Unplaced
from domain.kinds.ids import parse_id
from domain.kinds.registry import CONTRACT, KINDS
from domain.writing.catalog import Proposal
from domain.writing.contract_gate import ContractBroken
from domain.writing.placing import Publication
from domain.writing.plans import Change, Step
from domain.writing.publishing import MOST_CONTRACTS, Published, plan_publication
from projections.entities.list_pages import listed_names
from projections.entities.list_port import ListRequest
from projections.entities.scopes import DOCUMENT

_SERVICE = KINDS["databaseService"]
_MOST_SERVICES = 1_000


class PublishedContract(msgspec.Struct, rename="camel"):
    """A contract that has the published document."""

    id: str
    fully_qualified_name: str
    schema_object: str
    """The schema object that stands for the entity of the contract."""
    change: Change


class PublicationAnswer(msgspec.Struct, rename="camel"):
    """The contracts that a published document is the document of."""

    id: str
    """The id of the document."""
    contracts: list[PublishedContract]
    without_entity: list[str]
    """Schema objects of which the catalog has no entity."""
    without_object: list[str]
    """Contracts with a document of this id that stay as they are, as it no longer has their schema
    object."""


def known_contracts(services: Services, document_id: str) -> list[str]:
    """The ids of contracts that lists show with a document of an id; of a writer that was just
    before some may be missing.

    Raises InvalidInput for more contracts than a document may have, and StoreUnavailable.
    """
    request = ListRequest(kind=CONTRACT, limit=MOST_CONTRACTS + 1, filters={DOCUMENT: document_id})
    listed = services.stores.entities.read(partial(listed_names, request=request))
    if len(listed) > MOST_CONTRACTS:
        raise InvalidInput(f"more than {MOST_CONTRACTS} contracts have a document of this id")
    ids = [contract_id for _, contract_id in listed]
    with suppress(InvalidInput):
        # The document of a contract that was given none has the id of the contract.
        ids.append(parse_id(document_id, "id"))
    return list(dict.fromkeys(ids))


async def publish(
    services: Services, request: AnyRequest, asked: Asked, *, strict: bool
) -> tuple[Written, PublicationAnswer]:
    """Give a document to the contracts that it is about, all of them or none.

    Raises InvalidInput for a document that is not taken, FieldWithheld, and what
    `plan_publication` raises.
    """

    def propose() -> tuple[Proposal, PublicationAnswer]:
        refuse_withheld(asked.access, Action.EDIT)
        document = check_shape(read_given(asked.body, is_yaml=asked.is_yaml))
        if strict:
            refuse_faults(document)
        document_id = str(document["id"])
        publication = Publication(
            document=document,
            known=partial(known_contracts, services, document_id),
            services=partial(_services, services) if _may_look(asked.access) else None,
        )
        planned: Published | None = None

        def plan() -> Sequence[Step]:
            nonlocal planned
            planned = plan_publication(services.catalog.planner, publication, asked.context)
            return [step for _, each in planned.plans for step in each.steps]

        try:
            proposal, _ = services.catalog.propose_steps(plan)
        except ContractBroken as error:
            raise with_changes(error, asked.access) from None
        assert planned is not None
        return proposal, _answer(document_id, planned)

    return await services.write(request, propose)


def page_of(services: Services, request: AnyRequest, fqn: str) -> dict[str, str]:
    """The header by which datacontract-cli learns of the page of a contract."""
    address = entity_address(CONTRACT.name, fqn)
    return {"location-html": origin(services.settings.public_url, request.scope) + address}


def _may_look(access: Access) -> bool:
    """True if a caller may be told which tables there are: a refusal names those that are meant."""
    withheld = access.withheld(Action.VIEW, "table")
    return access.may(Permission(Action.VIEW, "table")) and not (
        withheld and any(map(withheld.covers, ("name", "fullyQualifiedName")))
    )


def _services(services: Services) -> list[str]:
    """The qualified names of all services of databases; raises Unplaced for too many."""
    request = ListRequest(kind=_SERVICE, limit=_MOST_SERVICES + 1)
    listed = services.stores.entities.read(partial(listed_names, request=request))
    if len(listed) > _MOST_SERVICES:
        raise Unplaced(
            f"servers are looked for in up to {_MOST_SERVICES} services of databases, and there are"
            " more: name the entity by the custom property catalogEntity"
        )
    return [_SERVICE.spelled(name) for name, _ in listed]


def _answer(document_id: str, published: Published) -> PublicationAnswer:
    contracts = [
        PublishedContract(
            id=plan.own.after.id,
            fully_qualified_name=plan.own.after.fqn,
            schema_object=name,
            change=plan.change,
        )
        for name, plan in published.plans
    ]
    return PublicationAnswer(
        id=document_id,
        contracts=contracts,
        without_entity=list(published.without_entity),
        without_object=list(published.without_object),
    )
