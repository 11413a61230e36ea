"""One document of the index by its id, as searches show it."""

import msgspec

from domain.errors import NotFound, StoreUnavailable
from projections.search.answers.queries import SearchAnswer, SearchRequest, search_response
from projections.search.documents.sources import ReadSources
from projections.search.engine import Searches
from projections.search.restriction import Visibility


def single_document(
    index: str,
    entity_id: str,
    engine: Searches,
    read_sources: ReadSources,
    visibility: Visibility,
) -> SearchAnswer:
    """The `_source` of an entity that is in the index, soft-deleted or not.

    Raises NotFound where there is none, or none that the caller may see, and StoreUnavailable.
    """
    query_filter = msgspec.json.encode({"ids": {"values": [entity_id]}})
    request = SearchRequest(q="", index=index, deleted=True, size=1, query_filter=query_filter)
    answered, _ = search_response(request, engine, read_sources, visibility)
    hits = answered["hits"]["hits"]
    complete = not answered["timed_out"]
    if not hits and not complete:
        raise StoreUnavailable("the search takes too long: try again")
    if not hits:
        raise NotFound(f"{index[:80]} instance for {entity_id} not found")
    return SearchAnswer(bytes(hits[0]["_source"]), complete=complete)
