"""Requests for what changed: which kinds, which part of the catalog and which page they mean."""

from collections.abc import Iterable
from contextlib import suppress

from msgspec import UNSET, UnsetType

from api.answers.read_positions import MAX_POSITION
from api.callers.permissions import Access, Action, Permission
from api.declaring.signatures import AnyRequest
from api.errors import Forbidden
from api.services import Services
from api.use_cases.differences import DOMAINS, Comparison, Key
from api.use_cases.past import positions_between, refuse_before_horizon
from domain.errors import InvalidInput, NotFound, shown
from domain.event_store.port import EventStore
from domain.kinds.ids import parse_id
from domain.kinds.registry import KINDS
from domain.reading.between import Root, root_of
from projections.entities import cursors
from projections.visibility.withholding import Withheld

DOMAIN = "domain"


def kinds_viewed(access: Access) -> frozenset[str]:
    """The kinds of entities that a caller may compare: those of collections that it may view."""
    return access.kinds(Action.VIEW) & KINDS.keys()


def kinds_asked(access: Access, kind: str | None) -> frozenset[str]:
    """The kinds to compare, where `kind` is the one that is asked for; raises Forbidden."""
    viewed = kinds_viewed(access)
    if kind is None:
        return viewed
    if kind not in viewed:
        raise Forbidden(f"you have no permission to view {kind}")
    return frozenset((kind,))


def refuse_domain(access: Access, kinds: Iterable[str]) -> None:
    """Raise Forbidden or FieldWithheld if a caller may not see the domains of these kinds."""
    if not access.may(Permission(Action.VIEW, DOMAIN)):
        raise Forbidden(f"domain: you have no permission to view {DOMAIN}")
    for withheld in withheld_of(access, kinds).values():
        withheld.refuse_field(DOMAINS, "domain")


def kinds_with_domains(access: Access) -> frozenset[str]:
    """The kinds that a caller may compare, and of which it may see the domains of entities."""
    kinds = kinds_viewed(access)
    held = withheld_of(access, kinds)
    return kinds - {kind for kind, withheld in held.items() if withheld.covers(DOMAINS)}


def withheld_of(access: Access, kinds: Iterable[str]) -> dict[str, Withheld]:
    """Kind -> the fields that a caller does not see, of those kinds that have some."""
    found = {kind: access.withheld(Action.VIEW, kind) for kind in kinds}
    return {kind: withheld for kind, withheld in found.items() if withheld is not None}


def roots_named(
    log: EventStore, fqn: str, kinds: Iterable[str], before: int, after: int
) -> list[Root]:
    """The entities of some kinds that have, or had, a qualified name. Blocks.

    Raises NotFound where there is none.
    """
    claims = log.claims(names=[(kind, KINDS[kind].spelled(fqn)) for kind in kinds])
    if not claims:
        raise NotFound(f"below: nothing is named {shown(fqn)}: names are looked up in the present")
    return [root_of(log, each, before, after) for each in claims]


def domain_named(log: EventStore, named: str) -> str:
    """The id of the domain with an id or qualified name; raises NotFound. Blocks."""
    with suppress(InvalidInput):
        claim = log.claim_by_id(parse_id(named, DOMAIN))
        if claim is not None and claim.kind == DOMAIN:
            return claim.id
    claim = log.claim(DOMAIN, named)
    if claim is None:
        raise NotFound(f"domain: there is no domain {shown(named)}")
    return claim.id


async def place_asked(
    services: Services, request: AnyRequest, from_: str, to: str, cursor: str | None, listing: str
) -> tuple[int, int, Key | None]:
    """The two positions that a page is of, and the place after which it begins.

    A cursor brings the positions of the page before. Raises InvalidInput, BeforeHorizon, and what
    `ReadPositions.reach` raises.
    """
    if not cursor:
        return *await positions_between(services, request, from_, to), None
    before, after, start = decode_cursor(cursor, listing)
    await services.positions.reach(after, request.user.name)
    await refuse_before_horizon(services, request, before)
    return before, after, start


def encode_cursor(comparison: Comparison, listing: str) -> str | UnsetType:
    """The cursor of the page that follows, at the same two positions; UNSET at the end."""
    if len(comparison.page) <= comparison.limit:
        return UNSET
    kind, name, entity_id = comparison.page[comparison.limit - 1][0]
    place = cursors.Place(f"{comparison.before}.{kind}.{name}", entity_id)
    return cursors.encode(place, listing, backward=False, position=comparison.after).decode()


def decode_cursor(text: str, listing: str) -> tuple[int, int, Key]:
    """Both positions of a cursor and its place in the order.

    Raises InvalidInput for a cursor of another comparison.
    """
    place, after = cursors.decode(text, listing, backward=False)
    before, _, key = place.name.partition(".")
    kind, _, name = key.partition(".")
    if after is None or not before.isdecimal() or not int(before) <= after <= MAX_POSITION:
        raise InvalidInput("after is not a cursor of this comparison")
    return int(before), after, (kind, name, place.id)
