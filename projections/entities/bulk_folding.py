"""Folds the whole log to stored entities, part by part; large logs in processes of their own.

Folding is Python and inserting is SQLite: side by side they take the time of the longer one. A
process ends when the pipe to the one that started it is closed, however that one ended.
"""

import multiprocessing
import os
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from multiprocessing.connection import Connection

import msgspec

from domain.errors import StoreUnavailable
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore, LiveStreams, StreamSpan
from domain.history import folded
from projections.entities.stored_entity import StoredEntity, stored_entity
from projections.feeding.port import Folded

PART = 1_000
"""Entities in a part: a request with their ids must fit in a pipe, or both sides could wait."""
PIECE_BYTES = 4_000_000
"""Bytes of JSON at which a list of folded entities ends; its last entity may go beyond them."""
PROCESSES_FROM = 50_000
"""Entities from which processes are worth their start."""
_MOST_PROCESSES = 4
_ASKED = 2
"""Parts that a process has been asked for and not given yet."""

_END = b"\xc0"
"""What a process sends after the last entities of a part: nil, which is no list."""
_entities = msgspec.msgpack.Decoder(list[StoredEntity])


@contextmanager
def folded_parts(log: EventStore, live: LiveStreams) -> Iterator[Iterator[list[StoredEntity]]]:
    """The entities of the log, in the order of `live`, in lists of at most PART and PIECE_BYTES."""
    cores = len(os.sched_getaffinity(0))
    if len(live) < PROCESSES_FROM or cores == 1:
        yield (
            piece
            for start in range(0, len(live), PART)
            for piece in fold_streams(log, live.part(start, PART), live.head)
        )
        return
    with ExitStack() as stack:
        pipes = [
            stack.enter_context(_process(log.address)) for _ in range(min(cores, _MOST_PROCESSES))
        ]
        yield _made(pipes, live)


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


def _made(pipes: list[Connection], live: LiveStreams) -> Iterator[list[StoredEntity]]:
    """Asks the processes in turn, so that their answers come in the order of `live`."""
    asked: deque[Connection] = deque()
    starts = iter(range(0, len(live), PART))

    def ask(pipe: Connection) -> None:
        if (start := next(starts, None)) is not None:
            pipe.send((live.part(start, PART), live.head))
            asked.append(pipe)

    for pipe in pipes * _ASKED:
        ask(pipe)
    while asked:
        pipe = asked.popleft()
        try:
            while (answer := pipe.recv_bytes()) != _END:
                yield _entities.decode(answer)
        except EOFError:
            raise StoreUnavailable("a process that folds entities has ended") from None
        ask(pipe)


@contextmanager
def _process(address: str) -> Iterator[Connection]:
    """A process that folds entities, and the pipe to it."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, address), name="folder")
    process.start()
    theirs.close()
    try:
        yield ours
    finally:
        ours.close()
        process.join()


def _serve(pipe: Connection, address: str) -> None:
    """What the process does until its pipe is closed."""
    encode = msgspec.msgpack.Encoder().encode
    with closing(open_event_log(address, writable=False)) as log:
        while True:
            try:
                ids, upto = pipe.recv()
                for piece in fold_streams(log, ids, upto):
                    pipe.send_bytes(encode(piece))
                pipe.send_bytes(_END)
            except (EOFError, BrokenPipeError, ConnectionResetError):
                return
