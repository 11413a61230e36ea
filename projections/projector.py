"""Feeds one projection from the log, batch by batch."""

import structlog

from domain.event_store.port import EventStore
from projections.folding import Folder
from projections.port import Projection

log = structlog.get_logger("catalog.projections")


class Projector:
    """Continues from the projection's checkpoint; one thread at a time may step it."""

    def __init__(self, projection: Projection, store: EventStore, *, batch_size: int) -> None:
        """`batch_size` is the largest number of events in one commit."""
        self.projection = projection
        self._store = store
        self._batch_size = batch_size
        self._folder = Folder(store)
        self._checkpoint: int | None = None

    @property
    def name(self) -> str:
        """Name of the projection."""
        return self.projection.name

    def step(self) -> int:
        """Apply the next batch; returns the number of its events, 0 when there are none.

        Raises StoreUnavailable when trying again may help; after any other exception the
        projection must not go on. Nothing is ever skipped. A read model that is ahead of the
        log (an older log was restored) is begun anew.
        """
        if self._checkpoint is None:
            self._checkpoint = self.projection.checkpoint()
            if self._checkpoint > self._store.head():
                log.warning("read model is ahead of the log: built anew", projection=self.name)
                self.reset()
                self._checkpoint = 0
        batch = self._store.read(self._checkpoint, self._batch_size)
        if batch:
            position = batch[-1].position
            try:
                self.projection.apply(self._folder.fold(batch), position)
            except BaseException:
                # Whether the commit happened is for the store to say, at the next step.
                self._checkpoint = None
                raise
            self._checkpoint = position
        return len(batch)

    def reset(self) -> None:
        """Forget everything, so that the next steps build the projection anew."""
        self.projection.reset()
        self._folder = Folder(self._store)
        self._checkpoint = None
