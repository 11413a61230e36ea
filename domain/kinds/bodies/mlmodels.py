"""Machine learning models with the data they learn from, and metrics."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from msgspec import Meta

from domain.errors import InvalidInput
from domain.kinds.bodies.base import Asset, Owners, Tagged, Users
from domain.kinds.bodies.columns import MAX_PARTS, NamedPart
from domain.kinds.bodies.components import (
    Certification,
    Extension,
    NestedReference,
    Part,
    Ref,
    Reference,
    TagLabel,
    Url,
    UsageSummary,
    Votes,
    as_reference,
    refers_to,
)
from domain.kinds.bodies.databases import Program
from domain.kinds.bodies.enumerations import (
    FeatureSourceType,
    MetricGranularity,
    MetricType,
    MetricUnit,
    Provider,
)
from domain.kinds.names import MAX_NAME_LENGTH, child


class FeatureSource(NamedPart, kw_only=True):
    """Data that a feature is made of; `dataSource` may be written as a table's qualified name."""

    noun = "source"

    data_type: FeatureSourceType | None = None
    data_source: Ref | None = None

    def __post_init__(self) -> None:
        if self.data_source is not None:
            self.data_source = as_reference(self.data_source, "table")


class MlFeature(NamedPart, kw_only=True):
    """An input of a model."""

    noun = "feature"

    data_type: Literal["numerical", "categorical"] | None = None
    feature_sources: list[FeatureSource] | None = None
    feature_algorithm: str | None = None


class MlHyperParameter(Part, kw_only=True):
    """A setting of the learning."""

    name: str | None = None
    value: str | None = None
    description: str | None = None


class MlStore(Part, kw_only=True):
    """The place where the model lies."""

    storage: str | None = None
    image_repository: str | None = None


class Mlmodel(Asset, kw_only=True):
    """A model with its features."""

    parts = ("mlFeatures",)

    service: Annotated[Ref, refers_to("mlmodelService")]
    algorithm: str | None = None
    ml_features: list[MlFeature] | None = None
    ml_hyper_parameters: list[MlHyperParameter] | None = None
    target: str | None = None
    dashboard: Annotated[Ref | None, refers_to("dashboard")] = None
    ml_store: MlStore | None = None
    server: Url | None = None
    source_url: str | None = None
    usage_summary: UsageSummary | None = None

    def _sources(self) -> Iterator[FeatureSource]:
        for feature in self.ml_features or ():
            yield from feature.feature_sources or ()

    def tag_labels(self) -> Iterator[TagLabel]:
        """The labels of the model, of its features and of their sources."""
        yield from super().tag_labels()
        for source in self._sources():
            yield from source.tags or ()

    def nested_references(self) -> Iterator[NestedReference]:
        """Also the data that the features are made of."""
        yield from super().nested_references()
        for source in self._sources():
            if isinstance(source.data_source, Reference):
                yield source.data_source, ()

    def name_parts(self, fqn: str) -> None:
        """Name features below the model, and each source below the data it comes from."""
        super().name_parts(fqn)
        for source in self._sources():
            origin = source.data_source
            parent = origin.fully_qualified_name if isinstance(origin, Reference) else None
            source.fully_qualified_name = child(parent, source.name)


PartName = Annotated[str, Meta(min_length=1, max_length=MAX_NAME_LENGTH)]
"""The name of a dimension or a measure."""


class MetricDimension(Part, kw_only=True):
    """A dimension by which a metric may be broken down, as a semantic layer defines it."""

    name: PartName
    fully_qualified_name: str | None = None
    type: Literal["CATEGORICAL", "TIME"] | None = None
    description: str | None = None
    expression: str | None = None


class MetricMeasure(Part, kw_only=True):
    """A measure from which a metric is computed, as a semantic layer defines it."""

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
