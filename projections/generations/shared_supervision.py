"""Supervises a read model that many processes share, in the one of them that leads."""

import logging
import time
from collections.abc import Callable
from typing import Any, Generic

from domain.errors import StoreUnavailable
from projections.feeding.port import Overtaken, Progress
from projections.generations.definition import M
from projections.generations.port import Leadership
from projections.generations.supervision import GenerationSupervisor

TRY_SECONDS = 0.1
"""Time between two attempts of a process to lead."""
KEEP_SECONDS = 60.0
"""Time between two reports of a leader that its generations are used; it removes unused ones then.
"""

log_line = logging.getLogger("catalog.projections")


class SharedSupervisor(Generic[M]):
    """A supervisor that works while this process leads, and else waits to lead.

    Call `open` once, then `step` again and again in one thread, then `close`.
    """

    def __init__(
        self,
        name: str,
        make: Callable[[], GenerationSupervisor[M]],
        leader: Leadership,
        keep: Callable[[], None],
        *,
        waits: bool = False,
    ) -> None:
        """`make` makes the supervisor of a leadership that begins; `keep` is called now and then.

        With `waits`, the process also starts while the store of the read model is away: steps raise
        StoreUnavailable until the store is there.
        """
        self.name = name
        self._make = make
        self._leader = leader
        self.keep = keep
        self._supervisor: GenerationSupervisor[M] | None = None
        self._waits = waits
        self._missing: StoreUnavailable | None = None
        """The reason why the last attempt to lead failed; None if it did not fail."""
        self._interrupted = False
        self._tried_at = float("-inf")
        self._kept_at = 0.0
        self.on_progress: Progress = lambda done, total: None
        self.prune: Callable[[M], bool] = lambda model: False
        """Passed on to the supervisor; see `GenerationSupervisor.prune`."""

    @property
    def current(self) -> bool:
        """True if the generation that is live was opened, here or by another process."""
        return self._supervisor is None or self._supervisor.current

    @property
    def leads(self) -> bool:
        """True if this process is the one that feeds the read model."""
        return self._supervisor is not None

    def open(self) -> None:
        """Begin to lead, unless another process does already."""
        try:
            self._begin()
        except StoreUnavailable as error:
            if not self._waits:
                raise
            log_line.warning(
                "waits for the read model", extra={"projection": self.name, "error": error.message}
            )

    def interrupt(self) -> None:
        """End a building under way; `step` raises StoreUnavailable from then on."""
        self._interrupted = True
        if (supervisor := self._supervisor) is not None:
            supervisor.interrupt()

    def step(self) -> int:
        """One step of the leader, see `GenerationSupervisor.step`; 0 where another process leads.

        Raises as that does.
        """
        if self._supervisor is None:
            return int(self._begin())
        if not self._leader.leads():
            self._end()
            return 0
        if (now := time.monotonic()) - self._kept_at >= KEEP_SECONDS:
            self._kept_at = now
            try:
                self.keep()
            except StoreUnavailable as error:  # what keeps them may be read-only for a while
                log_line.warning(
                    "the use of the read model cannot be noted",
                    extra={"projection": self.name, "error": error.message},
                )
        try:
            return self._supervisor.step()
        except Overtaken:
            self._end()
            raise
        except StoreUnavailable:
            if not self._leader.leads():
                self._end()
            raise

    def close(self) -> None:
        """Close the generations and end the leadership; the thread of `step` must have ended."""
        if self._supervisor is not None:
            self._supervisor.close()
            self._supervisor = None
        self._leader.release()

    def _begin(self) -> bool:
        """True if this process begins to lead."""
        now = time.monotonic()
        if self._interrupted:
            return False
        if now - self._tried_at < TRY_SECONDS:
            if self._missing is not None:
                raise self._missing
            return False
        self._tried_at, self._missing = now, None
        if not self._leader.take():
            return False
        supervisor = None
        try:
            supervisor = self._make()
            supervisor.on_progress = lambda done, total: self.on_progress(done, total)
            supervisor.prune = lambda model: self.prune(model)
            supervisor.open()
        except BaseException as error:
            if supervisor is not None:
                supervisor.close()
            self._leader.release()
            if isinstance(error, StoreUnavailable):
                self._missing = error
            raise
        self._supervisor, self._kept_at = supervisor, now
        if self._interrupted:
            supervisor.interrupt()
        log_line.info("leads", extra={"projection": self.name})
        return True

    def _end(self) -> None:
        """Close everything that was opened for a leadership that was lost."""
        supervisor, self._supervisor = self._supervisor, None
        assert supervisor is not None
        log_line.warning("does not lead any more", extra={"projection": self.name})
        self._leader.release()
        supervisor.close()


Supervisor = GenerationSupervisor[Any] | SharedSupervisor[Any]
"""Keeps the live generation of a projection current, in the only process or in the leading one."""
