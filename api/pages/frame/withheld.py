"""Fields that are withheld from the caller of a page, which says so: they would seem not to be."""

from collections.abc import Collection, Iterable

from api.callers.permissions import Access, Action


def hidden_fields(
    access: Access, action: Action, kinds: Iterable[str], shown: Collection[str] | None = None
) -> list[str]:
    """The paths of some kinds that an action withholds, in order.

    `shown` are the keys that a page has a place for; without it the page shows all keys. The result
    follows from the policies alone, never from stored values.
    """
    return sorted(
        {
            path
            for kind in kinds
            if (withheld := access.withheld(action, kind)) is not None
            for path in withheld.paths
            if shown is None or path.partition(".")[0] in shown
        }
    )
