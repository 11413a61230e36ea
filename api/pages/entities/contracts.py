"""Contracts on pages: their columns beside those of their entity, and the tests they expect."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from api.callers.permissions import Action, Permission
from api.pages.entities.columns import ShownColumn, decode, unfold
from api.pages.entities.entity_routes import EntityRequest
from api.pages.entities.quality import read_run
from api.use_cases.entity_reads import read_entity
from domain.errors import NotFound
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS
from domain.measurements.reports import RESULT
from projections.entities.port import Include

MOST_SHOWN = 100
"""Tests that a page shows of a contract."""
READ = frozenset(
    ("termsOfUse", "sla", "semantics", "qualityExpectations", "odcsQualityRules", "security")
)
"""Keys of a contract that its template makes sentences and tables of."""


class ColumnDifference(msgspec.Struct, frozen=True):
    """A promised column that is not there as it is promised."""

    path: str
    promised: str
    there: str | None
    """Its type; None where there is no such column."""


class Agreement(msgspec.Struct, frozen=True):
    """The columns that a contract promises, beside those of its entity."""

    promised: int
    differences: tuple[ColumnDifference, ...]
    unpromised: int
    """Columns that there are beside those that are promised."""

    @property
    def agreeing(self) -> int:
        """Promised columns that are there, with their type."""
        return self.promised - len(self.differences)


def compare(promised: Iterable[ShownColumn], there: Iterable[ShownColumn]) -> Agreement:
    """Compare columns by their names and types, nested ones by their paths."""
    wanted, actual = dict(_types(promised)), dict(_types(there))
    differences = [
        ColumnDifference(path, wanted[path], actual.get(path))
        for path in wanted
        if path not in actual or wanted[path] != actual[path]
    ]
    return Agreement(len(wanted), tuple(differences), len(actual.keys() - wanted.keys()))


def _types(given: Iterable[ShownColumn]) -> Iterator[tuple[str, str]]:
    for row in unfold(given):
        column, inner = row.column, row.column.arrayDataType
        yield row.path, f"{column.dataType}<{inner}>" if inner else column.dataType


def agreement_with_entity(at: EntityRequest, contract: Mapping[str, Any]) -> Agreement | None:
    """The agreement of a contract with its entity; None where there is nothing to compare.

    `contract` is what the caller sees of an entity of a kind that describes columns. Blocks.
    """
    assert at.kind.agreement is not None
    about = contract.get(at.kind.agreement.about)
    promised = contract.get(at.kind.agreement.describes)
    if not about or not promised or about["type"] not in KINDS:
        return None
    other = KINDS[about["type"]]
    there = _shown(at, other, about["id"])
    if there is None or not there.get(other.columns or ""):
        return None
    return compare(promised, there[other.columns or ""])


def agreement_with_contract(
    at: EntityRequest, entity: Mapping[str, Any], attached: Mapping[str, Any]
) -> Agreement | None:
    """The agreement of an entity with an attached contract, one item of a list of `relations`.

    None where there is nothing to compare. Blocks.
    """
    other = KINDS[attached["kind"]]
    if other.agreement is None or not entity.get(at.kind.columns or ""):
        return None
    contract = _shown(at, other, attached["items"][0]["id"])
    if contract is None or not contract.get(other.agreement.describes):
        return None
    return compare(contract[other.agreement.describes], entity[at.kind.columns or ""])


def _shown(at: EntityRequest, kind: EntityKind, entity_id: str) -> dict[str, Any] | None:
    """An entity as the caller may see it; None where it does not exist or is withheld."""
    if not at.access.may(Permission(Action.VIEW, kind.name)):
        return None
    given = {"fields": None, "include": Include.ALL}
    try:
        body, _ = read_entity(at.services, kind, at.access, given, None, entity_id=entity_id)
    except NotFound:
        return None
    return decode(kind, body)


def expected_tests(at: EntityRequest, contract: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The tests that a contract expects to pass, each with what its last run came to.

    Blocks: the latest results of the tests are read.
    """
    may_view = at.access.may(Permission(Action.VIEW, "testCase"))
    tests = []
    for reference in (contract.get("qualityExpectations") or [])[:MOST_SHOWN]:
        newest = at.services.measurements.latest(reference["id"], RESULT) if may_view else None
        tests.append({"reference": reference, "seen": may_view, "run": read_run(newest)})
    return tests
