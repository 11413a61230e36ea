"""The part of the lineage that a picture shows, as its caller may see it."""

from collections.abc import Iterable

import msgspec

from api.callers.permissions import Access, Action
from api.pages.lineage.layers import Arrow
from api.services import Services
from api.use_cases.edge_sight import sight_of
from api.use_cases.impact import flow_of
from api.use_cases.past import node_of_then
from domain.events import Body
from domain.impact import Flow
from domain.kinds.bodies.components import Reference
from projections.entities.lineage import BOUNDS, Bounds, Edge, Node, live_entity, walked
from projections.entities.list_port import PastOfList

MOST_STEPS = 50
"""Steps of a picture in each direction."""
BESIDE = msgspec.structs.replace(BOUNDS, shown=400, seen=2_000, bytes=1_000_000, seconds=0.05)
"""The bounds of the picture on the page of an entity, which has other things to show as well."""


class Step(msgspec.Struct, frozen=True):
    """An edge in a picture."""

    flow: Flow
    pipeline: Node | None
    """The pipeline that moves the data; None for a caller who may not see it."""


class Walk(msgspec.Struct, frozen=True, kw_only=True):
    """The lineage some steps around an entity."""

    root: Node
    nodes: dict[str, Node]
    """Id -> each entity, the root first."""
    steps: dict[Arrow, Step]
    """Ids of both ends -> each edge."""
    further_up: int
    """Number of entities, visible to the caller, one step further upstream."""
    further_down: int
    truncated: bool
    """True if there may be more, because a bound ended the walk."""


_node = msgspec.json.Decoder(Node)


def walk_around(
    services: Services,
    access: Access,
    which: Reference,
    depths: tuple[int, int],
    past: PastOfList | None,
    bounds: Bounds = BOUNDS,
) -> Walk:
    """The lineage of an entity that is live, or was at a past point of the log.

    `which` has the type and the qualified name, `depths` are the steps upstream and downstream.
    Blocks. Raises NotFound, and Purged for the past of an entity.
    """
    sight, (up, down) = sight_of(access, Action.VIEW), depths
    entity = node_of_then(services, which, past.position) if past else None
    with services.stores.entities.use() as entities:
        entity = entity or live_entity(entities, which)
        # One step more tells whether there is more.
        lineage = walked(entities, entity, sight, (up + 1, down + 1), past=past, bounds=bounds)
    root = lineage.entity
    upstream, further_up = _near(root.id, lineage.upstream, up, upstream=True)
    downstream, further_down = _near(root.id, lineage.downstream, down, upstream=False)
    edges = {(edge.from_id, edge.to_id): edge for edge in (*upstream, *downstream)}
    near = {root.id, *(end for arrow in edges for end in arrow)}
    return Walk(
        root=root,
        nodes={each.id: each for each in (root, *lineage.nodes) if each.id in near},
        steps={arrow: _step(edge, sight.details(edge.fields)) for arrow, edge in edges.items()},
        further_up=len(further_up - near),
        further_down=len(further_down - near),
        truncated=lineage.truncated,
    )


def _near(
    root_id: str, edges: Iterable[Edge], depth: int, *, upstream: bool
) -> tuple[list[Edge], set[str]]:
    """The edges of one direction within a depth, and the entities that lie beyond it.

    The edges come in the order of the walk, which is breadth first.
    """
    steps = {root_id: 0}
    near, further = [], set[str]()
    for edge in edges:
        ends = edge.from_id, edge.to_id
        other, own = ends if upstream else ends[::-1]
        step = steps[own] + 1
        steps.setdefault(other, step)
        if step <= depth:
            near.append(edge)
        else:
            further.add(other)
    return near, further


def _step(edge: Edge, details: Body) -> Step:
    pipeline = details.get("pipeline")
    return Step(flow_of(edge, details), None if pipeline is None else _node.decode(pipeline))
