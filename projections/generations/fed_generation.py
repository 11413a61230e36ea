"""A generation that is open for writing: its projector, and the check whether it is whole."""

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Generic

from domain.errors import StoreUnavailable
from domain.event_store.port import EventStore
from projections.feeding.log_fingerprint import disagreement
from projections.feeding.port import Checkpoint, Damaged, Folded, Projection
from projections.feeding.projector import Projector
from projections.generations.definition import Definition, M
from projections.generations.port import ChangeCounter, Generation

CHECK_AT_START_BYTES = 128 * 1024 * 1024
"""A larger read model that was not closed cleanly is checked while it is served."""

log_line = logging.getLogger("catalog.projections")


class Interrupted(StoreUnavailable):
    """The process is stopping; a generation that it was building is left as it is."""


class _CountedProjection:
    """A projection whose commits are counted."""

    def __init__(self, projection: Projection, changes: ChangeCounter) -> None:
        self.name, self.begin = projection.name, projection.begin
        self.checkpoint_and_fingerprint = projection.checkpoint_and_fingerprint
        self._projection = projection
        self._changes = changes

    def apply(
        self, entities: Mapping[str, Folded], position: int, fingerprint: str, *, after: Checkpoint
    ) -> None:
        """Commit states; see the port."""
        with self._changes.changing({folded.entity.kind for folded in entities.values()}):
            self._projection.apply(entities, position, fingerprint, after=after)


class FedGeneration(Generic[M]):
    """A generation that a supervisor feeds; a check of it may run beside, in a thread."""

    def __init__(
        self,
        definition: Definition[M],
        model: M,
        generation: Generation,
        log: EventStore,
        changes: ChangeCounter,
    ) -> None:
        self.model = model
        self.generation = generation
        projection = _CountedProjection(definition.projection(model), changes)
        self.projector = Projector(projection, log, batch_size=definition.batch_size)
        self.checked = True
        """True if the generation was found whole, or needed no check."""
        self.damage: Damaged | None = None
        """Damage found by a check in the background, if any."""
        self._definition = definition
        self._checker: threading.Thread | None = None
        self._left = threading.Event()

    @property
    def is_checking(self) -> bool:
        """True if a check in the background is under way."""
        return self._checker is not None and self._checker.is_alive()

    def check_in_background(self, go_on: Callable[[], None]) -> None:
        """Begin a check in a thread; it ends early at closing, or when `go_on` raises an error."""
        self.checked = False
        self._checker = threading.Thread(
            target=self._run_check, args=(go_on,), name=f"check-{self._definition.name}"
        )
        self._checker.start()

    def abandon(self) -> None:
        """Close the generation, which must be checked when it is opened the next time."""
        self._end_check()
        self.model.close()

    def shut(self) -> None:
        """Close the generation, with a mark that it is whole if it was found so."""
        self._end_check()
        if not self.checked:
            self.model.close()
            return
        try:
            self._definition.shut(self.model)
        except StoreUnavailable as error:
            # The only consequence is that the next start checks the read model.
            log_line.warning(
                "not closed cleanly",
                extra={"projection": self._definition.name, "error": str(error)},
            )

    def _end_check(self) -> None:
        """End the check in the background, if there is one."""
        self._left.set()
        if self._checker is not None:
            self._checker.join()

    def _run_check(self, go_on: Callable[[], None]) -> None:
        def go_on_unless_left() -> None:
            go_on()
            if self._left.is_set():
                raise Interrupted("the generation is not needed any more")

        try:
            self._definition.check(self.model, go_on_unless_left)
            self.checked = True
        except Damaged as damaged:
            self.damage = damaged
        except StoreUnavailable:
            return  # The generation is being closed, or the next start checks it again.


def open_fed(
    definition: Definition[M],
    generation: Generation,
    log: EventStore,
    changes: ChangeCounter,
    go_on: Callable[[], None],
) -> FedGeneration[M]:
    """Open a generation for writing, and check one that was not closed cleanly.

    `go_on` is called now and then during the check, and ends it by raising StoreUnavailable. Raises
    Damaged for a generation that must not be served.
    """
    generations, number = definition.generations, generation.number
    if generation.code != definition.code():
        raise Damaged("it was built by other code")
    if not generations.holds(number):
        raise Damaged(f"generation {number} is missing")
    address = generations.address(number)
    trusted = definition.trusted(address)
    model = definition.open(address, True)
    try:
        position, fingerprint = model.checkpoint_and_fingerprint()
        reason = disagreement(log, position, fingerprint)
        if reason is not None:
            raise Damaged(reason)
        if position == 0 < log.head():
            # Files that are gone look like a new read model; a load is faster anyway.
            raise Damaged("it is empty")
        fed = FedGeneration(definition, model, generation, log, changes)
        if not trusted and generations.size(number) <= CHECK_AT_START_BYTES:
            definition.check(model, go_on)
        elif not trusted:
            fed.check_in_background(go_on)
    except BaseException:
        model.close()
        raise
    return fed
