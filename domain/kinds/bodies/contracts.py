"""Data contracts: what the producer of an entity promises about it."""

from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import Meta

from domain.dates import with_zone
from domain.errors import InvalidInput
from domain.kinds.bodies.base import EntityBody, Owners
from domain.kinds.bodies.columns import Column, check_parts
from domain.kinds.bodies.components import (
    APART,
    Extension,
    Integer,
    Part,
    Ref,
    Url,
    refers_to,
)
from domain.kinds.bodies.enumerations import Provider, QualityDimension, QualityMetric, Timezone

Range = Annotated[list[float], Meta(min_length=2, max_length=2)]
"""The least and the greatest number."""


class SemanticsRule(Part, kw_only=True):
    """A rule that the metadata of the entity obeys, as JSON logic in `rule`."""

    name: str
    description: str
    rule: str
    enabled: bool
    entity_type: str | None = None
    ignored_entities: list[str] | None = None
    json_tree: str | None = None
    provider: Provider | None = None
    inherited: bool | None = None


class TermsOfUse(Part, kw_only=True):
    """The uses that readers may make of the data."""

    content: str | None = None
    inherited: bool | None = None


class RowFilter(Part, kw_only=True):
    """Rows that may be read: those with one of `values` in a column."""

    column_name: str | None = None
    values: list[str] | None = None


class AccessPolicy(Part, kw_only=True):
    """Readers and the parts of the data that they may read."""

    access_policy: str | None = None
    identities: list[str] | None = None
    row_filters: list[RowFilter] | None = None


class ContractSecurity(Part, kw_only=True):
    """Sensitivity of the data, and who may read it."""

    data_classification: str | None = None
    policies: list[AccessPolicy] | None = None
    inherited: bool | None = None


class RefreshFrequency(Part, kw_only=True):
    """Interval at which the data is renewed."""

    interval: Integer
    unit: Literal["hour", "day", "week", "month", "year"]


class MaxLatency(Part, kw_only=True):
    """The greatest age of the data."""

    value: Integer
    unit: Literal["minute", "hour", "day"]


class Retention(Part, kw_only=True):
    """Time for which the data is kept."""

    period: Integer
    unit: Literal["day", "week", "month", "year"]


class ContractSla(Part, kw_only=True):
    """The times that the producer keeps."""

    refresh_frequency: RefreshFrequency | None = None
    max_latency: MaxLatency | None = None
    availability_time: str | None = None
    timezone: Timezone | None = None
    retention: Retention | None = None
    column_name: str | None = None
    inherited: bool | None = None


class AuthoritativeDefinition(Part, kw_only=True):
    """The place where something is defined for good."""

    url: Url | None = None
    name: str | None = None
    type: str | None = None


class QualityArguments(Part, kw_only=True):
    """Arguments of a metric of a quality rule."""

    valid_values: list[str] | None = None
    pattern: str | None = None
    missing_values: list[str] | None = None
    properties: list[str] | None = None


class QualityRule(Part, kw_only=True):
    """A rule of the Open Data Contract Standard that the data obeys."""

    id: str | None = None
    type: Literal["text", "library", "sql", "custom"] | None = None
    name: str | None = None
    description: str | None = None
    rule: str | None = None
    metric: QualityMetric | None = None
    arguments: QualityArguments | None = None
    column: str | None = None
    query: str | None = None
    engine: str | None = None
    implementation: str | None = None
    dimension: QualityDimension | None = None
    severity: str | None = None
    business_impact: str | None = None
    unit: str | None = None
    must_be: float | None = None
    must_not_be: float | None = None
    must_be_greater_than: float | None = None
    must_be_greater_or_equal_to: float | None = None
    must_be_less_than: float | None = None
    must_be_less_or_equal_to: float | None = None
    must_be_between: Range | None = None
    must_not_be_between: Range | None = None
    valid_values: list[str] | None = None
    scheduler: str | None = None
    schedule: str | None = None
    custom_properties: dict[str, Any] | None = None
    authoritative_definitions: list[AuthoritativeDefinition] | None = None
    tags: list[str] | None = None


class ElementExtension(Part, kw_only=True):
    """The standard's keys about one element beyond those of this catalog."""

    element: str | None = None
    authoritative_definitions: list[AuthoritativeDefinition] | None = None
    transform_source_objects: list[str] | None = None


GIVEN = "odcs"
"""Key of the document that a contract was given."""


class GivenDocument(Part, kw_only=True):
    """A document of the Open Data Contract Standard, as a contract was given it."""

    text: str
    """The document in its canonical form; see `domain.contracts.canonical`."""
    values: dict[str, str]
    """Digests of the contract's values right after it was given the document: of one that has
    another digest by now, the document no longer says what the contract says."""
    place: int | None = None
    """Place of the schema object that stands for the entity of the contract."""


class DataContract(EntityBody, kw_only=True):
    """A contract attached to one entity of any kind.

    `termsOfUse` may be written as plain text, `qualityExpectations` as names of test cases.
    """

    parts = ("schema",)

    entity: Annotated[Ref, refers_to()]
    entity_status: str | None = None
    owners: Owners = None
    reviewers: Owners = None
    extension: Extension | None = None
    schema: list[Column] | None = None
    semantics: list[SemanticsRule] | None = None
    quality_expectations: Annotated[list[Ref] | None, refers_to("testCase", or_outside=True)] = None
    odcs_quality_rules: list[QualityRule] | None = None
    odcs_element_extensions: list[ElementExtension] | None = None
    terms_of_use: TermsOfUse | str | None = None
    security: ContractSecurity | None = None
    sla: ContractSla | None = None
    effective_from: datetime | None = None
    effective_until: datetime | None = None
    source_url: str | None = None
    odcs: Annotated[GivenDocument | None, APART] = None

    def check(self) -> None:
        """Raise InvalidInput for a document, which has paths of its own."""
        if self.odcs is not None:
            raise InvalidInput(f"{GIVEN}: POST or PUT the document to dataContracts/{GIVEN}")

    def name_parts(self, fqn: str) -> None:
        """Check the columns, which have the names of those of the entity and none of their own."""
        check_parts(self.schema, fqn)

    def complete(self, fqn: str) -> None:
        """Also check the dates, and make an object of terms of use that are plain text."""
        super().complete(fqn)
        begins, ends = (
            date and with_zone(date) for date in (self.effective_from, self.effective_until)
        )
        if begins and ends and ends < begins:
            raise InvalidInput(f"effectiveUntil is {ends}, before effectiveFrom, {begins}")
        if isinstance(self.terms_of_use, str):
            self.terms_of_use = TermsOfUse(content=self.terms_of_use)
