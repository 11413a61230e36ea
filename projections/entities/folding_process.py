"""Folds entities for another process, which gives it a socket: `-m ... <descriptor>`.

What comes first through the socket is the address of the log, and a function that makes something
of a FoldedPart; then ids, and how far to fold them. It imports no more than that takes: what
multiprocessing starts would import all of the program that asks.
"""

import gc
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import groupby
from multiprocessing.connection import Connection
from operator import attrgetter

import msgspec

from domain.aggregate.entity import Entity, evolve
from domain.event_store.entity_reads import whole_streams
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from domain.reading.moments import DAY
from projections.entities.daily_counts import CoverageStep
from projections.entities.past_changes import Life, PastChanges
from projections.entities.replaced_states import (
    EndedMembership,
    Membership,
    ReplacedState,
    Steps,
    held_state,
)
from projections.entities.stored_entity import StoredEntity, stored_entity
from projections.feeding.port import Folded

PIECE_BYTES = 4_000_000
"""Bytes of JSON at which a list of folded entities ends; its last entity may go beyond them."""
_COLLECT_AFTER = 100_000
END = b"\xc0"
"""The mark after the last of the pieces that were asked for together: nil, which is no piece."""


class FoldedPart(msgspec.Struct, frozen=True, array_like=True):
    """The rows of a read model from some streams, or from the beginning of a long stream."""

    entities: list[StoredEntity]
    """The entities that are not purged, in the order of their streams."""
    listed: list[Membership]
    """Rows of `scopes`."""
    replaced: list[ReplacedState] = []
    """Rows of `history`."""
    ended: list[EndedMembership] = []
    """Rows of `history_scopes`."""
    added: Steps = {}
    """Changes of totals."""
    taken_out: Steps = {}
    """The share of purged entities in totals."""
    coverage: list[CoverageStep] = []
    """Changes of the coverage of keys."""
    events: dict[tuple[int, str], int] = {}
    """Day and kind -> number of events."""
    newest: dict[str, int] = {}
    """Kind -> position of the newest event that is about one."""


def fold_streams(log: EventStore, ids: Sequence[str], upto: int) -> Iterator[FoldedPart]:
    """Fold the streams of these entities into rows of a read model at a position.

    The rows come in the order of `ids`, in parts that end at PIECE_BYTES. When a long stream ends
    with a purge, earlier parts may have given replaced states of the entity; these are not taken
    back.
    """
    part = _Part()
    streams = whole_streams(log, ids, upto=upto)
    for entity_id, stream in groupby(streams, key=attrgetter("entity_id")):
        life = Life()
        state: Entity | None = None
        stored: StoredEntity | None = None
        for recorded in stream:
            state = evolve(state, recorded.event, entity_id)
            part.events[recorded.event.at // DAY, state.kind] += 1
            if state.purged:
                stored = None
                life.purge(part.past, recorded.position)
                continue
            stored = stored_entity(Folded(state, recorded.position))
            held = held_state(stored)
            life.go_on(part.past, held)
            part.size += len(held.scopes) + len(held.core or b"") + len(held.optional or b"")
            if part.size >= PIECE_BYTES:
                life.give(part.past)
                yield part.taken()
                part = _Part()
        life.finish(part.past)
        if stored is not None:
            part.entities.append(stored)
            part.size += len(stored.core) + len(stored.optional)
    yield part.taken()


class _Part:
    """A FoldedPart while it is made."""

    def __init__(self) -> None:
        self.entities: list[StoredEntity] = []
        self.past = PastChanges()
        self.events: Counter[tuple[int, str]] = Counter()
        self.size = 0
        """Bytes of JSON, about."""

    def taken(self) -> FoldedPart:
        """All of the part."""
        past = self.past
        return FoldedPart(
            self.entities,
            past.listed,
            past.replaced,
            past.ended,
            past.added,
            past.taken_out,
            past.coverage,
            self.events,
            past.newest,
        )


def serve(pipe: "Connection") -> None:
    """Answer with what is made of each piece, and END, until the other process is gone."""
    make: Callable[[FoldedPart], object]
    address, make = pipe.recv()
    # Only after many new objects: folding leaves no garbage that holds itself.
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER)
    encode = msgspec.msgpack.Encoder().encode
    with closing(open_event_log(address, writable=False)) as log:
        while True:
            try:
                ids, upto = pipe.recv()
                for piece in fold_streams(log, ids, upto):
                    pipe.send_bytes(encode(make(piece)))
                pipe.send_bytes(END)
            except (EOFError, BrokenPipeError, ConnectionResetError):
                return


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
