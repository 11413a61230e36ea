"""Runs the projectors, each in a thread of its own, in at most one process per data directory."""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import IO, Protocol

import msgspec

from domain.errors import StoreUnavailable
from domain.event_store.port import Announcements, EventStore
from domain.event_store.writes import StoredAppend
from domain.machine.disk import is_of_full_disk
from domain.machine.storage_errors import storage_errors
from projections.feeding import process_lock

POLL_SECONDS = 0.01
"""Seconds between two looks at the log for events that other processes append."""
ALONE_SECONDS = 0.1
"""Seconds between two such looks where no other process serves: imports wait for no projection."""
PROGRESS_SECONDS = 0.5
"""Seconds between two times that the progress of a building is shared with other processes."""
_FIRST_BACKOFF, _LAST_BACKOFF = 0.05, 5.0

log = logging.getLogger("catalog.projections")

ApplyAtOnce = Callable[[Sequence[StoredAppend]], int]
"""Function that does the next piece of a projection's work, given the caller's newest appends.

Returns how much was done; 0 leaves the work to the thread of the projection.
"""


class State(StrEnum):
    """Activities of a projector."""

    RUNNING = "running"
    RETRYING = "retrying"
    STOPPED = "stopped"


class ProjectorState(msgspec.Struct):
    """Activity of one projector, as the daemon shares it with other processes."""

    state: State = State.RUNNING
    error: str | None = None
    done: int | None = None
    """Number of entities that are built so far; None while no read model is built."""
    total: int | None = None
    """Number of all entities that are to be built."""


class Steps(Protocol):
    """The work of a thread of the daemon: a projector, or a supervisor around one."""

    @property
    def name(self) -> str:
        """Name of the projection."""

    def step(self) -> int:
        """Do the next piece of work and return how much it was, 0 when there was none.

        Raises StoreUnavailable when trying again may help.
        """


class ProjectorLock:
    """Held by the one process that projects a data directory; a process that dies loses it.

    The file of the lock is never removed: else one process could hold the lock of the removed file,
    and another one that of a new file.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / "projectors.lock"
        self._file: IO[str] | None = None

    def __enter__(self) -> "ProjectorLock":
        """Take the lock; raises StoreUnavailable when another process holds it."""
        with storage_errors("the projectors' lock cannot be made"):
            file = self._path.open("w")
        if process_lock.take(file):
            self._file = file
            return self
        file.close()
        raise StoreUnavailable(
            f"a server or command already uses {self._path.parent}: stop it first"
        )

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


class Daemon:
    """All projectors of a data directory; `start` and `stop` it under a ProjectorLock."""

    def __init__(
        self,
        projectors: Sequence[Steps],
        directory: Path,
        *,
        pauses: Mapping[str, float] = MappingProxyType({}),
        at_once: Mapping[str, ApplyAtOnce] = MappingProxyType({}),
        after: Mapping[str, str] = MappingProxyType({}),
        poll_seconds: float = POLL_SECONDS,
        announced_seconds: float = 1.0,
        log: EventStore | None = None,
    ) -> None:
        """`pauses`: projection name -> seconds to gather events before the next commit.

        `at_once`: projection name -> what does the next piece of work in the thread of `appended`.
        `after`: projection name -> the one whose first piece of work is done before its own, such
        as building a read model, for which both would share the interpreter. The daemon looks at
        the log for the appends of other processes every `poll_seconds`. Where the log announces
        these, `announced_seconds` are enough: an announcement may be lost with its connection.
        """
        self._projectors = projectors
        self._directory = directory
        self._pauses = pauses
        self._at_once = at_once
        self._after = after
        self._begun = {projector.name: threading.Event() for projector in projectors}
        """Projection -> event, set once the first piece of its work is done, or has failed."""
        self._shared_at = float("-inf")
        self._poll_seconds = poll_seconds
        self._announced_seconds = announced_seconds
        self._turns = {projector.name: threading.Lock() for projector in projectors}
        """Projection -> lock, held by the thread that does a piece of its work."""
        self._failures: dict[str, Exception] = {}
        """Projection -> error of `at_once`, for the thread of the projection to raise."""
        self._log = log
        self._announcements = Announcements()
        self._listeners: dict[str, list[Callable[[], None]]] = {}
        self._publishing = threading.Lock()
        self._stopping = threading.Event()
        self._wake = {projector.name: threading.Event() for projector in projectors}
        self._threads: list[threading.Thread] = []
        self._states = {projector.name: ProjectorState() for projector in projectors}

    def listen(self, projection: str, listener: Callable[[], None]) -> None:
        """Have the thread of a projection call `listener` after each of its commits."""
        self._listeners.setdefault(projection, []).append(listener)

    def start(self) -> None:
        """Start the threads; the caller holds the directory's ProjectorLock until after `stop`."""
        self._publish()
        if self._log is not None:
            self._announcements = self._log.announcements(self.wake)
        for projector in self._projectors:
            thread = threading.Thread(
                target=self._run, args=(projector,), name=f"projector-{projector.name}"
            )
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """Let each projector finish its batch, then end its thread."""
        self._stopping.set()
        self.wake()
        for begun in self._begun.values():
            begun.set()
        for thread in self._threads:
            thread.join()
        self._threads.clear()
        for turn in self._turns.values():
            # Whoever has appended may be in the middle of a piece of work.
            with turn:
                pass
        self._announcements.close()

    def wake(self) -> None:
        """Have every projector look at the log now rather than after its pause."""
        for event in self._wake.values():
            event.set()

    def appended(self, stored: Sequence[StoredAppend] = ()) -> None:
        """Apply what the calling thread has just appended, as far as that is to be done at once.

        `stored` are these appends, as far as they are known, so that they need not be read from the
        log. Projections that do not apply them now, or are at work already, are left to their
        threads, which wake.
        """
        for name, wake in self._wake.items():
            if not self._apply_at_once(name, stored):
                wake.set()

    def _apply_at_once(self, name: str, stored: Sequence[StoredAppend]) -> bool:
        """Do the next piece of a projection's work in this thread; returns whether there was any.

        Handing it over to the thread of the projection takes as long as the work itself.
        """
        step, turn = self._at_once.get(name), self._turns[name]
        if step is None or not turn.acquire(blocking=False):
            return False
        try:
            runs = self._states[name].state is State.RUNNING and name not in self._failures
            applied = step(stored) if runs and not self._stopping.is_set() else 0
        except Exception as error:
            self._failures[name] = error
            return False
        finally:
            turn.release()
        if applied:
            self._tell_listeners(name)
        return bool(applied)

    def _tell_listeners(self, name: str) -> None:
        for listener in self._listeners.get(name, ()):
            listener()

    def progressed(self, projection: str, done: int, total: int) -> None:
        """Share the number of entities of a projection's read model that are built, and of all."""
        self._states[projection] = ProjectorState(done=done, total=total)
        now = time.monotonic()
        if done == total or now - self._shared_at >= PROGRESS_SECONDS:
            self._shared_at = now
            self._publish()

    def _run(self, projector: Steps) -> None:
        if (first := self._after.get(projector.name)) is not None:
            self._begun[first].wait()
        try:
            self._step_on(projector)
        finally:
            self._begun[projector.name].set()

    def _step_on(self, projector: Steps) -> None:
        backoff = _FIRST_BACKOFF
        wake, pause = self._wake[projector.name], self._pauses.get(projector.name, 0.0)
        while not self._stopping.is_set():
            wake.clear()
            try:
                with self._turns[projector.name]:
                    if projector.name in self._failures:
                        raise self._failures.pop(projector.name)
                    applied = projector.step()
            except Exception as error:
                if isinstance(error, StoreUnavailable) or is_of_full_disk(error):
                    self._begun[projector.name].set()
                    self._set_state(projector, State.RETRYING, str(error))
                    self._stopping.wait(backoff)
                    backoff = min(backoff * 2, _LAST_BACKOFF)
                    continue
                self._set_state(projector, State.STOPPED, f"{type(error).__name__}: {error}")
                log.exception("projector stopped", extra={"projection": projector.name})
                return
            self._begun[projector.name].set()
            if self._states[projector.name] != ProjectorState():
                self._set_state(projector, State.RUNNING, None)
            backoff = _FIRST_BACKOFF
            if applied:
                self._tell_listeners(projector.name)
            if not applied:
                heard = self._announcements.are_heard()
                wake.wait(self._announced_seconds if heard else self._poll_seconds)
            elif pause:
                self._stopping.wait(pause)

    def _set_state(self, projector: Steps, state: State, error: str | None) -> None:
        self._states[projector.name] = ProjectorState(state, error)
        self._publish()
        if error is not None:
            log.error(
                "projector",
                extra={"projection": projector.name, "state": state.value, "error": error},
            )

    def _publish(self) -> None:
        """Share the states with the processes that only read."""
        path = states_path(self._directory)
        fresh = path.with_suffix(".new")
        with self._publishing:
            try:
                fresh.write_bytes(msgspec.json.encode(self._states))
                fresh.replace(path)
            except OSError as error:
                # A full disk must not end the projector that is about to tell of it.
                log.error("the projectors' states cannot be shared", extra={"error": str(error)})
                path.unlink(missing_ok=True)


def states_path(directory: Path) -> Path:
    """The file in which the daemon of a data directory shares the states of its projectors."""
    return directory / "projectors.json"


def read_states(directory: Path) -> dict[str, ProjectorState]:
    """Projection -> its state, as the daemon of a data directory last shared it; else empty."""
    try:
        return msgspec.json.decode(
            states_path(directory).read_bytes(), type=dict[str, ProjectorState]
        )
    except (FileNotFoundError, msgspec.DecodeError):
        return {}


def read_building(directory: Path, projection: str) -> ProjectorState | None:
    """The state of a projection whose read model is missing, while its building goes on.

    None where no process of this host builds it, or where the building has failed.
    """
    state = read_states(directory).get(projection) if is_projected(directory) else None
    return state if state is not None and state.state is State.RUNNING else None


def is_projected(directory: Path) -> bool:
    """Return True if some process runs the projectors of a data directory now."""
    with (directory / "projectors.lock").open("a") as file:
        return process_lock.is_held(file)
