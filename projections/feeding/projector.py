"""Feeds one projection from the log, batch by batch."""

from collections.abc import Sequence
from types import MappingProxyType

from domain.aggregate.entity import Entity
from domain.errors import StoreUnavailable
from domain.event_store.entity_reads import RecordedEvent, lost_nothing
from domain.event_store.port import EventStore
from domain.event_store.writes import StoredAppend
from projections.feeding.folding import Folder, StatesAt
from projections.feeding.log_fingerprint import disagreement, fingerprint_of
from projections.feeding.port import Checkpoint, Damaged, Folded, Projection

AT_ONCE_BYTES = 2_000_000
"""The most bytes of states that are applied by a thread for whose end other writers may wait."""


class Projector:
    """Continues from the projection's checkpoint; one thread at a time may step it."""

    def __init__(self, projection: Projection, store: EventStore, *, batch_size: int) -> None:
        """`batch_size` is the largest number of events in one commit; of large entities, fewer."""
        self.projection = projection
        self._store = store
        self._batch_size = batch_size
        self._folder = Folder(store)
        """Folds events; its remembered states are dropped when the log may have lost events."""
        self._checkpoint: Checkpoint | None = None
        self._epoch = store.epoch()
        """The epoch of the log in which the checkpoint was compared with the log."""
        self._log_id = store.identity()

    @property
    def name(self) -> str:
        """Name of the projection."""
        return self.projection.name

    @property
    def position(self) -> int | None:
        """The checkpoint of the read model; None if only the read model knows."""
        checkpoint = self._checkpoint
        return None if checkpoint is None else checkpoint[0]

    def step(self) -> int:
        """Apply the next batch; returns the number of its events, 0 when there are none.

        Raises StoreUnavailable when trying again may help, Damaged (one of those) when the read
        model is not of this log; after any other exception the projection must not go on. Nothing
        is ever skipped, and nothing is committed to a read model that another process has moved on
        since the batch was begun.
        """
        checkpoint = self._resume() if self._checkpoint is None else self._checkpoint
        batch = self._store.read(checkpoint[0], self._batch_size)
        while self._store.epoch() != self._epoch:
            # Events that were read in another epoch may not follow the event applied last.
            checkpoint = self._resume()
            batch = self._store.read(checkpoint[0], self._batch_size)
        return self._apply(batch, checkpoint)

    def step_at_once(self, stored: Sequence[StoredAppend]) -> int:
        """Apply appends, in the order of the log, that the calling thread has just made.

        Returns the number of their events; 0, with nothing done, where they do not come next in the
        log, or take more than a moment: they are for `step` then, as other writers may wait for the
        calling thread. Raises what `step` raises.
        """
        checkpoint = self._checkpoint
        if checkpoint is None or sum(each.append.state_bytes for each in stored) > AT_ONCE_BYTES:
            return 0
        batch, states = self._next_of(stored, checkpoint[0])
        if self._store.epoch() != self._epoch:
            return 0
        return self._apply(batch, checkpoint, states)

    def _apply(
        self,
        batch: Sequence[RecordedEvent],
        checkpoint: Checkpoint,
        states: StatesAt = MappingProxyType({}),
    ) -> int:
        """Apply the events that come next after a checkpoint; returns their number."""
        applied = 0
        try:
            while applied < len(batch):
                folded, number = self._fold(batch[applied:], states)
                applied += number
                last = batch[applied - 1]
                reached = last.position, fingerprint_of(self._log_id, last)
                self.projection.apply(folded, *reached, after=checkpoint)
                self._checkpoint = checkpoint = reached
        except BaseException:
            # The next step asks the store whether the commit happened.
            self._checkpoint = None
            raise
        return applied

    def _next_of(
        self, stored: Sequence[StoredAppend], position: int
    ) -> tuple[Sequence[RecordedEvent], StatesAt]:
        """The events of appends, and the states that the events led to.

        Both are empty unless the log has exactly these events between `position` and the last of
        them, in the epoch of the checkpoint, and they are no more than a batch.
        """
        events: list[RecordedEvent] = []
        states: dict[tuple[str, int], Entity] = {}
        for each in stored:
            append = each.append
            if not append.events:
                continue
            # Positions ascend, so that as many events as positions leave no room for others.
            is_next = each.position == position + len(append.events)
            if not is_next or append.epoch != self._epoch:
                return [], {}
            for (entity_id, stream_version, *_), event in zip(
                append.rows, append.events, strict=True
            ):
                position += 1
                events.append(RecordedEvent(entity_id, stream_version, event, position))
            states.update(((state.id, state.stream_version), state) for state in append.states)
        return (events, states) if len(events) <= self._batch_size else ([], {})

    def _resume(self) -> Checkpoint:
        """The checkpoint of the read model; raises Damaged when it is not of this log."""
        self._checkpoint = None
        # Before anything is read: an epoch that begins meanwhile is noticed at the next batch.
        if (epoch := self._store.epoch()) != self._epoch:
            if not lost_nothing(self._epoch, epoch):
                self._folder = Folder(self._store)
            self._epoch = epoch
        checkpoint = self.projection.checkpoint_and_fingerprint()
        if (reason := disagreement(self._store, *checkpoint)) is not None:
            raise Damaged(f"the read model {self.name} cannot go on: {reason}")
        self._checkpoint = checkpoint
        return checkpoint

    def _fold(
        self, batch: Sequence[RecordedEvent], states: StatesAt
    ) -> tuple[dict[str, Folded], int]:
        """Fold a batch by `Folder.fold`, if the log loses nothing while it is read.

        Raises StoreUnavailable where it may have lost events, whatever came of folding.
        """
        try:
            folded = self._folder.fold(batch, self.projection.begin(batch), states)
        except StoreUnavailable:
            raise
        except Exception as error:
            self._check_epoch(error)
            raise
        self._check_epoch()
        return folded

    def _check_epoch(self, error: Exception | None = None) -> None:
        # A rename begins an epoch too, and leaves events and states as they were.
        if not lost_nothing(self._epoch, self._store.epoch()):
            raise StoreUnavailable("the log was started anew while it was read") from error
