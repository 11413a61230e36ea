"""The port of blue-green generations: where those of a read model are kept, and which one is live.

Two small records stand beside the generations. The pointer names the generation that is read, and
is only ever replaced as a whole: a reader sees the generation before a switch or the one after it.
The proposal names the generation that is to become live; the process that runs the projectors takes
it up.

Each record is replaced by whoever names the revision that the decision was made on, and only while
the record has that revision: of two who decided on the same one, the second is refused. Where hosts
share generations, a host that has lost the leadership without knowing it is refused as well, even
if nobody has replaced the record. Every method raises StoreUnavailable when the place where the
generations are kept cannot be used.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Literal, Protocol, TypeVar

import msgspec

from projections.feeding.port import Overtaken


class Generation(msgspec.Struct, frozen=True, rename="camel"):
    """A read model built from the log once, and fed ever since."""

    number: int
    built_at: int
    """Milliseconds since the Unix epoch."""
    code: str
    """Digest of what decides the generation's content: projection, tables or analysis, registry."""


class Pointer(msgspec.Struct, frozen=True, rename="camel"):
    """The generation of a read model that is read, and the one before."""

    live: Generation | None = None
    previous: Generation | None = None
    """The generation to which `rollback` goes back."""
    refused: str | None = None
    """The reason why a former live generation must not be served; None otherwise."""
    last: int = 0
    """Number of the generation that was refused; no new one gets it, as a reader may have that
    open."""


class ProposedGeneration(msgspec.Struct, frozen=True, rename="camel"):
    """A generation that is to become live."""

    generation: Generation
    ready: bool = False
    """True if the generation is finished; else it is being built, or its building was ended."""
    refused: str | None = None
    """The reason why the process that runs the projectors refuses it, if it does."""


Record = Literal["pointer", "proposal"]
R = TypeVar("R", Pointer, ProposedGeneration)


class Generations(ABC):
    """The port of the generations of one read model, in files, in a database or in a cluster."""

    name: str
    """Name of the projection whose generations these are."""

    @abstractmethod
    def address(self, number: int) -> str:
        """The address of a generation, made or not yet: a path, or the name of a schema."""

    @abstractmethod
    def numbers(self) -> list[int]:
        """The numbers of the generations that are stored, half-built ones included, ascending."""

    def holds(self, number: int) -> bool:
        """True if a generation itself is there, and not only files or records beside it."""
        return number in self.numbers()

    @abstractmethod
    def size(self, number: int) -> int:
        """Bytes that a generation takes; 0 for one that is not there."""

    @abstractmethod
    def remove(self, numbers: Collection[int]) -> None:
        """Delete generations, if they are there, with all that belongs to them."""

    @abstractmethod
    def building(self) -> AbstractContextManager[None]:
        """Held by the one process that builds; raises StoreUnavailable while another one does."""

    @abstractmethod
    def revision(self, record: Record) -> Hashable | None:
        """A value that differs once a record was replaced; None while there is none."""

    def pointer(self) -> Pointer:
        """The pointer as it is now; one that cannot be read points at nothing and says why."""
        try:
            return self._decoded("pointer", Pointer) or Pointer()
        except msgspec.MsgspecError as error:
            return Pointer(refused=f"the pointer of {self.name} cannot be read: {error}")

    def point(self, pointer: Pointer, *, instead_of: Hashable | None) -> Hashable:
        """Replace the pointer of a revision (None: that there is none); returns the new revision.

        The new pointer survives power loss. Raises Overtaken, having changed nothing, when the
        pointer is another one by now or another process leads.
        """
        return self._replaced("pointer", pointer, instead_of)

    def proposal(self) -> ProposedGeneration | None:
        """The proposal; None when there is none, or none that can be read."""
        try:
            return self._decoded("proposal", ProposedGeneration)
        except msgspec.MsgspecError:
            return None

    def propose(self, proposal: ProposedGeneration, *, instead_of: Hashable | None) -> Hashable:
        """Replace the proposal of a revision, as `point` does the pointer."""
        return self._replaced("proposal", proposal, instead_of)

    @abstractmethod
    def withdraw(self, *, instead_of: Hashable) -> None:
        """Take the proposal of a revision away; another one stays, and none is none."""

    @abstractmethod
    def _read(self, record: Record) -> bytes | str | None:
        """The JSON of a record; None when there is none."""

    @abstractmethod
    def _replace(
        self, record: Record, value: Pointer | ProposedGeneration, instead_of: Hashable | None
    ) -> Hashable | None:
        """Replace a record of this revision; returns the new revision, None for another one."""

    def _decoded(self, record: Record, form: type[R]) -> R | None:
        raw = self._read(record)
        return None if raw is None else msgspec.json.decode(raw, type=form)

    def _replaced(
        self, record: Record, value: Pointer | ProposedGeneration, instead_of: Hashable | None
    ) -> Hashable:
        revision = self._replace(record, value, instead_of)
        if revision is None:
            raise overtaken(f"the {record} of {self.name}")
        return revision


def overtaken(what: str) -> Overtaken:
    """The error for replacing a record that another process has replaced."""
    return Overtaken(f"another process has replaced {what} meanwhile")


class ChangeCounter:
    """Counts the commits and switches of one read model, which one thread makes.

    Only the process that holds the ProjectorLock knows all of them. While the number stays the
    same, earlier reads are still true; reading the files would take much longer to prove that.
    """

    def __init__(self) -> None:
        self._begun = self._ended = 0
        self._general = 0
        """Number of the last change that may concern entities of any kind."""
        self._last: dict[str, int] = {}
        """Kind -> number of the last change that concerned this kind, without those of any kind."""
        self._under_way: Collection[str] | None = ()
        """The kinds that the change under way concerns: () without a change, None for any kind."""

    def number(self, kind: str | None = None) -> int | None:
        """The number of changes so far; None while another one is being made.

        With a kind, the number of the last change that concerned entities of the kind.
        """
        if kind is None:
            ended = self._ended
            return ended if ended == self._begun else None
        under_way = self._under_way
        if under_way is None or kind in under_way:
            return None
        last = self._last.get(kind, 0)
        # Each page of a list asks twice: `max` takes longer than all else here.
        return last if last > self._general else self._general

    @contextmanager
    def changing(self, kinds: Collection[str] | None = None) -> Iterator[None]:
        """A block in which readers may begin to see something else, of these kinds (None: any)."""
        self._begun += 1
        around, self._under_way = self._under_way, kinds
        try:
            yield
        finally:
            number = self._ended + 1
            if kinds is None:
                self._general = number
            else:
                self._last.update(dict.fromkeys(kinds, number))
            self._under_way, self._ended = around, number


class Leadership(Protocol):
    """The right to feed a read model and to switch its generations, which one process has."""

    def leader(self) -> str | None:
        """The name of the host whose process leads now; None when none does.

        Raises StoreUnavailable.
        """

    def held(self) -> AbstractContextManager[None]:
        """Lead for the length of a block; raises StoreUnavailable when another process leads."""

    def take(self) -> bool:
        """True if this process leads now; it does until `leads` says otherwise.

        Raises StoreUnavailable.
        """

    def leads(self) -> bool:
        """True if this process still leads."""

    def release(self) -> None:
        """Give up the leadership, which another process may take then."""
