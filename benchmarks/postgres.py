"""Appends to a log in PostgreSQL by several processes, beside bare inserts; lists there."""

import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from multiprocessing.synchronize import Barrier
from uuid import uuid4

import psycopg
from msgspec import Raw

from benchmarks import postgres_lists
from benchmarks.figures import Figure
from benchmarks.postgres_server import PostgresServer, find_binaries, new_schema, running
from benchmarks.workspace import Workspace
from domain.event_store.appends import prepared
from domain.event_store.opening import open_event_log
from domain.event_store.port import RecordedEvent
from domain.events import EntityCreated

BUDGET = 0.8
_WRITERS = (1, 8, 32)
_ROUNDS, _SECONDS = 5, 2.0
_START_SECONDS = 120
_TEXT = Raw(b'"%s"' % (b"x" * 700))
_ready: Barrier
"""Where each process waits until all of them are ready."""
_TABLE = (
    "CREATE TABLE {}.bare (position bigserial PRIMARY KEY, entity_id text, stream_version bigint,"
    " type text, payload bytea, UNIQUE (entity_id, stream_version))"
)
_INSERT = "INSERT INTO {}.bare (entity_id, stream_version, type, payload) VALUES (%b, %b, %b, %b)"


def measure(workspace: Workspace, large: bool) -> list[Figure]:
    """Appends of one event and one claim, on a server that syncs its commits; and lists."""
    binaries = find_binaries()
    if binaries is None:
        print("skipped: there is no PostgreSQL on this machine", file=sys.stderr)
        return []
    with running(binaries, fsync=True) as server:
        lists = postgres_lists.measure(workspace, server, large)
        return [*(_figure(server, writers) for writers in _WRITERS), *lists]


def _figure(server: PostgresServer, writers: int) -> Figure:
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(writers, timeout=_START_SECONDS)
    with ProcessPoolExecutor(writers, context, _keep, (barrier,)) as pool:

        def rate(job: Callable[..., int], *arguments: str) -> float:
            """How much the processes do in a second, all of which begin when the last is ready."""
            jobs = [pool.submit(job, *arguments) for _ in range(writers)]
            return sum(each.result() for each in jobs) / _SECONDS

        rounds = []
        for _ in range(_ROUNDS):
            schema = new_schema()
            open_event_log(server.url(schema)).close()
            server.run(_TABLE.format(schema))
            appends = rate(append_for_a_while, server.url(schema))
            rounds.append((appends, rate(insert_for_a_while, str(server.directory), schema)))
    ratio = statistics.median(appends / inserts for appends, inserts in rounds)
    return Figure(
        what=f"appends of an event of 0.9 kB with its claim, processes that write: {writers}",
        measured=f"{statistics.median(appends for appends, _ in rounds):,.0f}/s",
        yardstick=f"{statistics.median(inserts for _, inserts in rounds):,.0f} bare inserts/s",
        ratio=ratio,
        budget=f">= {BUDGET}",
        met=ratio >= BUDGET,
    )


def _keep(barrier: Barrier) -> None:
    """Give a process what only its parent can hand on."""
    global _ready
    _ready = barrier


def append_for_a_while(address: str) -> int:
    """How many appends a process has stored when the time is over."""
    with closing(open_event_log(address)) as log:
        log.append([_event()])
        _ready.wait()
        ends, done = time.perf_counter() + _SECONDS, 0
        while time.perf_counter() < ends:
            log.append([_event()])
            done += 1
        return done


def insert_for_a_while(host: str, schema: str) -> int:
    """How many rows a process has inserted when the time is over, each in a transaction."""
    insert = _INSERT.format(schema).encode()
    with psycopg.connect(host=host, user="postgres", autocommit=True) as connection:
        connection.execute(insert, prepared([_event()]).rows[0])
        _ready.wait()
        ends, done = time.perf_counter() + _SECONDS, 0
        while time.perf_counter() < ends:
            connection.execute(insert, prepared([_event()]).rows[0])
            done += 1
        return done


def _event() -> RecordedEvent:
    """The creation of another entity."""
    entity_id = str(uuid4())
    event = EntityCreated(
        kind="table",
        actor="ann",
        at=1,
        version=1,
        request_id=entity_id,
        name=entity_id,
        fqn=f"service.database.schema.{entity_id}",
        parent_id=None,
        body={"description": _TEXT},
    )
    return RecordedEvent(entity_id, 1, event)
