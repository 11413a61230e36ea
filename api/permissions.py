"""Who may do what: actions on kinds, granted by roles; what no role grants is denied."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

import msgspec


class Action(StrEnum):
    """What a caller may be allowed to do."""

    LIST = "list"
    VIEW = "view"
    SEARCH = "search"
    CREATE = "create"
    EDIT = "edit"
    DELETE = "delete"
    AUDIT = "audit"
    OPERATE = "operate"


ANY_KIND = "*"

Grants = Mapping[str, frozenset[Action]]
"""Kind, or ANY_KIND, -> the actions allowed on it."""

_READ = frozenset({Action.LIST, Action.VIEW, Action.SEARCH})
_WRITE = _READ | {Action.CREATE, Action.EDIT, Action.DELETE}

ROLES: Mapping[str, Grants] = MappingProxyType(
    {
        "reader": {ANY_KIND: _READ},
        "editor": {ANY_KIND: _WRITE},
        "admin": {ANY_KIND: _WRITE | {Action.AUDIT, Action.OPERATE}},
    }
)
"""Role, as tokens name it -> what it grants."""


class Permission(msgspec.Struct, frozen=True):
    """What a route needs; `kind` is None for what concerns no kind, or several."""

    action: Action
    kind: str | None = None

    def __str__(self) -> str:
        return f"{self.action.value} {self.kind}" if self.kind else self.action.value


PUBLIC = "public"
"""Declared by routes that need no token."""


class Principal(msgspec.Struct, frozen=True):
    """An authenticated caller."""

    name: str
    roles: tuple[str, ...]

    def may(self, permission: Permission) -> bool:
        """Whether one of the caller's roles grants the permission; unknown roles grant nothing.

        A permission without a kind (search, operate) is granted by any grant of its action;
        a search then shows the kinds for which the caller has it.
        """
        for role in self.roles:
            grants = ROLES.get(role, {})
            if permission.kind is None:
                if any(permission.action in actions for actions in grants.values()):
                    return True
            elif permission.action in grants.get(ANY_KIND, ()) or permission.action in grants.get(
                permission.kind, ()
            ):
                return True
        return False
