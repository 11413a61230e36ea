"""The fields of an index in the cluster: the same ready terms as in the files of our own engine.

- `exact`, `whole`, `text`, `words`: the terms that `format.terms` describes. `text` has positions;
  in `words` each term comes with what it weighs in the document, as its frequency
- `said`: the tokens of `words` with positions, for phrases
- `sort<n>`: what documents are sorted by, in the order of SORTABLE
- `values.<path>`, `numbers.<path>`, `booleans.<path>`, `moments.<path>`: what buckets are made of
- `ever_<name>`: the terms of `<name>`, of documents of replaced states too, which have none of the
  fields that searches of the present look at; `since` and `until` say when the state held
- `row`: what hits are shown with, and `digest<n>` four times 16 bits of the digest, for sums
- `position`, `fingerprint`, `searched`, `horizon` and `life` (see `rows.Lines`): the checkpoint, in
  a document that has nothing else

Terms are made by us, so that they are the same in every engine: the analyzers only take them apart.
"""

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any

import msgspec

from projections.search.documents.documents import SORT_PLACES, SORTABLE
from projections.search.language.field_types import field_type
from projections.search.matching import weights
from projections.search.matching.terms import VALUE_GAP
from projections.search.matching.weights import schema_digest

VERSION = 2
"""Raised whenever the same documents give other fields."""
SAID = "said"
PLACE_END = "\n"
"""Ends what stands at one position."""
BESIDE = "\x1d"
"""Between terms at the same position."""
WEIGHS = "\x1c"
"""Between a term and its frequency."""
FREQUENCY = 16
"""The frequency that stands for a weight of 1."""
DIGEST_PARTS = 4
MAX_WINDOW = 10_000
"""Hits up to which a page may go without a walk to it."""
MAX_TOP = 1_100
"""Documents that top hits may ask for; more than an answer may have."""
MAX_TERMS = 60_000
"""Terms in one clause."""
MAX_PATTERN = 10_000
"""Characters of a regular expression with the path before it."""
EVER: Mapping[str, str] = {
    name: f"ever_{name}" for name in ("kind", "deleted", "exact", "whole", "text", "words", SAID)
}
"""Field that searches of the present look at -> the one with the same terms of every document,
those of replaced states too, so that the rarity of words in the present is that of current ones."""
_COLUMNS = ("values", "written", "numbers", "booleans", "moments")


def settings(shards: int = 1) -> dict[str, Any]:
    """The settings of an index: commits are shown by us, and nothing is shown by itself."""
    return {
        "number_of_shards": shards,
        "auto_expand_replicas": "0-1",
        "refresh_interval": "-1",
        "max_result_window": MAX_WINDOW,
        "max_inner_result_window": MAX_TOP,
        "max_terms_count": MAX_TERMS,
        "max_regex_length": MAX_PATTERN,
        "mapping": {"total_fields": {"limit": 20_000}, "depth": {"limit": 4}},
        "similarity": {
            # A term counts by its rarity alone.
            "rarity": {"type": "BM25", "k1": 0.0, "b": 0.0},
            "text": {"type": "BM25", "k1": weights.K1, "b": 0.0},
            "words": {"type": "BM25", "k1": weights.K * FREQUENCY, "b": 0.0},
        },
        "analysis": {
            "tokenizer": {"places": {"type": "simple_pattern_split", "pattern": PLACE_END}},
            "filter": {
                "beside": {
                    "type": "pattern_capture",
                    "preserve_original": False,
                    "patterns": [f"([^{BESIDE}]+)"],
                },
                "weighed": {"type": "delimited_term_freq", "delimiter": WEIGHS},
            },
            "analyzer": {
                "places": {"type": "custom", "tokenizer": "places", "filter": ["beside"]},
                "weighed": {"type": "custom", "tokenizer": "places", "filter": ["weighed"]},
                "ready": {"type": "custom", "tokenizer": "places"},
            },
        },
    }


def mappings() -> dict[str, Any]:
    """The fields, of which only those for buckets are added as they are met."""
    keyword = {"type": "keyword"}
    placed = {
        "type": "text",
        "analyzer": "places",
        "search_analyzer": "ready",
        "norms": False,
        "position_increment_gap": VALUE_GAP,
        "similarity": "text",
    }
    weighed = {
        "type": "text",
        "analyzer": "weighed",
        "search_analyzer": "ready",
        "index_options": "freqs",
        "norms": False,
        "similarity": "words",
    }
    looked_at: dict[str, dict[str, Any]] = {
        "kind": keyword,
        "deleted": {"type": "boolean"},
        "exact": keyword | {"similarity": "rarity"},
        "whole": keyword | {"similarity": "rarity", "doc_values": False},
        "text": placed,
        "words": weighed,
        SAID: placed,
    }
    column = {"type": "object", "dynamic": "true"}
    counted = {"index": False, "doc_values": True}
    return {
        "dynamic": "strict",
        "_source": {"enabled": False},
        "_meta": {"catalog": code()},
        "dynamic_templates": [
            {"values": {"path_match": "values.*", "mapping": keyword | counted}},
            {"written": {"path_match": "written.*", "mapping": keyword | counted}},
            {"numbers": {"path_match": "numbers.*", "mapping": {"type": "double"} | counted}},
            {"booleans": {"path_match": "booleans.*", "mapping": keyword | counted}},
            {"moments": {"path_match": "moments.*", "mapping": {"type": "long"} | counted}},
        ],
        "properties": {
            "id": keyword,
            **{name: field | {"copy_to": [EVER[name]]} for name, field in looked_at.items()},
            **{EVER[name]: field for name, field in looked_at.items()},
            "since": {"type": "long"},
            "until": {"type": "long"},
            "row": {"type": "keyword", "index": False, "doc_values": False, "store": True},
            **{
                sort_column(path): {"type": "keyword" if form is str else "double", "index": False}
                for path, form in SORTABLE.items()
            },
            **{f"digest{n}": {"type": "integer", "index": False} for n in range(DIGEST_PARTS)},
            "position": {"type": "long"},
            "life": keyword | {"index": False},
            "searched": {"type": "keyword", "index": False, "doc_values": False, "store": True},
            "horizon": {"type": "keyword", "index": False, "doc_values": False, "store": True},
            "fingerprint": {"type": "keyword", "index": False, "doc_values": False, "store": True},
            **dict.fromkeys(_COLUMNS, column),
        },
    }


def fixed(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of an index's mappings that is the same as long as nobody changes them."""
    # Of the fields for buckets, and of the types of objects that have some, clusters tell more.
    properties = {
        name: field if name not in _COLUMNS else {"dynamic": str(field.get("dynamic")).lower()}
        for name, field in mapping.get("properties", {}).items()
    }
    return {**mapping, "properties": properties}


def code() -> str:
    """Digest of what decides the fields of documents; another one means to build anew."""
    parts = (VERSION, schema_digest(), tuple(SORTABLE), FREQUENCY)
    return blake2b(msgspec.json.encode(parts), digest_size=8).hexdigest()


def sort_column(path: str) -> str:
    """The field with what documents are sorted by for a sortable path."""
    return f"sort{SORT_PLACES[path]}"


def spelled(path: str) -> str:
    """A path as it stands in terms of `text`, where some control characters mean something."""
    return path if path.isprintable() else path.translate(_SPELLINGS)


_SPELLINGS = {ord(sign): chr(0xE000 + ord(sign)) for sign in (PLACE_END, BESIDE, WEIGHS)}


def has_columns(path: str) -> bool:
    """Return True if a path has fields of its own to make buckets of.

    Paths that organisations define have none, as there is no bound to their number.
    """
    return field_type(path) not in (None, "undefined")


def column(group: str, path: str) -> str:
    """The field of a path that buckets are made of; its name has no dots, which would nest it."""
    return f"{group}.{path.replace('~', '~0').replace('.', '~1')}"


def of_kinds(kinds: frozenset[str] | None, *, include_deleted: bool) -> Iterator[dict[str, Any]]:
    """The clauses that leave documents of some kinds, None for all, and never the checkpoint."""
    if kinds is not None:
        yield {"terms": {"kind": sorted(kinds)}}
    yield {"exists": {"field": "kind"}} if include_deleted else {"term": {"deleted": False}}
