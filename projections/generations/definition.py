"""The definition of a read model: its generations, and the functions that open and build them."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from hashlib import blake2b
from typing import Generic, TypeVar

import msgspec

from domain.event_store.port import EventStore
from projections.feeding.port import NumberOf, Progress, Projection, ReadModel
from projections.generations.port import Generations
from projections.verification.run import Source

M = TypeVar("M", bound=ReadModel)


class KindReport(msgspec.Struct, frozen=True, rename="camel"):
    """The entities of one kind in a read model."""

    entities: int
    """Number of entities, soft-deleted ones included."""
    deleted: int | None
    """Number of soft-deleted entities, where the read model counts them."""
    digest: str
    """Sum of the digests of these entities in the read model, in hexadecimal."""


class Definition(msgspec.Struct, Generic[M], frozen=True, kw_only=True):
    """One projection and its read model; `projections.wiring` makes the definitions."""

    name: str
    generations: Generations
    """The place where the generations are kept, with the pointer to the live one."""
    code: Callable[[], str]
    """Returns the digest of all that decides the content: with another digest, the read model must
    be built anew."""
    open: Callable[[str, bool], M]
    """Opens the generation at an address, writable or not.

    Raises Damaged when only building anew helps, else StoreUnavailable.
    """
    share_states: Callable[[M, NumberOf], None] = lambda model, number: None
    """Lets reads share one state of a read model for as long as the numbers of changes show that a
    newer state would give them the same."""
    check: Callable[[M, Callable[[], None]], None] = lambda model, go_on: None
    """Reads the whole read model and raises Damaged when it has changed since it was written.

    Calls the given function often; an error of the function ends the check.
    """
    shut: Callable[[M], None] = lambda model: model.close()
    """Closes a read model that was opened writable, and leaves a mark that it is whole.

    Raises StoreUnavailable when the mark could not be left; the read model is closed all the same.
    """
    trusted: Callable[[str], bool] = lambda address: True
    """True if the generation at an address is as `shut` left it; asked once, before `open`.

    Raises StoreUnavailable.
    """
    watch: Callable[[M], None] | None = None
    """Raises Damaged when other processes have removed or changed the open read model.

    Raises StoreUnavailable when the read model cannot be read now. Called each second or so; None
    where no other process can change the read model.
    """
    shows_commits_at_once: bool
    """True if every read sees the newest commit; else a read may see one that is a little older."""
    tells_when_superseded: bool = False
    """True if every read raises Superseded when another generation is live by now.

    Then the pointer need not be read before each read. A generation that is not live any more still
    tells about itself: its checkpoint, its digests and counts, and a snapshot.
    """
    projection: Callable[[M], Projection]
    """Makes the projection that writes to a read model."""
    source: Callable[[M, EventStore], AbstractContextManager[Source]]
    """Pins a read model to one state, which verification compares with the log."""
    kinds: Callable[[M], Mapping[str, KindReport]]
    """Kind -> report of its entities in a read model."""
    load: Callable[[str, EventStore, Progress], None]
    """Fills a new generation from the log, or continues an earlier load.

    Takes the address of the generation; raises StoreUnavailable.
    """
    resumes: bool = False
    """True if `load` can go on with what an interrupted load has left."""
    batch_size: int = 5_000
    """The most events in one commit."""


def code_digest(*parts: object) -> str:
    """The digest of what decides the content of a read model, 16 hexadecimal digits."""
    return blake2b(msgspec.json.encode(parts), digest_size=8).hexdigest()
