"""The rows of a list as SQL knows them: the form on which statements depend, and their values."""

from collections.abc import Sequence
from enum import IntEnum, auto
from functools import cached_property
from typing import Any

import msgspec

from projections.entities.scopes import Sought

Parameters = tuple[Any, ...]


class ScopeShape(msgspec.Struct, frozen=True):
    """The form in which a scope is looked up, without the values of the lookup."""

    prefix: str
    """Stands before the rest of the scope of an entity that exists."""
    keyed: bool
    """True if the remainder of the scope is the key of the entity's name, rather than its id."""
    names: int
    """Number of names by which an entity is looked up."""
    by_id: bool
    """True if an entity is looked up by its id."""
    labels: int = 0
    """Number of scopes of which the first that exists counts where no entity does."""


class Of(IntEnum):
    """The rows that a statement is about."""

    NOW = auto()
    """The rows that are stored now."""
    CURRENT = auto()
    """The rows of a position of the past that are still stored."""
    ENDED = auto()
    """The rows of a position of the past that were replaced since."""


class Shape(msgspec.Struct, frozen=True):
    """The facts on which the SQL for a list depends; its values are not among them."""

    states: tuple[int, ...]
    status: bool
    scopes: tuple[ScopeShape, ...] = ()
    of: Of = Of.NOW
    has_end: bool = False
    """True if the rows end at a place, which then belongs to them."""


class Selection(msgspec.Struct, frozen=True, dict=True):
    """The rows of a list."""

    shape: Shape
    of_kind: Parameters
    """The kind, and the status if one is asked for."""
    scopes: tuple[Parameters, ...] = ()
    """The values by which each scope is looked up; see `ListSql._scope`."""
    position: int = 0
    """The position of the past that the rows are of, if they are."""
    end: tuple[str, str] | None = None
    """Name and id with which the rows end."""

    def at(self, position: int, of: Of, end: tuple[str, str] | None = None) -> "Selection":
        """The rows of the same list at a position of the past."""
        shape = msgspec.structs.replace(self.shape, of=of, has_end=end is not None)
        return Selection(shape, self.of_kind, self.scopes, position, end)

    @cached_property
    def has_keys(self) -> bool:
        """True if an index gives the rows, so that none is passed over."""
        return not self.scopes or len(self.scopes) + self.shape.status < 2

    @cached_property
    def values(self) -> Parameters:
        """The values of `ListSql._source`."""
        of = self.shape.of
        end = self.end or ()
        if of is Of.NOW:
            if not self.scopes:
                return self.of_kind
            others = (each for one in self.scopes[1:] for each in one)
            return (*self.scopes[0], *self.of_kind, *others)
        at = (self.position,)
        here = at if of is Of.CURRENT else at * 2
        first = self.scopes[0] if self.scopes else ()
        others = (each for one in self.scopes[1:] for each in (*one, *at, *one, *at, *at))
        return (*first, *self.of_kind, *here, *end, *others)

    def narrowest_first(self, counts: Sequence[int]) -> "Selection":
        """Select the same rows, from the smallest scope; `counts` has the size of each scope."""
        if len(self.scopes) < 2:
            return self
        order = sorted(range(len(self.scopes)), key=counts.__getitem__)
        shapes = tuple(self.shape.scopes[at] for at in order)
        shape = Shape(self.shape.states, self.shape.status, shapes)
        return Selection(shape, self.of_kind, tuple(self.scopes[at] for at in order))


def scope_shape(sought: Sought) -> ScopeShape:
    """The form in which the scope that a filter seeks is looked up."""
    by_id = sought.entity_id is not None
    labels = len(sought.labels)
    return ScopeShape(sought.prefix, sought.keyed, len(sought.names), by_id, labels)
