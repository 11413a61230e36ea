"""Metrics: numbers that are computed from data."""

from typing import Annotated

from domain.bodies.base import Owners, Tagged, Users
from domain.bodies.components import Certification, Extension, Ref, Votes, refers_to
from domain.bodies.enumerations import MetricGranularity, MetricType, MetricUnit
from domain.bodies.programs import Program


class Metric(Tagged, kw_only=True):
    """A number that is computed from data, such as the users who were active in a month."""

    metric_expression: Program | None = None
    metric_type: MetricType | None = None
    unit_of_measurement: MetricUnit | None = None
    custom_unit_of_measurement: str | None = None
    granularity: MetricGranularity | None = None
    related_metrics: Annotated[list[Ref] | None, refers_to("metric")] = None
    reviewers: Owners = None
    followers: Users = None
    votes: Votes | None = None
    certification: Certification | None = None
    extension: Extension | None = None
