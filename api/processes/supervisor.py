"""Several HTTP processes on one listening socket, and one process that projects for all.

Uvicorn's own `supervisors.Multiprocess` runs processes of one role only, has their pings answered
by a thread, so that an event loop that hangs is not noticed, and waits for no end of a process.
"""

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable

from api.processes.first_start import make_new_catalog
from api.settings import Settings
from api.telemetry.shared_counts import PROJECTING, SharedCounts
from projections.feeding.daemon import ProjectorLock
from projections.wiring.stores import make_directory, open_stores

_POLL_SECONDS = 0.2
_MOST_COUNTED_SECONDS = 2 * _POLL_SECONDS
"""The most of the time between two looks that counts as silence, in seconds.

A longer time means that the supervisor itself did not run: the machine was suspended, or is too
busy to judge others.
"""
_START_SECONDS = 120.0
"""The most seconds to a process's first sign of life, or the timeout if that is longer."""
_RESTART_SECONDS = 1.0
_STOP_SECONDS = 15.0

log = logging.getLogger("catalog.supervisor")


def supervise(
    settings: Settings,
    listener: socket.socket,
    counts: SharedCounts,
    announce: Callable[[], None],
) -> None:
    """Run the processes until SIGTERM or SIGINT; one that ends or hangs is replaced.

    Calls `announce` once the stores can be opened. Raises StoreUnavailable when they cannot, or
    when another process projects them.
    """
    make_directory(settings.directory)
    with ProjectorLock(settings.directory):
        make_new_catalog(settings.directory, settings.database_url)
        open_stores(settings.directory, settings.database_url, settings.search_url).close()
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    announce()
    roles = ["project", *(f"worker-{number}" for number in range(1, settings.workers + 1))]
    children = {role: _Child(role, settings, listener, counts) for role in roles}
    looked = time.monotonic()
    while not stopped.wait(_POLL_SECONDS):
        now = time.monotonic()
        passed, looked = min(now - looked, _MOST_COUNTED_SECONDS), now
        for role, child in list(children.items()):
            child.look(passed)
            if child.has_ended() and not stopped.wait(_RESTART_SECONDS):
                children[role] = _Child(role, settings, listener, counts)
    # The workers first: their last writes still reach the read models.
    for role in reversed(roles):
        children[role].process.terminate()
    ends = time.monotonic() + _STOP_SECONDS
    for child in children.values():
        child.wait(max(ends - time.monotonic(), 0.0))


class _Child:
    """A running process of one role, and how long it has been silent."""

    def __init__(
        self, role: str, settings: Settings, listener: socket.socket, counts: SharedCounts
    ) -> None:
        """Start the process; it inherits the shared counts, and a worker the listening socket."""
        self._role = role
        self._timeout = settings.worker_timeout
        self._most_silence = max(_START_SECONDS, settings.worker_timeout)
        self._silence = 0.0
        self._killed = False
        kind, _, number = role.partition("-")
        place = int(number) - 1 if number else PROJECTING
        self._counts = counts.processes[place]
        self._beats = self._counts.beats
        # Without the working directory, whose modules are none of the program.
        command = [sys.executable, "-P", "-m", "api.commands"]
        command += ["process", kind, "--data", str(settings.directory)]
        command += ["--counts", str(counts.descriptor), "--place", str(place)]
        inherited = [counts.descriptor]
        if number:
            command += ["--socket", str(listener.fileno())]
            inherited.append(listener.fileno())
        # Not on the command line, where everybody on the machine could read a password.
        given = {
            "CATALOG_DATABASE_URL": settings.database_url,
            "CATALOG_SEARCH_URL": settings.search_url,
        }
        elsewhere = {name: url for name, url in given.items() if url}
        self.process = subprocess.Popen(
            command, pass_fds=inherited, env={**os.environ, **elsewhere}
        )

    def look(self, passed: float) -> None:
        """Kill the process if it is silent for too long, the `passed` seconds included."""
        beats = self._counts.beats
        if beats != self._beats:
            self._beats = beats
            self._silence, self._most_silence = 0.0, self._timeout
            return
        self._silence += passed
        if self._silence > self._most_silence and not self._killed:
            self._killed = True
            log.error(
                "process hangs: killed, as it gave no sign of life",
                extra={
                    "role": self._role,
                    "pid": self.process.pid,
                    "seconds": round(self._silence, 1),
                },
            )
            self.process.kill()

    def has_ended(self) -> bool:
        """Log the end of the process, and return True, if it has ended."""
        if self.process.poll() is None:
            return False
        log.error("process ended", extra={"role": self._role, "exit_code": self.process.returncode})
        return True

    def wait(self, seconds: float) -> None:
        """Wait until a process that was asked to stop has ended; kill it after so many seconds."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            log.error(
                "process did not stop: killed", extra={"role": self._role, "pid": self.process.pid}
            )
            self.process.kill()
