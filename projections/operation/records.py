"""The operation on the read models of a data directory, recorded in a file with its progress.

A file says it, written by whoever holds the lock beside it: so each process of a server can tell
how an operation is that another one of them started.
"""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from domain.errors import Conflict, StoreUnavailable
from domain.machine.storage_errors import storage_errors
from projections.feeding import process_lock

Work = Literal["verify", "rebuild"]
What = Literal["all", "entities", "search"]
_FILE, _LOCK = "operation.json", "operation.lock"
STARTED, BUSY = b"started\n", b"busy\n"
"""The first line of output of the process: it works on the order, or another one is at work."""
_ONE_AT_A_TIME = "an operation is under way: one at a time"


class Order(msgspec.Struct, frozen=True):
    """The operation to run, its target, and the caller who asked for it."""

    work: Work
    what: What
    by: str
    data: str
    database: str | None
    search: str | None


class OperationRecord(msgspec.Struct):
    """The operation under way, or the last one."""

    work: Work
    what: What
    by: str
    began: int
    """Milliseconds since the Unix epoch, as `ended` is."""
    stage: str = "starting"
    done: int = 0
    total: int = 0
    ended: int | None = None
    failure: str | None = None
    """The reason why it failed; None otherwise."""


def read_operation(directory: Path) -> OperationRecord | None:
    """The operation in a data directory's file; None where no readable one is there."""
    try:
        return msgspec.json.decode((directory / _FILE).read_bytes(), type=OperationRecord)
    except (OSError, msgspec.DecodeError):
        return None


def write_operation(directory: Path, operation: OperationRecord) -> None:
    """Replace the file; only the holder of the lock may. Raises OSError."""
    fresh = directory / f"{_FILE}.new"
    fresh.write_bytes(msgspec.json.encode(operation))
    fresh.replace(directory / _FILE)


def is_under_way(directory: Path) -> bool:
    """True if a process works on an operation now."""
    try:
        with (directory / _LOCK).open() as file:
            return process_lock.is_held(file)
    except FileNotFoundError:
        return False
    except OSError:
        return True


@contextmanager
def operating(directory: Path) -> Iterator[None]:
    """Hold the lock of operations for a block; a process that dies releases the lock.

    Raises Conflict when another process has the lock, StoreUnavailable when it cannot be made.
    """
    with storage_errors("the lock of operations cannot be made"):
        file = (directory / _LOCK).open("w")
    with file:
        if not process_lock.take(file):
            raise Conflict(_ONE_AT_A_TIME)
        yield


def start(order: Order) -> None:
    """Have a process work on an order, and return when it has begun.

    The process ends with the one that started it. Raises Conflict while another operation is under
    way, and StoreUnavailable when the process does not come up.
    """
    if is_under_way(Path(order.data)):  # rather than have a process find that out
        raise Conflict(_ONE_AT_A_TIME)
    command = [sys.executable, "-m", "projections.operation.process"]
    # Standard input stays open for as long as this process lives: its end is a sign to end as well.
    # In a group of its own: Ctrl-C is for the server, whose end is that of the process.
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(msgspec.json.encode(order) + b"\n")
        process.stdin.flush()
        said = process.stdout.readline()
    except OSError:
        said = b""
    if said != STARTED:
        process.kill()
        _reap(process)
        if said == BUSY:
            raise Conflict(_ONE_AT_A_TIME)
        raise StoreUnavailable("the operation could not be started: the log of the server says why")
    threading.Thread(target=_reap, args=(process,), name="operation", daemon=True).start()


def _reap(process: subprocess.Popen[bytes]) -> None:
    """Wait for the end of a process, and leave nothing of it."""
    with process:
        process.wait()
