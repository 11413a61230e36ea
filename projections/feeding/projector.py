"""Feeds one projection from the log, batch by batch."""

from collections.abc import Sequence

from domain.errors import StoreUnavailable
from domain.event_store.port import EventStore, RecordedEvent
from projections.feeding.folding import Folder
from projections.feeding.log_fingerprint import disagreement, fingerprint_of
from projections.feeding.port import Checkpoint, Damaged, Folded, Projection


class Projector:
    """Continues from the projection's checkpoint; one thread at a time may step it."""

    def __init__(self, projection: Projection, store: EventStore, *, batch_size: int) -> None:
        """`batch_size` is the largest number of events in one commit; of large entities, fewer."""
        self.projection = projection
        self._store = store
        self._batch_size = batch_size
        self._folder = Folder(store)
        """Remembers states of one epoch: the log may lose them with it."""
        self._checkpoint: Checkpoint | None = None
        self._epoch = store.epoch()
        """The epoch of the log in which the checkpoint was held against it."""
        self._log_id = store.identity()

    @property
    def name(self) -> str:
        """Name of the projection."""
        return self.projection.name

    @property
    def position(self) -> int | None:
        """The checkpoint of the read model; None where that is for the read model to say."""
        checkpoint = self._checkpoint
        return None if checkpoint is None else checkpoint[0]

    def step(self) -> int:
        """Apply the next batch; returns the number of its events, 0 when there are none.

        Raises StoreUnavailable when trying again may help, Damaged (one of those) when the read
        model is not of this log; after any other exception the projection must not go on.
        Nothing is ever skipped, and nothing is committed to a read model that another process has
        moved on since the batch was begun.
        """
        checkpoint = self._resume() if self._checkpoint is None else self._checkpoint
        batch = self._store.read(checkpoint[0], self._batch_size)
        while self._store.epoch() != self._epoch:
            # What was read may go on from another event than the one that was applied last.
            checkpoint = self._resume()
            batch = self._store.read(checkpoint[0], self._batch_size)
        applied = 0
        try:
            while applied < len(batch):
                folded, number = self._fold(batch[applied:])
                applied += number
                last = batch[applied - 1]
                reached = last.position, fingerprint_of(self._log_id, last)
                self.projection.apply(folded, *reached, after=checkpoint)
                self._checkpoint = checkpoint = reached
        except BaseException:
            # Whether the commit happened is for the store to say, at the next step.
            self._checkpoint = None
            raise
        return applied

    def _resume(self) -> Checkpoint:
        """The checkpoint of the read model; raises Damaged when it is not of this log."""
        self._checkpoint = None
        # Before anything is read: an epoch that begins meanwhile is noticed at the next batch.
        if (epoch := self._store.epoch()) != self._epoch:
            self._epoch, self._folder = epoch, Folder(self._store)
        checkpoint = self.projection.checkpoint_and_fingerprint()
        if (reason := disagreement(self._store, *checkpoint)) is not None:
            raise Damaged(f"the read model {self.name} cannot go on: {reason}")
        self._checkpoint = checkpoint
        return checkpoint

    def _fold(self, batch: Sequence[RecordedEvent]) -> tuple[dict[str, Folded], int]:
        """What `Folder.fold` makes of a batch, if all that it reads is of the batch's epoch.

        Raises StoreUnavailable where it is not, whatever came of it.
        """
        try:
            folded = self._folder.fold(batch, self.projection.begin())
        except StoreUnavailable:
            raise
        except Exception as error:
            self._check_epoch(error)
            raise
        self._check_epoch()
        return folded

    def _check_epoch(self, error: Exception | None = None) -> None:
        if self._store.epoch() != self._epoch:
            raise StoreUnavailable("the log was started anew while it was read") from error
