"""Events, claims and snapshots of a log, as every database stores them."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from domain.errors import StoreUnavailable

ID_CHARACTERS = 36
StoredRow = tuple[str, int, str, bytes, int]
"""An event as it is stored: entity id, stream version, type name, payload, position."""


class Claim(msgspec.Struct, frozen=True):
    """An entity's hold on its qualified name, kept by the log in step with its events."""

    kind: str
    fqn: str
    id: str
    name: str
    parent_id: str | None
    deleted: bool
    former_names: tuple[str, ...] = ()
    """Qualified names that the entity had before, in any order: they too lead to it, and to no
    other entity."""

    @property
    def all_names(self) -> tuple[str, ...]:
        """Every qualified name that leads to the entity, the one that it has first."""
        return self.fqn, *self.former_names


class LiveStreams(msgspec.Struct, frozen=True):
    """The entities that are not purged, as the log had them at one moment."""

    head: int
    """Position of the newest event at that moment."""
    ids: bytes
    """The ids one after the other, in ASCII: a million take 36 MB."""
    purged: bytes = b""
    """The ids of the entities that are purged, where they are asked for by name."""

    def __len__(self) -> int:
        return len(self.ids) // ID_CHARACTERS

    def with_purged(self) -> "LiveStreams":
        """Return these entities, followed by the purged ones."""
        return LiveStreams(self.head, self.ids + self.purged)

    def part(self, start: int, size: int) -> list[str]:
        """The ids of at most `size` entities from number `start` on."""
        text = self.ids[start * ID_CHARACTERS : (start + size) * ID_CHARACTERS].decode("ascii")
        return [text[at : at + ID_CHARACTERS] for at in range(0, len(text), ID_CHARACTERS)]


class Problem(msgspec.Struct, frozen=True, order=True):
    """Something wrong in the log; the position is 0 where no single event is concerned."""

    position: int
    entity_id: str
    what: str


class LogSnapshot(ABC):
    """The log at one moment, in its stored form, without later appends; on its own connection.

    All its iterators read as they go, and raise StoreUnavailable where the log cannot be read.
    """

    events_table: str
    """SQL for the events, with the columns position, entity_id, stream_version and type."""
    select_given: str
    """SQL for the greatest position that was given; no row where none was."""
    head: int
    """Position of the newest event, 0 for an empty log."""
    count: int
    """Number of events."""

    @abstractmethod
    def features(self) -> dict[str, str]:
        """The features that the events use; see `EventStore.features`."""

    @abstractmethod
    def events(self, after: int = 0) -> Iterator[StoredRow]:
        """The events with positions above `after`, in log order."""

    @abstractmethod
    def streams(self, ids: Sequence[str] | None = None) -> Iterator[StoredRow]:
        """The streams of these entities (None: of all), in order of id and stream version."""

    @abstractmethod
    def claims(self, ids: Sequence[str] | None = None) -> Iterator[Claim]:
        """The claims of these entities (None: of all), in order of id."""

    @abstractmethod
    def _rows(self, statement: str, *values: Any) -> Iterator[Any]:
        """The rows of a statement."""

    @abstractmethod
    def _ids(self, statement: str) -> bytes:
        """The ids that a statement selects, one after the other."""

    def live(self, *, by_name: bool) -> LiveStreams:
        """The entities that are not purged; see `EventStore.live`."""
        order = "kind, deleted, name, id" if by_name else "id"
        live = LiveStreams(self.head, self._ids(f"SELECT id FROM claims ORDER BY {order}"))
        ((streams,),) = self._rows(
            "SELECT count(*) FILTER (WHERE stream_version = 1)"
            f" - count(*) FILTER (WHERE type = 'entity.purged') FROM {self.events_table}"
        )
        if len(live) != streams:
            raise StoreUnavailable(
                f"the log is damaged: {len(live)} names are claimed by {streams} entities"
            )
        return LiveStreams(live.head, live.ids, self.purged(live.head)) if by_name else live

    def changed(self) -> bytes:
        """The ids of the entities with more than one event, ascending, one after the other."""
        return self._ids(
            f"SELECT entity_id FROM {self.events_table} WHERE stream_version = 2 ORDER BY entity_id"
        )

    def purged(self, upto: int) -> bytes:
        """The ids of the entities that are purged at a position, ascending, one after the other."""
        return self._ids(
            f"SELECT entity_id FROM {self.events_table} WHERE type = 'entity.purged'"
            f" AND position <= {upto} ORDER BY entity_id"
        )

    def lost(self) -> Iterator[Problem]:
        """Problems for events that were removed, and for answers that refer to no event.

        Positions are given without gaps, a refused append takes none, and a removed event gives
        none back. So a gap is an event that was removed, except among events restored from another
        log.
        """
        head, count = next(self._rows("SELECT head, count FROM restored"), (0, 0))
        ((kept,),) = self._rows(
            f"SELECT count(*) FROM {self.events_table} WHERE position <= {head}"
        )
        if kept != count:
            what = f"{count} events up to position {head} were restored, {kept} are there"
            yield Problem(0, "", what)
        for first, last in self._rows(
            "SELECT previous + 1, position - 1 FROM ("
            f"SELECT position, lag(position, 1, CAST({head} AS bigint)) OVER (ORDER BY position)"
            f" AS previous FROM {self.events_table} WHERE position > {head}) following"
            " WHERE position > previous + 1 ORDER BY position"
        ):
            gap = f"{first}" + (f" to {last}" if last > first else "")
            yield Problem(first, "", f"no event at position {gap}")
        (given,) = next(self._rows(self.select_given), (0,))
        if given > self.head:
            what = f"positions up to {given} were given, the log ends at {self.head}"
            yield Problem(self.head + 1, "", what)
        for actor, key in self._rows(
            "SELECT actor, key FROM answers a WHERE NOT EXISTS ("
            f"SELECT 1 FROM {self.events_table} e WHERE e.entity_id = a.entity_id"
            " AND e.stream_version = a.stream_version) ORDER BY 1, 2"
        ):
            what = f"the answer remembered for {actor!r} under key {key!r} refers to no event"
            yield Problem(0, "", what)
