"""The names that facets count, as they are written: the index has them in lower case alone."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from api.callers.permissions import Access, Action
from api.pages.frame.rendering import AnyRequest
from api.use_cases.searcher import Searcher
from domain.kinds.registry import KINDS
from projections.search.analysis import keyword
from projections.search.queries import SearchRequest, search

_NAMED: Mapping[str, tuple[str, Sequence[str]]] = {
    "service": ("name", tuple(kind.name for kind in KINDS.values() if kind.root)),
    "owner": ("name", KINDS["table"].refers_to["owners"]),
    "tag": ("fullyQualifiedName", ("tag", "glossaryTerm")),
    "domain": ("fullyQualifiedName", KINDS["table"].refers_to["domains"]),
    "tier": ("fullyQualifiedName", ("tag",)),
}
"""Facet -> the key that it counts of the entities that things refer to, and their kinds."""
_MOST_BYTES = 150
"""Most bytes of a name to look up: so many names fit into a filter."""
_EACH = 2
"""Entities read for a name: a user and a team may have the same one."""

Written = Mapping[str, Mapping[str, str]]
"""Facet -> name in lower case -> the name as it is written."""
STATUSES: Written = {
    "status": {status.lower(): status for kind in KINDS.values() for status in kind.statuses}
}
"""Facet -> spellings of its names, for the one facet whose names are known beforehand."""


async def written(
    searcher: Searcher, request: AnyRequest, counted: Mapping[str, Iterable[str]]
) -> Written:
    """The spellings of the names that facets count; `counted` has the names of each facet.

    Only entities that the caller may search count. A name without any of them, or with several
    spellings, is left out.
    """
    access: Access = request.auth
    visible = access.kinds(Action.SEARCH)
    wanted = {
        facet: (key, [kind for kind in kinds if kind in visible], _short(counted[facet]))
        for facet, (key, kinds) in _NAMED.items()
        if facet in counted
    }
    wanted = {facet: each for facet, each in wanted.items() if all(each)}
    if not wanted:
        return {}
    any_of = [
        {"bool": {"filter": [{"terms": {f"{key}.keyword": names}}, _of_kinds(kinds)]}}
        for key, kinds, names in wanted.values()
    ]
    asked = SearchRequest(
        q="",
        index=",".join(
            sorted({KINDS[kind].index for _, kinds, _ in wanted.values() for kind in kinds})
        ),
        size=_EACH * sum(len(names) for _, _, names in wanted.values()),
        deleted=True,
        track_total_hits=False,
        query_filter=msgspec.json.encode({"bool": {"should": any_of}}),
        include_source_fields=("entityType", "name", "fullyQualifiedName"),
    )
    answered = await searcher.decoded(request, asked.index, partial(search, asked))
    sources = [each["_source"] for each in answered["hits"]["hits"]]
    return {facet: _spellings(sources, key, kinds) for facet, (key, kinds, _) in wanted.items()}


def _short(names: Iterable[str]) -> list[str]:
    return [name for name in names if len(name.encode()) <= _MOST_BYTES]


def _of_kinds(kinds: Sequence[str]) -> dict[str, Any]:
    return {"terms": {"entityType": kinds}}


def _spellings(
    sources: Iterable[Mapping[str, str]], key: str, kinds: Sequence[str]
) -> dict[str, str]:
    """Name in lower case -> its spelling, for names with a single spelling."""
    spellings: dict[str, set[str]] = {}
    for source in sources:
        if source["entityType"] in kinds:
            spellings.setdefault(keyword(source[key]), set()).add(source[key])
    return {name: next(iter(ways)) for name, ways in spellings.items() if len(ways) == 1}
