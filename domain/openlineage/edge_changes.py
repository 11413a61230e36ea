"""Changes of single edges: what a job says is put in, and what it does not say stays."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from domain.edges import DETAIL_KEYS, SET_HERE
from domain.event_store.stored import Claim
from domain.openlineage.keeping import EDGES, Keeping

SOURCE = "OpenLineage"
"""The `source` of the edges that events draw; events change no edge of another source."""
_HOUR_MS = 3_600_000
_KEPT = tuple(key for key in DETAIL_KEYS if key not in SET_HERE)


class EdgeNote(Struct, frozen=True, array_like=True):
    """The jobs that told of an edge, and the times at which they did."""

    job: str
    """Key of the job that drew the edge."""
    sql_at: int = 0
    columns_at: int = 0
    """Times of what was said last of SQL and of columns by that job, in milliseconds since 1970."""
    added: tuple[str, ...] = ()
    """Digests of the mappings that other jobs have added."""
    seen_at: int = 0
    """Time at which any job last told of the edge, in milliseconds since 1970, to the hour."""


encode_note = msgspec.msgpack.Encoder(enc_hook=list).encode
decode_note = msgspec.msgpack.Decoder(EdgeNote).decode


def last_seen(keeping: Keeping, edge: str) -> int | None:
    """The time at which a pipeline told last of an edge, by its name; None where none did.

    It is in milliseconds since 1970, and to the hour.
    """
    body = keeping.read(EDGES, [edge]).get(edge)
    return None if body is None else decode_note(body).seen_at


class EdgeChange:
    """The change of the details of one edge by a statement."""

    def __init__(
        self,
        at: int,
        job: str,
        note: EdgeNote | None,
        sql: str | None,
        mappings: list[dict[str, Any]] | None,
        pipeline: Claim | None,
        *,
        older: bool,
    ) -> None:
        self._at = at
        self._sql = sql
        self._job = job
        self._before = note
        self._mappings = mappings
        self._pipeline = {"id": pipeline.id, "type": "pipeline"} if pipeline else None
        self._older = older
        self.note: EdgeNote | None = None
        """The new note of the edge; None where the note stays as it is."""
        self.is_left_out = False
        """True if the edge is not drawn."""

    def __call__(self, before: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """The details of the edge after the statement; None to leave it alone."""
        self.note, self.is_left_out = None, False
        if before is None:
            # An older event does not draw an edge that a newer event of the job no longer names.
            self.is_left_out = self._older
            return None if self._older else self._new()
        if before["source"] != SOURCE:
            return None
        details = {key: before[key] for key in _KEPT if key in before}
        note = self._before or EdgeNote(self._job if self._is_own(details) else "")
        say = self._say if note.job == self._job else self._add
        note = say(details, note)
        if self._at - note.seen_at >= _HOUR_MS:
            note = replace(note, seen_at=self._at)
        self.note = None if note == self._before else note
        same = all(details.get(key) == before.get(key) for key in _KEPT)
        return None if same else details

    def _is_own(self, details: Mapping[str, Any]) -> bool:
        pipeline = details.get("pipeline")
        return pipeline is None or (
            self._pipeline is not None and pipeline.get("id") == self._pipeline["id"]
        )

    def _new(self) -> dict[str, Any]:
        details: dict[str, Any] = {"source": SOURCE}
        if self._pipeline is not None:
            details["pipeline"] = self._pipeline
        if self._sql:
            details["sqlQuery"] = self._sql
        if self._mappings:
            details["columnsLineage"] = self._mappings
        self.note = EdgeNote(
            self._job,
            self._at if self._sql else 0,
            self._at if self._mappings else 0,
            seen_at=self._at,
        )
        return details

    def _say(self, details: dict[str, Any], note: EdgeNote) -> EdgeNote:
        """Put in what the job that drew the edge says, where it is newer; the rest stays."""
        held = details.get("pipeline")
        if self._pipeline is not None and (
            held is None or (held.get("id") != self._pipeline["id"] and not self._older)
        ):
            details["pipeline"] = self._pipeline
        if self._sql and (self._at >= note.sql_at or not details.get("sqlQuery")):
            details["sqlQuery"] = self._sql
            note = replace(note, sql_at=max(self._at, note.sql_at))
        present = details.get("columnsLineage") or []
        if self._mappings and (self._at >= note.columns_at or not present):
            added = frozenset(note.added)
            others = [each for each in present if _digest(each) in added]
            details["columnsLineage"] = _joined(self._mappings, others, present)
            note = replace(note, columns_at=max(self._at, note.columns_at))
        return note

    def _add(self, details: dict[str, Any], note: EdgeNote) -> EdgeNote:
        """Add the mappings that another job says."""
        present = details.get("columnsLineage") or []
        known = {_identity(each) for each in present}
        new = [each for each in self._mappings or () if _identity(each) not in known]
        if new:
            details["columnsLineage"] = [*present, *new]
            note = replace(note, added=tuple(dict.fromkeys((*note.added, *map(_digest, new)))))
        return note


def _joined(
    said: list[dict[str, Any]], others: list[dict[str, Any]], present: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The mappings of a job and of others, those that are present already in their old order."""
    known = {_identity(each): each for each in said}
    known.update((_identity(each), each) for each in others if _identity(each) not in known)
    places = {_identity(each): place for place, each in enumerate(present)}
    return sorted(known.values(), key=lambda each: places.get(_identity(each), len(places)))


def _identity(mapping: Mapping[str, Any]) -> tuple[Any, ...]:
    return (mapping.get("toColumn"), tuple(sorted(mapping.get("fromColumns") or ())))


def _digest(mapping: Mapping[str, Any]) -> str:
    return blake2b(repr(_identity(mapping)).encode(), digest_size=8).hexdigest()
