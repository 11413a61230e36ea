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
from domain.event_store.log import EventLog, open_event_log
from domain.event_store.port import LiveStreams
from projections.entities.stored_entity import StoredEntity, entity_of_stream

PART = 1_000
"""Entities in a part: a request with their ids must fit in a pipe, or both sides could wait."""
PROCESSES_FROM = 50_000
"""Entities from which processes are worth their start."""
_MOST_PROCESSES = 4
_ASKED = 2
"""Parts that a process has been asked for and not given yet."""

_entities = msgspec.msgpack.Decoder(list[StoredEntity])


@contextmanager
def folded_parts(log: EventLog, live: LiveStreams) -> Iterator[Iterator[list[StoredEntity]]]:
    """The entities of the log, in the order of `live`, in lists of at most PART."""
    cores = len(os.sched_getaffinity(0))
    if len(live) < PROCESSES_FROM or cores == 1:
        yield (
            fold_streams(log, live.part(start, PART), live.head)
            for start in range(0, len(live), PART)
        )
        return
    with ExitStack() as stack:
        pipes = [
            stack.enter_context(_process(log.database)) for _ in range(min(cores, _MOST_PROCESSES))
        ]
        yield _made(pipes, live)


def fold_streams(log: EventLog, ids: Sequence[str], upto: int) -> list[StoredEntity]:
    """Those of these entities that were not purged by a position, as they were there."""
    folded = (entity_of_stream(stream) for stream in log.streams(ids, upto))
    return [entity for entity in folded if entity is not None]


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
            answer = pipe.recv_bytes()
        except EOFError:
            raise StoreUnavailable("a process that folds entities has ended") from None
        ask(pipe)
        yield _entities.decode(answer)


@contextmanager
def _process(database: str) -> Iterator[Connection]:
    """A process that folds entities, and the pipe to it."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, database), name="folder")
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
                pipe.send_bytes(encode(fold_streams(log, ids, upto)))
            except (EOFError, BrokenPipeError, ConnectionResetError):
                return
