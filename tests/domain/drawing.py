"""Short forms of what tests do to the lineage."""

from functools import partial
from typing import Any

from benchmarks.direct_catalog import DirectCatalog, Outcome
from domain.aggregate.entity import Entity
from domain.kinds.bodies.components import Reference
from domain.write_context import WriteContext
from domain.writing.lineage import Ends
from domain.writing.plans import Step

ME = WriteContext(actor="ann", request_id="r")
BOT = WriteContext(actor="bot", request_id="r", by_bot=True)


def reference(entity: Entity) -> Reference:
    return Reference(type=entity.kind, id=entity.id)


def between(beginning: Entity, end: Entity) -> Ends:
    return Ends(reference(beginning), reference(end))


def draw(
    catalog: DirectCatalog,
    beginning: Entity,
    end: Entity,
    context: WriteContext = ME,
    **details: Any,
) -> Outcome:
    plan = partial(catalog.lineage.put, between(beginning, end), details, context)
    return catalog.write(context, plan)


def redraw(
    catalog: DirectCatalog,
    beginning: Entity,
    end: Entity,
    *operations: dict[str, Any],
    context: WriteContext = ME,
) -> Outcome:
    plan = partial(catalog.lineage.patch, between(beginning, end), operations, context)
    return catalog.write(context, plan)


def erase(
    catalog: DirectCatalog, beginning: Entity, end: Entity, context: WriteContext = ME
) -> Outcome:
    plan = partial(catalog.lineage.delete, between(beginning, end), context)
    return catalog.write(context, plan)


def erase_source(catalog: DirectCatalog, end: Entity, source: str, *via: str) -> int:
    def plan() -> list[Step]:
        target, ending = catalog.lineage.edges_ending(reference(end))
        edge_ids = list(dict.fromkeys((*ending, *via)))
        return catalog.lineage.delete_by_source(target, source, edge_ids, ME)

    _, number = catalog.until_stored(lambda: catalog.propose_steps(plan))
    return number


def body(entity: Entity) -> dict[str, Any]:
    """The decoded body of an edge, but for its ends."""
    return {key: entity.value(key) for key in entity.body if not key.endswith("Entity")}
