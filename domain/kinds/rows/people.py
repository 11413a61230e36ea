"""People, and who is responsible for what."""

from domain.kinds.bodies import domains, people
from domain.kinds.entity_kind import EntityKind

ROWS = (
    EntityKind(
        name="team",
        collection="teams",
        body=people.Team,
        search_defaults={"isBot": False},
        root=True,
        large=("profile", "defaultRoles", "policies"),
        filters={"parentTeam": "parents"},
        searched={"email": 5},
    ),
    EntityKind(
        name="user",
        collection="users",
        body=people.User,
        search_defaults={"isBot": False},
        root=True,
        large=("profile", "teams", "roles", "personas"),
        filters={"team": "teams"},
        searched={"email": 5},
    ),
    EntityKind(
        name="domain",
        collection="domains",
        body=domains.Domain,
        root=True,
        parents=("parent",),
        filters={"parent": "parent"},
    ),
    EntityKind(
        name="dataProduct",
        collection="dataProducts",
        body=domains.DataProduct,
        parents=("domains",),
        large=("assets",),
        filters={"domain": "domains"},
    ),
)
