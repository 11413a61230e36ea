"""Users and teams, and the domains and data products that they answer for."""

from typing import Annotated, Any, Literal

from domain.kinds.bodies.base import Domains, EntityBody, Owned, Owners, Users
from domain.kinds.bodies.components import (
    UNKEPT,
    Certification,
    Email,
    Extension,
    Integer,
    Part,
    Percent,
    Ref,
    Style,
    TagLabel,
    Url,
    Votes,
    as_reference,
    outside,
    refers_to,
)
from domain.kinds.bodies.enumerations import (
    DataProductType,
    DomainType,
    LifecycleStage,
    TeamType,
    Visibility,
)
from domain.kinds.bodies.secret_texts import without_path


class Images(Part, kw_only=True):
    """A picture of somebody, in several sizes."""

    image: Url | None = None
    image24: Url | None = None
    image32: Url | None = None
    image48: Url | None = None
    image72: Url | None = None
    image192: Url | None = None
    image512: Url | None = None


class Webhook(Part, kw_only=True):
    """The address that messages go to; OpenMetadata's credentials and headers for it are not taken.

    Of the address only the host is recorded: whoever knows the path may write there.
    """

    endpoint: Url | None = None
    receivers: list[str] | None = None
    http_method: Literal["POST", "PUT"] | None = None
    send_to_admins: bool | None = None
    send_to_owners: bool | None = None
    send_to_followers: bool | None = None

    def __post_init__(self) -> None:
        if self.endpoint is not None:
            self.endpoint = without_path(self.endpoint)


class Subscription(Part, kw_only=True):
    """The messengers that somebody is told through."""

    slack: Webhook | None = None
    ms_teams: Webhook | None = None
    g_chat: Webhook | None = None
    generic: Webhook | None = None


class Profile(Part, kw_only=True):
    """A picture, and where messages go."""

    images: Images | None = None
    subscription: Subscription | None = None


class User(EntityBody, kw_only=True):
    """A person or a bot; passwords and tokens are accepted and not recorded."""

    email: Email | None = None
    teams: Annotated[list[Ref] | None, refers_to("team")] = None
    domains: Domains = None
    timezone: str | None = None
    is_bot: bool | None = None
    is_admin: bool | None = None
    profile: Profile | None = None
    roles: Annotated[list[Ref] | None, outside("role")] = None
    personas: Annotated[list[Ref] | None, outside("persona")] = None
    default_persona: Annotated[Ref | None, outside("persona")] = None
    external_id: str | None = None
    scim_user_name: str | None = None
    authentication_mechanism: Annotated[dict[str, Any] | None, UNKEPT] = None
    bot_name: Annotated[str | None, UNKEPT] = None
    create_password_type: Annotated[str | None, UNKEPT] = None
    password: Annotated[str | None, UNKEPT] = None
    confirm_password: Annotated[str | None, UNKEPT] = None

    def __post_init__(self) -> None:
        if self.teams is not None:
            self.teams = [as_reference(team, "team") for team in self.teams]


class Team(Owned, kw_only=True):
    """A group of users, or of teams."""

    team_type: TeamType
    parents: Annotated[list[Ref] | None, refers_to("team")] = None
    users: Annotated[list[Ref] | None, UNKEPT] = None
    """Users who join the team; that they are in it is recorded with them, in `teams`."""
    children: Annotated[list[Ref] | None, UNKEPT] = None
    """Teams that are to stand below it, which is recorded with them, in `parents`."""
    email: Email | None = None
    is_joinable: bool | None = None
    profile: Profile | None = None
    default_roles: Annotated[list[Ref] | None, outside("role")] = None
    default_persona: Annotated[Ref | None, outside("persona")] = None
    policies: Annotated[list[Ref] | None, outside("policy")] = None
    external_id: str | None = None

    def __post_init__(self) -> None:
        for key, kind in (("parents", "team"), ("users", "user"), ("children", "team")):
            if (given := getattr(self, key)) is not None:
                setattr(self, key, [as_reference(each, kind) for each in given])


class Domain(EntityBody, kw_only=True):
    """A part of the organisation that answers for its data."""

    domain_type: DomainType
    parent: Annotated[Ref | None, refers_to("domain")] = None
    owners: Owners = None
    experts: Users = None
    tags: list[TagLabel] | None = None
    followers: Users = None
    votes: Votes | None = None
    certification: Certification | None = None
    style: Style | None = None
    extension: Extension | None = None


class ProductSla(Part, kw_only=True):
    """Promises of a data product."""

    tier: Literal["GOLD", "SILVER", "BRONZE", "CUSTOM"] | None = None
    availability: Percent | None = None
    response_time: Integer | None = None
    data_freshness: Integer | None = None
    data_quality: Percent | None = None


class DataProduct(Owned, kw_only=True):
    """Assets that a domain offers as one."""

    experts: Users = None
    reviewers: Owners = None
    assets: Annotated[list[Ref] | None, refers_to()] = None
    tags: list[TagLabel] | None = None
    data_product_type: DataProductType | None = None
    visibility: Visibility | None = None
    portfolio_priority: Literal["CRITICAL", "HIGH", "MEDIUM", "LOW"] | None = None
    lifecycle_stage: LifecycleStage | None = None
    sla: ProductSla | None = None
    followers: Users = None
    votes: Votes | None = None
    certification: Certification | None = None
    style: Style | None = None
    extension: Extension | None = None
