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

from collections.abc import Collection, Hashable
from contextlib import AbstractContextManager
from typing import Protocol

import msgspec

from projections.feeding.port import Overtaken


class Generation(msgspec.Struct, frozen=True, rename="camel"):
    """A read model built from the log once, and fed ever since."""

    number: int
    built_at: int
    """Milliseconds since the Unix epoch."""
    code: str
    """Digest of what decides its content: projection, tables or analysis, registry."""


class Pointer(msgspec.Struct, frozen=True, rename="camel"):
    """The generation of a read model that is read, and the one before."""

    live: Generation | None = None
    previous: Generation | None = None
    """The generation to which `rollback` goes back."""
    refused: str | None = None
    """The reason why a former live generation must not be served; None otherwise."""
    last: int = 0
    """Number of the live generation; no other has it, as a reader may still have that one open."""


class Proposal(msgspec.Struct, frozen=True, rename="camel"):
    """A generation that is to become live."""

    generation: Generation
    ready: bool = False
    """True if it is finished; otherwise it is still being built, or its building ended."""
    refused: str | None = None
    """The reason why the process that runs the projectors refuses it; None otherwise."""


class Generations(Protocol):
    """The port of the generations of one read model, in files or in a database."""

    @property
    def name(self) -> str:
        """Name of the projection whose generations these are."""

    def address(self, number: int) -> str:
        """The address of a generation, made or not yet: a path, or the name of a schema."""

    def numbers(self) -> list[int]:
        """The numbers of the generations that are stored, half-built ones included, ascending."""

    def holds(self, number: int) -> bool:
        """True if a generation is there, and not only what belongs to it besides."""

    def size(self, number: int) -> int:
        """Bytes that a generation takes; 0 for one that is not there."""

    def remove(self, numbers: Collection[int]) -> None:
        """Deletes generations, if they are there, with all that belongs to them."""

    def pointer(self) -> Pointer:
        """The pointer as it is now; one that cannot be read points at nothing and says why."""

    def pointer_revision(self) -> Hashable | None:
        """A value that differs once the pointer was replaced; None while there is no pointer."""

    def point(self, pointer: Pointer, *, instead_of: Hashable | None) -> Hashable:
        """Replaces the pointer of a revision (None: that there is none); returns the new revision.

        The new pointer survives power loss. Raises Overtaken, having changed nothing, when the
        pointer is another one by now or another process leads.
        """

    def proposal(self) -> Proposal | None:
        """The proposal; None when there is none, or none that can be read."""

    def proposal_revision(self) -> Hashable | None:
        """A value that differs once the proposal was replaced; None while there is no proposal."""

    def propose(self, proposal: Proposal, *, instead_of: Hashable | None) -> Hashable:
        """Replaces the proposal of a revision, as `point` does the pointer."""

    def withdraw(self, *, instead_of: Hashable) -> None:
        """Takes the proposal of a revision away; another one stays, and none is none."""

    def building(self) -> AbstractContextManager[None]:
        """Held by the one process that builds; raises StoreUnavailable while another one does."""


def overtaken(what: str) -> Overtaken:
    """The error for replacing a record that another process has replaced."""
    return Overtaken(f"another process has replaced {what} meanwhile")
