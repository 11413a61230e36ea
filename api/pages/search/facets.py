"""The facets of the search page: their names, counts, and the links of their values."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote_plus

import msgspec

from api.callers.permissions import Access
from api.pages.frame.addresses import with_query
from api.use_cases.searcher import visibility_of
from projections.search.analysis import keyword
from projections.search.index_names import kinds_of


class FacetRow(msgspec.Struct, frozen=True):
    """A facet of the page: the parameter that narrows by it, its title, and the field it counts."""

    name: str
    title: str
    field: str
    written: bool = False
    """True if values are shown as they are written, False if folded as the index compares them."""


FACETS = (
    FacetRow("kind", "Kind", "entityType"),
    FacetRow("service", "Service", "service.name.keyword", written=True),
    FacetRow("database", "Database", "database.name.keyword"),
    FacetRow("schema", "Schema", "databaseSchema.name.keyword"),
    FacetRow("owner", "Owner", "owners.name.keyword", written=True),
    FacetRow("tag", "Tag", "tags.tagFQN", written=True),
    FacetRow("domain", "Domain", "domains.fullyQualifiedName", written=True),
    FacetRow("status", "Status", "entityStatus", written=True),
    FacetRow("verdict", "Verdict", "verdict.status", written=True),
    FacetRow("tier", "Tier", "tier.tagFQN", written=True),
)


def shown_facets(access: Access) -> tuple[FacetRow, ...]:
    """The facets whose fields the caller may see."""
    visibility = visibility_of(access)
    hidden = visibility.hidden_in(visibility.within(kinds_of("all")))
    return tuple(facet for facet in FACETS if not hidden.hides(facet.field))


def written_name(facet: FacetRow) -> str:
    """The name of the aggregation that counts the values of a facet as they are written."""
    return f"{facet.name}_written"


def facet_values(
    facet: FacetRow,
    buckets: list[Any],
    written: list[Any],
    kept: Mapping[str, str | None],
    address: str,
) -> dict[str, Any]:
    """A facet with the address that choosing, or giving up, each of its values leads to.

    `address` is that of the search page, at its date, and `kept` its other parameters.
    Values are counted as the index compares them, and named by the first of the buckets of
    `written` that is the same value: as most entities write it.
    """
    names: dict[str, str] = {}
    for bucket in written:
        names.setdefault(keyword(bucket["key"]), bucket["key"])
    chosen = kept.get(facet.name)
    without = with_query(address, {**kept, facet.name: None})
    separator = "&" if "?" in without else "?"
    values = []
    for bucket in buckets:
        key = str(bucket["key"])
        value = names.get(key, key)
        is_chosen = chosen is not None and keyword(key) == keyword(chosen)
        narrowed = f"{without}{separator}{facet.name}={quote_plus(value)}"
        values.append(
            {
                "value": value,
                "count": bucket["doc_count"],
                "chosen": is_chosen,
                "address": without if is_chosen else narrowed,
            }
        )
    values.sort(key=lambda each: not each["chosen"])
    return {"title": facet.title, "values": values, "chosen": chosen}
