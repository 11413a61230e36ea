"""Results of validations, in the shapes of OpenMetadata's clients."""

from typing import Annotated, Literal
from uuid import UUID, uuid5

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from domain.kinds.bodies.components import Integer, Part, Percent

MOST_NAMED = 1_000
"""Columns, and rules, that a result names of each sort; the numbers are of all."""

Status = Literal["Running", "Success", "Failed", "PartialSuccess", "Aborted", "Queued"]


class SchemaValidation(Part, kw_only=True):
    """The columns that a contract promises, held against those that its entity has."""

    passed: Integer | None = None
    failed: Integer | None = None
    total: Integer | None = None
    failed_fields: list[str] | None = None
    """Promised columns that are not there, by their paths."""
    duplicate_fields: list[str] | None = None
    """Columns that are promised twice."""
    type_mismatch_fields: list[str] | None = None
    """Columns of another type, each as `path: expected INT, got TEXT`."""


class FailedRule(Part, kw_only=True):
    """A rule about the metadata that does not hold, or cannot be evaluated."""

    rule_name: str | None = None
    reason: str | None = None


class SemanticsValidation(Part, kw_only=True):
    """The rules about the metadata of the entity."""

    passed: Integer | None = None
    failed: Integer | None = None
    total: Integer | None = None
    failed_rules: list[FailedRule] | None = None


class QualityValidation(Part, kw_only=True):
    """The tests of the data, by their newest results."""

    passed: Integer | None = None
    failed: Integer | None = None
    total: Integer | None = None
    quality_score: Percent | None = None
    """Tests of a hundred that passed, of those with a result."""


class SlaValidation(Part, kw_only=True):
    """The times that the producer keeps; what was not measured is absent."""

    refresh_frequency_met: bool | None = None
    latency_met: bool | None = None
    availability_met: bool | None = None
    actual_latency: Integer | None = None
    """Milliseconds."""


class ContractResult(Part, kw_only=True):
    """The result of a validation of a contract, by the catalog or by anybody who reports one."""

    timestamp: Annotated[int, Meta(ge=1, le=2**53 - 1)]
    """Milliseconds since 1970."""
    contract_execution_status: Status
    id: str | None = None
    data_contract_fqn: str | None = msgspec.field(default=None, name="dataContractFQN")
    data_contract_version: float | None = None
    """The version that was judged, which OpenMetadata's client does not know."""
    result: Annotated[str, Meta(max_length=20_000)] | None = None
    schema_validation: SchemaValidation | None = None
    semantics_validation: SemanticsValidation | None = None
    quality_validation: QualityValidation | None = None
    sla_validation: SlaValidation | None = None
    incident_id: str | None = None
    execution_time: Integer | None = None
    by_catalog: bool | None = None
    """True if the catalog itself made the result; results of others are reported."""

    def of(self, contract_id: str, fqn: str) -> "ContractResult":
        """The result as it is kept of a contract; its id follows from the contract and the time."""
        return replace(self, id=result_id(contract_id, self.timestamp), data_contract_fqn=fqn)


class LatestResult(Part, kw_only=True):
    """The newest result of a contract, as a read of the contract shows it."""

    timestamp: int
    status: Status
    message: str | None = None
    result_id: str | None = None


def latest(result: bytes, *, with_message: bool) -> LatestResult:
    """The short form of a contract's newest result, from the JSON of the result."""
    held = msgspec.json.decode(result, type=ContractResult)
    return LatestResult(
        timestamp=held.timestamp,
        status=held.contract_execution_status,
        message=held.result if with_message else None,
        result_id=held.id,
    )


def result_id(contract_id: str, timestamp: int) -> str:
    """The id of the result of a contract at a time."""
    return str(uuid5(UUID(contract_id), str(timestamp)))


def shown(result: bytes, *, with_version: bool, with_details: bool) -> bytes:
    """The JSON of a result, without the version, or with no more than how it ended."""
    if with_version and with_details:
        return result
    held = msgspec.json.decode(result, type=ContractResult)
    if not with_version:
        held.data_contract_version = held.by_catalog = None
    if not with_details:
        held.result = None
        held.schema_validation = held.semantics_validation = None
        held.quality_validation = held.sla_validation = None
    return msgspec.json.encode(held)
