"""Commands in processes of their own, forked from one that has imported the program already.

An interpreter works for a second until it has the program, which the tests start hundreds of times.
What is about a start, or about signals during it, starts an interpreter of its own.

The process that is forked from (`tests/e2e/origin.py`) takes requests from a socket: module,
arguments, environment, directory and the number of spares (`tests/e2e/spares.py`) as JSON, together
with three files, for standard output, standard error, and what becomes of the process, its id
first, its exit code later; a fourth one is standard input, where it is not that of the tests.
"""

import atexit
import fcntl
import gc
import importlib
import io
import json
import os
import selectors
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, NoReturn

from projections.wiring.stores import open_stores
from tests.e2e.spares import MAX_REQUEST, Awaited, have_spares, run_module

PROGRAM = (
    "api.commands",
    "api.import_files",
    "api.telemetry.logs",
    "api.processes.server",
    "api.processes.supervisor",
    "api.callers.tokens.minting",
    "api.callers.tokens.register",
    "replay_tool.commands",
)


class Forked(Awaited):
    """A process that runs a command; it is asked as a `subprocess.Popen` is."""

    def __init__(
        self,
        module: str,
        arguments: Sequence[str],
        env: Mapping[str, str],
        out: int,
        err: int,
        *,
        stdin: int | None = None,
        spares: int = 0,
    ) -> None:
        self.stdout: IO[str] | None = None
        told, tell = os.pipe()
        # Without a buffer, in which a line would be hidden from `select`.
        lines = os.fdopen(told, "rb", buffering=0)
        message = json.dumps([[module, *arguments], dict(env), os.getcwd(), spares]).encode()
        assert len(message) < MAX_REQUEST
        try:
            given = [] if stdin is None else [stdin]
            socket.send_fds(origin(), [message], [out, err, tell, *given])
        finally:
            os.close(tell)
        super().__init__(int(lines.readline()), lines, lambda: int(lines.readline()))


def serve(
    directory: Path,
    *arguments: str,
    err: IO[str] | None = None,
    spares: int = 0,
    **environment: str,
) -> Forked:
    """A server on a free port, whose standard output is read from `stdout`.

    Standard error goes to `err`, or to that of the tests. Of its children, `spares` are forked.
    """
    command = ["serve", "--port=0", f"--data={directory}", *arguments]
    env = {**os.environ, "PYTHONUNBUFFERED": "1", **environment}
    read, write = os.pipe()
    stdout = os.fdopen(read)
    try:
        error = 2 if err is None else err.fileno()
        process = Forked("api.commands", command, env, write, error, spares=spares)
    except BaseException:
        stdout.close()
        raise
    finally:
        os.close(write)
    process.stdout = stdout
    return process


def run(
    module: str,
    arguments: Sequence[str],
    env: Mapping[str, str],
    timeout: float,
    *,
    given: bytes | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; raises TimeoutExpired after so many seconds.

    `given` is what it finds in a pipe on its standard input, as much as a pipe holds.
    """
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        stdin = None if given is None else _pipe_of(given)
        try:
            process = Forked(module, arguments, env, out.fileno(), err.fileno(), stdin=stdin)
        finally:
            if stdin is not None:
                os.close(stdin)
        try:
            code = process.wait(timeout)
        except BaseException:
            process.kill()
            process.wait()
            raise
        said = [(file.seek(0), file.read())[1] for file in (out, err)]
        return subprocess.CompletedProcess([module, *arguments], code, *said)


def _pipe_of(given: bytes) -> int:
    """The end to read from of a pipe that has some bytes, and no writer any more."""
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as file:
        assert len(given) <= fcntl.fcntl(writing, fcntl.F_GETPIPE_SZ)
        file.write(given)
    return reading


@cache
def origin() -> socket.socket:
    """The socket of the process that is forked from, started by the first who needs it.

    Requests of several processes that have inherited it do not mix.
    """
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.e2e.origin", str(its.fileno())], pass_fds=[its.fileno()]
        )

    def end() -> None:
        ours.close()
        process.wait(30)

    atexit.register(end)
    return ours


def main(descriptor: int) -> None:
    """Fork for each request until nobody can send one any more."""
    gc.disable()
    for name in PROGRAM:
        importlib.import_module(name)
    _learn()
    gc.freeze()
    gc.enable()
    requests = socket.socket(fileno=descriptor)
    running: dict[int, tuple[int, int]] = {}
    """Descriptor of a process -> its id, and where to tell what becomes of it."""
    with selectors.DefaultSelector() as selector:
        selector.register(requests, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fd in running:
                    selector.unregister(key.fd)
                    pid, tell = running.pop(key.fd)
                    _, status = os.waitpid(pid, 0)
                    _tell(tell, os.waitstatus_to_exitcode(status))
                    os.close(key.fd)
                    os.close(tell)
                    continue
                message, files, _, _ = socket.recv_fds(requests, MAX_REQUEST, 4)
                if not message:
                    return
                out, err, tell, *given = files
                pid = os.fork()
                if pid == 0:
                    selector.close()
                    for inherited in (*running, *(tell for _, tell in running.values()), tell):
                        os.close(inherited)
                    requests.close()
                    _become(*json.loads(message), out, err, *given)
                for each in (out, err, *given):
                    os.close(each)
                _tell(tell, pid)
                opened = os.pidfd_open(pid)
                running[opened] = pid, tell
                selector.register(opened, selectors.EVENT_READ)


def _learn() -> None:
    """Have the program learn what each of its processes would, such as the types of fields."""
    with tempfile.TemporaryDirectory() as directory:
        open_stores(Path(directory)).close()
    assert threading.active_count() == 1, "only the thread that forks goes on in a child"


def _tell(descriptor: int, number: int) -> None:
    """Write a line of what becomes of a process, if the one who asked for it is still there."""
    with suppress(BrokenPipeError):
        os.write(descriptor, b"%d\n" % number)


def _become(
    command: Sequence[str],
    env: Mapping[str, str],
    directory: str,
    spares: int,
    out: int,
    err: int,
    given: int | None = None,
) -> NoReturn:
    """Run a command as its own process would, and exit; `given` is its standard input."""
    if given is not None:
        os.dup2(given, 0)
        os.close(given)
        sys.stdin = io.TextIOWrapper(os.fdopen(0, "rb", closefd=False))
    for descriptor, standard in ((out, 1), (err, 2)):
        os.dup2(descriptor, standard)
        os.close(descriptor)
    buffering = 0 if env.get("PYTHONUNBUFFERED") else -1
    for name, descriptor, errors in (("stdout", 1, "strict"), ("stderr", 2, "backslashreplace")):
        written = os.fdopen(descriptor, "wb", buffering, closefd=False)
        text = io.TextIOWrapper(
            written, errors=errors, line_buffering=name == "stderr", write_through=not buffering
        )
        setattr(sys, name, text)
    os.chdir(directory)
    if spares:
        have_spares(spares)
    run_module(command, env)
