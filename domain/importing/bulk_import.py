"""Loads JSON lines into the log in large transactions, keeping the good lines of a bad file.

A line is one entity, parents before children: `{"entityType": ..., "name": ...,
"fullyQualifiedName": ..., ...}`, otherwise like the body of a PUT. An `id` is kept when the entity
is new. A line whose content the log has already stores no event.
"""

from collections.abc import Callable, Iterable
from itertools import zip_longest

import msgspec

from domain.contracts.changes.rules import Perspective
from domain.errors import (
    AlreadyExists,
    CatalogError,
    ConcurrentChange,
    InvalidInput,
    StoreUnavailable,
)
from domain.event_store.appends import position_of
from domain.event_store.port import EventStore
from domain.event_store.refusals import another_epoch
from domain.importing.lines import Chunk, NumberedLine, read_line
from domain.kinds.ids import new_id
from domain.kinds.registry import KINDS
from domain.requests.drafts import Draft
from domain.requests.references import add_looked_up
from domain.write_context import WriteContext
from domain.writing.bulk_put import BulkPut
from domain.writing.plans import Change


class LineReport(msgspec.Struct, frozen=True):
    """A remark on one line: the reason why it is bad, or the labels of it that were left out."""

    number: int
    reason: str


class Batch(msgspec.Struct):
    """Outcome of one transaction's worth of lines."""

    lines: int = 0
    events: int = 0
    created: int = 0
    changed: int = 0
    unchanged: int = 0
    bad: list[LineReport] = []
    dropped: list[LineReport] = []
    """Lines of a bot with labels that others exclude; the rest of them was imported."""

    def add(self, other: "Batch") -> None:
        """Count another batch in."""
        self.lines += other.lines
        self.events += other.events
        self.created += other.created
        self.changed += other.changed
        self.unchanged += other.unchanged
        self.bad = [*self.bad, *other.bad]
        self.dropped = [*self.dropped, *other.dropped]


class ImportStopped(StoreUnavailable):
    """The log could not be read or written, so that no further line was imported."""

    def __init__(self, message: str, stored: Batch, upto: int) -> None:
        super().__init__(message)
        self.stored = stored
        """Outcome of those lines that were imported before."""
        self.upto = upto
        """The number of the last line before which, and with which, every good line is stored."""


class BulkImport:
    """Feeds lines into the log; a transaction for each call of `load` and each chunk."""

    def __init__(
        self,
        store: EventStore,
        context: WriteContext,
        *,
        now: Callable[[], int],
        make_id: Callable[[], str] = new_id,
        gate: Perspective | None = None,
    ) -> None:
        """`gate` is that of planners."""
        self._store = store
        self._context = context
        self._now = now
        self._make_id = make_id
        self._gate = gate

    def load(self, chunk: Chunk) -> Batch:
        """Import the lines in one transaction; when another writer interferes, one by one.

        Raises ImportStopped when the log cannot be read or written now.
        """
        epoch = self._store.epoch()
        try:
            return self._store_lines(chunk, epoch)
        except StoreUnavailable as error:
            before = chunk.lines[0][0] - 1
            raise ImportStopped(error.message, Batch(), before) from error
        except (ConcurrentChange, AlreadyExists) as error:
            if len(chunk.lines) == 1 and self._store.epoch() == epoch:
                return Batch(lines=1, bad=[LineReport(chunk.lines[0][0], error.message)])
            return self._load_each(chunk.lines)

    def _store_lines(self, chunk: Chunk, epoch: int) -> Batch:
        """Decide on a chunk in one epoch of the log, and append what was decided.

        Raises StoreUnavailable, the refusal of the append, and ConcurrentChange when the log has
        begun another epoch.
        """
        puts = BulkPut(self._store, self._now, self._make_id, epoch, self._gate)
        try:
            batch = self._decide_lines(chunk, puts)
            if puts.steps:
                # The log itself checks the epoch of the append.
                position_of(*self._store.append_group([puts.append()]))
                return batch
            self._store.durable_head()
        except StoreUnavailable:
            raise
        except Exception:
            # Decisions that rest on two epochs of the log may fail with any error.
            if self._store.epoch() == epoch:
                raise
        else:
            if self._store.epoch() == epoch:
                return batch
        raise another_epoch([])

    def _decide_lines(self, chunk: Chunk, puts: BulkPut) -> Batch:
        """Have `puts` decide on the lines that can be read; returns their results."""
        batch = Batch(lines=len(chunk.lines))
        names, ids = set(chunk.read.names), set(chunk.read.ids)
        good: dict[int, Draft] = {}
        for (number, line), read in zip_longest(chunk.lines, chunk.read.lines):
            draft = read
            if draft is None:
                try:
                    draft = read_line(line)
                except InvalidInput as error:
                    draft = error.message
                else:
                    add_looked_up(KINDS[draft.kind], draft, names, ids)
            if isinstance(draft, str):
                batch.bad.append(LineReport(number, draft))
            else:
                good[number] = draft
        results = puts.decide_drafts([*good.values()], names, ids, self._context)
        for number, result in zip(good, results, strict=True):
            if isinstance(result, CatalogError):
                batch.bad.append(LineReport(number, result.message))
                continue
            batch.created += result.change is Change.CREATED
            batch.changed += result.change is Change.UPDATED
            batch.unchanged += result.change is Change.NO_CHANGE
            if result.dropped:
                batch.dropped.append(LineReport(number, result.told_dropped))
        batch.events = sum(len(step.events) for step in puts.steps)
        batch.bad.sort(key=lambda bad: bad.number)
        return batch

    def _load_each(self, lines: Iterable[NumberedLine]) -> Batch:
        whole = Batch()
        for line in lines:
            try:
                whole.add(self.load(Chunk([line])))
            except ImportStopped as stopped:
                raise ImportStopped(stopped.message, whole, stopped.upto) from stopped
        return whole
