"""Several HTTP processes on one listening socket, and one process that projects for all."""

import signal
import socket
import subprocess
import sys
import threading

import structlog

from api.settings import Settings
from projections.feeding.daemon import ProjectorLock
from projections.stores import make_directory, open_stores

_POLL_SECONDS = 0.2
_RESTART_SECONDS = 1.0
_STOP_SECONDS = 15.0

log = structlog.get_logger("catalog.supervisor")


def supervise(settings: Settings, listener: socket.socket) -> None:
    """Run the processes until SIGTERM or SIGINT; one that dies is started again."""
    make_directory(settings.directory)
    with ProjectorLock(settings.directory):
        open_stores(settings.directory).close()
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    roles = ["project", *(f"worker-{number}" for number in range(1, settings.workers + 1))]
    running = {role: _start(role, settings, listener) for role in roles}
    while not stopped.wait(_POLL_SECONDS):
        for role, process in list(running.items()):
            if process.poll() is not None:
                log.error("process ended", role=role, exit_code=process.returncode)
                if not stopped.wait(_RESTART_SECONDS):
                    running[role] = _start(role, settings, listener)
    # The workers first: their last writes still reach the read models.
    for role in reversed(roles):
        running[role].terminate()
    for process in running.values():
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()


def _start(role: str, settings: Settings, listener: socket.socket) -> subprocess.Popen[bytes]:
    """One process of a role; a worker inherits the listening socket."""
    command = [sys.executable, "-m", "api.commands", role.partition("-")[0]]
    command += ["--data", str(settings.directory)]
    if role == "project":
        return subprocess.Popen(command)
    descriptor = listener.fileno()
    return subprocess.Popen([*command, "--socket", str(descriptor)], pass_fds=[descriptor])
