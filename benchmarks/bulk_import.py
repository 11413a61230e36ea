"""`catalog import`: from a file of lines into the log."""

import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.figures import Figure, seconds
from benchmarks.generate import contracts, lines, plain_contracts
from benchmarks.workspace import Workspace
from domain.importing.lines import BATCH_LINES

BUDGET = 8_000
_ROUNDS = 3
_RATE = re.compile(r"(\d+) bad; (\d+) events in [\d.]+ s \(([\d,]+)/s\)")


def measure(workspace: Workspace, large: bool) -> list[Figure]:
    """Events a second, beside the driver inserting the same rows in the same transactions."""
    count = 1_000_000 if large else 40_000
    return [
        _figure(workspace, f"import, {count:,} plain contracts", plain_contracts(count)),
        _figure(workspace, f"import, {count:,} contracts with schemas", contracts(count)),
        _figure(workspace, "import, mix of 20,000 entities", lines(20_000)),
    ]


def _figure(workspace: Workspace, what: str, generated: Iterable[bytes]) -> Figure:
    file = workspace.generated(generated)
    ours, plain = [], []
    for _ in range(_ROUNDS):
        directory = workspace.fresh()
        ours.append(_import(file, directory))
        rows = _Rows.of(directory / "events.db")
        shutil.rmtree(directory)
        raw = workspace.fresh() / "plain.db"
        plain.append(len(rows.events) / seconds(partial(_insert, rows, raw)))
        shutil.rmtree(raw.parent)
    rate = statistics.median(ours)
    return Figure(
        what=what,
        measured=f"{rate:,.0f} events/s",
        yardstick=f"{statistics.median(plain):,.0f} events/s",
        ratio=statistics.median(a / b for a, b in zip(ours, plain, strict=True)),
        budget=f">= {BUDGET:,} events/s",
        met=rate >= BUDGET,
    )


def _import(file: Path, directory: Path) -> float:
    """The rate that the command itself tells, which leaves out its start."""
    command = [sys.executable, "-m", "api.commands", "import", "--data", str(directory), str(file)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = _RATE.search(said)
    assert found is not None, said
    assert found[1] == "0", said
    return float(found[3].replace(",", ""))


class _Rows(NamedTuple):
    """Contents of a log: the statements that make its tables, and their rows."""

    tables: Sequence[str]
    events: Sequence[tuple[Any, ...]]
    claims: Sequence[tuple[Any, ...]]

    @classmethod
    def of(cls, path: Path) -> "_Rows":
        connection = sqlite3.connect(path)
        made = (
            "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"
            " AND type <> 'trigger'"
        )
        tables = [sql for (sql,) in connection.execute(made)]
        events = connection.execute(
            "SELECT originator_id, originator_version, topic, state FROM stored_events"
            " ORDER BY rowid"
        ).fetchall()
        claims = connection.execute(
            "SELECT c.* FROM stored_events e JOIN claims c ON c.id = e.originator_id"
            " WHERE e.originator_version = 1 ORDER BY e.rowid"
        ).fetchall()
        connection.close()
        return cls(tables, events, claims)


def _insert(rows: _Rows, path: Path) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA cache_size=-16384")
    for sql in rows.tables:
        connection.execute(sql)
    for start in range(0, len(rows.events), BATCH_LINES):
        end = start + BATCH_LINES
        connection.execute("BEGIN")
        connection.executemany(
            "INSERT INTO stored_events (originator_id, originator_version, topic, state)"
            " VALUES (?,?,?,?)",
            rows.events[start:end],
        )
        connection.executemany("INSERT INTO claims VALUES (?,?,?,?,?,?)", rows.claims[start:end])
        connection.execute("COMMIT")
    connection.close()
