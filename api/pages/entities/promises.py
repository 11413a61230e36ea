"""The page of a contract beside its own keys: agreement with its entity, tests, results, badge."""

from collections.abc import Mapping
from typing import Any

from api.callers.permissions import Access, Action, Permission
from api.pages.entities.entity_routes import EntityRequest
from api.pages.entities.quality import expected_tests
from api.pages.entities.results import read_results
from api.paths.entity_pages import entity_address
from api.use_cases.badges import badge_text
from api.use_cases.contract_validation import find_contract, sees_details
from domain.aggregate.entity import Entity
from domain.contracts.validation.columns import (
    SIZES,
    Agreement,
    agreement,
    columns_of,
    paths_to_columns,
)
from domain.errors import NotFound
from domain.kinds.registry import CONTRACT, KINDS
from projections.visibility.withholding import FieldWithheld

IN_WORDS = frozenset(
    ("termsOfUse", "sla", "semantics", "qualityExpectations", "odcsQualityRules", "security")
)
"""Keys of a contract that its template makes sentences and tables of."""
_PROMISED = ("schema",)
"""Paths of a contract to the columns that it promises."""
_NAMED = 100
"""Columns and rules of each sort that the page names of the newest result."""


def promises_of(at: EntityRequest, entity: Mapping[str, Any]) -> dict[str, Any] | None:
    """The values of the template of contracts; None for an entity of another kind. Blocks.

    A page of the past has only values from the contract itself.
    """
    if at.kind != CONTRACT:
        return None
    if at.moment is not None:
        return {"expected": [], "agreement": None, "live": False}
    expected = expected_tests(at, entity)
    try:
        contract = find_contract(at.services, entity["id"])
    except NotFound:
        # A deleted contract promises nothing, and has no results.
        return {"expected": expected, "agreement": None, "live": False}
    access, about = at.access, _about(contract)
    page = read_results(at.services, access, contract, limit=1, named=_NAMED)
    return {
        "expected": expected,
        "agreement": agreement_of(at, contract),
        "live": True,
        "newest": page.rows[0] if page.rows else None,
        "total": page.total,
        "all": entity_address(at.kind.name, entity["fullyQualifiedName"], "results"),
        "details": sees_details(access, contract),
        "may_validate": about in access.sees_whole
        and access.may(Permission(Action.EDIT, CONTRACT.name)),
        "badge": _badge(access, contract),
    }


def agreement_with_contract(at: EntityRequest, attached: Mapping[str, Any]) -> Agreement | None:
    """The agreement of an entity with an attached contract, one item of a list of `relations`.

    None where there is nothing to compare. Blocks.
    """
    if attached["kind"] != CONTRACT.name:
        return None
    try:
        return agreement_of(at, find_contract(at.services, attached["items"][0]["id"]))
    except NotFound:
        return None


def agreement_of(at: EntityRequest, contract: Entity) -> Agreement | None:
    """The agreement of a live contract with its entity.

    None where there is nothing to compare, or the caller may not see all that is compared. Blocks.
    """
    kind = KINDS[_about(contract)]
    paths = paths_to_columns(kind)
    if not _sees(at.access, CONTRACT.name, _PROMISED) or not _sees(at.access, kind.name, paths):
        return None
    promised = contract.value("schema")
    try:
        entity = at.services.catalog.planner.live(kind, contract.value("entity")["id"])
    except NotFound:
        return None
    there = columns_of(kind, entity)
    return agreement(promised, there) if promised and there else None


def _about(contract: Entity) -> str:
    """The kind of the entity that a contract is about."""
    kind: str = contract.value("entity")["type"]
    return kind


def _sees(access: Access, kind: str, paths: tuple[str, ...]) -> bool:
    """True if a caller may see the types of the columns at the paths."""
    withheld = access.withheld(Action.VIEW, kind)
    return access.may(Permission(Action.VIEW, kind)) and not (
        withheld and any(withheld.covers(f"{path}.{size}") for path in paths for size in SIZES)
    )


def _badge(access: Access, contract: Entity) -> str | None:
    """The text of the badge; None where the caller may not see a field of it."""
    try:
        return badge_text(access, contract)
    except FieldWithheld:
        return None
