"""The rights of a sender of events, by the policies."""

from collections.abc import Collection

from api.callers.permissions import Access, Action, Permission
from api.errors import Forbidden
from api.use_cases.edge_sight import sight_of
from domain.edges import EDGE
from domain.kinds.registry import KINDS
from domain.openlineage.naming import KIND_OF
from domain.openlineage.pipelines import PIPELINE
from domain.openlineage.rights import Rights

_MADE_FOR_TESTS = ("testCase", "testSuite", "testDefinition")


def check_door(access: Access) -> None:
    """Raise Forbidden for a caller who may not make edges and pipelines."""
    for kind in (EDGE, PIPELINE.name):
        permission = Permission(Action.EDIT, kind, also=Action.CREATE)
        if not access.may(permission):
            raise Forbidden(f"events of OpenLineage need the permission to {permission}")


def rights_of(access: Access) -> Rights:
    """The rights of a caller beside those that `check_door` wants."""
    kinds = [KINDS[kind] for kind in KIND_OF.values()]
    seen = sight_of(access, Action.EDIT)

    def writes(kind: str, path: str) -> bool:
        if not access.may(Permission(Action.EDIT, kind, also=Action.VIEW)):
            return False
        hidden = (access.withheld(action, kind) for action in (Action.VIEW, Action.EDIT))
        return not any(each and each.covers(path) for each in hidden)

    def unseen(ends: Collection[str]) -> Collection[str]:
        withheld = seen.withheld([kind for kind in ends if kind in seen.kinds])
        return {path.partition(".")[0] for path in withheld.paths} if withheld else frozenset()

    def of_columns(kind: str) -> bool:
        parts = KINDS[kind].body.parts
        return all(writes(kind, f"{path}.description") for path in parts)

    return Rights(
        sees_all=access.sees_whole.issuperset(KIND_OF.values()),
        describes=frozenset(each.name for each in kinds if writes(each.name, "description")),
        owns=frozenset(each.name for each in kinds if writes(each.name, "owners")),
        columns=frozenset(each.name for each in kinds if of_columns(each.name)),
        measures=access.may(Permission(Action.EDIT, "table")),
        tests=access.may(Permission(Action.EDIT, _MADE_FOR_TESTS[0]))
        and all(access.may(Permission(Action.CREATE, kind)) for kind in _MADE_FOR_TESTS),
        makes_tables=access.may(Permission(Action.CREATE, "table")),
        unseen=unseen,
    )
