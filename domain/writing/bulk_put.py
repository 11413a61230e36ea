"""Creates or updates many entities in one transaction, as PUTs one after the other would."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from domain.aggregate.entity import Entity
from domain.errors import CatalogError, StoreUnavailable
from domain.event_store.appends import prepared
from domain.event_store.port import EventStore, RecordedEvent
from domain.event_store.writes import Append
from domain.events import Event
from domain.kinds.entity_kind import EntityKind
from domain.write_context import WriteContext
from domain.writing.entity_cache import EntityCache
from domain.writing.hierarchy import expectations
from domain.writing.planning import Planner
from domain.writing.plans import Change, record
from domain.writing.staged_log import StagedLog

MAX_REQUESTS = 1_000
"""How many entities one transaction takes."""
READ_TOGETHER = 50
"""How many entities are read together before it is decided on them."""


class Done(msgspec.Struct, frozen=True):
    """A request that was good, and what it does."""

    entity: Entity
    change: Change


class BulkPut:
    """Decides on the requests of one transaction; for one thread.

    A request that is refused changes nothing, and the others go on without it.
    """

    def __init__(
        self,
        store: EventStore,
        now: Callable[[], int],
        make_id: Callable[[], str],
        epoch: int,
    ) -> None:
        """`epoch` is that of the log before anything was read for these requests."""
        self._staged = StagedLog(store)
        self._entities = EntityCache(self._staged)
        self._planner = Planner(self._staged, self._entities, now, make_id)
        self._epoch = epoch
        self._recorded: list[RecordedEvent] = []
        self._changed: list[tuple[list[Event], Entity]] = []

    def decide(
        self,
        kind: EntityKind,
        requests: Sequence[Mapping[str, Any]],
        context: WriteContext,
        check: Callable[[Mapping[str, Any]], None],
    ) -> list[Done | CatalogError]:
        """Decide on each request; `check` raises a CatalogError for one that may not be made.

        Raises StoreUnavailable.
        """
        names = [_likely_name(kind, request) for request in requests]
        # Remembered by what is staged, so that they are looked up together.
        self._staged.claims(names=set(filter(None, names)))
        results = []
        for place, request in enumerate(requests):
            if place % READ_TOGETHER == 0:
                some = set(filter(None, names[place : place + READ_TOGETHER]))
                for state in self._staged.states(some):
                    self._entities.remember([state], self._epoch)
            results.append(self._decide(kind, request, context, check))
        return results

    def append(self) -> Append:
        """What stores all that was decided."""
        return prepared(self._recorded, expecting=expectations(self._changed), epoch=self._epoch)

    def _decide(
        self,
        kind: EntityKind,
        request: Mapping[str, Any],
        context: WriteContext,
        check: Callable[[Mapping[str, Any]], None],
    ) -> Done | CatalogError:
        try:
            check(request)
            plan = self._planner.put(kind, request, context)
        except StoreUnavailable:
            raise
        except CatalogError as error:
            return error
        states = {}
        for step in plan.steps:
            events, after = record(step.entity_id, step.before, step.events)
            assert after is not None
            states[after.id] = after
            if events:
                self._recorded += events
                self._changed.append((step.events, after))
                self._staged.stage(events, after)
                self._entities.remember([after], self._epoch)
        return Done(states[plan.entity_id], plan.change)


def _likely_name(kind: EntityKind, request: Mapping[str, Any]) -> tuple[str, str] | None:
    """Kind and qualified name that a request is about, where its parent is given by name."""
    name = request.get("name")
    parents = [request[key] for key in kind.parents if request.get(key) is not None]
    parent = parents[0] if parents else None
    if not isinstance(name, str) or not isinstance(parent, str | None):
        return None
    return kind.name, kind.qualified_name(parent, name)
