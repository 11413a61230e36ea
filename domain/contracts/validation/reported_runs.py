"""Runs of the tests of datacontract-cli, and the result that a contract has by one of them."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import Meta

from domain.aggregate.lifecycle import format_version
from domain.contracts.validation.results import (
    MOST_NAMED,
    ContractResult,
    QualityValidation,
    SchemaValidation,
    Status,
)
from domain.dates import milliseconds
from domain.errors import InvalidInput
from domain.kinds.bodies.secret_texts import masked_lines

_STRUCTURE = frozenset({"field_is_present", "field_type", "field_physical_type"})
"""Types of checks that read no rows."""
_QUALITY = "quality"
"""Category of the checks that quality rules become; others are of columns and service levels."""
_STATUSES: dict[str, Status] = {
    "passed": "Success",
    "warning": "PartialSuccess",
    "failed": "Failed",
    "error": "Aborted",
    "unknown": "Aborted",
}
"""Result of a run or a check -> status, the worst last. Checks with other results were not run."""
_WORST = tuple(_STATUSES)
MOST_CHECKS = 20_000
"""The most checks of a run: each contract of the tested document goes through all of them."""
_SAID = 20
"""Checks that the text of a result names of each sort."""
_NAMED = 200
"""Characters of the name or the reason of a check in that text."""


class Check(msgspec.Struct, kw_only=True, rename="camel"):
    """A check of a run; what else a release of the CLI may say of it is taken and not kept."""

    type: str = ""
    category: str | None = None
    """None for a check of the run itself, such as that the data could be read."""
    name: str | None = None
    model: str | None = None
    """The schema object that it is about, by its physical name, or else its name."""
    field: str | None = None
    dimension: str | None = None
    result: str | None = None
    """None for a check that was planned but not made."""
    reason: str | None = None

    @property
    def title(self) -> str:
        """The check as texts name it."""
        return self.name or " ".join(filter(None, (self.type, self.field)))


class Log(msgspec.Struct, kw_only=True):
    """A message of a run."""

    level: str = ""
    message: str = ""


class ReportedRun(msgspec.Struct, kw_only=True, rename="camel"):
    """A run of the tests of a document, as datacontract-cli 1.2 reports it."""

    run_id: UUID
    data_contract_id: Annotated[str, Meta(min_length=1)]
    data_contract_version: str | None = None
    datacontract_cli_version: str | None = None
    server: str | None = None
    timestamp_start: datetime | None = None
    timestamp_end: datetime | None = None
    result: str = "unknown"
    dry_run: bool = False
    filters: dict[str, Any] | None = None
    """Names of schema objects of which only some rows were read."""
    checks: Annotated[list[Check], Meta(max_length=MOST_CHECKS)] | None = None
    logs: list[Log] | None = None

    def moment(self) -> int:
        """The end of the run, else its beginning, in milliseconds since 1970.

        Raises InvalidInput where it has neither.
        """
        at = self.timestamp_end or self.timestamp_start
        if at is None:
            raise InvalidInput("a run needs timestampEnd, as 2026-01-31T04:00:00Z")
        return milliseconds(at)


class ContractFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A contract whose document was tested."""

    names: frozenset[str] | None
    """The names by which checks mean its schema object; None where all checks are about it."""
    version: int
    """The version of the contract, in tenths."""
    document_version: str | None
    """The version that its document declares."""
    rules: int = 0
    """Number of its quality rules; tools make no checks of some."""

    def checks_of(self, run: ReportedRun) -> list[Check]:
        """The checks that are about the contract, or about the whole run."""
        return [
            each
            for each in run.checks or ()
            if self.names is None or each.model is None or each.model in self.names
        ]


def result_of(run: ReportedRun, tested: ContractFacts) -> ContractResult | None:
    """The result that a contract has by a run; None where the run has not tested it.

    The worst result of its checks counts. Where nothing failed but the run itself, nothing was
    measured, and the status is Aborted. Rows that were filtered out, and checks that were planned
    and not made, make a PartialSuccess of a success.
    """
    if run.dry_run:
        return None
    checks = tested.checks_of(run)
    made = [each for each in checks if each.category and each.result in _STATUSES]
    about_run = [each for each in checks if not each.category and each.result in _WORST[1:]]
    worst = _worst([*made, *about_run])
    if _worst(run.checks or ()) < _rank(run.result) and run.result != "passed":
        # No check says why the run came to this.
        worst = max(worst, _rank(run.result))
    if worst < 0:
        return None
    failed = [each for each in made if each.result == "failed"]
    status: Status = _STATUSES[_WORST[worst]]
    if status == "Failed" and about_run and not failed:
        status = "Aborted"
    unmeasured = _unmeasured(run, tested, checks)
    if unmeasured and status == "Success":
        status = "PartialSuccess"
    structure = [each for each in made if each.type in _STRUCTURE]
    quality = [each for each in made if each.type not in _STRUCTURE]
    is_same = run.data_contract_version == tested.document_version
    return ContractResult(
        timestamp=run.moment(),
        contract_execution_status=status,
        data_contract_version=tested.version / 10 if is_same else None,
        result=_text(run, tested, failed, about_run, unmeasured),
        schema_validation=_schema(structure) if structure else None,
        quality_validation=_quality(quality) if quality else None,
    )


def _rank(result: str | None) -> int:
    """The rank of a result, the worst last; -1 for a result that tells of no test."""
    return _WORST.index(result) if result in _STATUSES else -1


def _worst(checks: Iterable[Check]) -> int:
    return max((_rank(each.result) for each in checks), default=-1)


def _unmeasured(run: ReportedRun, tested: ContractFacts, checks: Sequence[Check]) -> list[str]:
    """The promises that a run has not measured."""
    left = sum(1 for each in checks if each.category and each.result not in _STATUSES)
    found = [f"{left} {'check' if left == 1 else 'checks'}"] if left else []
    unchecked = tested.rules - sum(1 for each in checks if each.category == _QUALITY)
    if unchecked > 0:
        found.append(f"{unchecked} {'rule' if unchecked == 1 else 'rules'}")
    if any(tested.names is None or name in tested.names for name in run.filters or ()):
        found.append("rows that were filtered out")
    return found


def _schema(checks: Sequence[Check]) -> SchemaValidation:
    failed = [each for each in checks if each.result == "failed"]
    missing = [each.field or each.title for each in failed if each.type == "field_is_present"]
    others = [each for each in failed if each.type != "field_is_present"]
    return SchemaValidation(
        passed=_passed(checks),
        failed=len(failed),
        total=len(checks),
        failed_fields=[_short(each) for each in missing[:MOST_NAMED]],
        duplicate_fields=[],
        type_mismatch_fields=[
            f"{_short(each.field or each.title)}: {_short(each.reason or 'another type')}"
            for each in others[:MOST_NAMED]
        ],
    )


def _quality(checks: Sequence[Check]) -> QualityValidation:
    passed = _passed(checks)
    return QualityValidation(
        passed=passed,
        failed=sum(1 for each in checks if each.result == "failed"),
        total=len(checks),
        quality_score=100 * passed / len(checks),
    )


def _passed(checks: Sequence[Check]) -> int:
    """Warnings are among the checks that passed."""
    return sum(1 for each in checks if each.result in ("passed", "warning"))


def _text(
    run: ReportedRun,
    tested: ContractFacts,
    failed: Sequence[Check],
    about_run: Sequence[Check],
    unmeasured: Sequence[str],
) -> str:
    """The text of a result: the version that was tested, what failed, and what was not measured."""
    if run.data_contract_version == tested.document_version:
        parts = [f"version {format_version(tested.version)}"]
    else:
        parts = [
            f"document version {_short(run.data_contract_version or 'unknown')}, which is not that"
            f" of the contract, {_short(tested.document_version or 'unknown')}"
        ]
    named = (
        ("failed", [_short(each.title) for each in failed]),
        ("not tested", [_short(each.reason or each.title) for each in about_run]),
        ("not evaluated", unmeasured),
    )
    for word, texts in named:
        if texts:
            more = f" and {len(texts) - _SAID} more" if len(texts) > _SAID else ""
            parts.append(f"{word}: {', '.join(texts[:_SAID])}{more}")
    return "; ".join(parts)


def _short(text: str) -> str:
    """Cut a text of a run to 200 characters, and mask what may be a secret."""
    return masked_lines(text[:_NAMED])
