"""Machine learning models and the data they learn from."""

from collections.abc import Iterator
from typing import Annotated, Literal

from domain.kinds.bodies.base import Asset
from domain.kinds.bodies.columns import NamedPart
from domain.kinds.bodies.components import (
    NestedReference,
    Part,
    Ref,
    Reference,
    TagLabel,
    Url,
    UsageSummary,
    as_reference,
    refers_to,
)
from domain.kinds.bodies.enumerations import FeatureSourceType
from domain.kinds.names import child


class FeatureSource(NamedPart, kw_only=True):
    """Data that a feature is made of; `dataSource` may be written as a table's qualified name."""

    noun = "source"

    data_type: FeatureSourceType | None = None
    data_source: Ref | None = None

    def __post_init__(self) -> None:
        if self.data_source is not None:
            self.data_source = as_reference(self.data_source, "table")


class MlFeature(NamedPart, kw_only=True):
    """What a model is given to learn from."""

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
    """Where the model lies."""

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
