"""The port of the sorted read model: what a database must answer about the entities it keeps.

A database returns rows and totals; cursors, the JSON of pages and single entities, the digests and
the comparison with the log are made from them by this room, in the same way for every database. A
method raises StoreUnavailable when the database cannot be used, and Damaged for faults that only
building the read model anew can mend.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from typing import Any, Protocol

import msgspec

from domain.edges import edge_name
from domain.reading.horizon import Horizon
from domain.reading.moments import DAY, Moment
from projections.entities.cursors import Place
from projections.entities.daily_counts import NO_EVENTS, DailyFigures, DayCount, EventCounts
from projections.entities.list_port import ListReader, ListRequest, PastOfList
from projections.entities.pruning import FIRST_AFTER, FIRST_OF_DAYS, READ_HORIZON
from projections.entities.replaced_states import (
    EndedMembership,
    EntityChange,
    ReplacedState,
    Series,
)
from projections.entities.stored_entity import StoredEntity
from projections.feeding.port import Checkpoint, ReadModel
from projections.verification.report import Difference

DOCUMENTS_BYTES = 256 * 1024
"""Bytes of documents that are read together."""


class EntityTooLarge(Exception):
    """An entity has more bytes than the caller wants to read."""


class StoredDocument(msgspec.Struct, frozen=True):
    """The part of one entity that single reads need."""

    core: bytes
    """JSON object of the fields that every answer shows."""
    optional: bytes
    """JSON object of the optional fields that the entity has."""
    position: int
    """Position in the log of the entity's last event."""
    last_event: str
    """Digest of which entity this is and of its last event, as `Entity.last_event`."""
    deleted: bool
    """True if the entity is soft-deleted."""


class EntitySnapshot(Protocol):
    """The read model in one consistent state, whatever is committed meanwhile."""

    @property
    def position(self) -> int:
        """The checkpoint."""

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the log at the checkpoint."""

    @property
    def horizon(self) -> Horizon:
        """The earliest position as of which the read model can be read."""

    def ids(self) -> Iterator[str]:
        """The ids of all entities, ascending."""

    def entities(self, ids: Sequence[str] | None) -> Iterator[StoredEntity]:
        """The stored ones among these entities, in the order of `ids`; for None, all by id."""

    def digests(self) -> Mapping[str, tuple[int, int]]:
        """Kind -> number of its entities and sum of their digests, as commits have kept them."""

    def moments(self) -> Iterator[Moment]:
        """The moments that are stored, in log order."""

    def replaced(self) -> Iterator[ReplacedState]:
        """The replaced states that are stored, in order of ids and of their ends."""

    def ended(self) -> Iterator[EndedMembership]:
        """The ended memberships that are stored, in any order."""

    def pasts(self) -> Mapping[str, tuple[int, int]]:
        """Kind -> number and sum of digests of the rows of its past, as commits have kept them."""

    def totals_at(
        self, positions: Sequence[int]
    ) -> Sequence[tuple[Mapping[Series, int], Mapping[Series, int]]]:
        """The totals of all kinds at some positions: counted, and as they are kept."""

    def days(self) -> Iterator[DayCount]:
        """The counts of days that are stored."""

    def list_differences(self) -> Iterator[Difference]:
        """Yield narrowed lists that differ from the stored entities, and totals that differ."""


class EdgeReader(ABC):
    """The edges of the lineage in one consistent state of the read model.

    Edges are rows of `entities`. Each is in the scope of the entity at its beginning, of the one at
    its end and of its pipeline, and its name is the id of the entity at its end. So the edges that
    end at an entity are one range in the scope of this entity, and all its other edges are the two
    ranges beside it.
    """

    def ending_at(self, entity_id: str) -> Iterator[bytes]:
        """The JSON of the edges that end at an entity, in order of their ids."""
        return self._listed(entity_id, "=")

    def leaving(self, entity_id: str) -> Iterator[bytes]:
        """The JSON of the edges that begin at an entity, or have it as their pipeline.

        They come in order of the ids of their ends, and of their own. Edges that end at the entity
        and have it as their pipeline are left out. No more edges are read than are taken.
        """
        return chain(
            self._listed(entity_id, "<"),
            # The one that begins and ends there has the place between the two ranges.
            self._named(edge_name(entity_id, entity_id)),
            self._listed(entity_id, ">"),
        )

    @abstractmethod
    def deleted(self, ids: Sequence[str]) -> set[str]:
        """Return those of the entities that are soft-deleted."""

    @abstractmethod
    def _listed(self, entity_id: str, sign: str) -> Iterator[bytes]:
        """The JSON of the live edges in the scope of an entity, in order of their names and ids.

        `sign` says how the names of these edges compare with the id of the entity.
        """

    @abstractmethod
    def _named(self, fqn: str) -> Iterator[bytes]:
        """The JSON of the edge with a qualified name, if there is one."""


class SortedReadModel(ReadModel, Protocol):
    """Every entity of the catalog, kept in the order in which lists show them.

    Reads may come from any thread, also while another thread or process commits, and each call sees
    whole commits only. `read_list`, `document`, `documents` and `edges` raise Superseded where the
    database tells that another generation is live (`Definition.tells_when_superseded`).
    """

    def checkpoint(self) -> int:
        """The position of the log up to which the rows are current; 0 before the first commit."""
        return self.checkpoint_and_fingerprint()[0]

    def revision(self) -> int:
        """The checkpoint, which every commit moves."""
        return self.checkpoint()

    def count(self) -> int:
        """The number of entities, soft-deleted ones included."""
        return sum(n for n, _ in self.digests().values())

    def read_list(
        self, request: ListRequest, place: Place | None
    ) -> AbstractContextManager[ListReader]:
        """Begin to read the page of `request`; `place` is what the request's cursor stands for.

        The consistent state is held until the block ends. Where the list is of a past before the
        horizon, its reader raises BeforeHorizon.
        """

    def document(
        self,
        kind: str,
        *,
        entity_id: str | None = None,
        fqn: str | None = None,
        most_bytes: int | None = None,
    ) -> StoredDocument | None:
        """The entity of a kind with this id or (without one) this qualified name, if any.

        Raises EntityTooLarge, without reading the entity, when its core and its optional fields
        have more than `most_bytes` together; a database may do so already when one of the two has
        more than half of that.
        """

    def documents(
        self, entity_ids: Iterable[str], most_bytes: int = DOCUMENTS_BYTES
    ) -> dict[str, bytes]:
        """Id -> JSON with every field that the entity has, of the first of these entities in order.

        Once they have `most_bytes` no further one is read: an entity may have megabytes. Ids that
        are not stored are left out.
        """

    def edges(self, past: PastOfList | None = None) -> AbstractContextManager[EdgeReader]:
        """One consistent state of the lineage, which is held until the block ends.

        With a past it is the lineage of then, less the edges of entities that are purged by now.
        Raises BeforeHorizon.
        """

    def ask(self, sql: str, *values: Any) -> list[Any]:
        """The rows of a statement that gives some; `{}.` stands before tables, `?` for values."""

    def first_after(self, time: int) -> int | None:
        """The position of the first event later than a time; None where there is none yet.

        The time is in milliseconds since the Unix epoch, of 64 bits.
        """
        ((position,),) = self.ask(FIRST_AFTER, time)
        return None if position is None else int(position)

    def first_of_days(self, days: int) -> int | None:
        """The position at which the first of the last `days` days of the log began.

        A day of the log is one that has events. None where the log has fewer days.
        """
        ((position,),) = self.ask(FIRST_OF_DAYS, days, days)
        return None if position is None else int(position)

    def horizon(self) -> Horizon:
        """The earliest position as of which the read model can be read; it never moves back."""
        return Horizon(*self.ask(READ_HORIZON)[0])

    def horizon_due(self, days: int, now: int) -> int:
        """The position up to which the past need not be kept, where some days of it are; 0: none.

        The last days before `now` (milliseconds since the Unix epoch) are kept, and as many days on
        which anything was recorded. So a clock that jumps ahead takes one day with it, not all.
        """
        checkpoint, of_days = self.checkpoint(), self.first_of_days(days)
        if of_days is None:
            return 0
        after = self.first_after(now - days * DAY)
        return min(of_days - 1, checkpoint if after is None else after - 1)

    def prune(self, upto: int, most: int) -> Horizon:
        """Move the horizon on to a position, by `most` positions at most, in one commit.

        It moves by fewer where the states that ended were in many lists, so that a commit is short.
        The commit removes what is kept of the past for earlier positions alone. The checkpoint is
        the furthest that the horizon goes. Returns the horizon after it. Raises StoreUnavailable
        when nothing was committed.
        """

    def daily_figures(self, days: range, series: Sequence[tuple[str, str]]) -> DailyFigures:
        """The counts of some days, and the live entities at their ends.

        The latter are those of each kind and status (ANY_STATUS: all of the kind) in `series`.
        """

    def digests(self) -> Mapping[str, tuple[int, int]]:
        """Kind -> number of its entities, and the sum of their digests modulo 2**128."""

    def deleted(self) -> Mapping[str, int]:
        """Kind -> how many of its entities are soft-deleted; kinds without any may be absent."""

    def apply(
        self,
        entities: Mapping[str, EntityChange],
        position: int,
        fingerprint: str,
        *,
        after: Checkpoint,
        moments: Sequence[Moment] = (),
        events: EventCounts = NO_EVENTS,
    ) -> None:
        """Store what became of entities, by id, with the states replaced; move the checkpoint.

        `moments` are those of the events between `after` and `position`, as far as these alone
        tell, and `events` are their numbers. Everything happens in one commit, lists, totals and
        digests included. Raises StoreUnavailable when nothing was committed, as when the checkpoint
        and its fingerprint are not `after`, which the commit itself compares.
        """

    def snapshot(self) -> AbstractContextManager[EntitySnapshot]:
        """One consistent state of the read model, kept readable until the block ends."""

    def damage(self) -> list[str]:
        """Return the damage that the database itself sees in its files, if there is any."""
