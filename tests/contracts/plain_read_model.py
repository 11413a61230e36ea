"""A sorted read model of plain objects: what every database is held against."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from domain.kinds.names import name_key
from domain.reading.moments import Moment
from projections.entities.cursors import Place
from projections.entities.daily_counts import (
    NO_EVENTS,
    DailyFigures,
    DayCount,
    EventCounts,
)
from projections.entities.list_port import Include, ListedEntity, ListRequest, PastOfList, WholePage
from projections.entities.port import EntityTooLarge, StoredDocument
from projections.entities.replaced_states import (
    EndedMembership,
    EntityChange,
    ReplacedState,
    Series,
)
from projections.entities.scopes import Sought, sought_scope
from projections.entities.stored_entity import StoredEntity
from projections.feeding.port import Checkpoint, moved_on
from projections.verification.report import Difference

STATES = {
    Include.NON_DELETED: {0},
    Include.DELETED: {1},
    Include.ALL: {0, 1},
}


class PlainReader:
    """One page of a list, of the entities that there were when it was begun."""

    def __init__(
        self, entities: Iterable[StoredEntity], request: ListRequest, place: Place | None
    ) -> None:
        entities = list(entities)
        scopes = {
            scope(entities, sought_scope(request.kind, *given)) for given in request.filters.items()
        }
        self.request = request
        self.place = place
        self.all = sorted(
            (
                one
                for one in entities
                if one.kind == request.kind.name
                and one.deleted in STATES[request.include]
                and request.status in (None, one.status)
                and scopes <= {*json.loads(one.scopes)}
                and (request.names is None or request.names.admits(one.fqn))
            ),
            key=lambda one: (one.name, one.id),
        )

    def passed_over(self) -> int:
        return 0

    def beyond(self, place: Place | None, *, backward: bool) -> list[StoredEntity]:
        """The entities of the list on one side of a place, the nearest first."""
        towards = self.all[::-1] if backward else self.all
        if place is None:
            return towards
        here = place.name, place.id
        return [
            one
            for one in towards
            if (place.inclusive and (one.name, one.id) == here)
            or ((one.name, one.id) < here if backward else (one.name, one.id) > here)
        ]

    def whole(self, most_bytes: int) -> WholePage | None:
        page = self.page()
        fields = self.request.fields
        beyond = self.beyond(self.place, backward=self.request.backward)
        read = beyond[: self.request.limit + 1] if page else []
        if sum(len(one.core) + (len(one.optional) if fields else 0) for one in read) >= most_bytes:
            return None
        entities = [*map(self.listed, page)]
        return WholePage(*self.totals(), entities, len(read) > self.request.limit)

    def totals(self) -> tuple[int, bool]:
        beyond = self.beyond(self.place, backward=self.request.backward)
        behind = self.place is not None and len(beyond) < len(self.all)
        return len(self.all), behind and self.request.limit > 0

    def purged(self) -> int:
        return 0

    def parts(self, part_bytes: int) -> Iterator[list[ListedEntity]]:
        for one in self.page():
            yield [self.listed(one)]

    def page(self) -> list[StoredEntity]:
        """The entities of the page, in the order of the list."""
        page = self.beyond(self.place, backward=self.request.backward)[: self.request.limit]
        return page[::-1] if self.request.backward else page

    def goes_on(self, place: Place) -> bool:
        return bool(self.beyond(place, backward=self.request.backward))

    def hand_over(self) -> None:
        """Any thread may read plain objects."""

    def listed(self, one: StoredEntity) -> ListedEntity:
        return one.name, one.id, one.core, *([one.optional] if self.request.fields else ())


def scope(entities: Iterable[StoredEntity], sought: Sought) -> str:
    """The scope that a filter means among these entities."""
    ids = {(one.kind, one.fqn): one for one in entities}
    meant = [ids[name] for name in sought.names if name in ids]
    meant += [one for one in entities if one.id == sought.entity_id]
    if meant:
        return scope_of(sought, meant[0].id, meant[0].kind, meant[0].fqn)
    known = {each for one in entities for each in json.loads(one.scopes)}
    return next((label for label in sought.labels if label in known), sought.otherwise)


def scope_of(sought: Sought, entity_id: str, kind: str, fqn: str) -> str:
    """The scope that a filter means when it means this entity."""
    return sought.prefix + (name_key(kind, fqn).hex() if sought.keyed else entity_id)


class PlainEdges:
    """The edges among the entities that there were when reading began."""

    def __init__(self, entities: Mapping[str, StoredEntity]) -> None:
        self.entities = entities

    def edges(self, scope: str) -> list[StoredEntity]:
        found = [
            one
            for one in self.entities.values()
            if one.kind == "lineageEdge" and scope in json.loads(one.scopes)
        ]
        return sorted(found, key=lambda one: (one.name, one.id))

    def ending_at(self, entity_id: str) -> Iterator[bytes]:
        return (one.core for one in self.edges(entity_id) if one.name == entity_id)

    def leaving(self, entity_id: str) -> Iterator[bytes]:
        return (
            one.core
            for one in self.edges(entity_id)
            if one.name != entity_id or one.fqn == f"{entity_id}.{entity_id}"
        )

    def deleted(self, ids: Sequence[str]) -> set[str]:
        return {one for one in ids if one in self.entities and self.entities[one].deleted}


class PlainSnapshot:
    """The entities that there were when the snapshot was taken."""

    def __init__(
        self,
        entities: Mapping[str, StoredEntity],
        position: int,
        fingerprint: str,
        moments: list[Moment],
    ) -> None:
        self._moments = moments
        self.stored = dict(sorted(entities.items()))
        self.position = position
        self.fingerprint = fingerprint

    def ids(self) -> Iterator[str]:
        return iter(self.stored)

    def entities(self, ids: Sequence[str] | None) -> Iterator[StoredEntity]:
        wanted = self.stored if ids is None else ids
        return (self.stored[one] for one in wanted if one in self.stored)

    def digests(self) -> dict[str, tuple[int, int]]:
        return digests(self.stored.values())

    def moments(self) -> Iterator[Moment]:
        return iter(self._moments)

    def replaced(self) -> Iterator[ReplacedState]:
        return iter(())

    def ended(self) -> Iterator[EndedMembership]:
        return iter(())

    def pasts(self) -> dict[str, tuple[int, int]]:
        return {}

    def totals_at(
        self, positions: Sequence[int]
    ) -> Sequence[tuple[Mapping[Series, int], Mapping[Series, int]]]:
        return [({}, {}) for _ in positions]

    def days(self) -> Iterator[DayCount]:
        return iter(())

    def list_differences(self) -> Iterator[Difference]:
        return iter(())


def digests(entities: Iterable[StoredEntity]) -> dict[str, tuple[int, int]]:
    numbers: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    for one in entities:
        numbers[one.kind] += 1
        sums[one.kind] += int.from_bytes(one.digest, "big")
    return {kind: (n, sums[kind] % 2**128) for kind, n in numbers.items()}


class PlainReadModel:
    """The sorted read model as a dictionary of entities by id."""

    def __init__(self) -> None:
        self.stored: dict[str, StoredEntity] = {}
        self.position, self.fingerprint = 0, ""
        self.moments: list[Moment] = []

    def checkpoint(self) -> int:
        return self.position

    def revision(self) -> int:
        return self.position

    def checkpoint_and_fingerprint(self) -> tuple[int, str]:
        return self.position, self.fingerprint

    def count(self) -> int:
        return len(self.stored)

    def digests(self) -> dict[str, tuple[int, int]]:
        return digests(self.stored.values())

    def deleted(self) -> dict[str, int]:
        return dict(Counter(one.kind for one in self.stored.values() if one.deleted))

    @contextmanager
    def read_list(self, request: ListRequest, place: Place | None) -> Iterator[PlainReader]:
        yield PlainReader(self.stored.values(), request, place)

    def document(
        self,
        kind: str,
        *,
        entity_id: str | None = None,
        fqn: str | None = None,
        most_bytes: int | None = None,
    ) -> StoredDocument | None:
        for one in self.stored.values():
            if one.kind == kind and (one.id == entity_id if entity_id else one.fqn == fqn):
                if most_bytes is not None and len(one.core) + len(one.optional) > most_bytes:
                    raise EntityTooLarge
                return StoredDocument(
                    one.core, one.optional, one.position, one.last_event, bool(one.deleted)
                )
        return None

    def documents(
        self, entity_ids: Iterable[str], most_bytes: int = 256 * 1024
    ) -> dict[str, bytes]:
        read: dict[str, bytes] = {}
        for one in entity_ids:
            if one in self.stored and sum(map(len, read.values())) < most_bytes:
                read[one] = json.dumps(
                    {**json.loads(self.stored[one].core), **json.loads(self.stored[one].optional)},
                    separators=(",", ":"),
                    ensure_ascii=False,
                ).encode()
        return read

    @contextmanager
    def edges(self, past: PastOfList | None = None) -> Iterator[PlainEdges]:
        yield PlainEdges(self.stored)

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
        if (self.position, self.fingerprint) != after:
            raise moved_on("sorted read model", after)
        stored = dict(self.stored)
        for key, change in entities.items():
            stored.pop(key, None)
            if change.stored is not None:
                stored[key] = change.stored
                json.loads(change.stored.scopes)
        self.stored, self.position, self.fingerprint = stored, position, fingerprint
        for at, where in moments:
            if not self.moments or at > self.moments[-1][0]:
                self.moments.append((at, where))

    def daily_figures(self, days: range, series: Sequence[tuple[str, str]]) -> DailyFigures:
        return DailyFigures([], [])

    def first_after(self, time: int) -> int | None:
        return next((position for at, position in self.moments if at > time), None)

    @contextmanager
    def snapshot(self) -> Iterator[PlainSnapshot]:
        yield PlainSnapshot(self.stored, self.position, self.fingerprint, [*self.moments])

    def damage(self) -> list[str]:
        return []

    def close(self) -> None:
        """Nothing is open."""
