"""The lineage of an entity: what it is made of and what is made of it, some steps away.

The walk goes breadth first, upstream and downstream each for itself, and takes each edge and each
entity once, so that circles end. A pipeline or stored procedure has the edges that name it too:
they are shown as edges to it and from it.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import msgspec

from domain.edges import EDGE, edge_name
from domain.errors import NotFound
from domain.events import Body, values_by_key
from domain.kinds.bodies.components import Reference
from domain.kinds.bodies.lineage import RUNNING_KINDS
from projections.entities.list_port import PastOfList
from projections.entities.port import EdgeReader, SortedReadModel
from projections.visibility.edges import EdgeSight


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds of a walk in each direction."""

    shown: int = 2_000
    """The most edges that one answer shows."""
    seen: int = 20_000
    """The most edges that are looked at: some lead to what the caller may not see."""
    bytes: int = 4_000_000
    """Bytes of edges that are read; the last one may go beyond them."""
    seconds: float = 0.5
    """Seconds for which edges are read."""
    clock_every: int = 32
    """Number of edges that are read between two looks at the clock."""


BOUNDS = Bounds()


class Node(msgspec.Struct, rename="camel", omit_defaults=True):
    """A reference to an entity of the lineage."""

    type: str
    id: str
    name: str
    fully_qualified_name: str
    deleted: bool = False
    """True if the entity is soft-deleted."""


class Edge(msgspec.Struct, frozen=True):
    """An edge as it is shown: between the entities that it leads the walk from and to."""

    from_id: str
    to_id: str
    fields: Body
    """The edge's document."""


class Lineage(msgspec.Struct, kw_only=True):
    """The result of a walk."""

    entity: Node
    """The entity at which the walk began."""
    nodes: list[Node]
    """The other entities, in the order in which they were met."""
    upstream: list[Edge]
    downstream: list[Edge]
    truncated: bool
    """True if there may be more than is shown, because a bound ended the walk."""


class _Named(msgspec.Struct, rename="camel"):
    id: str
    name: str
    fully_qualified_name: str


class _Run(msgspec.Struct):
    id: str
    source: str
    pipeline: Node | None = None


_named = msgspec.json.Decoder(_Named)
_node = msgspec.json.Decoder(Node)
_run = msgspec.json.Decoder(_Run)


class _Walk:
    """A walk in one direction, with the entities and edges that it has met so far."""

    def __init__(
        self,
        reader: EdgeReader,
        sight: EdgeSight,
        bounds: Bounds,
        clock: Callable[[], float],
        *,
        upstream: bool,
    ) -> None:
        self._reader = reader
        self._sight = sight
        self._upstream = upstream
        self._bounds = bounds
        self._clock = clock
        self._ends_at = clock() + bounds.seconds
        self._seen = self._bytes = 0
        self.met: dict[str, Node] = {}
        """Id -> each entity that was met, the first of them where the walk began."""
        self.edges: dict[tuple[str, str], Edge] = {}
        """The ids that an edge is shown between -> the edge, in the order of the walk."""
        self.truncated = False

    def go(self, roots: Sequence[Node], depth: int) -> None:
        """Follow the edges for some steps, or until a bound is reached."""
        self.met |= {root.id: root for root in roots}
        level = [*roots]
        for _ in range(depth):
            known = len(self.met)
            for node in level:
                self._step(node)
            level = [*islice(self.met.values(), known, None)]

    def _step(self, node: Node) -> None:
        """Take in the edges of one entity."""
        for core in self._cores(node):
            if self._is_bounded():
                self.truncated = True
                return
            self._seen += 1
            self._bytes += len(core)
            fields = values_by_key(core)
            beginning, end = (_node.decode(fields[key]) for key in ("fromEntity", "toEntity"))
            own, other = (end, beginning) if self._upstream else (beginning, end)
            if own.id != node.id and (other.id == node.id or not _runs(fields, node.id)):
                continue
            if not self._sight.shows(fields):
                continue
            between = (other.id, node.id) if self._upstream else (node.id, other.id)
            self.edges.setdefault(between, Edge(*between, fields))
            self.met.setdefault(other.id, other)

    def _is_bounded(self) -> bool:
        """Return True if no more edges may be looked at."""
        most = self._bounds
        if len(self.edges) >= most.shown or self._seen >= most.seen or self._bytes >= most.bytes:
            return True
        return self._seen % most.clock_every == 0 and self._clock() >= self._ends_at

    def _cores(self, node: Node) -> Iterator[bytes]:
        if self.truncated:
            return
        if self._upstream:
            yield from self._reader.ending_at(node.id)
        if not self._upstream or node.type in RUNNING_KINDS:
            yield from self._reader.leaving(node.id)


def _runs(fields: Body, entity_id: str) -> bool:
    """Return True if an edge names an entity as its pipeline."""
    return "pipeline" in fields and _node.decode(fields["pipeline"]).id == entity_id


def read_lineage(
    model: SortedReadModel,
    root: Reference,
    sight: EdgeSight,
    *,
    upstream: int,
    downstream: int,
    clock: Callable[[], float] = time.monotonic,
    bounds: Bounds = BOUNDS,
) -> Lineage:
    """The lineage of a live entity, at most so many steps upstream and downstream.

    `root` has the type, and the id or the qualified name. Raises NotFound without such an entity.
    """
    depths = upstream, downstream
    return walked(model, live_entity(model, root), sight, depths, clock=clock, bounds=bounds)


def walked(
    model: SortedReadModel,
    entity: Node,
    sight: EdgeSight,
    depths: tuple[int, int],
    *,
    past: PastOfList | None = None,
    parts: Sequence[Node] = (),
    clock: Callable[[], float] = time.monotonic,
    bounds: Bounds = BOUNDS,
) -> Lineage:
    """The lineage of an entity, at most so many steps upstream and downstream (`depths`).

    `past` is the point of the log that it is of; None for the present. The walk begins at the
    `parts` of the entity too, which are not among the nodes.
    """
    upstream, downstream = depths
    with model.edges(past) as reader:
        up = _Walk(reader, sight, bounds, clock, upstream=True)
        down = _Walk(reader, sight, bounds, clock, upstream=False)
        roots = (entity, *parts)
        up.go(roots, upstream)
        down.go(roots, downstream)
        nodes = {**up.met, **down.met}
        for root in {each.id for each in roots}:
            del nodes[root]
        for entity_id in reader.deleted([*nodes]):
            nodes[entity_id].deleted = True
    return Lineage(
        entity=entity,
        nodes=[*nodes.values()],
        upstream=[*up.edges.values()],
        downstream=[*down.edges.values()],
        truncated=up.truncated or down.truncated,
    )


def find_entity(model: SortedReadModel, which: Reference) -> Node:
    """The reference to an entity by its type, and its id or qualified name; raises NotFound."""
    kind = which.type or ""
    stored = model.document(kind, entity_id=which.id, fqn=which.fully_qualified_name)
    if stored is None:
        raise NotFound(f"{kind} instance for {which.id or which.fully_qualified_name} not found")
    named = _named.decode(stored.core)
    return Node(kind, named.id, named.name, named.fully_qualified_name, stored.deleted)


def live_entity(model: SortedReadModel, which: Reference) -> Node:
    """The reference to a live entity; raises NotFound for one that is missing or soft-deleted."""
    entity = find_entity(model, which)
    if entity.deleted:
        raise NotFound(
            f"{which.type} instance for {which.id or which.fully_qualified_name} not found"
        )
    return entity


class EdgeAnswer(msgspec.Struct, frozen=True):
    """The details of one edge as an answer shows them, and the values of its headers."""

    details: Body
    """The `lineageDetails`."""
    version: str
    """The edge's decimal version, as 0.2."""
    position: int
    """Position in the log of the edge's last event."""
    last_event: str
    """Digest of which edge this is and of its last event, as `Entity.last_event`."""


def read_edge(model: SortedReadModel, from_id: str, to_id: str, sight: EdgeSight) -> EdgeAnswer:
    """The edge between two entities, as far as the caller may see it.

    Raises NotFound where there is no edge, or none between entities that the caller may view.
    """
    stored = model.document(EDGE, fqn=edge_name(from_id, to_id))
    if stored is None or not sight.shows(fields := values_by_key(stored.core)):
        raise NotFound(f"lineage edge from {from_id} to {to_id} not found")
    version = bytes(fields["version"]).decode()
    return EdgeAnswer(sight.details(fields), version, stored.position, stored.last_event)


def edges_over(model: SortedReadModel, pipeline_id: str, source: str) -> list[str]:
    """The ids of the edges of one source that have an entity as their pipeline."""
    with model.edges() as reader:
        return [
            edge.id
            for edge in map(_run.decode, reader.leaving(pipeline_id))
            if edge.source == source and edge.pipeline and edge.pipeline.id == pipeline_id
        ]


def lineage_json(lineage: Lineage, sight: EdgeSight) -> bytes:
    """A lineage in the form of OpenMetadata; `truncated` is there only when it is true."""
    upstream, downstream = (
        [
            {
                "fromEntity": edge.from_id,
                "toEntity": edge.to_id,
                "lineageDetails": sight.details(edge.fields),
            }
            for edge in edges
        ]
        for edges in (lineage.upstream, lineage.downstream)
    )
    return msgspec.json.encode(
        {
            "entity": lineage.entity,
            "nodes": lineage.nodes,
            "upstreamEdges": upstream,
            "downstreamEdges": downstream,
            **({"truncated": True} if lineage.truncated else {}),
        }
    )
