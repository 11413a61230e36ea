"""Group commit: what threads have ready to append shares the transactions of the log.

A transaction takes most of its time to be synced. Meanwhile the next writes are planned, and all
that are ready when it ends go into the next one. A writer that is the only one appends in its own
thread: what two threads hand over to each other takes longer than what is done with it.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from domain.event_store.port import EventStore
from domain.event_store.writes import Append, Refusal, StoredAppend

GROUP_APPENDS, GROUP_BYTES = 256, 16_000_000
"""Most appends in one transaction, and most bytes unless a single append has more."""
MAX_WAITING_BYTES = 64_000_000
"""Bytes of waiting appends beyond which `submit` waits before it accepts another one."""


class _Waiting:
    """An append that waits for its transaction."""

    def __init__(self, append: Append) -> None:
        self.append = append
        self.size = sum(len(payload) for *_, payload in append.rows)
        self.is_alone = append.expecting.unmentioned is not None
        """True if the append has to be a group of its own."""
        self.future: Future[int] = Future()


class Committer:
    """Appends for many threads, in a thread of its own or in that of the only writer."""

    def __init__(
        self,
        store: EventStore,
        stored: Callable[[Sequence[StoredAppend]], None] = lambda _: None,
    ) -> None:
        """`stored` is called after each transaction, when its writers have their results.

        The argument is what the transaction has stored, in order; it is empty after an append that
        a writer made by itself (`alone`), which the committer does not see.
        """
        self._store = store
        self._stored = stored
        self._executor = ThreadPoolExecutor(1, "committer")
        self._changed = threading.Condition()
        """Guards the fields below, and is notified when one changes that a thread may wait for."""
        self._waiting: deque[_Waiting] = deque()
        self._waiting_bytes = 0
        self._running = False
        """True if a thread is about to append what is waiting."""
        self._appending = False
        """True if a transaction is open, of the committer's thread or of a single writer."""
        self._alone = 0
        """Number of writers that wait to be alone with the log."""

    def add(
        self, append: Append, settle: Callable[[Future[int]], None] = lambda _: None
    ) -> Future[int]:
        """Have an append stored with the next group; the caller calls `store` before it waits.

        The future has the position once the append is durable, the refusal, or StoreUnavailable;
        `settle` is called with it then, by the thread that appends. While too many bytes are
        waiting, this method waits too.
        """
        waiting = _Waiting(append)
        waiting.future.add_done_callback(settle)
        if self._waiting_bytes >= MAX_WAITING_BYTES:
            self.store()
        with self._changed:
            self._changed.wait_for(lambda: self._waiting_bytes < MAX_WAITING_BYTES)
            self._waiting.append(waiting)
            self._waiting_bytes += waiting.size
        return waiting.future

    def store(self, *, only: bool = False) -> None:
        """Have all added appends stored.

        `only` says that nothing else is about to be added: if no thread is appending, the calling
        thread appends before this method returns.
        """
        with self._changed:
            start = bool(self._waiting) and not self._running
            self._running = self._running or start
        if start and only:
            self._append_group(self._begin())
            with self._changed:
                # What others have added meanwhile is not for their writer to wait for.
                start = self._running = bool(self._waiting)
                self._changed.notify_all()
        if start:
            self._executor.submit(self._append_all)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let no other append of this process begin until the block ends.

        A write that reads and appends inside can only lose a race against other processes.
        """
        with self._changed:
            self._alone += 1
            self._changed.wait_for(lambda: not self._appending)
            self._alone -= 1
            self._appending = True
        try:
            yield
        finally:
            self._end()
            self._stored(())

    def close(self) -> None:
        """Wait until everything submitted is stored; nothing may be submitted afterwards."""
        with self._changed:
            self._changed.wait_for(lambda: not self._running)
        self._executor.shutdown()

    def _append_all(self) -> None:
        """Append group after group until nothing is waiting."""
        while group := self._begin():
            self._append_group(group)

    def _append_group(self, group: list[_Waiting]) -> None:
        """Store a group and give each of its writers the result."""
        results = self._results(group)
        self._end()
        stored = []
        for waiting, result in zip(group, results, strict=True):
            if isinstance(result, int):
                waiting.future.set_result(result)
                stored.append(StoredAppend(waiting.append, result))
            else:
                waiting.future.set_exception(result)
        self._stored(stored)

    def _begin(self) -> list[_Waiting]:
        """The next group, for this thread alone to append; empty when nothing is waiting."""
        with self._changed:
            self._changed.wait_for(lambda: not self._appending and not self._alone)
            group: list[_Waiting] = []
            size = 0
            while self._waiting and len(group) < GROUP_APPENDS:
                size += self._waiting[0].size
                if group and (size > GROUP_BYTES or self._waiting[0].is_alone):
                    break
                if group and group[-1].is_alone:
                    break
                group.append(self._waiting.popleft())
                self._waiting_bytes -= group[-1].size
            self._running = self._appending = bool(group)
            self._changed.notify_all()
        return group

    def _end(self) -> None:
        with self._changed:
            self._appending = False
            self._changed.notify_all()

    def _results(self, group: list[_Waiting]) -> list[int | Refusal] | list[BaseException]:
        try:
            return self._store.append_group([waiting.append for waiting in group])
        except BaseException as error:
            # None of the group is stored: each of its writers must hear of it.
            return [error] * len(group)
