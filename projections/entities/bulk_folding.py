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

from domain.edges import EDGE, edge_ends
from domain.errors import StoreUnavailable
from domain.event_store.port import EventStore
from domain.event_store.stored import LiveStreams
from domain.machine.modules import command_of, environment
from projections.entities import folding_process
from projections.entities.folding_process import END, FoldedPart, fold_streams
from projections.entities.past_changes import PastChanges
from projections.entities.replaced_states import EndedMembership, ReplacedState, Step

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


class LoadedPast:
    """The past of all parts of a load, in which purged entities have none."""

    def __init__(self, live: LiveStreams) -> None:
        self._purged = frozenset(LiveStreams(live.head, live.purged).part(0, len(live.purged)))
        self._changes = PastChanges()
        self._gone: set[str] = set()
        """Edges of which an end is purged."""

    def kept(self, part: FoldedPart) -> tuple[list[ReplacedState], list[EndedMembership]]:
        """Those of the replaced states and ended memberships of a part that are kept."""
        changes, newest = self._changes, self._changes.newest
        for kind, position in part.newest.items():
            newest[kind] = max(position, newest.get(kind, 0))
        replaced = []
        for row in part.replaced:
            if row.kind == EDGE:
                if not self._purged.isdisjoint(edge_ends(row.fqn)):
                    self._gone.add(row.id)
                    continue
            elif row.id in self._purged:
                changes.forget((row,))
                continue
            replaced.append(row)
        ended = [
            row
            for row in part.ended
            if row[4] not in self._gone and (row[1] == EDGE or row[4] not in self._purged)
        ]
        changes.sum(replaced, ended, 1)
        return replaced, ended

    @property
    def forgotten(self) -> list[Step]:
        """Rows that add up to those of `forgotten`, with those of the parts."""
        return self._changes.forgotten

    @property
    def pasts(self) -> list[tuple[str, int, int, bytes]]:
        """The rows of `pasts`."""
        return self._changes.pasts({})


def _made(
    pipes: list[Connection], live: LiveStreams, size: int, decoder: msgspec.msgpack.Decoder[T]
) -> Iterator[T]:
    """Ask the processes in turn, so that their answers come in the order of `live`."""
    asked: deque[Connection] = deque()
    starts = iter(range(0, len(live), size))

    def ask(pipe: Connection) -> None:
        if (start := next(starts, None)) is not None:
            pipe.send((live.part(start, size), live.head))
            asked.append(pipe)

    try:
        for pipe in pipes * _ASKED:
            ask(pipe)
        while asked:
            pipe = asked.popleft()
            while (answer := pipe.recv_bytes()) != END:
                yield decoder.decode(answer)
            ask(pipe)
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
