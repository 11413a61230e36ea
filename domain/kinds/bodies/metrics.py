"""Metrics: numbers that are computed from data."""

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta

from domain.errors import InvalidInput
from domain.kinds.bodies.base import Owners, Tagged, Users
from domain.kinds.bodies.columns import MAX_PARTS
from domain.kinds.bodies.components import Certification, Extension, Part, Ref, Votes, refers_to
from domain.kinds.bodies.databases import Program
from domain.kinds.bodies.enumerations import MetricGranularity, MetricType, MetricUnit, Provider
from domain.kinds.names import MAX_NAME_LENGTH, child

PartName = Annotated[str, Meta(min_length=1, max_length=MAX_NAME_LENGTH)]
"""The name of a dimension or a measure."""


class MetricDimension(Part, kw_only=True):
    """What a metric may be broken down by, as a semantic layer defines it."""

    name: PartName
    fully_qualified_name: str | None = None
    type: Literal["CATEGORICAL", "TIME"] | None = None
    description: str | None = None
    expression: str | None = None


class MetricMeasure(Part, kw_only=True):
    """What a metric is computed from, as a semantic layer defines it."""

    name: PartName
    fully_qualified_name: str | None = None
    aggregation: str | None = None
    description: str | None = None
    expression: str | None = None


class MetricFilter(Part, kw_only=True):
    """A condition, in SQL, on the rows that a metric counts."""

    where: str


class Metric(Tagged, kw_only=True):
    """A number that is computed from data, such as the users who were active in a month."""

    metric_expression: Program | None = None
    metric_type: MetricType | None = None
    unit_of_measurement: MetricUnit | None = None
    custom_unit_of_measurement: str | None = None
    granularity: MetricGranularity | None = None
    dimensions: list[MetricDimension] | None = None
    measures: list[MetricMeasure] | None = None
    filters: list[MetricFilter] | None = None
    assets: Annotated[list[Ref] | None, refers_to()] = None
    provider: Provider | None = None
    related_metrics: Annotated[list[Ref] | None, refers_to("metric")] = None
    reviewers: Owners = None
    followers: Users = None
    votes: Votes | None = None
    certification: Certification | None = None
    extension: Extension | None = None

    def complete(self, fqn: str) -> None:
        """Also give dimensions and measures their qualified names."""
        super().complete(fqn)
        _name(self.dimensions, child(fqn, "dimension"))
        _name(self.measures, child(fqn, "measure"))


def _name(parts: Sequence[MetricDimension | MetricMeasure] | None, parent: str) -> None:
    """Give each part its qualified name; raises InvalidInput when there are too many."""
    if parts is not None and len(parts) > MAX_PARTS:
        raise InvalidInput(f"a metric may have {MAX_PARTS} dimensions and as many measures")
    for part in parts or ():
        part.fully_qualified_name = child(parent, part.name)
