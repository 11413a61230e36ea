"""The results of a contract, its badge, and the button that validates it now."""

from typing import Any

from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from api.answers.responses import Finished
from api.callers.permissions import Action
from api.callers.sign_in.sessions import Sessions
from api.declaring.declared_query import Parameters, query
from api.pages.entities.entity import entity_values
from api.pages.entities.entity_routes import (
    OF_ONE,
    REFUSALS,
    EntityPages,
    EntityRequest,
    of_contracts,
    refusal,
)
from api.pages.entities.results import read_results
from api.pages.frame.addresses import with_query
from api.pages.frame.rendering import HEADERS, AnyRequest, Renderer, redirect
from api.pages.frame.routing import form, hidden_fields, page
from api.services import Services
from api.use_cases.badges import SVG, badge_of
from api.use_cases.contract_validation import find_contract, sees_details, validate_contract
from domain.writing.entity_cache import ByName

RESULTS_SHOWN = 20
"""Results of one page."""
_NAMED = 10
"""Columns and rules of each sort that the list names of each result."""
_VIEWING = of_contracts(Action.VIEW)
_PARAMETERS: Parameters = {
    "before": query(int, "Only results from before this time, in milliseconds.", ge=1),
}


def result_pages(
    services: Services, sessions: Sessions, renderer: Renderer
) -> list[HTTPRouteHandler]:
    """The pages of the results and the badge of each contract, and where its form is sent."""
    pages = EntityPages(services, renderer)

    def results(at: EntityRequest, before: int | None) -> dict[str, Any]:
        entity, _ = at.decoded(None)
        contract = find_contract(services, entity["id"])
        found = read_results(
            services, at.access, contract, limit=RESULTS_SHOWN, named=_NAMED, before=before
        )
        address = at.address(entity["fullyQualifiedName"], "results")
        older = with_query(address, {"before": str(found.before)}) if found.before else None
        return {
            "kind": at.kind.name,
            "entity": entity,
            "found": found,
            "details": sees_details(at.access, contract),
            "first": address if before else None,
            "older": older,
            "hidden_fields": hidden_fields(at.access, Action.VIEW, [at.kind.name]),
        }

    async def badge(request: AnyRequest) -> ASGIResponse:
        at = pages.asked(request)

        def work() -> bytes:
            return badge_of(at.access, find_contract(services, ByName(at.name)))

        made = await services.heavy_read(request, work)
        return Finished(made, media_type=SVG, headers=dict(HEADERS))

    async def validate(request: AnyRequest, _: dict[str, str]) -> ASGIResponse:
        at = pages.asked(request)

        def work() -> None:
            contract = find_contract(services, ByName(at.name))
            validate_contract(services, at.access, contract, strict=False)

        try:
            await services.measure(request, work)
        except REFUSALS as error:
            status, problem = refusal(error)
            return await pages.answer(at, "entity", entity_values, status=status, problem=problem)
        return redirect(f"{at.address(at.name)}#results")

    return [
        pages.page("results", _VIEWING, results, _PARAMETERS),
        page(f"/badge{OF_ONE}", _VIEWING, badge),
        form(f"/validate{OF_ONE}", of_contracts(Action.EDIT, Action.VIEW), validate, sessions),
    ]
