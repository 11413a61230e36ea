"""Children of a supervisor that are forked as it is, in place of interpreters that it starts.

They are forked before the supervisor has done anything, so that they know no more than it did, and
wait for the commands that it starts. A process that replaces another one is an interpreter again.
"""

import fcntl
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, NoReturn

MAX_REQUEST = 1 << 17
"""Bytes of a request to become a command."""
_MOST_FILES = 8
_NUMBERS_FROM = 100
"""Numbers of descriptors that a new process uses for nothing else."""


class Awaited:
    """A process whose end is waited for; it is asked as a `subprocess.Popen` is.

    `end` can be read from once the process has ended, when `exit_code` gives its exit code.
    """

    def __init__(self, pid: int, end: IO[bytes], exit_code: Callable[[], int]) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._end = end
        self._exit_code = exit_code

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while the process runs."""
        if self.returncode is None and select.select([self._end], [], [], 0)[0]:
            self.returncode = self._exit_code()
            self._end.close()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, once there is one; raises TimeoutExpired after so many seconds."""
        if self.returncode is None:
            select.select([self._end], [], [], timeout)
        if self.poll() is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM, unless the process has ended."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL, unless the process has ended."""
        self.send_signal(signal.SIGKILL)


class _Spare(Awaited):
    """A child of this process that waits for a command."""

    def __init__(self, pid: int, requests: socket.socket) -> None:
        end = os.fdopen(os.pidfd_open(pid), "rb", buffering=0)
        super().__init__(pid, end, lambda: os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        self._requests = requests

    def become(self, command: Sequence[str], env: Mapping[str, str], files: Sequence[int]) -> None:
        """Have the child run the module that an interpreter was to run, with some of our files."""
        arguments = command[command.index("-m") + 1 :]
        message = json.dumps([arguments, dict(env), list(files)]).encode()
        assert len(message) < MAX_REQUEST
        with self._requests:
            socket.send_fds(self._requests, [message], list(files))


def have_spares(number: int) -> None:
    """Have forks of this process be the first children that it starts."""
    spares: list[_Spare] = []
    sockets: list[socket.socket] = []
    for _ in range(number):
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        sockets.append(ours)
        pid = os.fork()
        if pid == 0:
            # Or it would not be noticed that the parent of all spares has ended.
            for each in sockets:
                each.close()
            _wait_for_command(its)
        its.close()
        spares.append(_Spare(pid, ours))
    start_interpreter = subprocess.Popen

    def start(
        command: Sequence[str], *, pass_fds: Sequence[int], env: Mapping[str, str]
    ) -> "Awaited | subprocess.Popen[bytes]":
        if not spares:
            return start_interpreter(command, pass_fds=pass_fds, env=env)
        spare = spares.pop(0)
        spare.become(command, env, pass_fds)
        return spare

    subprocess.Popen = start  # type: ignore[assignment,misc]


def _wait_for_command(requests: socket.socket) -> NoReturn:
    """Become what the parent of this process starts; end with it if it starts nothing."""
    message, files, _, _ = socket.recv_fds(requests, MAX_REQUEST, _MOST_FILES)
    requests.close()
    if not message:
        os._exit(os.EX_OK)
    command, env, numbers = json.loads(message)
    # Under the numbers that the command names, none of which is that of another one by then.
    moved = [fcntl.fcntl(file, fcntl.F_DUPFD, _NUMBERS_FROM) for file in files]
    for file in files:
        os.close(file)
    for file, number in zip(moved, numbers, strict=True):
        os.dup2(file, number)
        os.close(file)
    # The command line is that of the process which all are forked from.
    Path("/proc/self/comm").write_text(" ".join(command[1:3]))
    run_module(command, env)


def run_module(command: Sequence[str], env: Mapping[str, str]) -> NoReturn:
    """Run a module of the program as an interpreter of its own would, and exit."""
    os.environ.clear()
    os.environ.update(env)
    module, *_ = sys.argv = list(command)
    try:
        importlib.import_module(module).main()
        sys.exit()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            _exit_codes.append(end.code or 0)
        raise


_exit_codes: list[int] = []
"""The exit code of a command that has come to its end, unless an interpreter has to tell of it."""


def leave() -> None:
    """End a process that has run a command, after all else that is done at an interpreter's end.

    It would take apart all that was imported, for which a fork has to copy it: most commands work
    for a shorter time. What cannot be written is left to the interpreter, which tells of it.
    """
    if _exit_codes:
        with suppress(OSError, ValueError):
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            os._exit(_exit_codes[-1])
