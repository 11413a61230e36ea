"""Starts the process of an operation; the server does not wait for it."""

import subprocess
import sys
import threading
from pathlib import Path

import msgspec

from domain.errors import Conflict, StoreUnavailable
from projections.operation.records import ONE_AT_A_TIME, Order, is_under_way

STARTED, BUSY = b"started\n", b"busy\n"
"""The line by which the process says whether it works on the order."""


def start(order: Order) -> None:
    """Have a process work on an order, and return when it has begun.

    The process ends with the one that started it. Raises Conflict while another operation is under
    way, and StoreUnavailable when the process does not come up.
    """
    if is_under_way(Path(order.data)):  # rather than have a process find that out
        raise Conflict(ONE_AT_A_TIME)
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
            raise Conflict(ONE_AT_A_TIME)
        raise StoreUnavailable("the operation could not be started: the log of the server says why")
    threading.Thread(target=_reap, args=(process,), name="operation", daemon=True).start()


def _reap(process: subprocess.Popen[bytes]) -> None:
    """Wait for the end of a process, and leave nothing of it."""
    with process:
        process.wait()
