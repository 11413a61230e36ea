"""`search_catalog`: entities by words and filters, with what tells them apart."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from api.mcp.answers import Answer, fill, short
from api.mcp.asking import Asked, AsOf, Cursor, Shown, kind_named
from api.mcp.cleaning import plain
from api.mcp.facts import exact_or_id
from api.use_cases.impact import contracts_of
from domain.errors import InvalidInput
from domain.kinds.registry import CONTRACT, KINDS
from projections.search import tree
from projections.search.answers.queries import MAX_WINDOW, SearchRequest, search_response
from projections.search.index_names import ALL
from projections.search.language.field_values import typed
from projections.search.language.text import MAX_LENGTH
from projections.wiring.stores import Stores

MOST_ABOUT, MOST_NAMED = 200, 5
"""Characters of what a hit is about, and owners and tags of it that are named."""
_LARGEST, _DEFAULT = 50, 10
_FIELDS = (
    "entityType",
    "id",
    "fullyQualifiedName",
    "displayName",
    "description",
    "owners",
    "tags",
    "domains",
    "entityStatus",
)
_FILTERED = {
    "owner": "owners.name.keyword",
    "tag": "tags.tagFQN",
    "domain": "domains.fullyQualifiedName",
    "service": "service.name.keyword",
}
"""Filter -> the field that must have its value."""


class Filters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Values that hits must have."""

    owner: Annotated[str, Meta(max_length=256)] = ""
    tag: Annotated[str, Meta(max_length=512)] = ""
    domain: Annotated[str, Meta(max_length=512)] = ""
    service: Annotated[str, Meta(max_length=256)] = ""


class SearchCatalog(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments."""

    query: Annotated[
        str,
        Meta(
            max_length=MAX_LENGTH,
            description='Words; also "phrases", field:value, AND, OR, NOT, wild*. Empty: all.',
        ),
    ] = ""
    kinds: Annotated[
        list[Annotated[str, Meta(max_length=64)]],
        Meta(max_length=20, description="Such as table, dashboard, dataContract."),
    ] = []
    filters: Filters = Filters()
    limit: Annotated[int, Meta(ge=0, le=_LARGEST, description="0: counts by kind.")] = _DEFAULT
    as_of: AsOf = ""
    cursor: Cursor = ""


class Hit(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An entity that was found."""

    kind: str
    name: str
    text: str = ""
    """The beginning of its description."""
    owners: list[str] = []
    tags: list[str] = []
    domains: list[str] = []
    status: str = ""
    contract: Shown | None = None


class Hits(Answer, kw_only=True, omit_defaults=True):
    """The answer."""

    total: int
    hits: list[Hit]
    kinds: dict[str, int] | UnsetType = UNSET
    """Kind -> number of entities, where only these were asked for."""
    incomplete: bool = False
    """True if the search ended before it had looked everywhere."""


async def search_catalog(asked: Asked, given: SearchCatalog) -> Hits:
    """A page of hits, the best first."""
    pinned, start = asked.place(given.cursor)
    past = await asked.position(given.as_of, searched=True)
    kinds = ",".join(kind_named(each).name for each in given.kinds) or ALL
    size = min(given.limit, MAX_WINDOW - start)
    if given.limit and not size:
        raise InvalidInput(f"a search shows its first {MAX_WINDOW} hits: narrow it by filters")
    sought = SearchRequest(
        q=given.query,
        index=kinds,
        from_=start,
        size=size,
        shown_fields=_FIELDS,
        post_filter=_filter(given.filters),
        include_aggregations=given.limit == 0,
    )
    stores = asked.services.stores

    def search(position: int, *within: Any) -> Hits:
        answered, _ = search_response(sought, *within)
        return _shown(asked, given, answered, start, position)

    def search_now(*within: Any) -> Hits | int:
        """The page; its position instead where searches have moved on from that."""
        position = _searched(stores)
        if stores.searches_elsewhere:
            # Indexes in a cluster have no past: their pages go on in what is there now.
            return search(position if pinned is None else pinned, *within)
        if pinned in (None, position):
            hits = search(position, *within)
            if _searched(stores) == position:
                return hits
        return position if pinned is None else pinned

    if past is None:
        page = await asked.searcher.in_thread(asked.request, kinds, search_now)
        if isinstance(page, Hits):
            return page
        past = await asked.position(f"@{page}", searched=True)
        assert past is not None
    return await asked.searcher.in_thread(asked.request, kinds, partial(search, past), past)


def _searched(stores: Stores) -> int:
    """The position of what searches read; raises StoreUnavailable."""
    with stores.engine.use() as engine:
        return engine.revision()


def _filter(filters: Filters) -> tree.Bool | None:
    """The filter of the search, which names whole values."""
    chosen = tuple(
        typed(tree.Exact(field, value))
        for name, field in _FILTERED.items()
        if (value := getattr(filters, name))
    )
    return tree.Bool(filter=chosen) if chosen else None


def _shown(
    asked: Asked, given: SearchCatalog, answered: Mapping[str, Any], start: int, position: int
) -> Hits:
    total = answered["hits"]["total"]["value"]
    hits = answered["hits"]["hits"]
    contracts = _contracts(asked, [hit["_id"] for hit in hits])
    rows = [_hit(hit["_source"], contracts.get(hit["_id"])) for hit in hits]
    shown, more = fill(asked.room(), rows, start)
    if more is None and hits and start + len(hits) < min(total, MAX_WINDOW):
        more = start + len(hits)
    return Hits(
        position=position,
        request_id=asked.request_id,
        total=total,
        hits=shown,
        kinds=_counts(answered) if given.limit == 0 else UNSET,
        incomplete=answered["timed_out"],
        cursor=asked.cursors.made(position, more),
    )


def _contracts(asked: Asked, ids: list[str]) -> dict[str, Shown]:
    """Id of an entity -> its contract, as far as the caller may see any."""
    contracts = contracts_of(asked.services, asked.access, ids) or {}
    return {
        entity_id: Shown(CONTRACT.name, exact_or_id(last["fullyQualifiedName"], last["id"]))
        for entity_id, (*_, last) in contracts.items()
    }


def _hit(source: Mapping[str, Any], contract: Shown | None) -> Hit:
    return Hit(
        kind=source["entityType"],
        name=exact_or_id(source["fullyQualifiedName"], source["id"]),
        text=short("description", source.get("description") or "", MOST_ABOUT),
        owners=_named(source.get("owners"), "name"),
        tags=_named(source.get("tags"), "tagFQN"),
        domains=_named(source.get("domains"), "fullyQualifiedName"),
        status=source.get("entityStatus") or "",
        contract=contract,
    )


def _named(values: list[dict[str, Any]] | None, key: str) -> list[str]:
    named = [plain(str(each.get(key)))[:MOST_ABOUT] for each in values or ()]
    more = len(named) - MOST_NAMED
    return named if more <= 0 else [*named[:MOST_NAMED], f"and {more} more"]


def _counts(answered: Mapping[str, Any]) -> dict[str, int]:
    by_lower = {name.lower(): name for name in KINDS}
    for name, facet in answered.get("aggregations", {}).items():
        if name.partition("#")[2] == "entityType":
            return {
                by_lower.get(str(each["key"]).lower(), str(each["key"])): each["doc_count"]
                for each in facet["buckets"]
            }
    return {}
