"""The facets of the search page: their names, counts, and the links of their values."""

from collections import Counter
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote_plus

import msgspec

from api.callers.permissions import Access, Action
from api.pages.frame.addresses import with_query
from projections.search.index_names import kinds_of
from projections.search.restriction import Visibility


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
    FacetRow("tier", "Tier", "tier.tagFQN", written=True),
)


def shown_facets(access: Access) -> tuple[FacetRow, ...]:
    """The facets whose fields the caller may see."""
    visibility = Visibility.of(access.kinds(Action.SEARCH), access.hidden.get(Action.SEARCH, {}))
    hidden = visibility.hidden_in(visibility.within(kinds_of("all")))
    return tuple(facet for facet in FACETS if not hidden.hides(facet.field))


def facet_values(
    facet: FacetRow, buckets: list[Any], kept: Mapping[str, str | None]
) -> dict[str, Any]:
    """A facet with the address that choosing, or giving up, each of its values leads to.

    A value that entities write in several ways is shown once, in the way that most of them do:
    choosing it finds them all. An entity that has it in two ways is counted for both.
    """
    names: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for bucket in buckets:
        key = str(bucket["key"]).lower()
        names.setdefault(key, str(bucket["key"]))
        counts[key] += bucket["doc_count"]
    chosen = kept.get(facet.name)
    without = with_query("/search", {**kept, facet.name: None})
    separator = "&" if "?" in without else "?"
    values = []
    for key, count in counts.most_common():
        value = names[key]
        is_chosen = chosen is not None and key == chosen.lower()
        narrowed = f"{without}{separator}{facet.name}={quote_plus(value)}"
        values.append(
            {
                "value": value,
                "count": count,
                "chosen": is_chosen,
                "address": without if is_chosen else narrowed,
            }
        )
    values.sort(key=lambda each: not each["chosen"])
    return {"title": facet.title, "values": values, "chosen": chosen}
