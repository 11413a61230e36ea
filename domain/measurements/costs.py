"""Costs of running a query, as connectors read them off a warehouse."""

from collections.abc import Iterator
from typing import Annotated
from uuid import UUID, uuid5

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from domain.kinds.bodies.components import Part, Reference
from domain.measurements.reports import COST, Point, Timestamp

MAX_COST = 1e9
"""The most that a run of a query may cost on average, in whatever unit costs are in."""
MAX_RUNS = 1e9
"""The most runs of a query that a record may count."""
MAX_DURATION = 1e15
"""The most milliseconds that the runs of a record may have taken together."""


class QueryCost(Part, kw_only=True):
    """The runs of a query that a connector counted at a time."""

    id: str | None = None
    timestamp: Timestamp
    json_schema: str | None = None
    query_reference: Reference
    cost: Annotated[float, Meta(ge=0, le=MAX_COST)]
    """Cost of one run, on average."""
    count: Annotated[float, Meta(ge=0, le=MAX_RUNS)]
    """Number of runs."""
    total_duration: Annotated[float, Meta(ge=0, le=MAX_DURATION)] | None = None

    def of(self, query: Reference) -> "QueryCost":
        """The record as it is kept of a query; its id follows from the query and the time."""
        assert query.id is not None
        record_id = str(uuid5(UUID(query.id), str(self.timestamp)))
        return replace(self, id=record_id, query_reference=query)

    def points(self, service_id: str) -> Iterator[Point]:
        """The only point of the record, of a query of a service."""
        yield Point(COST, service_id, self.timestamp, msgspec.json.encode(self))


class CostSums(msgspec.Struct, frozen=True):
    """The sums over all records of a query, or of all queries of a service."""

    entity_id: str
    """The query, empty for all of a service."""
    total: float
    runs: float
    duration: float
    least: float
    most: float
    """The lowest and the highest cost of one run."""
