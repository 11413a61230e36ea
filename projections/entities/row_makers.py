"""Makes rows of streams, part by part; of large catalogs in processes of their own.

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
from domain.event_store.log import EventLog, open_event_log
from domain.event_store.port import LiveStreams
from projections.entities.rows import row_digest, stream_row

PART = 1_000
"""Entities in a part: a request with their ids must fit in a pipe, or both sides could wait."""
PROCESSES_FROM = 50_000
"""Entities from which processes are worth their start."""
_MOST_PROCESSES = 4
_ASKED = 2
"""Parts that a process has been asked for and not given yet."""

DigestedRow = tuple[str, int, str, str, str, str | None, str, int, bytes, bytes, bytes]
"""An EntityRow and its digest."""

_rows = msgspec.msgpack.Decoder(list[DigestedRow])


@contextmanager
def parts(log: EventLog, live: LiveStreams) -> Iterator[Iterator[list[DigestedRow]]]:
    """The rows of these entities, in this order."""
    cores = len(os.sched_getaffinity(0))
    if len(live) < PROCESSES_FROM or cores == 1:
        yield (
            digested_rows(log, live.part(start, PART), live.head)
            for start in range(0, len(live), PART)
        )
        return
    with ExitStack() as stack:
        pipes = [
            stack.enter_context(_process(log.database)) for _ in range(min(cores, _MOST_PROCESSES))
        ]
        yield _made(pipes, live)


def digested_rows(log: EventLog, ids: Sequence[str], upto: int) -> list[DigestedRow]:
    """The rows of these entities as they were at a position, with their digests."""
    made = (stream_row(stream) for stream in log.streams(ids, upto))
    return [(*columns, row_digest(columns)) for columns in made if columns is not None]


def _made(pipes: list[Connection], live: LiveStreams) -> Iterator[list[DigestedRow]]:
    """Asks the processes in turn, so that their answers come in order."""
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
            answer = pipe.recv_bytes()
        except EOFError:
            raise StoreUnavailable("a process that makes rows has ended") from None
        ask(pipe)
        yield _rows.decode(answer)


@contextmanager
def _process(database: str) -> Iterator[Connection]:
    """A process that makes rows, and the pipe to it."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, database), name="row-maker")
    process.start()
    theirs.close()
    try:
        yield ours
    finally:
        ours.close()
        process.join()


def _serve(pipe: Connection, database: str) -> None:
    """What the process does until its pipe is closed."""
    encode = msgspec.msgpack.Encoder().encode
    with closing(open_event_log(database)) as log:
        while True:
            try:
                ids, upto = pipe.recv()
                pipe.send_bytes(encode(digested_rows(log, ids, upto)))
            except (EOFError, BrokenPipeError, ConnectionResetError):
                return
