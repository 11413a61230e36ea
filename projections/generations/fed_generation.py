"""A generation that is open for writing: its projector, and the check whether it is whole."""

import threading
from collections.abc import Callable
from typing import Generic

from domain.errors import StoreUnavailable
from domain.event_store.port import EventStore
from projections.feeding.port import Damaged
from projections.feeding.projector import Projector
from projections.generations.change_counter import ChangeCounter, CountedProjection
from projections.generations.definition import Definition, M
from projections.generations.port import Generation


class Interrupted(StoreUnavailable):
    """The process is stopping; a generation that it was building is left as it is."""


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
        projection = CountedProjection(definition.projection(model), changes)
        self.projector = Projector(projection, log, batch_size=definition.batch_size)
        self.checked = True
        """True if the generation was found whole, or needed no check."""
        self.damage: Damaged | None = None
        """The damage that a check in the background has detected; None without any."""
        self._name = definition.name
        self._check = definition.check
        self._checker: threading.Thread | None = None
        self._left = threading.Event()

    @property
    def is_checking(self) -> bool:
        """True if a check in the background is under way."""
        return self._checker is not None and self._checker.is_alive()

    def check_in_background(self, go_on: Callable[[], None]) -> None:
        """Begins a check that `end_check` ends, or the StoreUnavailable that `go_on` raises."""
        self.checked = False
        self._checker = threading.Thread(
            target=self._run_check, args=(go_on,), name=f"check-{self._name}"
        )
        self._checker.start()

    def end_check(self) -> None:
        """Ends the check in the background, if there is one; must be called before closing."""
        self._left.set()
        if self._checker is not None:
            self._checker.join()

    def _run_check(self, go_on: Callable[[], None]) -> None:
        def go_on_unless_left() -> None:
            go_on()
            if self._left.is_set():
                raise Interrupted("the generation is not needed any more")

        try:
            self._check(self.model, go_on_unless_left)
            self.checked = True
        except Damaged as damaged:
            self.damage = damaged
        except StoreUnavailable:
            return  # The generation is being closed, or the next start checks it again.
