"""Loads JSON lines into the log in large transactions, keeping the good lines of a bad file.

A line is one entity, parents before children:
`{"entityType": ..., "name": ..., "fullyQualifiedName": ..., ...}`, otherwise like the body of a
PUT. An `id` is kept when the entity is new. What the log has already stores no event.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

import msgspec

from domain.aggregate.entity import Entity
from domain.errors import AlreadyExists, ConcurrentChange, StoreUnavailable
from domain.event_store.port import EventStore
from domain.event_store.refusals import another_epoch
from domain.event_store.writes import Expectations
from domain.importing.decisions import BadLine, Batch, Decider, Decision
from domain.importing.lines import Chunk, LinesRead, NumberedLine
from domain.importing.lookups import ImportNames
from domain.kinds.ids import new_id
from domain.write_context import WriteContext


class ImportStopped(StoreUnavailable):
    """The log could not be read or written, so that no further line was imported."""

    def __init__(self, message: str, stored: Batch, upto: int) -> None:
        super().__init__(message)
        self.stored = stored
        """What those lines came to that were imported before."""
        self.upto = upto
        """The number of the last line before which, and with which, every good line is stored."""


class _Begun(msgspec.Struct, frozen=True):
    """A chunk whose events are appended and perhaps not yet durable."""

    chunk: Chunk
    decision: Decision
    durable: Future[int] | None
    """Done when the events survive power loss; None where there is nothing to wait for."""


class BulkImport:
    """Feeds lines into the log; a transaction for each call of `load` and each chunk."""

    def __init__(
        self,
        store: EventStore,
        context: WriteContext,
        *,
        now: Callable[[], int],
        make_id: Callable[[], str] = new_id,
    ) -> None:
        self._store = store
        self._names = ImportNames(store)
        self._decider = Decider(store, self._names, context, now, make_id)
        self._epoch = store.epoch()
        """The epoch of the log before any of what is remembered was read."""

    def load(self, lines: list[NumberedLine], read: LinesRead | None = None) -> Batch:
        """Import the lines in one transaction; when another writer interferes, one by one.

        `read` has the lines as they were read elsewhere, if they were. Raises ImportStopped when
        the log cannot be read or written now.
        """
        try:
            self._begin_epoch()
            decision = self._decide(Chunk(lines, read=read or LinesRead()), {})
            if decision.recorded:
                self._store.append(
                    decision.recorded, expecting=decision.expecting, epoch=self._epoch
                )
            self._names.trim()
            return decision.batch
        except StoreUnavailable as error:
            raise ImportStopped(error.message, Batch(), lines[0][0] - 1) from error
        except (ConcurrentChange, AlreadyExists) as error:
            self._names.forget()
            if len(lines) == 1 and self._store.epoch() == self._epoch:
                return Batch(lines=1, bad=[BadLine(lines[0][0], error.message)])
        return self._load_each(lines)

    def load_all(self, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, Batch]]:
        """Import each chunk as `load` does, and give it back when it is stored.

        While a chunk is synced to disk, the next one is decided. Raises what `load` and `chunks`
        raise, after all that is stored has been given back.
        """
        begun: _Begun | None = None
        following = iter(chunks)
        with ThreadPoolExecutor(1, "sync") as executor:
            while True:
                decision = failure = None
                chunk: Chunk | None = None
                try:
                    chunk = next(following, None)
                    if chunk is not None and begun is not None and not self._names.are_many:
                        decision = self._decide(chunk, begun.decision.states)
                except ConcurrentChange:
                    # It is decided anew when the one before is stored.
                    decision = None
                except Exception as error:
                    failure = error
                if begun is not None:
                    yield begun.chunk, _stored(begun)
                if failure is not None:
                    raise failure
                if chunk is None:
                    return
                begun = self._begin(chunk, decision, executor)

    def _decide(self, chunk: Chunk, appended: Mapping[str, Entity]) -> Decision:
        """The decision on a chunk in the epoch that is known.

        Raises ConcurrentChange when the log has begun another one, and ImportStopped.
        """
        try:
            decision = self._decider.decide(chunk.lines, chunk.read, appended)
            if decision.recorded:
                # The log holds it to its epoch.
                return decision
            self._store.durable_head()
        except StoreUnavailable as error:
            raise _stopped_before(chunk, error) from error
        except Exception:
            # Of what two logs have anything may come, also an error.
            if self._store.epoch() == self._epoch:
                raise
        else:
            if self._store.epoch() == self._epoch:
                return decision
        raise another_epoch([])

    def _begin(
        self, chunk: Chunk, decision: Decision | None, executor: ThreadPoolExecutor
    ) -> _Begun:
        """Append a chunk, and let the executor wait for it; when every earlier one is stored."""
        try:
            if decision is None:
                self._names.trim()
                self._begin_epoch()
                decision = self._decide(chunk, {})
            if not decision.recorded:
                return _Begun(chunk, decision, None)
            sync = self._store.append_unsynced(
                decision.recorded, expecting=decision.expecting, epoch=self._epoch
            )
        except StoreUnavailable as error:
            raise _stopped_before(chunk, error) from error
        except (ConcurrentChange, AlreadyExists):
            self._names.forget()
            batch = self._load_each(chunk.lines)
            return _Begun(chunk, Decision(batch, [], Expectations(), {}), None)
        return _Begun(chunk, decision, executor.submit(sync))

    def _begin_epoch(self) -> None:
        """Forget what the log may have lost; every earlier append is stored or was refused."""
        epoch = self._store.epoch()
        if epoch != self._epoch:
            self._epoch = epoch
            self._names.forget()

    def _load_each(self, lines: Iterable[NumberedLine]) -> Batch:
        whole = Batch()
        for line in lines:
            try:
                whole.add(self.load([line]))
            except ImportStopped as stopped:
                raise ImportStopped(stopped.message, whole, stopped.upto) from stopped
        return whole


def _stored(begun: _Begun) -> Batch:
    """What a chunk came to, once it is stored; raises ImportStopped when it cannot be."""
    try:
        if begun.durable is not None:
            begun.durable.result()
    except StoreUnavailable as error:
        raise _stopped_before(begun.chunk, error) from error
    return begun.decision.batch


def _stopped_before(chunk: Chunk, error: StoreUnavailable) -> ImportStopped:
    """The error that says that a chunk is not stored, and every earlier one is."""
    return ImportStopped(error.message, Batch(), chunk.lines[0][0] - 1)
