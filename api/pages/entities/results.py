"""Results of a contract as pages show them: how each ended, what failed and why."""

from collections.abc import Iterator, Sequence

import msgspec

from api.callers.permissions import Access
from api.services import Services
from api.use_cases.contract_validation import shown_result
from domain.aggregate.entity import Entity
from domain.contracts.validation.results import ContractResult, SlaValidation
from domain.errors import cut
from domain.measurements.port import PageRequest
from domain.measurements.reports import RESULT

_MOST_BYTES = 1_000_000
"""Bytes of results that are read for a page."""
_MOST_TEXT = 2_000
"""Characters that are shown of the text of a result."""
_MOST_LINE = 300
"""Characters that are shown of a column or rule that failed."""
_MINUTE = 60_000


class ResultPart(msgspec.Struct, frozen=True):
    """The part of a result about one part of a contract, such as its columns."""

    title: str
    said: str
    """Words on how many columns, rules or tests passed."""
    failed: Sequence[str]
    """The first columns, rules or tests that failed, each with the reason."""
    more: int
    """Number of failed ones that `failed` leaves out."""


class ShownResult(msgspec.Struct, frozen=True):
    """A result as far as the caller may see it."""

    timestamp: int
    """Milliseconds since 1970."""
    status: str
    version: float | None
    """The version of the contract that was judged; None where the reporter did not say."""
    text: str
    parts: Sequence[ResultPart]


class ResultPage(msgspec.Struct, frozen=True):
    """Some results of a contract, the newest first."""

    rows: Sequence[ShownResult]
    total: int
    """Number of all results, before and after these included."""
    before: int | None
    """Time before which older results are; None where there are none."""


def read_results(
    services: Services,
    access: Access,
    contract: Entity,
    *,
    limit: int,
    named: int,
    before: int | None = None,
) -> ResultPage:
    """The newest results from before a time in milliseconds since 1970, `limit` of them at most.

    Each result names at most `named` failed columns and rules of each sort. Blocks.
    """
    wanted = PageRequest(
        entity_id=contract.id,
        series=RESULT,
        part="",
        before=before,
        limit=limit,
        most_bytes=_MOST_BYTES,
    )
    page = services.measurements.page(wanted)
    rows = [_shown(shown_result(access, contract, body), named) for _, body in page.points]
    return ResultPage(rows, page.total, page.points[-1][0] if page.more else None)


def _shown(body: bytes, named: int) -> ShownResult:
    result = msgspec.json.decode(body, type=ContractResult)
    return ShownResult(
        timestamp=result.timestamp,
        status=result.contract_execution_status,
        version=result.data_contract_version,
        text=cut(result.result or "", _MOST_TEXT),
        parts=[
            ResultPart(
                title, said, [cut(each, _MOST_LINE) for each in failed[:named]], len(failed[named:])
            )
            for title, said, failed in _parts(result)
        ],
    )


def _parts(result: ContractResult) -> Iterator[tuple[str, str, list[str]]]:
    """Title, words on what passed, and failures, of each part of the contract in the result."""
    if schema := result.schema_validation:
        missing = [f"{each} is missing" for each in schema.failed_fields or ()]
        twice = [f"{each} is promised twice" for each in schema.duplicate_fields or ()]
        failed = [*missing, *twice, *(schema.type_mismatch_fields or ())]
        yield "Columns", _passed(schema.passed, schema.total), failed
    if semantics := result.semantics_validation:
        rules = semantics.failed_rules or ()
        failed = [": ".join(filter(None, (each.rule_name, each.reason))) for each in rules]
        yield "Rules of meaning", _passed(semantics.passed, semantics.total), failed
    if quality := result.quality_validation:
        failed = [f"{quality.failed:,} failed"] if quality.failed else []
        yield "Tests", _passed(quality.passed, quality.total), failed
    if times := result.sla_validation:
        yield "Service level", *_times(times)


def _passed(passed: int | None, total: int | None) -> str:
    if passed is None or total is None:
        return ""
    return f"{passed:,} of {total:,} passed"


def _times(times: SlaValidation) -> tuple[str, list[str]]:
    """Words on the times that were kept, and on each time that was not."""
    named = {
        "refresh frequency": times.refresh_frequency_met,
        "latency": times.latency_met,
        "availability": times.availability_met,
    }
    said = [f"{name} kept" for name, met in named.items() if met]
    if times.actual_latency is not None:
        said.append(f"the data was {times.actual_latency / _MINUTE:,.0f} minutes old")
    return " · ".join(said), [f"{name} not kept" for name, met in named.items() if met is False]
