"""How many entities of each kind a search finds, as the tabs of OpenMetadata's pages show it."""

from collections.abc import Iterable, Mapping

import msgspec

from domain.kinds.registry import KINDS
from projections.search.answers.queries import SearchAnswer, SearchRequest, found, is_complete
from projections.search.documents.sources import ReadSources
from projections.search.engine import SearchEngine
from projections.search.facets import facets
from projections.search.facets.facet_answers import typed_name
from projections.visibility.withholding import Withheld

_KIND = "entityType"


def kind_counts(
    request: SearchRequest,
    engine: SearchEngine,
    read_sources: ReadSources,
    visible_kinds: Iterable[str] | None,
    withheld: Mapping[str, Withheld],
) -> SearchAnswer:
    """The response to a search, with the counts of all that it finds by kind.

    Kinds of which nothing is found are left out; the counts add up to the total. Raises what
    `response` raises.
    """
    counted = facets.terms(_KIND, len(KINDS))
    asked = msgspec.structs.replace(request, one_facet=counted)
    answered = found(asked, engine, read_sources, visible_kinds, withheld).response
    buckets = answered["aggregations"][typed_name(counted)]["buckets"]
    answered["aggregations"] = {_KIND: {"buckets": buckets}}
    return SearchAnswer(msgspec.json.encode(answered), complete=is_complete(request, answered))
