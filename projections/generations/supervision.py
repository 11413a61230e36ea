"""Keeps one projection's live generation current, and puts another one in its place.

Only the process that holds the ProjectorLock has supervisors. One that finds no generation which it
may serve builds one; one that finds a proposal feeds the proposed generation beside the live one,
until it stands where the live one stands, and switches.
"""

import logging
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from typing import Generic

from domain.errors import StoreUnavailable
from domain.event_store.port import EventStore
from domain.event_store.writes import StoredAppend
from projections.feeding.port import Damaged, Overtaken, Progress
from projections.generations.building import build
from projections.generations.definition import Definition, M
from projections.generations.fed_generation import FedGeneration, Interrupted, open_fed
from projections.generations.port import (
    ChangeCounter,
    Generation,
    Pointer,
    ProposedGeneration,
    overtaken,
)

WATCH_SECONDS = 1.0
"""Time between two looks at a live generation that other processes can change."""
_TURN_SECONDS = 0.2
"""Longest time for which a proposed generation is fed before it is the live one's turn."""

log_line = logging.getLogger("catalog.projections")


class GenerationSupervisor(Generic[M]):
    """Feeds, builds and switches the generations of one projection.

    Call `open` once, then `step` again and again in one thread, then `close`.
    """

    def __init__(
        self,
        definition: Definition[M],
        log: EventStore,
        changes: ChangeCounter | None = None,
        *,
        alone: bool = False,
    ) -> None:
        """`changes` lets readers in this process see that nothing has changed.

        `alone` says that no other process can take the place of this one while it lives.
        """
        self.definition = definition
        self.generations = definition.generations
        self._log = log
        self._changes = changes or ChangeCounter()
        self._stopping = threading.Event()
        self._live: FedGeneration[M] | None = None
        self._next: FedGeneration[M] | None = None
        self._alone = alone
        self._pointed: Hashable | None = None
        """Revision of the pointer when the live generation was opened by it, or written into it."""
        self._seen: Hashable | None = None
        """Revision of the proposal at the last look."""
        self._watched_at = 0.0
        self.on_progress: Progress = lambda done, total: None
        self.prune: Callable[[M], bool] = lambda model: False
        """Removes some of the past that the live generation keeps; returns whether it did."""

    @property
    def name(self) -> str:
        """Name of the projection."""
        return self.definition.name

    @property
    def current(self) -> bool:
        """True if a live generation is open."""
        return self._live is not None

    @property
    def position(self) -> int | None:
        """The checkpoint of the live generation; None where that is for the read model to say."""
        live = self._live
        return None if live is None else live.projector.position

    def open(self) -> None:
        """Open the live generation, or refuse one that is damaged so that no process serves it.

        A log without events needs no building: its first generation is made at once.
        """
        revision, pointer = self.generations.revision("pointer"), self.generations.pointer()
        try:
            if pointer.live is not None:
                self._live = self._open(pointer.live)
            self._pointed = revision
        except Damaged as damaged:
            self._pointed = revision
            self._refuse(damaged)
        if self._live is None and self._log.head() == 0:
            self._build()

    def interrupt(self) -> None:
        """End a building or a check under way; `step` raises StoreUnavailable from then on."""
        self._stopping.set()

    def step(self) -> int:
        """Builds, switches or applies the next batch; returns how much was done, 0 for nothing.

        Raises Overtaken when another process has replaced the pointer: this one leads no more, and
        its supervisor is of no further use. Raises StoreUnavailable when trying again may help;
        after any other exception the projection must not go on.
        """
        if self.generations.revision("pointer") != self._pointed:
            self._open_anew()
            return 1
        if self._live is not None and self._live.damage is not None:
            self._refuse(self._live.damage)
        self._take_up()
        if self._live is None:
            self._build()
            return 1
        if self._next is not None:
            self._approach(self._next)
        try:
            self._watch(self._live)
            if self.prune(self._live.model):
                return 1
            return self._live.projector.step()
        except Damaged as damaged:
            self._refuse(damaged)
            return 1

    def _open_anew(self) -> None:
        """Open the generation of the present pointer, whose revision this process does not know.

        A process that is `alone` has replaced the pointer itself, and met an error afterwards;
        another one leads no more, and raises Overtaken.
        """
        if not self._alone:
            raise overtaken(f"the pointer of {self.name}")
        with self._changes.changing():
            for fed in (self._live, self._next):
                if fed is not None:
                    fed.shut()
            self._live = self._next = self._seen = None
            self.open()

    def feed(self, stored: Sequence[StoredAppend]) -> int:
        """Apply the newest appends by `Projector.step_at_once`; 0 while there is other work to do.

        Must not run beside `step`. Raises what applying raises, as the next `step` does again.
        """
        live = self._live
        if live is None or live.damage is not None or self._next is not None:
            return 0
        return live.projector.step_at_once(stored)

    def _watch(self, live: FedGeneration[M]) -> None:
        """Look now and then whether the live generation is there still; raises Damaged."""
        now = time.monotonic()
        if self.definition.watch is not None and now - self._watched_at >= WATCH_SECONDS:
            self.definition.watch(live.model)
            # Not after a look that failed: the state told is that of the last one.
            self._watched_at = now

    def close(self) -> None:
        """Close the generations; the thread that called `step` must have ended."""
        self._stopping.set()
        for fed in (self._live, self._next):
            if fed is not None:
                fed.shut()
        self._live = self._next = None

    def _open(self, generation: Generation) -> FedGeneration[M]:
        """A generation for writing; raises Damaged when it must not be served."""
        return open_fed(self.definition, generation, self._log, self._changes, self._go_on)

    def _go_on(self) -> None:
        if self._stopping.is_set():
            raise Interrupted("the process is stopping")

    def _refuse(self, damaged: Damaged) -> None:
        """Let no process serve the live generation any more; the next step builds another one."""
        log_line.warning(
            "the read model is built anew",
            extra={"projection": self.name, "reason": damaged.message},
        )
        pointer = self.generations.pointer()
        last = pointer.last if pointer.live is None else pointer.live.number
        with self._changes.changing():
            refused = Pointer(previous=pointer.previous, refused=damaged.message, last=last)
            self._pointed = self.generations.point(refused, instead_of=self._pointed)
        live, self._live = self._live, None
        if live is not None:
            live.abandon()

    def _build(self) -> None:
        """Build a generation and serve it at once, with no pause in which events are gathered."""
        began, head = time.monotonic(), self._log.head()
        built = build(self.definition, self._log, self._progressed)
        if head:
            log_line.info(
                "the read model is built",
                extra={
                    "projection": self.name,
                    "generation": built.generation.number,
                    "seconds": round(time.monotonic() - began, 1),
                },
            )
        self._take_up()

    def _progressed(self, done: int, total: int) -> None:
        self._go_on()
        if total:  # a check that goes on has no entities to tell of
            self.on_progress(done, total)

    def _take_up(self) -> None:
        """Begin to feed the proposed generation, if there is a new proposal."""
        revision = self.generations.revision("proposal")
        if revision is None or revision == self._seen:
            return
        self._seen = revision
        if self._next is not None:
            self._next.abandon()
            self._next = None
        proposal = self.generations.proposal()
        if proposal is None or not proposal.ready or proposal.refused is not None:
            return
        generation = proposal.generation
        if self._live is not None and self._live.generation == generation:
            self._finish()
            return
        try:
            self._next = self._open(generation)
            if self._live is None:
                while self._next.projector.step():
                    self._go_on()
                self._switch(self._next)
        except Damaged as damaged:
            self._turn_down(generation, damaged)
        except StoreUnavailable:
            self._seen = None  # to be tried again
            raise

    def _approach(self, proposed: FedGeneration[M]) -> None:
        """Feed the proposed generation; switches once it is checked and where the live one is."""
        assert self._live is not None
        ends = time.monotonic() + _TURN_SECONDS
        try:
            while proposed.model.checkpoint() < self._live.model.checkpoint():
                if not proposed.projector.step() or time.monotonic() > ends:
                    return
        except Damaged as damaged:
            self._turn_down(proposed.generation, damaged)
            return
        if proposed.is_checking:
            return
        if proposed.damage is not None:
            self._turn_down(proposed.generation, proposed.damage)
            return
        self._switch(proposed)

    def _turn_down(self, generation: Generation, damaged: Damaged) -> None:
        if self._next is not None:
            self._next.abandon()
            self._next = None
        log_line.warning(
            "proposal refused", extra={"projection": self.name, "reason": damaged.message}
        )
        refused = ProposedGeneration(generation, ready=True, refused=damaged.message)
        with suppress(Overtaken):  # the next step looks at what is proposed by now
            self._seen = self.generations.propose(refused, instead_of=self._seen)

    def _switch(self, fed: FedGeneration[M]) -> None:
        pointer = self.generations.pointer()
        switched = Pointer(live=fed.generation, previous=pointer.live or pointer.previous)
        with self._changes.changing():
            self._pointed = self.generations.point(switched, instead_of=self._pointed)
        left, self._live, self._next = self._live, fed, None
        if left is not None:
            left.shut()
            log_line.info(
                "switched", extra={"projection": self.name, "generation": fed.generation.number}
            )
        self._finish()

    def _finish(self) -> None:
        """Withdraw the proposal after a switch, and remove generations that are not needed."""
        seen, self._seen = self._seen, None
        self.generations.withdraw(instead_of=seen)
        pointer = self.generations.pointer()
        kept = {each.number for each in (pointer.live, pointer.previous) if each is not None}
        # A higher number may be what another process is building now.
        self.generations.remove(
            [n for n in self.generations.numbers() if n not in kept and n < max(kept)]
        )
