"""Folds the whole log to stored entities, part by part; large logs in processes of their own.

Folding is Python and inserting is a database's work: side by side they take the time of the longer
one. What can be made of the entities for the database is made in those processes too. A process
ends when the socket to the one that started it is closed, however that one ended.
"""

import os
import subprocess
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import TypeVar

import msgspec

from domain.errors import StoreUnavailable
from domain.event_store.port import EventStore
from domain.event_store.stored import LiveStreams
from domain.machine.modules import command_of, environment
from projections.entities import folding_process
from projections.entities.folding_process import END, FoldedPart, fold_streams

T = TypeVar("T")

_MOST_PROCESSES = 4
_ASKED = 2
"""Parts that a process has been asked for and not given yet."""


@contextmanager
def folded_parts(
    log: EventStore,
    make: Callable[[FoldedPart], T],
    form: type[T],
    *,
    size: int = 1_000,
    processes_from: int = 50_000,
) -> Iterator[tuple[LiveStreams, Iterator[T]]]:
    """The entities of the log in order of their names, and what is made of them, in that order.

    Purged entities come last, for their past. `make` is a function of a module, for processes to
    call, and takes what at most `size` streams come to, of about PIECE_BYTES; `form` is the type of
    what it makes, which msgspec encodes. Processes are worth their start from the position
    `processes_from` of the log's end on. A request with the ids of `size` entities must fit in a
    pipe, or both sides could wait.
    """
    cores = len(os.sched_getaffinity(0))
    if cores == 1 or log.head() < processes_from:
        live = log.live(by_name=True)
        streams = live.with_purged()
        parts = (streams.part(start, size) for start in range(0, len(streams), size))
        yield live, (make(piece) for ids in parts for piece in fold_streams(log, ids, live.head))
        return
    with ExitStack() as stack:
        pipes = [
            stack.enter_context(_process(log.address, make))
            for _ in range(min(cores, _MOST_PROCESSES))
        ]
        # They start while the names are read.
        live = log.live(by_name=True)
        yield live, _made(pipes, live.with_purged(), size, msgspec.msgpack.Decoder(form))


def _made(
    pipes: list[Connection], live: LiveStreams, size: int, decoder: msgspec.msgpack.Decoder[T]
) -> Iterator[T]:
    """Ask the processes in turn, so that their answers come in the order of `live`.

    They are asked at once, and work until their first answers are taken.
    """
    asked: deque[Connection] = deque()
    starts = iter(range(0, len(live), size))

    def ask(pipe: Connection) -> None:
        if (start := next(starts, None)) is not None:
            with _still_there():
                pipe.send((live.part(start, size), live.head))
            asked.append(pipe)

    def answers() -> Iterator[T]:
        while asked:
            pipe = asked.popleft()
            while (answer := _answer(pipe)) != END:
                yield decoder.decode(answer)
            ask(pipe)

    for pipe in pipes * _ASKED:
        ask(pipe)
    return answers()


def _answer(pipe: Connection) -> bytes:
    with _still_there():
        return pipe.recv_bytes()


@contextmanager
def _still_there() -> Iterator[None]:
    """Raise StoreUnavailable where the other end of a pipe is gone."""
    try:
        yield
    except (EOFError, ConnectionResetError, BrokenPipeError):
        raise StoreUnavailable("a process that folds entities has ended") from None


@contextmanager
def _process(address: str, make: Callable[[FoldedPart], object]) -> Iterator[Connection]:
    """A process that folds entities and makes something of them, and the socket to it."""
    ours, theirs = Pipe()
    with ours:
        with theirs:
            process = subprocess.Popen(
                [*command_of(folding_process.__name__), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=environment(),
            )
        try:
            # The address may hold a password, which is not for a command line.
            with suppress(BrokenPipeError):  # who asks for the first part hears of it
                ours.send((address, make))
            yield ours
        finally:
            ours.close()
            process.wait()
