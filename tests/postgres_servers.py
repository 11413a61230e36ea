"""PostgreSQL servers for tests: one of one's own, and one that stops and starts under load."""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence, Sized
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.postgres_server import WHY_NONE, PostgresServer, find_binaries, running
from tests.waiting import until


@contextmanager
def running_or_skipped(*, primary: PostgresServer | None = None) -> Iterator[PostgresServer]:
    """A server for a block, a replica where a primary is named; skips where there is none."""
    binaries = find_binaries()
    if binaries is None:
        pytest.skip(WHY_NONE)
    with running(binaries, primary=primary) as server:
        yield server


def stop_and_start_under_load(
    server: PostgresServer,
    jobs: Sequence[Callable[[], None]],
    enough: threading.Event,
    stored: Sized,
    *,
    between: int,
) -> None:
    """Stops a server, as by a crash and then in order, while threads do jobs until `enough` is set.

    `stored` grows by more than `between` before each stop, and once more after the last one.
    """
    threads = [threading.Thread(target=job) for job in jobs]
    for thread in threads:
        thread.start()
    try:
        for mode in ("immediate", "fast", None):
            before = len(stored)
            until(lambda before=before: len(stored) > before + between)
            if mode is not None:
                server.stop(mode)
                server.start()
    finally:
        enough.set()
        for thread in threads:
            thread.join()


@contextmanager
def losing_what_is_not_on_disk(postgres: PostgresServer) -> Iterator[None]:
    """Crash the server at the end of the block, in which nobody writes to disk unasked."""
    with postgres.connect() as connection:
        # A page is written to disk with what the log has of it, and so is a checkpoint.
        writers = connection.execute(
            "SELECT pid FROM pg_stat_activity"
            " WHERE backend_type IN ('walwriter', 'background writer', 'checkpointer')"
        ).fetchall()
    assert len(writers) == 3
    for (pid,) in writers:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with postgres.connect() as connection:
            rows = connection.execute("SELECT pid FROM pg_stat_activity").fetchall()
        # A server whose part dies ends all its sessions, and recovers from its log. Until then a
        # session may still write to disk what was not there.
        for (pid,) in writers:
            os.kill(pid, signal.SIGKILL)
        until(lambda: not any(Path(f"/proc/{pid}").exists() for (pid,) in rows))
