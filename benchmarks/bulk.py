"""Bulk writes as a connector makes them: processor time of the server, which a busy machine shows.

How long an answer takes depends on who else is at work, and on the disk. The processor time of the
server process until it answers, its projection of the sorted read model included, hardly does.
"""

import itertools
import json
import statistics
from collections.abc import Iterator
from http.client import HTTPConnection

from benchmarks.figures import Figure
from benchmarks.running import Server, running
from benchmarks.workspace import Workspace

BUDGET = 2_000
TABLES, COLUMNS = 1_000, 15
_ROUNDS = 7
_SCHEMA = "bulk.db.public"
_TYPES = ("BIGINT", "VARCHAR", "TIMESTAMP", "DOUBLE", "BOOLEAN")
_PARENTS = (
    ("services/databaseServices", {"name": "bulk", "serviceType": "Postgres"}),
    ("databases", {"name": "db", "service": "bulk"}),
    ("databaseSchemas", {"name": "public", "database": "bulk.db"}),
)


def measure(workspace: Workspace, large: bool) -> list[Figure]:
    """Tables created, and the same again, which stores nothing."""
    with running(workspace.contracts(TABLES), role="admin") as server:
        connection = HTTPConnection(server.host, server.port)
        for collection, parent in _PARENTS:
            _put(server, connection, collection, parent)
        numbers = itertools.count()
        rounds = [_round(server, connection, numbers) for _ in range(1 + _ROUNDS)][1:]
    created, repeated = (statistics.median(each) for each in zip(*rounds, strict=True))
    return [
        Figure(
            what=f"bulk PUT of {TABLES:,} new tables of {COLUMNS} columns, of processor time",
            measured=f"{created:,.0f} tables/s",
            budget=f">= {BUDGET:,}/s",
            met=created >= BUDGET,
        ),
        Figure(
            what="the same tables again",
            measured=f"{repeated:,.0f} tables/s",
            yardstick=f"{created:,.0f} new tables/s",
            ratio=repeated / created,
        ),
    ]


def _round(
    server: Server, connection: HTTPConnection, numbers: "Iterator[int]"
) -> tuple[float, float]:
    """New tables, and the same again, each a second of the server's processor time."""
    tables = [_table(number) for number in itertools.islice(numbers, TABLES)]
    rates = []
    for _ in range(2):
        before = server.work()
        _put(server, connection, "tables/bulk", tables)
        rates.append(TABLES / (server.work() - before))
    return rates[0], rates[1]


def _table(number: int) -> dict[str, object]:
    columns = [
        {
            "name": f"column_{n}",
            "dataType": _TYPES[n % len(_TYPES)],
            "dataLength": 1,
            "dataTypeDisplay": _TYPES[n % len(_TYPES)].lower(),
            "description": f"What column {n} of table {number} holds.",
            "ordinalPosition": n + 1,
        }
        for n in range(COLUMNS)
    ]
    return {
        "name": f"table_{number}",
        "description": f"The table with number {number}.",
        "tableType": "Regular",
        "columns": columns,
        "databaseSchema": _SCHEMA,
        "sourceHash": f"{number:032x}",
    }


def _put(server: Server, connection: HTTPConnection, collection: str, body: object) -> None:
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    connection.request("PUT", f"/v1/{collection}", json.dumps(body), headers)
    answer = connection.getresponse()
    said = answer.read()
    assert answer.status in (200, 201), said
    assert b'"failedRequest":[{' not in said, said
