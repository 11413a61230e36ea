"""Deletes many entities in one transaction, as DELETEs one after the other would."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from domain.errors import CatalogError, NotFound, StoreUnavailable
from domain.event_store.port import EventStore
from domain.kinds.ids import new_id
from domain.writing.entity_cache import EntityCache
from domain.writing.planning import Planner
from domain.writing.plans import Change, Plan, Step

Delete = Callable[[Planner, str], Plan]
"""Plans the delete of the entity with an id."""
MAX_EVENTS = 1_000
"""After how many events, or entities, a transaction takes no further entity."""


def decide_deletes(
    store: EventStore, now: Callable[[], int], entity_ids: Sequence[str], delete: Delete
) -> tuple[list[Step], dict[str, Change | CatalogError]]:
    """Decide on the deletes of the first of these entities, as many as one transaction takes.

    An entity comes after those that it stands below. `delete` plans the delete of one. A delete
    that is refused changes nothing, and the others go on without it. Returns what happens to the
    entities, without their bodies, and the results by id in the same order. Raises
    StoreUnavailable.
    """
    planner = Planner(store, EntityCache(store), now, new_id)
    steps: dict[str, Step] = {}
    results: dict[str, Change | CatalogError] = {}
    events = 0
    for entity_id in entity_ids:
        if max(events, len(results)) >= MAX_EVENTS:
            break
        if entity_id in steps:
            purged = steps[entity_id].after.purged
            results[entity_id] = Change.DELETED if purged else Change.SOFT_DELETED
            continue
        try:
            plan = delete(planner, entity_id)
        except StoreUnavailable:
            raise
        except NotFound:
            # Somebody else has purged it, or it went with what it stood below.
            results[entity_id] = Change.NO_CHANGE
        except CatalogError as error:
            results[entity_id] = error
        else:
            results[entity_id] = plan.change
            for step in plan.steps:
                events += len(step.events)
                # Of a thousand wide tables the bodies would take gigabytes.
                steps[step.after.id] = Step(None, step.events, replace(step.after, body={}))
    return [*steps.values()], results
