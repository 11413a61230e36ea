"""The features of a log in SQLite, in a table of it; see `domain.event_store.features`."""

import sqlite3
from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from domain.event_store.features import EARLIEST, Known, named, refuse_unknown
from domain.event_store.sqlite.claims import RENAMES

TABLE = (
    "CREATE TABLE IF NOT EXISTS features ("
    "number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, since TEXT NOT NULL)"
)
_DECLARED = "this_log_needs_release_0_2_0_or_later"
"""A function of SQL that each connection of this program has, and that is never called."""
FENCE = (
    "CREATE TRIGGER IF NOT EXISTS stored_events_fence BEFORE INSERT ON stored_events WHEN FALSE"
    f" BEGIN SELECT {_DECLARED}(); END"
)
"""Keeps out programs from before release 0.2.0, which do not look at the table.

SQLite prepares no statement that stores events for a connection without the function, and has its
name in the error.
"""
_THERE = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
_NUMBERS = f"SELECT (SELECT coalesce(max(number), 0) FROM features), ({RENAMES})"


def declare(connection: sqlite3.Connection) -> None:
    """Have a connection of this program store events."""
    connection.create_function(_DECLARED, 0, lambda: None)


def read_features(cursor: Any) -> dict[str, str]:
    """Feature -> the release that first knew it; takes a cursor or a connection.

    Only a program that knows no features makes a log without the table.
    """
    if cursor.execute(_THERE, ("features",)).fetchone() is not None:
        return {row[0]: row[1] for row in cursor.execute("SELECT name, since FROM features")}
    return dict(EARLIEST) if cursor.execute(_THERE, ("stored_events",)).fetchone() else {}


def still_known(cursor: sqlite3.Cursor, known: Known) -> Known:
    """The features that a log names now, and the number of renames: `known`, unless either grew.

    Called in the transaction of an append, so that nobody names another one before it ends. Raises
    LaterRelease.
    """
    newest, renames = cursor.execute(_NUMBERS).fetchone()
    if newest == known.newest:
        return known if renames == known.renames else replace(known, renames=renames)
    features = read_features(cursor)
    refuse_unknown(features, "the log")
    return Known(newest, frozenset(features), renames=renames)


def name_features(cursor: Any, features: Iterable[str]) -> None:
    """Name features, as far as they are not named; raises LaterRelease for one that is unknown."""
    for feature in named(features):
        cursor.execute("INSERT OR IGNORE INTO features (name, since) VALUES (?, ?)", feature)
