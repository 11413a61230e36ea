"""The generation that reads use: looked up anew whenever the pointer was replaced."""

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from domain.errors import StoreUnavailable
from domain.event_store.port import EventStore
from projections.feeding.daemon import ProjectorState
from projections.feeding.log_fingerprint import disagreement
from projections.feeding.port import Damaged, NumberOf, Superseded
from projections.generations.definition import Definition, M
from projections.generations.port import ChangeCounter, Generation
from projections.verification.run import Source

T = TypeVar("T")

_ATTEMPTS = 5
_TRIES = range(_ATTEMPTS)


class NotBuilt(StoreUnavailable):
    """No generation of a read model may be served yet."""

    def __init__(self, message: str, name: str, building: ProjectorState | None) -> None:
        """`building` is the state of the projection that builds the read model called `name`.

        `building` is None where no process builds the read model, or the building has failed.
        """
        super().__init__(message)
        self.name = name
        self.building = building


class _Opened(Generic[M]):
    """A generation that is open, and how many readers use it now."""

    def __init__(self, model: M, generation: Generation) -> None:
        self.model = model
        self.generation = generation
        self.users = 0
        self.left = False
        """True if another generation took its place: the last reader closes it."""


class CurrentGeneration(Generic[M]):
    """Lends the live generation to any thread, and opens the next one after a switch."""

    def __init__(
        self,
        definition: Definition[M],
        log: EventStore,
        changes: ChangeCounter | None = None,
    ) -> None:
        """`changes` counts the changes of the read model, if this process makes all of them."""
        self._changes_so_far: NumberOf = (lambda kind: None) if changes is None else changes.number
        """Gives the number of changes; None where it is unknown, or while one is being made."""
        self._looked: int | None = None
        """Number of changes at the last look at the pointer."""
        self.definition = definition
        self.generations = definition.generations
        self._log = log
        self._lock = threading.Lock()
        self._revision: Hashable | None = None
        """Revision of the pointer that `_opened` or `_refused` follows from."""
        self._opened: _Opened[M] | None = None
        self._refused: Damaged | None = None
        self.building: Callable[[], ProjectorState | None] = lambda: None
        """Function that returns the state of a building under way, for NotBuilt."""

    @contextmanager
    def use(self) -> Iterator[M]:
        """The read model, which stays open until the end of the block.

        Raises StoreUnavailable while no generation may be served.
        """
        opened = self._take()
        try:
            yield opened.model
        finally:
            self._give_back(opened)

    def read(self, work: Callable[[M], T]) -> T:
        """The result of work on the read model, as `use` lends it.

        The work reads as much as one page or one entity. Where reads of the model can raise
        Superseded, the pointer is not read first, and the work is repeated on the newer generation.
        Raises StoreUnavailable as `use` does, and the errors of the work.
        """
        look = not self.definition.tells_when_superseded
        for _ in _TRIES:
            opened = self._take(look=look)
            try:
                return work(opened.model)
            except Superseded:
                look = True
            finally:
                self._give_back(opened)
        raise StoreUnavailable(f"the read model {self.definition.name} is being replaced")

    @contextmanager
    def snapshot(self) -> Iterator[tuple[Source, int]]:
        """The read model in one state, as verification reads it, and its generation's number.

        Raises StoreUnavailable as `use` does.
        """
        opened = self._take()
        try:
            with self.definition.source(opened.model, self._log) as source:
                yield source, opened.generation.number
        finally:
            self._give_back(opened)

    def generation(self) -> Generation:
        """The generation that `use` would lend now; raises StoreUnavailable as `use` does."""
        opened = self._take()
        self._give_back(opened)
        return opened.generation

    def checkpoint(self) -> int:
        """The position up to which reads are current; raises StoreUnavailable."""
        with self.use() as model:
            return model.checkpoint()

    def revision(self, kind: str | None = None) -> Hashable:
        """A value that differs after every commit and switch; raises StoreUnavailable.

        With a kind, it need not differ after a commit that concerned no entities of the kind.
        """
        number = self._changes_so_far(kind)
        if self.definition.shows_commits_at_once and number is not None:
            if self._changes_so_far(None) != self._looked or self._opened is None:
                self._give_back(self._take())
            return number
        opened = self._take()
        try:
            return opened.generation.number, opened.model.revision()
        finally:
            self._give_back(opened)

    def close(self) -> None:
        """Close the generation that is open; nothing may use the object afterwards."""
        with self._lock:
            self._leave()

    def _take(self, *, look: bool = True) -> _Opened[M]:
        """The live generation; without `look`, the one that was found last, if there is one."""
        number = self._changes_so_far(None)
        # Asked for before the lock is taken, for it may be a server that answers.
        revision = self.generations.revision("pointer") if look and number is None else None
        with self._lock:
            if self._opened is None or (look and (number is None or number != self._looked)):
                if number is not None or not look:
                    revision = self.generations.revision("pointer")
                if revision is None or revision != self._revision or self._opened is None:
                    self._find(revision)
                self._looked = number
            opened = self._opened
            assert opened is not None
            opened.users += 1
            return opened

    def _give_back(self, opened: _Opened[M]) -> None:
        with self._lock:
            opened.users -= 1
            last = opened.left and not opened.users
        if last:
            opened.model.close()

    def _find(self, revision: Hashable | None) -> None:
        if self._refused is not None and revision is not None and revision == self._revision:
            raise StoreUnavailable(self._refused.message)
        for attempt in _TRIES:
            try:
                opened = self._open()
                break
            except Damaged as refused:
                self._leave()
                self._revision, self._refused = revision, refused
                raise
            except StoreUnavailable:
                # The generation was switched twice after the pointer was read, so its file was
                # deleted.
                newest = self.generations.revision("pointer")
                if newest == revision or attempt == _ATTEMPTS - 1:
                    raise
                revision = newest
        self._leave()
        self._revision, self._refused, self._opened = revision, None, opened

    def _open(self) -> _Opened[M]:
        pointer, name = self.generations.pointer(), self.definition.name
        if pointer.live is None:
            why = f" ({pointer.refused})" if pointer.refused else ""
            message = (
                f"the read model {name} is not built yet{why}: a server builds it at its start, and"
                " so does catalog-replay catch-up"
            )
            raise NotBuilt(message, name, self.building())
        if pointer.live.code != self.definition.code():
            raise Damaged(f"the read model {name} was built by other code; rebuild it")
        model = self.definition.open(self.generations.address(pointer.live.number), False)
        try:
            reason = disagreement(self._log, *model.checkpoint_and_fingerprint())
            if reason is not None:
                raise Damaged(f"the read model {name} must not be served: {reason}")
            self.definition.share_states(model, self._changes_so_far)
        except BaseException:
            model.close()
            raise
        return _Opened(model, pointer.live)

    def _leave(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.left = True
            if not opened.users:
                opened.model.close()
