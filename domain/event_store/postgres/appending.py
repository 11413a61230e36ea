"""Converts an append to the parameters of one call of the database, and the answer to a result."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from msgspec.structs import astuple

from domain.event_store import refusals
from domain.event_store.port import ANSWERS_KEPT_MS
from domain.event_store.postgres.link import Link
from domain.event_store.writes import (
    Append,
    ClaimChange,
    Expectations,
    NewRow,
    Refusal,
    RememberedAnswer,
)
from domain.kinds.names import name_key

CHANGE_CLAIMS = f"SELECT * FROM change_claims_1({','.join(['%b'] * 9)})"
APPEND = f"SELECT * FROM append_2({','.join(['%b'] * 29)})"
APPEND_ALONE = f"CALL append_alone_2({','.join(['%b'] * 31)}, NULL, NULL, NULL, NULL)"
"""The order lock's key and the newest known feature's number come first, then the parameters of
APPEND."""
APPEND_EVENT = f"CALL append_event_2({','.join(['%b'] * 12)}, NULL)"
"""Takes the first two parameters of APPEND_ALONE, then the result of `event_parameters`."""
_STORED = (
    "SELECT count(*), max(e.position) FROM events e JOIN unnest(%b::text[], %b::bigint[],"
    " %b::text[], %b::bytea[]) AS ours(id, version, type, payload) ON e.entity_id = ours.id"
    " AND e.stream_version = ours.version AND e.type = ours.type AND e.payload = ours.payload"
)
_REMEMBERED = (
    "SELECT (SELECT coalesce(max(position), 0) FROM events) FROM answers"
    " WHERE (actor, key, digest, entity_id, stream_version, outcome, at)"
    " = (%b, %b, %b, %b, %b, %b, %b)"
)
_NEVER = -1
"""A stream version that no stream ends at."""
_UNMET = {
    "1 sole": refusals.HAS_SIBLINGS,
    "2 live": refusals.IS_GONE,
    "3 childless": refusals.HAS_CHILDREN,
    "4 live childless": refusals.HAS_LIVE_CHILDREN,
    "5 edgeless": refusals.HAS_LINEAGE,
}


def append_parameters(append: Append) -> list[Any]:
    """The parameters of APPEND; an empty list is sent as null, which takes no time."""
    streams = _ends(append.rows)
    expecting = append.expecting
    values = [
        [*streams],
        [*streams.values()],
        *_columns(append.rows, 4),
        *claim_parameters(append.changes),
        *_columns(sorted(expecting.sole), 2),
        [*expecting.live],
        [*expecting.without_children],
        [*expecting.without_live_children],
        [*expecting.without_edges],
        *_answer(append.answer),
    ]
    return [None if value == [] else value for value in values]


def event_parameters(append: Append) -> list[Any] | None:
    """The parameters of APPEND_EVENT; None for an append of more than one event and its claim.

    Such an append may expect entities to be live, and nothing else.
    """
    expecting, changes = append.expecting, append.changes
    if (
        len(append.rows) != 1
        or len(changes) > 1
        or append.answer is not None
        or expecting != Expectations(live=expecting.live)
    ):
        return None
    entity_id, *event = append.rows[0]
    claim: list[Any] = [None] * 5
    if changes:
        action, values = changes[0]
        if action != "take" or values[2] != entity_id:
            return None
        kind, fqn, _, name, parent_id = values
        claim = [name_key(kind, fqn), kind, fqn, name, parent_id]
    return [entity_id, *event, *claim, [*expecting.live] or None]


def claim_parameters(changes: Sequence[ClaimChange]) -> list[Any]:
    """The parameters of CHANGE_CLAIMS: runs of one action, takes and renames by columns, ids of
    all else.
    """
    runs = [(action, len([*run])) for action, run in groupby(changes, key=itemgetter(0))]
    named = ("take", "rename")
    takes = [(name_key(*values[:2]), *values) for action, values in changes if action in named]
    ids = [values[0] for action, values in changes if action not in named]
    return [*_columns(runs, 2), *_columns(takes, 6), ids]


def refusal_of(
    refusal: str, concerned: Sequence[str] | None, unmet: Sequence[str] | None
) -> Refusal:
    """The reason why the database refuses an append."""
    if refusal == "state":
        return refusals.not_the_newest(concerned or [])
    if refusal == "name":
        return refusals.names_taken(concerned or [])
    if refusal == "id":
        return refusals.id_taken()
    if refusal == "key":
        return refusals.key_taken()
    named = [_UNMET[what] for what in unmet or []]
    return refusals.not_as_expected([*zip(concerned or [], named, strict=True)])


def _ends(rows: Iterable[NewRow]) -> dict[str, int]:
    """Entity -> the stream version at which its stream must end before these rows go on there."""
    ends: dict[str, int] = {}
    newest: dict[str, int] = {}
    for entity_id, stream_version, *_ in rows:
        if entity_id not in ends:
            ends[entity_id] = stream_version - 1
        elif stream_version != newest[entity_id] + 1:
            ends[entity_id] = _NEVER
        newest[entity_id] = stream_version
    return ends


def _columns(rows: Sequence[Sequence[Any]], number: int) -> list[list[Any]]:
    """The columns of rows; without rows, `number` empty columns."""
    return [[*column] for column in zip(*rows, strict=True)] or [[] for _ in range(number)]


def _answer(answer: RememberedAnswer | None) -> list[Any]:
    if answer is None:
        return [None] * 8
    return [*astuple(answer), answer.at - ANSWERS_KEPT_MS]


def synced_position(link: Link, append: Append) -> int | None:
    """The position of an append that is in the log to stay; None when it is not there."""
    position = position_in_log(link, append)
    if position is not None:
        link.sync()
    return position


def position_in_log(link: Link, append: Append) -> int | None:
    """The position of an append that is in the log; None when it is not."""
    if append.rows:
        values = [[*column] for column in zip(*append.rows, strict=True)]
        count, position = link.one(_STORED, *values)
        return position if count == len(append.rows) else None
    if append.answer is None:
        return None
    row = link.one(_REMEMBERED, *astuple(append.answer))
    return None if row is None else row[0]
