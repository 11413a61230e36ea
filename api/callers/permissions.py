"""Permissions: actions on kinds, and the fields that are withheld under each action."""

from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property

import msgspec

from api.errors import Forbidden
from domain.kinds.registry import KINDS
from domain.openmetadata.status_names import OWN, StatusNames
from projections.visibility.withholding import Withheld


class Action(StrEnum):
    """An action that policies grant to roles."""

    LIST = "list"
    VIEW = "view"
    SEARCH = "search"
    CREATE = "create"
    EDIT = "edit"
    DELETE = "delete"
    SAMPLE = "sample"
    AUDIT = "audit"
    OPERATE = "operate"
    METRICS = "metrics"


class Permission(msgspec.Struct, frozen=True):
    """The permission that a route demands; `kind` is None for a route of no kind or of several."""

    action: Action
    kind: str | None = None
    also: Action | None = None
    """A second action that the route may turn out to do."""

    def __str__(self) -> str:
        actions = f"{self.action.value} and {self.also.value}" if self.also else self.action.value
        return f"{actions} {self.kind}" if self.kind else actions


PUBLIC = "public"
"""The permission that routes without a token declare."""
SIGNED_IN = "signed in"
"""The permission of pages that show each caller the parts it may see, and nobody else anything."""


class Principal(msgspec.Struct, frozen=True):
    """An authenticated caller, as its token names it."""

    name: str
    roles: tuple[str, ...]
    agent: str | None = None
    """The client that acts for the caller, by the token: `act.sub` (RFC 8693), else `azp`."""


class Access(msgspec.Struct, frozen=True, eq=False, dict=True):
    """The grants of the policies to a set of roles; everything else is denied.

    Callers with the same roles share one object until the policies change.
    """

    allowed: Mapping[Action, frozenset[str]]
    """Action -> the kinds it is allowed on."""
    hidden: Mapping[Action, Mapping[str, Withheld]]
    """Action -> kind -> the fields withheld, where there are any."""
    bot: bool = False
    """True if any of the roles is that of a bot, whose PUTs keep what people curated."""
    statuses: StatusNames = OWN
    """The names that the client of the request has for the statuses of contracts."""

    def may(self, permission: Permission) -> bool:
        """True if the permission is granted.

        A permission without a kind (search, operate) is granted by any grant of its action; a
        search then shows the kinds for which the caller has a grant.
        """
        granted = self.kinds(permission.action)
        also = self.kinds(permission.also) if permission.also else granted
        if permission.kind is None:
            return bool(granted and also)
        return permission.kind in granted and permission.kind in also

    def require(self, action: Action, kind: str) -> None:
        """Raise Forbidden unless an action is allowed on a kind."""
        if kind not in self.kinds(action):
            raise Forbidden(f"you have no permission to {action} {kind}")

    def kinds(self, action: Action) -> frozenset[str]:
        """The kinds that the action is allowed on."""
        return self.allowed.get(action, frozenset())

    @cached_property
    def sees_columns(self) -> frozenset[str]:
        """The kinds of which the names of columns are shown."""
        return frozenset(
            kind.name
            for kind in KINDS.values()
            if kind.columns and kind.name in self.kinds(Action.VIEW)
            if not (held := self.withheld(Action.VIEW, kind.name))
            or not held.covers(f"{kind.columns}.name")
        )

    @cached_property
    def sees_whole(self) -> frozenset[str]:
        """The kinds of which nothing is withheld in views."""
        hidden = self.hidden.get(Action.VIEW, {})
        return frozenset(each for each in self.kinds(Action.VIEW) if not hidden.get(each))

    def withheld(self, action: Action, kind: str) -> Withheld | None:
        """The fields of a kind that are not shown under an action."""
        return self.hidden.get(action, {}).get(kind)
