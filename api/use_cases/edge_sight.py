"""The part of the lineage that a caller may see."""

from api.callers.permissions import Access, Action
from domain.edges import EDGE
from projections.visibility.edges import EdgeSight


def sight_of(access: Access, action: Action) -> EdgeSight:
    """Return the part of the lineage that a caller may see: details of edges under an action."""
    shown_of = {kind: access.withheld(Action.VIEW, kind) for kind in access.kinds(Action.VIEW)}
    withheld = {**shown_of, EDGE: access.withheld(action, EDGE)}
    return EdgeSight(
        access.kinds(Action.VIEW),
        {kind: fields for kind, fields in withheld.items() if fields is not None},
    )
