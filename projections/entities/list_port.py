"""The port of lists: what a page is asked for, what it is, and how a database reads it."""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from functools import cached_property
from typing import Protocol

import msgspec

from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import LINEAGE_EDGE
from projections.entities.cursors import Place
from projections.entities.name_filters import NameFilter


class Include(StrEnum):
    """The entities that a read sees, by deletion state."""

    NON_DELETED = "non-deleted"
    DELETED = "deleted"
    ALL = "all"


class PastOfList(msgspec.Struct, frozen=True):
    """The point of the log as of which a list is read."""

    position: int
    now: int
    """The time at the position, in milliseconds since the Unix epoch."""
    fold: Callable[[str, int], tuple[bytes, bytes]]
    """Gives core and optional fields of the entity with an id as they were at a position, for those
    whose JSON is too large to be kept."""


class ListRequest(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One page of a list: which list, where in it, and how much of each entity."""

    kind: EntityKind
    limit: int
    fields: tuple[str, ...] = ()
    """The optional fields that each item shows."""
    before: str | None = None
    """The cursor that the page lies before."""
    after: str | None = None
    """The cursor that the page lies after."""
    include: Include = Include.NON_DELETED
    status: str | None = None
    filters: Mapping[str, str] = {}
    """List parameter -> id or name, as the kind's own filters and the common ones take them; also
    `scopes.DOCUMENT`, which is no parameter."""
    names: NameFilter | None = None
    """Choice of the entities by their qualified names; None: all."""
    cut: Callable[[bytes], bytes] | None = None
    """Function that removes from an item's JSON what the caller must not see; None to show all."""
    past: PastOfList | None = None
    """The past that the list is of; None for the present."""

    def at(self, *, before: str | None = None, after: str | None = None) -> "ListRequest":
        """The page of the same list at another cursor, which shares what is known of the list."""
        known = self.identity
        page = msgspec.structs.replace(self, before=before, after=after)
        vars(page)["identity"] = known
        return page

    @property
    def backward(self) -> bool:
        """True if the page lies before its cursor."""
        return bool(self.before)

    @cached_property
    def identity(self) -> str:
        """Names the list that the cursors of this request belong to."""
        narrowed = sorted(self.filters.items())
        listing = f"{self.kind.name} {self.include} {self.status} {narrowed}"
        return f"{listing} {self.names.identity}" if self.names else listing


def edges_as_of(past: PastOfList) -> ListRequest:
    """The list of all edges of a past, which nobody asks for: its reader reads the lineage."""
    return ListRequest(kind=LINEAGE_EDGE, limit=1, past=past)


ListedEntity = tuple[str, str, bytes, *tuple[bytes, ...]]
"""An entity on a page: its name, its id, the JSON of its core fields, and where the request asks
for fields the JSON of its optional fields."""


def size_of(entity: ListedEntity) -> int:
    """Bytes of the JSON of an entity on a page."""
    return sum(map(len, entity[2:]))


class WholePage(msgspec.Struct, frozen=True):
    """A page that was read at once."""

    total: int
    """Number of entities of the whole list."""
    behind: bool
    """True if the list goes on beyond the page on the side of its cursor; False for limit 0."""
    entities: list[ListedEntity]
    """The entities in the order of the list: by name in code-point order, then by id."""
    ahead: bool
    """True if the list goes on beyond the page, in the direction that the page was read in; False
    for a page of limit 0. A page without a cursor is read from the beginning of the list.
    """
    purged: int = 0
    """Number of entities of the kind, deletion state and status of a list of the past that the list
    leaves out because they are purged by now."""


class ListReader(Protocol):
    """One page of a list, read in one consistent state of the read model."""

    def passed_over(self) -> int:
        """Return the most entities that must be looked at to find those of the list.

        The number is 0 when an index finds the entities; no index finds entities that `names`
        selects.
        """

    def whole(self, most_bytes: int) -> WholePage | None:
        """All of the page; None, without reading on, once what is read of it has `most_bytes`.

        The caller must have called `passed_over` before, in the same state, where it is not 0, and
        for every list of the past.
        """

    def hand_over(self) -> None:
        """Let another thread do the reading from now on, from a state of its own."""

    def totals(self) -> tuple[int, bool]:
        """Return `total` and `behind` of a WholePage."""

    def purged(self) -> int:
        """Return `purged` of a WholePage."""

    def parts(self, part_bytes: int) -> Iterator[list[ListedEntity]]:
        """The entities of the page in order, in parts of about `part_bytes`.

        The reader keeps nothing of a part.
        """

    def goes_on(self, place: Place) -> bool:
        """Return True if the list goes on beyond a place, in the direction of the page."""
