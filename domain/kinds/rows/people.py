"""People, and who is responsible for what."""

from domain.kinds.bodies import people
from domain.kinds.entity_kind import EntityKind
from domain.kinds.kind_options import Members, OwnPaths

ROWS = (
    EntityKind(
        name="team",
        body=people.Team,
        renamable=True,
        search_defaults={"isBot": False},
        root=True,
        large=("profile", "defaultRoles", "policies"),
        filters={"parentTeam": "parents"},
        members={"users": Members("user", "team"), "children": Members("team", "parentTeam")},
        searched={"email": 5},
    ),
    EntityKind(
        name="user",
        body=people.User,
        search_defaults={"isBot": False},
        root=True,
        large=("profile", "teams", "roles", "personas"),
        filters={"team": "teams"},
        own_paths=OwnPaths(caller="loggedInUser"),
        searched={"email": 5},
    ),
    EntityKind(
        name="domain",
        body=people.Domain,
        renamable=True,
        root=True,
        parents=("parent",),
        members={"children": Members("domain", "parent")},
    ),
    EntityKind(
        name="dataProduct",
        body=people.DataProduct,
        renamable=True,
        parents=("domains",),
        large=("assets",),
        own_paths=OwnPaths(offers="dataProducts"),
        filters={"domain": "domains"},
    ),
)
