"""Reads what is left of a page forward, part by part, in the same way for every database."""

from collections.abc import Callable, Iterator

from projections.entities.cursors import Place
from projections.entities.port import ListedEntity, ListRequest


def read_forward(
    request: ListRequest,
    start: Place | None,
    left: int,
    *,
    beginning: Callable[[Place | None, int], tuple[Place | None, int]],
    read: Callable[[Place | None, int], list[ListedEntity]],
) -> Iterator[list[ListedEntity]]:
    """The `left` entities of a page that lie beyond `start`, in the order of the list, in parts.

    They are read forward, also where the page lies before its cursor: backward, all of them would
    have to be held before the first could be shown. `beginning` tells where such a page begins that
    ends before a place and has at most so many entities, and how many it has; `read` gives a part
    of at most so many entities after a place, empty at the end of the list.
    """
    if request.backward:
        start, left = beginning(start, left)
    while left:
        part = read(start, left)
        if not part:
            break
        # Whoever takes a part may clear it.
        start, left = Place(part[-1][0], part[-1][1]), left - len(part)
        yield part
