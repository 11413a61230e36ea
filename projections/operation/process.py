"""Works on one order: `python -m projections.operation.process`, which reads it from its input.

It gives way to requests (`nice`), and ends when who started it is gone: then its input ends.
"""

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from domain.errors import CatalogError, Conflict
from domain.machine import clock
from projections.generations.building import build
from projections.generations.switching import switch
from projections.operation.proofs import keep_proof, verify_live
from projections.operation.records import (
    BUSY,
    STARTED,
    OperationRecord,
    Order,
    operating,
    write_operation,
)
from projections.verification.run import Request
from projections.wiring.local_read_models import Backend
from projections.wiring.stores import Stores, open_stores

_NICE = 10
_SECONDS_BETWEEN = 0.5
"""Least number of seconds between two updates of the operation's progress in its file."""


class _StatusFile:
    """The file that says how far an operation is, kept up to date while it is worked on."""

    def __init__(self, directory: Path, order: Order) -> None:
        self._directory = directory
        self._operation = OperationRecord(order.work, order.what, order.by, clock.now())
        self._written = 0.0
        self.write()

    def begin(self, stage: str) -> Callable[[int, int], None]:
        """Record a stage of the work; returns a function that records the part that is done."""
        self._operation.stage, self._operation.done, self._operation.total = stage, 0, 0
        self.write()
        return self._progress

    def end(self, failure: str | None) -> None:
        self._operation.ended, self._operation.failure = clock.now(), failure
        self.write()

    def write(self) -> None:
        self._written = time.monotonic()
        write_operation(self._directory, self._operation)

    def _progress(self, done: int, total: int) -> None:
        self._operation.done, self._operation.total = done, total
        if time.monotonic() - self._written >= _SECONDS_BETWEEN:
            self.write()


def work(order: Order, started: Callable[[], None]) -> None:
    """Do an order, and record its progress and its result.

    `started` is called once no other operation can begin. Raises Conflict while another one runs.
    """
    directory = Path(order.data)
    with operating(directory):
        status = _StatusFile(directory, order)
        started()
        try:
            stores = open_stores(directory, order.database, order.search, writable=False)
            try:
                if order.work == "rebuild":
                    for backend in stores.backends:
                        if order.what in ("all", backend.definition.name):
                            _rebuild(stores, backend, status)
                _verify(stores, order, status)
            finally:
                stores.close()
        except CatalogError as error:
            status.end(error.message)
        except BaseException as error:
            status.end(f"it failed: {error!r}"[:500])
            raise
        else:
            status.end(None)


def _rebuild(stores: Stores, backend: Backend[Any], status: _StatusFile) -> None:
    """Build a generation beside the live one, and wait until the server reads it."""
    definition = backend.definition
    progress = status.begin(f"building {definition.name} beside the live one")
    generation = build(definition, stores.log, progress).generation
    status.begin(f"switching {definition.name} to generation {generation.number}")
    switch(definition, stores.log, generation, stores.directory, backend.leadership)


def _verify(stores: Stores, order: Order, status: _StatusFile) -> None:
    """Compare the log with itself, unless the order names one read model, and with read models."""
    progress = status.begin("comparing with a replay of the log")
    request = Request(log=order.what == "all", shown=0, now=clock.now())
    live = stores.named(order.what)
    _, proofs = verify_live(stores.log, live, request, progress, order.by)
    for name, proof in proofs.items():
        keep_proof(stores.directory, name, proof)


def main() -> None:
    """Work on the order of standard input, until it is done or standard input ends."""
    os.umask(0o077)
    os.nice(_NICE)
    order = msgspec.json.decode(sys.stdin.buffer.readline(), type=Order)

    def end_with_starter() -> None:
        # Not through the file object, which the end of the program would have to wait for.
        os.read(sys.stdin.fileno(), 1)
        os._exit(1)

    def say(line: bytes) -> None:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()

    threading.Thread(target=end_with_starter, daemon=True).start()
    try:
        work(order, lambda: say(STARTED))
    except Conflict:
        say(BUSY)


if __name__ == "__main__":
    main()
