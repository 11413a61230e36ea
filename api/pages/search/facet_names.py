"""The names that facets count, as they are written: the index has them in lower case alone."""

from collections.abc import Iterable, Mapping, Sequence

from domain.kinds.registry import KINDS
from projections.search import tree
from projections.search.analysis import keyword
from projections.search.documents.sources import ReadSources, values_for
from projections.search.engine import EngineQuery, SearchEngine
from projections.search.restriction import Visibility

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


def written(
    counted: Mapping[str, Iterable[str]],
    engine: SearchEngine,
    read_sources: ReadSources,
    visibility: Visibility,
) -> Written:
    """The spellings of the names that facets count; `counted` has the names of each facet.

    Only entities that the caller may search count. A name without any of them, or with several
    spellings, is left out.
    """
    wanted = {
        facet: (key, visibility.kinds.intersection(kinds), _short(counted[facet]))
        for facet, (key, kinds) in _NAMED.items()
        if facet in counted
    }
    wanted = {facet: each for facet, each in wanted.items() if all(each)}
    if not wanted:
        return {}
    # All names in one list of values, which an engine gathers at once; the kind of a hit decides.
    named = (
        tree.Exact(f"{key}.keyword", name) for key, _, names in wanted.values() for name in names
    )
    hits = engine.search(
        EngineQuery(
            tree=tree.Constant(tree.any_of(dict.fromkeys(named))),
            kinds=frozenset().union(*(kinds for _, kinds, _ in wanted.values())),
            include_deleted=True,
            size=_EACH * sum(len(names) for _, _, names in wanted.values()),
            exact_total=False,
        )
    ).hits
    keys = {key for key, _, _ in wanted.values()}
    held = [
        (hit.kind, values_for(keys, shown))
        for hit in hits
        for whole in read_sources((hit.id,)).values()
        if (shown := visibility.show(hit.kind, whole)) is not None
    ]
    return {
        facet: _spellings([body[key] for kind, body in held if kind in kinds and key in body])
        for facet, (key, kinds, _) in wanted.items()
    }


def _short(names: Iterable[str]) -> list[str]:
    return [name for name in names if len(name.encode()) <= _MOST_BYTES]


def _spellings(names: Iterable[str]) -> dict[str, str]:
    """Name in lower case -> as it is written, of what is written in one way."""
    ways: dict[str, set[str]] = {}
    for name in names:
        ways.setdefault(keyword(name), set()).add(name)
    return {folded: next(iter(each)) for folded, each in ways.items() if len(each) == 1}
