"""Appends to a log in PostgreSQL by several processes, beside bare inserts; lists there.

The bare inserts are of the same rows into the same tables, as durable, one transaction for each:
without an order of all, without looking at what is there, and without telling other hosts.
"""

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
from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.opening import open_event_log
from domain.events import EntityCreated
from domain.kinds.names import name_key

BUDGET = 0.8
_WRITERS = (1, 8, 32)
_ROUNDS, _SECONDS = 5, 2.0
_START_SECONDS = 120
_TEXT = Raw(b'"%s"' % (b"x" * 700))
_ready: Barrier
"""Barrier at which each process waits until all of them are ready."""
_POSITIONS = "CREATE SEQUENCE {}.bare CACHE 100"
_EVENT = "INSERT INTO {0}.events VALUES (nextval('{0}.bare'), %b, %b, %b, %b)"
_CLAIM = (
    "INSERT INTO {0}.claims (name_key, kind, fqn, id, name, parent_id, deleted)"
    " VALUES (%b, %b, %b, %b, %b, %b, false)"
)
_BOTH = f"WITH event AS ({_EVENT}) {_CLAIM}"
"""Statement of an append in the log's own tables with their indexes, without any look at them."""


def measure(workspace: Workspace, large: bool) -> list[Figure]:
    """Appends of one event and one claim, on a server that syncs its commits; and lists."""
    binaries = find_binaries()
    if binaries is None:
        print("skipped: there is no PostgreSQL on this machine", file=sys.stderr)
        return []
    with running(binaries, fsync=True) as server:
        lists = postgres_lists.measure(workspace, server, large)
        appends = [each for writers in _WRITERS for each in _figures(server, writers)]
        return [*appends, *lists]


def _figures(server: PostgresServer, writers: int) -> list[Figure]:
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(writers, timeout=_START_SECONDS)
    with ProcessPoolExecutor(writers, context, _keep, (barrier,)) as pool:

        def rate(job: Callable[..., int], *arguments: str | bool) -> float:
            """How much the processes do in a second, all of which begin when the last is ready."""
            jobs = [pool.submit(job, *arguments) for _ in range(writers)]
            return sum(each.result() for each in jobs) / _SECONDS

        rounds = []
        for _ in range(_ROUNDS):
            schema, *bare = (new_schema() for _ in range(3))
            for each in (schema, *bare):
                open_event_log(server.url(each)).close()
                server.run(_POSITIONS.format(each))
            appends = rate(append_for_a_while, server.url(schema))
            both, events = (
                rate(insert_for_a_while, str(server.directory), each, claims)
                for each, claims in zip(bare, (True, False), strict=True)
            )
            rounds.append((appends, both, events))
    appends, *inserts = (statistics.median(column) for column in zip(*rounds, strict=True))
    ratios = [statistics.median(each[0] / each[place] for each in rounds) for place in (1, 2)]
    what = f"appends of an event of 0.9 kB with its claim, processes that write: {writers}"
    return [
        Figure(
            what=what,
            measured=f"{appends:,.0f}/s",
            yardstick=f"{inserts[0]:,.0f} bare inserts/s of the same rows",
            ratio=ratios[0],
            budget=f">= {BUDGET}",
            met=ratios[0] >= BUDGET,
        ),
        Figure(
            what="the same, beside events without claims",
            measured=f"{appends:,.0f}/s",
            yardstick=f"{inserts[1]:,.0f} bare inserts/s of the events alone",
            ratio=ratios[1],
        ),
    ]


def _keep(barrier: Barrier) -> None:
    """Give a process what only its parent can hand on."""
    global _ready
    _ready = barrier


def append_for_a_while(address: str) -> int:
    """Count the appends that a process stores until the time is over."""
    with closing(open_event_log(address)) as log:
        log.append([_event()])
        _ready.wait()
        ends, done = time.perf_counter() + _SECONDS, 0
        while time.perf_counter() < ends:
            log.append([_event()])
            done += 1
        return done


def insert_for_a_while(host: str, schema: str, claims: bool) -> int:
    """Count the events that a process inserts until the time is over, each in a transaction.

    With their `claims`, by the same statement, they are the rows of as many appends.
    """
    statement = (_BOTH if claims else _EVENT).format(schema).encode()
    with psycopg.connect(host=host, user="postgres", autocommit=True) as connection:

        def insert() -> None:
            append = prepared([_event()])
            values = [*append.rows[0]]
            if claims:
                claim = append.changes[0][1]
                values += (name_key(*claim[:2]), *claim)
            connection.execute(statement, values)

        insert()
        _ready.wait()
        ends, done = time.perf_counter() + _SECONDS, 0
        while time.perf_counter() < ends:
            insert()
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
