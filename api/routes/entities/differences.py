"""The route that compares two points of the log, over all kinds."""

from collections.abc import Generator

import msgspec
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse
from msgspec import UNSET, UnsetType

from api.callers.permissions import Action, Permission
from api.declaring.declared_query import Parameters, query
from api.declaring.operation import Operation
from api.declaring.signatures import KIND_NAME, AnyRequest
from api.routes.system.audit import auditable
from api.services import Services
from api.use_cases import asked_differences as asked
from api.use_cases.differences import MOST_EVENTS, Comparison, DifferingEntity
from api.use_cases.list_parameters import DEFAULT_LIMIT
from api.use_cases.past import BETWEEN


class PointOfLog(msgspec.Struct):
    """A point of the log."""

    position: int


class DifferenceCounts(msgspec.Struct):
    """How many entities differ in all, by what became of them."""

    created: int
    changed: int
    deleted: int
    restored: int
    purged: int | UnsetType = UNSET
    """Only of kinds that the caller may audit; not there where these are none of those asked
    for."""


class DifferencePaging(msgspec.Struct):
    """The way to the entities that follow."""

    total: int
    after: str | UnsetType = UNSET
    """The cursor of the next page, which is of the same two points; not there on the last one."""


class CatalogDiff(msgspec.Struct, kw_only=True):
    """The entities that differ between two points of the log, by kind and qualified name."""

    from_: PointOfLog = msgspec.field(name="from")
    to: PointOfLog
    counts: DifferenceCounts
    data: list[DifferingEntity]
    paging: DifferencePaging


def difference_routes(services: Services) -> list[HTTPRouteHandler]:
    """The route of comparisons of the whole catalog, or of a part of it."""
    log = services.stores.log

    async def diff(
        request: AnyRequest,
        from_: str,
        to: str,
        below: str | None,
        domain: str | None,
        kind: str | None,
        limit: int,
        after: str | None,
    ) -> ASGIResponse:
        access = request.auth
        kinds = asked.kinds_asked(access, kind)
        if domain is not None:
            asked.refuse_domain(access, kinds)
        listing = "\0".join((from_, to, below or "", domain or "", kind or ""))
        *positions, start = await asked.place_asked(services, request, from_, to, after, listing)

        def chunks() -> Generator[bytes]:
            comparison = Comparison(
                before=positions[0],
                after=positions[1],
                kinds=kinds,
                audited=auditable(access, kinds),
                withheld=asked.withheld_of(access, kinds),
                roots=None
                if below is None
                else asked.roots_named(log, below, asked.kinds_viewed(access), *positions),
                domain=None if domain is None else asked.domain_named(log, domain),
                limit=limit,
                start=start,
            )
            yield from comparison.in_turns(log)
            yield msgspec.json.encode(_shown(comparison, listing))

        return services.stream(request, chunks())

    return [_DIFF.at("GET", "/v1/diff", Permission(Action.VIEW), diff, _PARAMETERS, unsupported={})]


_DIFF = Operation(
    "diffCatalog",
    "What changed between two points of the log",
    "Each entity whose state at the second point differs from that at the first: `created`,"
    " `changed`, `deleted` (softly), `restored` or `purged`. What was changed and changed back does"
    " not differ; edges of the lineage are not compared. By kind, qualified name and id: follow"
    " `paging.after`, with the other parameters as they are, until it is absent. Purged entities"
    " are there for who may audit their kind. At most"
    f" {MOST_EVENTS:,} events may lie between the points.",
    answer=CatalogDiff,
    errors=(400, 404, 410, 503),
)
_PARAMETERS: Parameters = {
    **BETWEEN,
    "below": query(
        str,
        "Only the entity that has this qualified name now, or had it before it was renamed, and"
        " what was below it at one of the points.",
    ),
    "domain": query(
        str,
        "Only what was in this domain at one of the points, by its id or its qualified name of now;"
        " not what was in domains below it.",
    ),
    "kind": query(KIND_NAME, "Only entities of this kind."),
    "limit": query(int, "The most entities on the page.", DEFAULT_LIMIT, ge=1, le=1_000),
    "after": query(
        str,
        "Cursor from `paging.after`: the page after it.",
        schema={"type": "string", "format": "page-cursor"},
    ),
}


def _shown(comparison: Comparison, listing: str) -> CatalogDiff:
    totals = comparison.totals
    counts = {change: totals[change] for change in ("created", "changed", "deleted", "restored")}
    if comparison.audited:
        counts["purged"] = totals["purged"]
    cursor = asked.encode_cursor(comparison, listing)
    return CatalogDiff(
        from_=PointOfLog(comparison.before),
        to=PointOfLog(comparison.after),
        counts=DifferenceCounts(**counts),
        data=comparison.differing,
        paging=DifferencePaging(sum(totals.values()), cursor),
    )
