"""Deletes many entities in one transaction, as DELETEs one after the other would."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from domain.aggregate.entity import Entity
from domain.errors import CatalogError, NotFound, StoreUnavailable
from domain.event_store.appends import prepared
from domain.event_store.port import EventStore, RecordedEvent
from domain.event_store.writes import Append
from domain.events import Event
from domain.kinds.ids import new_id
from domain.writing.entity_cache import EntityCache
from domain.writing.hierarchy import expectations
from domain.writing.planning import Planner
from domain.writing.plans import Change, Plan, record

Delete = Callable[[Planner, str], Plan]
"""Plans the delete of the entity with an id."""
MAX_EVENTS = 1_000
"""After how many events, or entities, a transaction takes no further entity."""


class BulkDelete:
    """Decides on the deletes of one transaction; for one thread.

    A delete that is refused changes nothing, and the others go on without it.
    """

    def __init__(self, store: EventStore, now: Callable[[], int], epoch: int) -> None:
        """`epoch` is that of the log before anything was read for these deletes."""
        self._planner = Planner(store, EntityCache(store), now, new_id)
        self._epoch = epoch
        self._recorded: list[RecordedEvent] = []
        self._changed: dict[str, tuple[list[Event], Entity]] = {}
        """Id -> the events of an entity, and the entity after them, without its body."""

    def decide(self, entity_ids: Sequence[str], delete: Delete) -> dict[str, Change | CatalogError]:
        """Decide on the first of these entities, as many as one transaction takes.

        An entity comes after those that it stands below. `delete` plans the delete of one. Returns
        the results by id, in the same order. Raises StoreUnavailable.
        """
        results: dict[str, Change | CatalogError] = {}
        for entity_id in entity_ids:
            if max(len(self._recorded), len(results)) >= MAX_EVENTS:
                break
            results[entity_id] = self._decide(entity_id, delete)
        return results

    def append(self) -> Append:
        """What stores all that was decided."""
        expecting = expectations(self._changed.values())
        return prepared(self._recorded, expecting=expecting, epoch=self._epoch)

    def _decide(self, entity_id: str, delete: Delete) -> Change | CatalogError:
        if entity_id in self._changed:
            purged = self._changed[entity_id][1].purged
            return Change.DELETED if purged else Change.SOFT_DELETED
        try:
            plan = delete(self._planner, entity_id)
        except StoreUnavailable:
            raise
        except NotFound:
            # Somebody else has purged it, or it went with what it stood below.
            return Change.NO_CHANGE
        except CatalogError as error:
            return error
        for step in plan.steps:
            events, after = record(step.entity_id, step.before, step.events)
            assert after is not None
            self._recorded += events
            # Of a thousand wide tables the bodies would take gigabytes, and no one asks for them.
            self._changed[step.entity_id] = step.events, replace(after, body={})
        return plan.change
