"""The part of the lineage that a caller may see."""

from api.callers.permissions import Access, Action, Permission
from api.errors import Forbidden
from domain.edges import EDGE
from projections.visibility.edges import EdgeSight


def may_see_lineage(access: Access) -> bool:
    """True if a caller may view edges of the lineage."""
    return access.may(Permission(Action.VIEW, EDGE))


def check_sees_lineage(access: Access) -> None:
    """Raise Forbidden for a caller who may not view edges of the lineage."""
    if not may_see_lineage(access):
        raise Forbidden("you have no permission to view the lineage")


def sight_of(access: Access, action: Action) -> EdgeSight:
    """Return the part of the lineage that a caller may see: details of edges under an action."""
    shown_of = {kind: access.withheld(Action.VIEW, kind) for kind in access.kinds(Action.VIEW)}
    withheld = {**shown_of, EDGE: access.withheld(action, EDGE)}
    return EdgeSight(
        access.kinds(Action.VIEW),
        {kind: fields for kind, fields in withheld.items() if fields is not None},
    )
