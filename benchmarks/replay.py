"""Reading and decoding the whole log."""

import sqlite3
from pathlib import Path

import msgspec

from benchmarks.figures import Figure, rates
from benchmarks.generate import lines
from benchmarks.workspace import EVENTS_PER_COMMIT, Workspace, load
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from domain.events import EVENT_TYPES

BUDGET = 300_000
_SQL = (
    "SELECT originator_id, originator_version, topic, state, rowid FROM stored_events"
    " WHERE rowid > ? ORDER BY rowid LIMIT ?"
)


def measure(workspace: Workspace, large: bool) -> list[Figure]:
    """Events a second, beside the driver's fetch and msgspec's decode of the same rows."""
    count = 1_000_000 if large else 100_000
    mixed = workspace.fresh() / "events.db"
    log = open_event_log(mixed)
    load(log, lines(20_000))
    log.close()
    plain = workspace.contracts(count, plain=True) / "events.db"
    full = workspace.contracts(count) / "events.db"
    return [
        _figure(f"replay, {count:,} plain contracts", plain, BUDGET),
        _figure(f"replay, {count:,} contracts with schemas", full, BUDGET),
        _figure("replay, mix of 20,000 entities", mixed, None),
    ]


def _figure(what: str, path: Path, budget: int | None) -> Figure:
    log = open_event_log(path)
    connection = sqlite3.connect(path)
    try:
        ours, plain, ratio = rates(
            log.head(), lambda: _read(log), lambda: _read_plainly(connection), rounds=5
        )
    finally:
        connection.close()
        log.close()
    return Figure(
        what=what,
        measured=f"{ours:,.0f} events/s",
        yardstick=f"{plain:,.0f} events/s",
        ratio=ratio,
        budget="-" if budget is None else f">= {budget:,} events/s",
        met=None if budget is None else ours >= budget,
    )


def _read(log: EventStore) -> None:
    position = 0
    while batch := log.read(position, EVENTS_PER_COMMIT):
        position = batch[-1].position


def _read_plainly(connection: sqlite3.Connection) -> None:
    decoders = {name: msgspec.json.Decoder(event) for name, event in EVENT_TYPES.items()}
    position = 0
    while rows := connection.execute(_SQL, (position, EVENTS_PER_COMMIT)).fetchall():
        position = rows[-1][4]
        events = [decoders[topic].decode(state) for _, _, topic, state, _ in rows]
        assert len(events) == len(rows)
