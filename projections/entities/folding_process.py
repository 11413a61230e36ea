"""Folds entities for another process, which gives it a socket: `-m ... <descriptor>`.

What comes first through the socket is the address of the log, and a function that makes something
of a list of entities; then ids, and how far to fold them. It imports no more than that takes: what
multiprocessing starts would import all of the program that asks.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from multiprocessing.connection import Connection

import msgspec

from domain.event_store.entity_reads import StreamSpan
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from domain.reading.history import folded
from projections.entities.stored_entity import StoredEntity, stored_entity
from projections.feeding.port import Folded

PIECE_BYTES = 4_000_000
"""Bytes of JSON at which a list of folded entities ends; its last entity may go beyond them."""
END = b"\xc0"
"""The mark after the last piece of those that were asked for together: nil, which is none."""


def fold_streams(log: EventStore, ids: Sequence[str], upto: int) -> Iterator[list[StoredEntity]]:
    """Those of these entities that were not purged by a position, as they were there.

    They come in their order, in lists that end at PIECE_BYTES.
    """
    piece: list[StoredEntity] = []
    size = 0
    spans = [StreamSpan(entity_id) for entity_id in ids]
    for state, position in folded(log.streams(spans, upto=upto)):
        if state.purged:
            continue
        stored = stored_entity(Folded(state, position))
        piece.append(stored)
        size += len(stored.core) + len(stored.optional)
        if size >= PIECE_BYTES:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece


def serve(pipe: "Connection") -> None:
    """Answer with what is made of each piece, and END, until the other process is gone."""
    make: Callable[[list[StoredEntity]], object]
    address, make = pipe.recv()
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
