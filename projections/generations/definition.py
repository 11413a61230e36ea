"""The definition of a read model: the functions that open and build its generations."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from hashlib import blake2b
from typing import Generic, TypeVar

import msgspec

from domain.event_store.port import EventStore
from projections.feeding.port import Progress, Projection, ReadModel
from projections.verification.run import Source

M = TypeVar("M", bound=ReadModel)


class KindReport(msgspec.Struct, frozen=True, rename="camel"):
    """The entities of one kind in a read model."""

    entities: int
    """Soft-deleted ones included."""
    deleted: int | None
    """Number of soft-deleted entities, where the read model counts them."""
    digest: str
    """Sum of the digests of what the read model holds of these entities, in hexadecimal."""


class Definition(msgspec.Struct, Generic[M], frozen=True, kw_only=True):
    """One projection and its read model; `projections.local_read_models` defines those of files."""

    name: str
    code: Callable[[], str]
    """Digest of what decides the content: another one means that it must be built anew."""
    open: Callable[[str, bool], M]
    """Opens the generation at an address of the shelf, writable or not.

    Raises Damaged when only building anew helps, else StoreUnavailable.
    """
    check: Callable[[M, Callable[[], None]], None]
    """Reads the whole read model and raises Damaged when it is not as it was written.

    Calls the function often; what the function raises ends the check.
    """
    shut: Callable[[M], None]
    """Closes what was opened writable, leaving behind what shows later that it is whole.

    Raises StoreUnavailable when nothing could be left behind; it is closed all the same.
    """
    trusted: Callable[[str], bool]
    """True if the generation at an address is as `shut` left it; asked once, before `open`.

    Raises StoreUnavailable.
    """
    watch: Callable[[M], None] | None = None
    """Raises Damaged when others have removed or changed what is open, and StoreUnavailable when it
    cannot be read now. Called each second or so; None where nobody else can do that."""
    shows_commits_at_once: bool
    """True if every read sees the newest commit; else a read may see one that is a little older."""
    tells_when_superseded: bool
    """True if every read that answers a request raises Superseded when another generation is live
    by now, so that nobody needs to look at the pointer before each of them.

    What is asked of a generation itself is answered whether it is live or not: its checkpoint, its
    digests and counts, and a snapshot."""
    projection: Callable[[M], Projection]
    """Makes the projection that writes to a read model."""
    source: Callable[[M, EventStore], AbstractContextManager[Source]]
    """Pins a read model to one state, which verification compares with the log."""
    kinds: Callable[[M], Mapping[str, KindReport]]
    """Kind -> what a read model holds of it."""
    load: Callable[[str, EventStore, Progress], None]
    """Fills a new generation with what the log has, or goes on where an earlier load ended.

    Takes the address of the generation; raises StoreUnavailable.
    """
    resumes: bool
    """True if `load` can go on with what an earlier one left."""
    batch_size: int
    """The most events in one commit."""


def code_digest(*parts: object) -> str:
    """The digest of what decides the content of a read model, 16 hexadecimal digits."""
    return blake2b(msgspec.json.encode(parts), digest_size=8).hexdigest()
