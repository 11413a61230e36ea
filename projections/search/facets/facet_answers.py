"""Facets as they are answered: in the form, and under the typed names, of the engines people know.

A name tells what it is of: `sterms#` texts, `dterms#` numbers, `lterms#` booleans and moments,
`date_histogram#` and `top_hits#`.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from msgspec import Raw

from domain.kinds.registry import KINDS
from domain.reading.utc_times import written
from projections.search.aggregations import (
    Aggregation,
    DateHistogram,
    Terms,
    TopHits,
    Values,
    below,
)
from projections.search.documents.sources import BoundedSources, narrow, source
from projections.search.engine import Bucket, EngineHit, FacetResult, TopDocuments
from projections.search.named_statuses import told
from projections.search.restriction import Visibility

_TYPES: Mapping[Values, str] = MappingProxyType(
    {"texts": "sterms", "numbers": "dterms", "moments": "lterms", "booleans": "lterms"}
)
_LARGEST = 1 << 63
"""Whole numbers from which on JSON is written with an exponent."""
_KIND = "entityType"
_KINDS = {kind.lower(): kind for kind in KINDS}


class FacetWriter:
    """Writes the facets of one answer, with the documents that top hits have."""

    def __init__(self, sources: BoundedSources, visibility: Visibility) -> None:
        self._sources = sources
        self._visibility = visibility
        self._narrowed: dict[tuple[str, tuple[str, ...], tuple[str, ...]], Raw | None] = {}
        """Id, included and excluded fields -> what is shown of a document; None for nothing."""

    def written(
        self, aggregations: Sequence[Aggregation], results: Sequence[FacetResult]
    ) -> dict[str, Any]:
        """The results by the typed names of the aggregations that they came of."""
        return {
            typed_name(aggregation): self._one(aggregation, result)
            for aggregation, result in zip(aggregations, results, strict=True)
        }

    def _one(self, aggregation: Aggregation, result: FacetResult) -> dict[str, Any]:
        if isinstance(result, TopDocuments):
            assert isinstance(aggregation, TopHits)
            return {
                "hits": {
                    "total": {"value": result.total, "relation": "eq"},
                    "max_score": result.max_score,
                    "hits": list(self._hits(aggregation, result.hits)),
                }
            }
        buckets = [self._bucket(aggregation, bucket) for bucket in result.buckets]
        if isinstance(aggregation, DateHistogram):
            return {"buckets": buckets}
        return {
            "doc_count_error_upper_bound": 0,
            "sum_other_doc_count": result.others,
            "buckets": buckets,
        }

    def _bucket(self, aggregation: Aggregation, bucket: Bucket) -> dict[str, Any]:
        return {
            **_key(aggregation, told(aggregation, bucket.key, self._visibility.statuses)),
            "doc_count": bucket.count,
            **self.written(below(aggregation), bucket.below),
        }

    def _hits(self, asked: TopHits, hits: Sequence[EngineHit]) -> Iterator[dict[str, Any]]:
        """The hits with their documents; one whose entity is gone meanwhile is left out."""
        for hit in hits:
            shown = hit_head(hit)
            if asked.sources:
                narrowed = self._source(asked, hit)
                if narrowed is None:
                    continue
                shown["_source"] = narrowed
            yield shown if asked.sort_field is None else {**shown, "sort": hit.sort}

    def _source(self, asked: TopHits, hit: EngineHit) -> Raw | None:
        """Return the shown part of a hit's document, which is read once for all buckets."""
        key = hit.id, asked.include, asked.exclude
        if key in self._narrowed:
            known = self._narrowed[key]
            self._sources.count(len(known or b""))
            return known
        entity_json = next(self._sources.read((hit.id,)))
        visible = entity_json and self._visibility.show(hit.kind, entity_json)
        narrowed = None
        if visible:
            narrowed = Raw(narrow(source(hit.kind, visible), asked.include, asked.exclude))
        self._narrowed[key] = narrowed
        return narrowed


def hit_head(hit: EngineHit) -> dict[str, Any]:
    """The part of a hit's answer that says which document it is, and its score."""
    return {"_index": KINDS[hit.kind].index, "_id": hit.id, "_score": hit.score}


def typed_name(aggregation: Aggregation) -> str:
    """The name of an aggregation with its type before it."""
    match aggregation:
        case Terms(values=values):
            return f"{_TYPES[values]}#{aggregation.name}"
        case DateHistogram():
            return f"date_histogram#{aggregation.name}"
    return f"top_hits#{aggregation.name}"


def _key(aggregation: Aggregation, key: str | float | bool) -> dict[str, Any]:
    """The key of a bucket, as a text too where it is a moment or a boolean."""
    if isinstance(key, bool):
        return {"key": int(key), "key_as_string": "true" if key else "false"}
    if isinstance(aggregation, DateHistogram) or (
        isinstance(aggregation, Terms) and aggregation.values == "moments"
    ):
        whole = int(key)
        return {"key": whole if abs(whole) < _LARGEST else key, "key_as_string": written(whole)}
    if isinstance(aggregation, Terms) and aggregation.field == _KIND:
        return {"key": _KINDS.get(str(key), key)}
    return {"key": key}
