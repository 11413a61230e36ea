"""What running a query has cost, as connectors read it off a warehouse."""

from collections.abc import Iterator
from uuid import UUID, uuid5

import msgspec
from msgspec.structs import replace

from domain.bodies.components import Part, Reference
from domain.measurements.reports import COST, Point, Timestamp


class QueryCost(Part, kw_only=True):
    """The runs of a query that a connector counted at a time."""

    id: str | None = None
    timestamp: Timestamp
    json_schema: str | None = None
    query_reference: Reference
    cost: float
    """Of one run, on average."""
    count: float
    """How many runs there were."""
    total_duration: float | None = None

    def of(self, query: Reference) -> "QueryCost":
        """The record as it is kept of a query; its id follows from the query and the time."""
        assert query.id is not None
        record_id = str(uuid5(UUID(query.id), str(self.timestamp)))
        return replace(self, id=record_id, query_reference=query)

    def points(self, service_id: str) -> Iterator[Point]:
        """The only point of the record, of a query of a service."""
        yield Point(COST, service_id, self.timestamp, msgspec.json.encode(self))


class CostSums(msgspec.Struct, frozen=True):
    """What all records of a query, or of all queries of a service, come to."""

    entity_id: str
    """The query, empty for all of a service."""
    total: float
    runs: float
    duration: float
    least: float
    most: float
    """The lowest and the highest cost of one run."""
