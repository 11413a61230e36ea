"""Imports the contracts of a manifest: one write for each model, then those that are withdrawn."""

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from domain.aggregate.entity import Entity
from domain.contracts.changes.comparing import compare
from domain.contracts.changes.rules import Bump, bump_of
from domain.contracts.changes.terms import terms_of
from domain.contracts.exporting import document_of, given_document
from domain.contracts.importing import find_object, read_document
from domain.dbt import telling
from domain.dbt.documents import Origin, origin_in, with_model, without_model
from domain.dbt.manifest import Model
from domain.dbt.reading import decode_model
from domain.dbt.walking import contracts_below
from domain.errors import NotFound, RequestRefused, shown
from domain.event_store.port import EventStore
from domain.event_store.stored import Claim
from domain.kinds.bodies.components import Reference
from domain.kinds.bodies.contracts import GIVEN
from domain.kinds.names import join, split
from domain.kinds.registry import CONTRACT, KINDS
from domain.write_context import WriteContext
from domain.writing.catalog import NOTHING, Catalog, Proposal
from domain.writing.documents import DocumentRequest, contract_of, plan_document
from domain.writing.plans import Change, Plan

SERVICE, TABLE = KINDS["databaseService"], KINDS["table"]
Outcome = Literal["created", "changed", "unchanged", "withdrawn", "skipped"]


class ModelOutcome(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    """What became of the contract of a model."""

    unique_id: str
    entity: str
    """Qualified name of the model's table."""
    contract: str | None = None
    """Qualified name of the contract; None for a model without one."""
    outcome: Outcome
    bump: Bump | None = None
    """The part of the version that has to rise for the change; none of a contract that is new."""
    reason: str | None = None


class ManifestImport(msgspec.Struct, rename="camel", kw_only=True):
    """What became of the contracts of a manifest."""

    models: list[ModelOutcome] = []
    """Outcomes of the models that have or had an enforced contract; 5,000 at most."""
    omitted: int = 0
    """Number of models beyond those in `models`."""

    def add(self, outcome: ModelOutcome) -> None:
        """Add the outcome of a model; where `models` is full, the outcome is only counted."""
        if len(self.models) < telling.MOST_TOLD:
            self.models.append(outcome)
        else:
            self.omitted += 1


class ContractImport:
    """The import of one manifest for a database service, of which the caller does each write."""

    def __init__(self, catalog: Catalog, service: str, project: str, context: WriteContext) -> None:
        """`service` is the name of a database service; raises NotFound where there is none."""
        self._catalog = catalog
        self.service = find_service(catalog.store, service)
        self._project = project
        self._context = context
        self._places: dict[str, str | None] = {}
        """Unique id of each model with an enforced contract -> qualified name of its table; None
        where the catalog has none, as where a developer builds: nothing tells that it has moved."""

    def propose(self, line: bytes) -> tuple[Proposal, ModelOutcome]:
        """Decide on the contract of a model, which `decode_model` reads; see `Catalog.propose`.

        The outcome tells of a refusal of the contract, such as one by the gate. Raises
        StoreUnavailable.
        """
        model = decode_model(line)
        table = self._table(model.place)
        fqn = table.fqn if table else join([*split(self.service.fqn), *model.place])
        self._places[model.unique_id] = table.fqn if table else None
        outcome = ModelOutcome(
            unique_id=telling.told(model.unique_id), entity=telling.told(fqn), outcome="skipped"
        )
        if table is None:
            outcome.reason = "the catalog has no such table"
            return NOTHING, outcome
        unknown: list[str] = []

        def plan() -> Plan:
            unknown.clear()
            return self._plan(model, table.id, unknown)

        proposal = self._propose(plan, outcome)
        if unknown and outcome.outcome in ("created", "changed"):
            outcome.reason = f"no user or team is named {' or '.join(map(shown, unknown))}"
        return proposal, outcome

    def withdrawn(self) -> list[str]:
        """Ids of the contracts whose models have none any more, once all models were proposed.

        They are those that an import of the same project made or changed; none where the manifest
        names no project. Reads all contracts of the service.
        """
        if not self._project:
            return []
        below = contracts_below(self._catalog, self.service)
        return [contract.id for contract, origin in below if self._is_gone(contract, origin)]

    def propose_withdrawal(self, contract_id: str) -> tuple[Proposal, ModelOutcome | None]:
        """Decide that a contract is deprecated; the outcome is None if it is gone meanwhile."""
        planner = self._catalog.planner
        try:
            contract = planner.live(CONTRACT, contract_id)
        except NotFound:
            return NOTHING, None
        origin = origin_in(contract)
        outcome = ModelOutcome(
            unique_id=telling.told(origin.model) if origin else "",
            entity=telling.told(_entity_name(contract)),
            contract=contract.fqn,
            outcome="skipped",
        )

        def plan() -> Plan:
            held = planner.live(CONTRACT, contract_id)
            given = given_document(held.body)
            document = without_model(document_of(held), given.place if given else None)
            entity = held.value(CONTRACT.parents[0])
            about = Reference(type=entity["type"], id=entity["id"])
            return plan_document(
                planner, DocumentRequest(document=document, entity=about), self._context
            )

        proposal = self._propose(plan, outcome)
        if outcome.outcome != "skipped":
            outcome.outcome = "withdrawn"
        return proposal, outcome

    def _is_gone(self, contract: Entity, origin: Origin) -> bool:
        ended = origin.withdrawn or contract.status == "Deprecated"
        if origin.project != self._project or ended:
            return False
        if origin.model not in self._places:
            return True
        place = self._places[origin.model]
        return place is not None and place != _entity_name(contract)

    def _propose(self, plan: Callable[[], Plan], outcome: ModelOutcome) -> Proposal:
        """The proposal of a plan, whose outcome is told."""
        try:
            proposal = self._catalog.propose(plan, self._context)
        except RequestRefused as error:
            outcome.reason = error.message
            return NOTHING
        outcome.contract = proposal.entity.fqn
        if proposal.change is Change.NO_CHANGE:
            outcome.outcome = "unchanged"
        elif proposal.before is None:
            outcome.outcome = "created"
        else:
            outcome.outcome = "changed"
            outcome.bump = bump_of(compare(terms_of(proposal.before), terms_of(proposal.entity)))
        return proposal

    def _plan(self, model: Model, table_id: str, unknown: list[str]) -> Plan:
        planner = self._catalog.planner
        held = contract_of(planner, table_id)
        was = origin_in(held) if held is not None else None
        document = with_model(
            document_of(held) if held is not None else None,
            model,
            self._project,
            declared=held is not None and GIVEN in held.body,
        )
        place = find_object(document, model.place[-1])
        said = read_document(document, place)
        beside: dict[str, Any] = {}
        if "odcsQualityRules" not in said.values:
            beside["odcsQualityRules"] = None
        if model.ends != (was.ends if was else None):
            beside["effectiveUntil"] = model.ends
        if was is None and not (held is not None and held.value("owners")):
            owners, missing = self._owners(model.owners)
            unknown += missing
            if owners:
                beside["owners"] = owners
        about = Reference(type=TABLE.name, id=table_id)
        request = DocumentRequest(document=document, entity=about, place=place, beside=beside)
        return plan_document(planner, request, self._context)

    def _table(self, place: list[str]) -> Claim | None:
        """The claim of a table as the project spells it, or in the capitals of the warehouse."""
        service = split(self.service.fqn)
        spelled = [[each(part) for part in place] for each in (str, str.upper, str.lower)]
        names = [join([*service, *each]) for each in spelled]
        claims = self._catalog.store.claims(names=[(TABLE.name, fqn) for fqn in names])
        live = {claim.fqn: claim for claim in claims if not claim.deleted}
        return next((live[fqn] for fqn in names if fqn in live), None)

    def _owners(self, named: list[str]) -> tuple[list[dict[str, str]], list[str]]:
        """The first of these owners who is a user or team here, or else their names."""
        for name in named:
            # Users have the name before the @ of their address.
            for each in dict.fromkeys((name, name.partition("@")[0])):
                claims = self._catalog.store.claims(
                    names=[(kind, join([each])) for kind in _OWNERS]
                )
                if live := [claim for claim in claims if not claim.deleted]:
                    return [{"id": live[0].id, "type": live[0].kind}], []
        return [], named


_OWNERS = ("user", "team")


def find_service(store: EventStore, name: str) -> Claim:
    """The claim of a live database service; raises NotFound."""
    claim = store.claim(SERVICE.name, SERVICE.spelled(name))
    if claim is None or claim.deleted:
        raise NotFound(f"{SERVICE.name} instance for {shown(name)} not found")
    return claim


def _entity_name(contract: Entity) -> str:
    entity: dict[str, str] = contract.value(CONTRACT.parents[0])
    return entity["fullyQualifiedName"]
