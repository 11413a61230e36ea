"""Hits of the cluster: what they are sorted by, where a page begins, and what is read of them."""

from collections.abc import Mapping
from typing import Any

import msgspec

from projections.search.documents.documents import SORT_PLACES, SORTABLE, SortValue
from projections.search.engine import SCORE, EngineHit, Sort
from projections.search.matching.sort_values import sort_values
from projections.search.matching.stored_document import StoredDocument
from projections.search.opensearch.mapping import sort_column
from projections.search.opensearch.rows import sort_value

ROW: Mapping[str, Any] = {"_source": False, "stored_fields": ["row"]}
"""The part of a document that is read for a hit."""
_decode = msgspec.json.Decoder(StoredDocument).decode


def order(sort: Sort) -> list[Any]:
    """The order of hits: missing values last, ties by name and id."""
    direction = "desc" if sort.descending else "asc"
    if sort.field == SCORE:
        first: Any = {SCORE: {"order": direction}}
    else:
        form = "keyword" if SORTABLE[sort.field] is str else "double"
        first = {
            sort_column(sort.field): {
                "order": direction,
                "missing": "_last",
                "unmapped_type": form,
            }
        }
    name = {sort_column("name"): {"order": "asc", "missing": "_first"}}
    return [first, name, {"id": {"order": "asc"}}]


def after(values: tuple[SortValue, ...], sort: Sort) -> list[Any]:
    """The values that a page begins after, as the cluster takes them.

    Raises InvalidInput when no hit can have these values.
    """
    value, name, entity_id = sort_values(values, sort)
    value = sort_value(value)
    if value is None and SORTABLE[sort.field] is float:
        return ["-Infinity" if sort.descending else "Infinity", sort_value(name), entity_id]
    return [value, sort_value(name), entity_id]


def row_of(hit: Mapping[str, Any]) -> StoredDocument:
    """Return the stored part of the document of a hit."""
    return _decode(hit["fields"]["row"][0])


def hits_of(section: Mapping[str, Any], sort: Sort) -> tuple[EngineHit, ...]:
    """The hits of an answer."""
    return tuple(_hit(hit, sort) for hit in section["hits"])


def _hit(hit: Mapping[str, Any], sort: Sort) -> EngineHit:
    row = row_of(hit)
    score = hit["_score"] if sort.field == SCORE else None
    value = score if sort.field == SCORE else row.sort[SORT_PLACES[sort.field]]
    return EngineHit(row.id, row.kind, score, (value, row.sort[SORT_PLACES["name"]], row.id))
