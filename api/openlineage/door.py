"""The door: events are read, decided on in turns, and answered once all is durable."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from api.answers.bodies import has_left
from api.callers.limits import Places
from api.callers.permissions import Access
from api.callers.work_queue import WorkQueue
from api.declaring.signatures import AnyRequest
from api.errors import Overloaded, TooManyRequests
from api.openlineage.answers import (
    MOST_NAMED,
    FailedEvent,
    TakenEvent,
    UnresolvedName,
    batch_answer,
)
from api.openlineage.bodies import read_packed
from api.openlineage.caller_rights import check_door, rights_of
from api.openlineage.gathering import Gatherer
from api.openlineage.remembered import Key, RememberedEvents, Taken
from api.paths.openlineage import RETRY_SECONDS
from api.services import Services
from api.use_cases.entity_writes import context_of, refuse_headers_of_one
from domain.errors import InvalidInput
from domain.machine import clock
from domain.openlineage.drawing import Drawing
from domain.openlineage.events import digest_of, read_batch, read_event
from domain.openlineage.facets import MOST_TOLD
from domain.openlineage.mapping_file import MappingFile
from domain.openlineage.outcomes import Outcome
from domain.openlineage.places import Places as DatasetPlaces
from domain.openlineage.reading import statement_of
from domain.openlineage.rights import Rights, permitted
from domain.openlineage.statements import DatasetName, Statement
from domain.openlineage.taking import Taker, parts
from domain.write_context import WriteContext
from projections.entities.lineage_places import LineagePlaces

WAIT_SECONDS = 4.0
"""Time for which an event waits for a place; clients wait for 5 s, and try a 503 again."""
_PAUSE_SECONDS = 0.1
_THREADS, _THREADS_EACH = 2, 1
"""Threads that read events and write what is remembered, and those that a caller may have."""
MOST_WAITING = 256
"""Requests of one caller that are read or wait for it."""
_TOGETHER = 16

T = TypeVar("T")


class Door:
    """Takes events for callers."""

    def __init__(self, services: Services, mapping: MappingFile) -> None:
        """`mapping` has the rules for names of datasets and jobs."""
        self._services = services
        self._mapping = mapping
        self._known_places = LineagePlaces()
        self._taker = Taker(services.catalog, services.measurements, self._read_places)
        self._remembered = RememberedEvents(services.stores.log)
        self._places = Places(MOST_WAITING, "events")
        self._turns = WorkQueue(_THREADS, each=_THREADS_EACH, together=_TOGETHER)
        self._gathered = Gatherer[_Item, bytes](self._take)

    async def one(self, request: AnyRequest) -> bytes:
        """Take the event in the body of a request; returns the answer.

        Raises InvalidInput for a body that is no event, Forbidden, TooLarge, Overloaded where no
        place gets free within 4 s, and StoreUnavailable.
        """
        check_door(request.auth)
        refuse_headers_of_one(request, "an event")
        packed = await _placed(partial(read_packed, request))
        small, is_file = packed.small(), not self._services.stores.is_shared
        if small is not None and is_file and self._remembered.is_current():
            # Where nothing else is written, the loop answers what was said before itself.
            answer = self._remembered.get(self._key(request, digest_of(small)))
            if answer is not None:
                return answer
        async with self._place(request.user.name):
            read = await self._in_turn(request, partial(self._read_one, request, packed.whole))
            if isinstance(read, bytes):
                return read
            (answer,) = await self._gathered.taken(self._caller(request), [read])
        return answer

    async def batch(self, request: AnyRequest) -> bytes:
        """Take a batch of events; returns the answer, which names those that are none.

        Raises the errors of `one`, and InvalidInput for a body that is no batch.
        """
        check_door(request.auth)
        refuse_headers_of_one(request, "a batch")
        packed = await _placed(partial(read_packed, request))
        async with self._place(request.user.name):
            work = partial(self._read_batch, request, packed.whole)
            received, items, failed = await self._in_turn(request, work)
            if items:
                await self._gathered.taken(self._caller(request), items)
        return batch_answer(received, failed)

    @asynccontextmanager
    async def _place(self, caller: str) -> AsyncIterator[None]:
        """Hold one of the caller's places for a block; raises Overloaded."""

        async def take() -> None:
            self._places.take(caller)

        await _placed(take)
        try:
            yield
        finally:
            self._places.give_back(caller)

    def _caller(self, request: AnyRequest) -> tuple[str, Access]:
        """The key by which events are gathered: events with equal keys are stored together."""
        return request.user.name, request.auth

    async def _take(self, items: Sequence["_Item"]) -> list[bytes]:
        """Have events of one caller stored; returns the answer to each of them."""
        first = items[0]
        caller, rights = first.context.actor, first.rights
        statements = [each.statement for each in items]
        drawings = [
            replace(drawing, request_id=item.context.request_id)
            for drawing, item in zip(
                await self._run(caller, partial(self._taker.drawings, statements)),
                items,
                strict=True,
            )
        ]
        outcomes = await self._drawn(first, drawings)
        late = [n for n, some in enumerate(outcomes) if any(each.missing for each in some)]
        missing = [each for n in late for each in outcomes[n]]
        has_come = False
        if missing:
            has_come = await self._run(caller, partial(self._taker.has_come, missing))
        if has_come:
            # A table was made while the event was on its way, and nothing else would look again.
            again = await self._drawn(first, [drawings[n] for n in late])
            for n, some in zip(late, again, strict=True):
                outcomes[n] = some
        answers = await self._run(caller, partial(_encoded, outcomes, rights))
        for item, some, answer in zip(items, outcomes, answers, strict=True):
            concerned = frozenset().union(*(each.concerned for each in some))
            misses = any(each.missing for each in some)
            self._remembered.keep(item.key, Taken(answer, item.position, concerned, misses=misses))
        return answers

    async def _drawn(self, first: "_Item", drawings: Sequence[Drawing]) -> list[list[Outcome]]:
        """Draw in as many transactions as it takes; returns outcomes of the parts of each."""
        caller, outcomes = first.context.actor, [list[Outcome]() for _ in drawings]
        for some in parts(drawings):
            planned = [drawing for _, drawing in some]
            propose = partial(self._taker.propose, planned, first.context, first.rights)
            _, drawn = await _placed(partial(self._services.write_for, caller, propose))
            await self._run(caller, partial(self._taker.settle, drawn))
            for (number, _), outcome in zip(some, drawn, strict=True):
                outcomes[number].append(outcome)
        return outcomes

    async def _run(self, caller: str, work: Callable[[], T]) -> T:
        """Do work in a thread, in a caller's turn."""
        return await self._turns.go_on(caller, work)

    async def _in_turn(self, request: AnyRequest, work: Callable[[], T]) -> T:
        """Do work for a request that may be given up, in a thread, in the turn of its caller."""
        left = partial(has_left, request.receive)
        return await self._turns.go_on(request.user.name, work, left)

    def _read_one(self, request: AnyRequest, unpacked: Callable[[], bytes]) -> "_Item | bytes":
        """The event of a body, or the answer to it if it is remembered."""
        data = unpacked()
        key = self._key(request, digest_of(data))
        position = self._remembered.follow()
        if (answer := self._remembered.get(key)) is not None:
            return answer
        rights = rights_of(request.auth)
        statement = permitted(statement_of(read_event(data), clock.now()), rights)
        return _Item(key, statement, _context(request), rights, position)

    def _read_batch(
        self, request: AnyRequest, unpacked: Callable[[], bytes]
    ) -> "tuple[int, list[_Item], list[FailedEvent]]":
        """The number of events in a body, the new events, and the failures."""
        events, position = read_batch(unpacked()), self._remembered.follow()
        items: list[_Item] = []
        failed: list[FailedEvent] = []
        now, context, rights = clock.now(), _context(request), rights_of(request.auth)
        for number, event in enumerate(events):
            try:
                key = self._key(request, digest_of(event))
                if self._remembered.get(key) is None:
                    statement = permitted(statement_of(read_event(event), now), rights)
                    items.append(_Item(key, statement, context, rights, position))
            except InvalidInput as error:
                failed.append(FailedEvent(number, error.message))
        return len(events), items, failed

    def _read_places(self) -> DatasetPlaces:
        with self._services.stores.entities.use() as entities:
            return self._known_places.read(entities, lambda: self._mapping.rules)

    def _key(self, request: AnyRequest, digest: bytes) -> Key:
        """The key by which the answer to an event of a caller is remembered."""
        return (request.user.name, request.auth, self._mapping.version), digest


class _Item(Struct, frozen=True):
    """An event that was read, with the context and the rights of its sender."""

    key: Key
    """The key under which the answer to the event is to be remembered."""
    statement: Statement
    context: WriteContext
    rights: Rights
    position: int
    """Head of the log before anything was decided: the answer knows all events up to there."""


def _encoded(outcomes: Sequence[Sequence[Outcome]], rights: Rights) -> list[bytes]:
    """The answers to events, each by the outcomes of its parts."""
    return [msgspec.json.encode(_answer(some, sees_all=rights.sees_all)) for some in outcomes]


def _answer(outcomes: Sequence[Outcome], *, sees_all: bool) -> TakenEvent:
    """The answer to an event, whose edges may have been drawn in several parts.

    A caller who may not view all datasets must not learn which exist: for such a caller a waiting
    edge counts like a drawn one.
    """
    first = outcomes[0]
    if not sees_all:
        edges = sum(each.edges + each.waiting for each in outcomes)
        return TakenEvent(edges=edges, ignored=[*first.statement.told])
    missing: dict[DatasetName, None] = {}
    sentences: dict[str, None] = {}
    for each in outcomes:
        missing |= each.missing
        sentences.update(dict.fromkeys(each.told.sentences))
    named = [UnresolvedName(each.namespace, each.name) for each in missing]
    return TakenEvent(
        edges=sum(each.edges for each in outcomes),
        unresolved=named[:MOST_NAMED],
        ignored=[*sentences][:MOST_TOLD],
    )


def _context(request: AnyRequest) -> WriteContext:
    return replace(context_of(request), by_bot=True)


async def _placed(work: Callable[[], Awaitable[T]]) -> T:
    """Do work once there is a place for it; raises Overloaded where there is none for 4 s."""
    ends = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            return await work()
        except TooManyRequests as error:
            if time.monotonic() >= ends:
                raise Overloaded(str(error), RETRY_SECONDS) from None
            await asyncio.sleep(_PAUSE_SECONDS)
