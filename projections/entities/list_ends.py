"""The ends of a list, from which each of its pages knows whether the list goes on."""

import msgspec

Key = tuple[str, str]
"""Name and id of an entity, by which lists are sorted."""


class ListEnds(msgspec.Struct, frozen=True):
    """The number of entities of a list, and the first and the last of them."""

    total: int
    first: Key | None
    """Name and id of the first entity; None for a list without entities."""
    last: Key | None

    def goes_on(self, key: Key, *, inclusive: bool, backward: bool) -> bool:
        """True if the list has anything beyond a key, in a direction, or at it if `inclusive`."""
        if self.first is None or self.last is None:
            return False
        if backward:
            return self.first < key or (inclusive and self.first == key)
        return self.last > key or (inclusive and self.last == key)
