"""Glossaries and their terms, classifications and their tags."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from msgspec import Meta

from domain.kinds.bodies.base import DataProducts, Owned, Owners, Tagged
from domain.kinds.bodies.components import (
    UNKEPT,
    Extension,
    NestedReference,
    Part,
    Ref,
    Reference,
    Share,
    Style,
    Url,
    Votes,
    as_reference,
    refers_to,
)
from domain.kinds.bodies.enumerations import ConceptMappingType, Provider


class Glossary(Tagged, kw_only=True):
    """A vocabulary of the business."""

    reviewers: Owners = None
    provider: Provider | None = None
    mutually_exclusive: bool | None = None
    votes: Votes | None = None
    extension: Extension | None = None


class TermReference(Part, kw_only=True):
    """The place outside where a term is defined."""

    name: str | None = None
    endpoint: Url | None = None


class ConceptMapping(Part, kw_only=True):
    """Relation of a term to a concept of a published vocabulary."""

    concept_iri: Url
    mapping_type: ConceptMappingType
    scheme_iri: Url | None = None
    source: str | None = None


class TermRelation(Part, kw_only=True):
    """Another term, and how it relates to this one."""

    term: Reference
    relation_type: str | None = None


class GlossaryTerm(Tagged, kw_only=True):
    """A term of a glossary; `relatedTerms` may be written as qualified names."""

    glossary: Annotated[Ref | None, refers_to("glossary")] = None
    parent: Annotated[Ref | None, refers_to("glossaryTerm")] = None
    synonyms: list[str] | None = None
    related_terms: list[TermRelation | str] | None = None
    references: list[TermReference] | None = None
    concept_mappings: list[ConceptMapping] | None = None
    iri: Url | None = None
    reviewers: Owners = None
    provider: Provider | None = None
    mutually_exclusive: bool | None = None
    style: Style | None = None
    votes: Votes | None = None
    extension: Extension | None = None

    def __post_init__(self) -> None:
        if self.related_terms is not None:
            self.related_terms = [
                TermRelation(term=as_reference(term, "glossaryTerm"), relation_type="relatedTo")
                if isinstance(term, str)
                else term
                for term in self.related_terms
            ]

    def nested_references(self) -> Iterator[NestedReference]:
        """Also the related terms."""
        yield from super().nested_references()
        for relation in self.related_terms or ():
            if isinstance(relation, TermRelation):
                yield relation.term, ("glossaryTerm",)


class AutoClassification(Part, kw_only=True):
    """Rules by which tags of a classification are attached by themselves."""

    enabled: bool | None = None
    conflict_resolution: (
        Literal["highest_confidence", "highest_priority", "most_specific"] | None
    ) = None
    minimum_confidence: Share | None = None
    require_explicit_match: bool | None = None


class Classification(Owned, kw_only=True):
    """A set of tags."""

    reviewers: Owners = None
    provider: Provider | None = None
    mutually_exclusive: bool | None = None
    auto_classification_config: AutoClassification | None = None


class Recognizer(Part, kw_only=True):
    """Rules by which data that deserves a tag is recognised; this catalog only keeps them."""

    name: str
    recognizer_config: dict[str, Any]
    id: str | None = None
    display_name: str | None = None
    description: str | None = None
    enabled: bool | None = None
    is_system_default: bool | None = None
    confidence_threshold: Share | None = None
    target: Literal["content", "column_name"] | None = None


class Tag(Owned, kw_only=True):
    """A label of a classification."""

    classification: Annotated[Ref | None, refers_to("classification")] = None
    parent: Annotated[Ref | None, refers_to("tag")] = None
    associated_tags: Annotated[list[str] | None, UNKEPT] = None
    data_products: DataProducts = None
    reviewers: Owners = None
    provider: Provider | None = None
    mutually_exclusive: bool | None = None
    style: Style | None = None
    recognizers: list[Recognizer] | None = None
    auto_classification_enabled: bool | None = None
    auto_classification_priority: Annotated[int, Meta(ge=0, le=100)] | None = None
