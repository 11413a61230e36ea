"""Events of OpenLineage over HTTP: unchanged ones, new edges, and memory with unknown datasets.

The yardstick is a bare application under the same server that answers a constant, or stores the
same bodies durably and together.
"""

import itertools
import json
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from benchmarks.bare import bare
from benchmarks.figures import Figure
from benchmarks.running import Server, running
from benchmarks.workspace import Workspace, load
from benchmarks.writes import drive
from domain.event_store.opening import open_event_log

UNCHANGED, BATCHED, NEW = 3_000, 12_000, 500
"""Events a second, on one worker."""
NEW_WORK = 2.0
"""Milliseconds of processor time for an event that draws an edge: 500 of them are a second."""
UNRESOLVED, MOST_MEMORY = 100_000, 100.0
"""Datasets that are missing, and the MB of memory that they may take."""
CLIENTS = 16
_TABLES, _COLUMNS, _BATCH = 200, 12, 100
_ROUNDS, _SECONDS = 5, 2.0
_NAMESPACE = "postgres://db.example.org:5432"
_SINGLE, _MANY = "/api/v1/lineage", "/api/v1/lineage/batch"


class Round(msgspec.Struct):
    """Result of one round, in events a second."""

    unchanged: float
    batched: float
    new: float
    new_work: float
    """Milliseconds of the server's processor time for each of these."""
    constant: float
    stored: float


def measure(workspace: Workspace, large: bool) -> list[Figure]:
    """Events that say what was said, events that say something new, and what is missing."""
    return figures_of(workspace, UNRESOLVED, _ROUNDS, _SECONDS)


def figures_of(workspace: Workspace, unresolved: int, rounds: int, duration: float) -> list[Figure]:
    """The figures, with so many missing datasets and rounds of so many seconds."""
    directory = workspace.fresh()
    log = open_event_log(directory / "events.db")
    load(log, _catalog())
    log.close()
    events = [_event(number) for number in range(_TABLES - 1)]
    size = statistics.mean(map(len, events))
    with (
        running(directory, role="bot") as server,
        bare(workspace.fresh(), {"stored": b"{}"}, "") as plain,
    ):
        pairs = itertools.permutations(range(_TABLES), 2)
        for _ in range(3):
            drive(server, [_once(server, events)], float("inf"))
        measured = [_round(server, plain, events, pairs, duration) for _ in range(rounds)]
        memory = _memory(server, unresolved)
    return [*_rates(measured, size), _work(measured), _of_memory(memory, unresolved)]


def _round(
    server: Server,
    plain: Server,
    events: list[bytes],
    pairs: Iterator[tuple[int, int]],
    duration: float,
) -> Round:
    singles = _singles(server, events, _SINGLE, "POST")
    before, began = server.work(), time.perf_counter()
    new = _rate(server, _new(server, pairs), duration)
    work = (server.work() - before) / (new * (time.perf_counter() - began)) * 1e3
    return Round(
        unchanged=_rate(server, singles, duration),
        batched=_BATCH * _rate(server, _batches(server, events), duration, clients=2),
        new=new,
        new_work=work,
        constant=_rate(plain, _singles(plain, events, "/stored", "POST"), duration),
        stored=_rate(plain, _singles(plain, events, "/stored", "PUT"), duration),
    )


def _rate(
    server: Server, requests: Iterator[bytes], duration: float, clients: int = CLIENTS
) -> float:
    began = time.perf_counter()
    taken = drive(server, [requests] * clients, began + duration)
    return len(taken) / (time.perf_counter() - began)


def _once(server: Server, events: list[bytes]) -> Iterator[bytes]:
    return (server.put(_SINGLE, event, "POST") for event in events)


def _singles(server: Server, events: list[bytes], path: str, method: str) -> Iterator[bytes]:
    requests = [server.put(path, event, method) for event in events]
    return itertools.cycle(requests)


def _batches(server: Server, events: list[bytes]) -> Iterator[bytes]:
    batches = [b"[%b]" % b",".join(events[start : start + _BATCH]) for start in (0, 50, 99)]
    return itertools.cycle([server.put(_MANY, each, "POST") for each in batches])


def _new(server: Server, pairs: Iterator[tuple[int, int]]) -> Iterator[bytes]:
    """Events of jobs that were not there, each of which draws an edge."""
    for source, target in pairs:
        yield server.put(_SINGLE, _event(source, target, job=f"job {source % 50}"), "POST")


def _memory(server: Server, unresolved: int) -> float:
    """The MB that a server takes once it was told of so many datasets that are not there."""
    before = server.memory()
    names = [f"shop.missing.table_{number}" for number in range(unresolved)]

    def requests() -> Iterator[bytes]:
        for start in range(0, unresolved, 900):
            event = json.loads(_event(0))
            event["run"]["runId"] = f"missing {start}"
            event["job"]["name"] = f"missing {start}"
            event["outputs"] = [
                {"namespace": _NAMESPACE, "name": name} for name in names[start : start + 900]
            ]
            yield server.put(_SINGLE, msgspec.json.encode(event), "POST")

    drive(server, [requests()], float("inf"))
    listing = server.request("/v1/lineage/unresolved")
    drive(server, [iter([listing])], float("inf"))
    return server.memory() - before


def _catalog() -> Iterator[bytes]:
    connection = {"config": {"type": "Postgres", "hostPort": "db.example.org:5432"}}
    above: list[dict[str, Any]] = [
        {"entityType": "databaseService", "name": "pg", "serviceType": "Postgres",
         "connection": connection},
        {"entityType": "database", "name": "shop", "service": "pg"},
        {"entityType": "databaseSchema", "name": "sales", "database": "pg.shop"},
    ]  # fmt: skip
    columns = [{"name": f"column_{n}", "dataType": "BIGINT"} for n in range(_COLUMNS)]
    tables = (
        {
            "entityType": "table",
            "name": f"t{number}",
            "databaseSchema": "pg.shop.sales",
            "columns": columns,
        }
        for number in range(_TABLES)
    )
    for each in (*above, *tables):
        yield msgspec.json.encode(each) + b"\n"


def _event(source: int, target: int | None = None, job: str = "known") -> bytes:
    """An event of about 5 kB that a table is made of another one, column by column."""
    target = source + 1 if target is None else target
    producer = "https://github.com/OpenLineage/OpenLineage/tree/1.54.0/client/python"
    facet = {"_producer": producer, "_schemaURL": "https://openlineage.io/spec/facets/1-2-0"}
    fields = {
        f"column_{n}": {
            "inputFields": [
                {
                    "namespace": _NAMESPACE,
                    "name": f"shop.sales.t{source}",
                    "field": f"column_{n}",
                    "transformations": [],
                }
            ]
        }
        for n in range(_COLUMNS)
    }
    described = [
        {"name": f"column_{n}", "type": "bigint", "description": f"Column {n} of the table."}
        for n in range(_COLUMNS)
    ]
    event = {
        "eventTime": "2026-11-23T07:00:00Z",
        "eventType": "COMPLETE",
        "producer": producer,
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": f"run {source} {target}", "facets": {}},
        "job": {
            "namespace": "jobs",
            "name": job,
            "facets": {"sql": {**facet, "query": f"select * from t{source} " + "-- text " * 175}},
        },
        "inputs": [{"namespace": _NAMESPACE, "name": f"shop.sales.t{source}", "facets": {}}],
        "outputs": [
            {
                "namespace": _NAMESPACE,
                "name": f"shop.sales.t{target}",
                "facets": {
                    "columnLineage": {**facet, "fields": fields},
                    "schema": {**facet, "fields": described},
                },
            }
        ],
    }
    return msgspec.json.encode(event)


def _median(rounds: list[Round], value: Callable[[Round], float]) -> float:
    return statistics.median(map(value, rounds))


def _rates(rounds: list[Round], size: float) -> list[Figure]:
    constant, stored = (lambda each: each.constant), (lambda each: each.stored)
    rows: list[tuple[str, Callable[[Round], float], Callable[[Round], float], str, int]] = [
        (f"unchanged events of {size / 1e3:.1f} kB, one by one, {CLIENTS} clients",
         lambda each: each.unchanged, constant, "a constant", UNCHANGED),
        (f"the same in batches of {_BATCH}",
         lambda each: each.batched, constant, "a constant for each event", BATCHED),
        ("events that draw a new edge, one by one",
         lambda each: each.new, stored, "bodies only stored", NEW),
    ]  # fmt: skip
    return [
        Figure(
            what=what,
            measured=f"{(rate := _median(rounds, value)):,.0f}/s",
            yardstick=f"{_median(rounds, beside):,.0f}/s ({words})",
            ratio=statistics.median(value(each) / beside(each) for each in rounds),
            budget=f">= {goal:,}/s",
            met=rate >= goal,
        )
        for what, value, beside, words, goal in rows
    ]


def _work(rounds: list[Round]) -> Figure:
    """The processor time of the server, which neither a slow disk nor other processes change."""
    milliseconds = _median(rounds, lambda each: each.new_work)
    return Figure(
        what="processor time of the server for such an event",
        measured=f"{milliseconds:.2f} ms",
        budget=f"<= {NEW_WORK} ms",
        met=milliseconds <= NEW_WORK,
    )


def _of_memory(memory: float, unresolved: int) -> Figure:
    return Figure(
        what=f"memory that {unresolved:,} missing datasets take, listed once",
        measured=f"{memory:.0f} MB",
        budget=f"<= {MOST_MEMORY:.0f} MB",
        met=memory <= MOST_MEMORY,
    )
