"""The features of a log in PostgreSQL, in a table of it; see `domain.event_store.features`."""

from collections.abc import Iterable
from typing import Any

import psycopg

from domain.event_store.features import Known, named, refuse_unknown
from domain.event_store.postgres.link import Link
from domain.event_store.writes import Append

CHANGED = "CT002"
"""SQLSTATE of a refused append: its caller does not know the newest features, or names."""
MENTIONED = "CT003"
"""SQLSTATE of a refused append: an event mentions a text that the append expects in none."""
CHECK_UNMENTIONED = "SELECT check_unmentioned_4(%b, %b)"
CHECK = "SELECT check_features_2(%b)"
_READ = "SELECT name, since, number FROM features"
_READ_RENAMES = "SELECT number FROM renames"
_ADD = "INSERT INTO features (name, since) {} ON CONFLICT (name) DO NOTHING"
_NAMED = "SELECT * FROM unnest(%b::text[], %b::text[])"
NAME = _ADD.format(_NAMED)
NAME_WITH = _ADD.format(
    f"{_NAMED} WHERE EXISTS (SELECT FROM events"
    " WHERE entity_id = %b AND stream_version = %b AND payload = %b)"
)
"""Names the features of the append that was sent before; none where that append was refused."""


def read_features(link: Link) -> dict[str, str]:
    """Feature -> the release that first knew it; raises psycopg.Error."""
    return {name: since for name, since, _ in link.rows(_READ)}


def read_known(link: Link) -> Known:
    """The features that a log names now, and how often names changed.

    Raises LaterRelease, and psycopg.Error.
    """
    # Names that change between the two statements are noticed at the next append.
    ((renames,),) = link.rows(_READ_RENAMES)
    rows = link.rows(_READ)
    refuse_unknown({name: since for name, since, _ in rows}, "the log")
    newest = max((number for _, _, number in rows), default=0)
    return Known(newest + renames, frozenset(name for name, _, _ in rows), link.epoch, renames)


def were_named(error: psycopg.Error) -> bool:
    """True if the database refused appends for features or names that their caller did not know."""
    return error.diag.sqlstate == CHANGED


def were_mentioned(error: psycopg.Error) -> bool:
    """True if the database refused an append because an event mentions a text expected in none."""
    return error.diag.sqlstate == MENTIONED


def naming(append: Append, known: Known) -> list[Any] | None:
    """The parameters of NAME_WITH; None where the log names all features of an append.

    Raises LaterRelease for what this program does not know.
    """
    if append.features <= known.names:
        return None
    entity_id, stream_version, _, payload = append.rows[0]
    return [*columns(append.features - known.names), entity_id, stream_version, payload]


def columns(features: Iterable[str]) -> list[list[str]]:
    """The parameters of NAME; raises LaterRelease for a feature that this program does not know."""
    pairs = named(features)
    return [[name for name, _ in pairs], [since for _, since in pairs]]
