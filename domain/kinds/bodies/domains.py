"""Domains and data products."""

from typing import Annotated, Literal

from domain.kinds.bodies.base import EntityBody, Owned, Owners, Users
from domain.kinds.bodies.components import (
    Certification,
    Extension,
    Integer,
    Part,
    Percent,
    Ref,
    Style,
    TagLabel,
    Votes,
    refers_to,
)
from domain.kinds.bodies.enumerations import DataProductType, DomainType, LifecycleStage, Visibility


class Domain(EntityBody, kw_only=True):
    """A part of the organisation that answers for its data."""

    domain_type: DomainType
    parent: Annotated[Ref | None, refers_to("domain")] = None
    owners: Owners = None
    experts: Users = None
    tags: list[TagLabel] | None = None
    followers: Users = None
    votes: Votes | None = None
    certification: Certification | None = None
    style: Style | None = None
    extension: Extension | None = None


class ProductSla(Part, kw_only=True):
    """What a data product promises."""

    tier: Literal["GOLD", "SILVER", "BRONZE", "CUSTOM"] | None = None
    availability: Percent | None = None
    response_time: Integer | None = None
    data_freshness: Integer | None = None
    data_quality: Percent | None = None


class DataProduct(Owned, kw_only=True):
    """Assets that a domain offers as one."""

    experts: Users = None
    reviewers: Owners = None
    assets: Annotated[list[Ref] | None, refers_to()] = None
    tags: list[TagLabel] | None = None
    data_product_type: DataProductType | None = None
    visibility: Visibility | None = None
    portfolio_priority: Literal["CRITICAL", "HIGH", "MEDIUM", "LOW"] | None = None
    lifecycle_stage: LifecycleStage | None = None
    sla: ProductSla | None = None
    followers: Users = None
    votes: Votes | None = None
    certification: Certification | None = None
    style: Style | None = None
    extension: Extension | None = None
