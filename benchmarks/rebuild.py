"""Building the sorted read model from the log, from nothing; `search` builds the index."""

import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, rates
from benchmarks.workspace import ENTITIES, EVENTS_PER_COMMIT, Workspace
from domain.event_store.opening import open_event_log
from projections.entities.sqlite import bulk_load
from projections.entities.sqlite.database import EntityDatabase

AS_FAST = 1.0
_IN_LOG_ORDER = {
    "entities": "SELECT (position - 1) / ?1, * FROM entities ORDER BY position",
    "scopes": (
        "SELECT (e.position - 1) / ?1, s.* FROM entities e JOIN scopes s"
        " ON s.kind = e.kind AND s.deleted = e.deleted AND s.name = e.name AND s.id = e.id"
        " JOIN json_each(e.scopes) one ON one.value = s.scope ORDER BY e.position"
    ),
}


def measure(workspace: Workspace, large: bool) -> list[Figure]:
    """Events a second, beside the driver inserting the finished rows."""
    count = 1_000_000 if large else 100_000
    return [
        _entities(workspace, count, plain=True, rounds=1 if large else 3),
        _entities(workspace, count, plain=False, rounds=1 if large else 3),
    ]


def _entities(workspace: Workspace, count: int, *, plain: bool, rounds: int) -> Figure:
    directory = workspace.contracts(count, plain=plain)
    log = open_event_log(directory / "events.db")
    work = workspace.fresh()
    rows = _finished(directory / ENTITIES)

    def ours() -> None:
        _remove(work / "ours.db")
        bulk_load.load(work / "ours.db", log, lambda done, total: None)

    def by_driver() -> None:
        _remove(work / "plain.db")
        _insert(rows, work / "plain.db")

    measured, yardstick, ratio = rates(log.head(), ours, by_driver, rounds=rounds)
    log.close()
    shutil.rmtree(work)
    return Figure(
        what=f"rebuild of the sorted read model, {count:,} "
        + ("plain contracts" if plain else "contracts with schemas"),
        measured=f"{measured:,.0f} events/s",
        yardstick=f"{yardstick:,.0f} events/s",
        ratio=ratio,
        budget=f">= {AS_FAST}",
        met=ratio >= AS_FAST,
    )


Batches = Mapping[str, Sequence[Sequence[tuple[Any, ...]]]]
"""Table -> the rows of each transaction."""


def _finished(path: Path) -> Batches:
    """The rows of a finished read model, in transactions in the order of the log."""
    connection = sqlite3.connect(path)
    try:
        return {
            table: [
                [row[1:] for row in rows]
                for _, rows in groupby(
                    connection.execute(sql, (EVENTS_PER_COMMIT,)), key=lambda row: row[0]
                )
            ]
            for table, sql in _IN_LOG_ORDER.items()
        }
    finally:
        connection.close()


def _insert(batches: Batches, path: Path) -> None:
    database = EntityDatabase(path, writable=True)
    database.prepare()
    connection = database.connection
    scopes = iter(batches["scopes"])
    for entities in batches["entities"]:
        connection.execute("BEGIN")
        for table, rows in (("entities", entities), ("scopes", next(scopes, ()))):
            if rows:
                marks = ",".join("?" * len(rows[0]))
                connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        connection.execute("COMMIT")
    database.close()


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
