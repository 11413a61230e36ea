"""Suggestions for a text that is being typed, in the form of OpenMetadata's older servers."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import Raw

from domain.errors import InvalidInput
from projections.search import tree
from projections.search.analysis import compose, keyword
from projections.search.answers.queries import SearchAnswer
from projections.search.answers.sought_words import SoughtWords
from projections.search.documents.sources import (
    BoundedSources,
    ReadSources,
    check_paths,
    narrow,
    source,
    texts_at,
    values_for,
)
from projections.search.engine import EngineHit, EngineQuery, Searches
from projections.search.facets.facet_answers import hit_head
from projections.search.index_names import kinds_of
from projections.search.language.patterns import MAX_PATTERN
from projections.search.language.relevance import FORGIVEN_FROM, UNKNOWN_FROM
from projections.search.restriction import EVERYTHING, Hidden, Visibility
from projections.search.tree import Node

MAX_SIZE = 100
SUGGEST = "suggest"
_QUALIFIED = "fullyQualifiedName"
FIELDS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        SUGGEST: {"name": 10.0, "displayName": 10.0, _QUALIFIED: 5.0},
        "column_suggest": {"columns.name": 5.0},
        "schema_suggest": {"databaseSchema.name": 5.0},
        "database_suggest": {"database.name": 5.0},
        "service_suggest": {"service.name": 5.0},
        "chart_suggest": {"charts.name": 5.0},
        "data_model_suggest": {"dataModels.name": 5.0},
        "task_suggest": {"tasks.name": 5.0},
        "field_suggest": {"messageSchema.schemaFields.name": 5.0},
    }
)
"""Name of a field with suggestions -> the paths that they are taken from, with their scores."""
_WORD, _SLIPPED = 0.5, 0.25
"""Weights of a suggestion with a word that begins with the text, and of one with a word that is a
slip away, beside 1 for one that begins with the text itself.
"""
_ASKED_FOR = 5
"""Number of hits asked for per suggestion, since several hits may suggest the same text."""
_CHARACTERS = 100_000
"""Characters of the texts of a hit in which the suggested one is looked for."""


class SuggestRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of a request for suggestions, typed but not yet checked."""

    q: str
    index: str
    field: str = SUGGEST
    """Name of the field that suggestions are taken from: a key of FIELDS."""
    size: int = 10
    """Suggestions, up to MAX_SIZE."""
    deleted: bool = False
    """True if soft-deleted entities are suggested, instead of the others."""
    fetch_source: bool = True
    include_source_fields: tuple[str, ...] = ()
    shown_fields: tuple[str, ...] = ()
    """Top-level fields that hits are narrowed to; see `SearchRequest.shown_fields`."""


def suggest(
    request: SuggestRequest,
    engine: Searches,
    read_sources: ReadSources,
    visibility: Visibility = EVERYTHING,
) -> SearchAnswer:
    """Return `suggestions` as OpenMetadata answers them; raises what `suggestions` raises."""
    options, timed_out = suggestions(request, engine, read_sources, visibility)
    entry = {"text": request.q, "offset": 0, "length": len(request.q), "options": options}
    body = msgspec.json.encode({"suggest": {"metadata-suggest": [entry]}})
    return SearchAnswer(body, complete=not timed_out)


def suggestions(
    request: SuggestRequest,
    engine: Searches,
    read_sources: ReadSources,
    visibility: Visibility = EVERYTHING,
) -> tuple[list[dict[str, Any]], bool]:
    """Names that begin with what is typed, then names with such a word; each is told once.

    Where there are none, names with a word a slip or two away. The second value says whether the
    search ran out of time. Raises InvalidInput that names the parameter, and FieldWithheld.
    """
    kinds = visibility.within(kinds_of(request.index))
    hidden = visibility.hidden_in(kinds)
    paths = _paths(request, hidden)
    typed = " ".join(request.q.split())
    options: list[dict[str, Any]] = []
    timed_out = False
    if typed and request.size:
        leaves = _Leaves(typed)
        page = engine.search(
            EngineQuery(
                tree=leaves.tree(paths),
                filter=tree.Exact("deleted", "true") if request.deleted else None,
                kinds=kinds,
                visible=visibility.deciding(kinds, frozenset(paths)),
                include_deleted=request.deleted,
                size=_ASKED_FOR * request.size,
            )
        )
        timed_out = page.timed_out
        sources = BoundedSources(read_sources)
        suggested: set[str] = set()
        wholes = sources.read([hit.id for hit in page.hits])
        for hit, whole in zip(page.hits, wholes, strict=True):
            shown = whole and visibility.show(hit.kind, whole)
            text = leaves.suggested(values_for(paths, shown), paths) if shown else None
            if not shown or text is None or keyword(text) in suggested:
                continue
            suggested.add(keyword(text))
            options.append(_option(text, hit, shown, request))
            if len(options) == request.size:
                break
    return options, timed_out


def _paths(request: SuggestRequest, hidden: Hidden) -> Mapping[str, float]:
    """The paths that suggestions are taken from, once the request is checked."""
    if len(request.q) > MAX_PATTERN:
        raise InvalidInput(f"q may have {MAX_PATTERN} characters, got {len(request.q)}")
    if not 0 <= request.size <= MAX_SIZE:
        raise InvalidInput(f"size must be from 0 to {MAX_SIZE}, got {request.size}")
    if request.field not in FIELDS:
        raise InvalidInput(f"field must be one of {', '.join(FIELDS)}, got {request.field[:80]!r}")
    check_paths(request.include_source_fields, "includeSourceFields")
    for path in request.include_source_fields:
        hidden.refuse(path, "includeSourceFields", below_only=True)
    shown = {
        path: weight for path, weight in FIELDS[request.field].items() if not hidden.hides(path)
    }
    if not shown:
        for path in FIELDS[request.field]:
            hidden.refuse(path, "field")
    return shown


class _Leaves:
    """Leaves of the names and words that a text which is being typed may be the beginning of."""

    def __init__(self, typed: str) -> None:
        self._typed = typed
        self._start = keyword(typed)
        self._slips = 0 if len(typed) < UNKNOWN_FROM else 1 if len(typed) < FORGIVEN_FROM else 2
        self._words = SoughtWords((tree.PhrasePrefix("name", typed), self._slipped("name")))

    def _slipped(self, path: str) -> tree.Fuzzy:
        return tree.Fuzzy(path, self._typed, self._slips, prefix=max(1, self._slips))

    def tree(self, paths: Mapping[str, float]) -> Node:
        """The documents with suggestions at any of the paths, the best ones first."""
        pattern = tree.escape_wildcards(self._typed) + "*"
        begun: list[Node] = []
        slipped: list[Node] = []
        for path, weight in paths.items():
            whole = tree.Wildcard(f"{path}.keyword", pattern)
            begun.append(tree.Constant(whole, weight))
            if path == _QUALIFIED:
                continue  # its words are those of what the entity lies below
            begun.append(tree.Constant(tree.PhrasePrefix(path, self._typed), weight * _WORD))
            slipped.append(tree.Constant(self._slipped(path), weight * _SLIPPED))
        known = tree.DisMax(tuple(begun))
        if not (self._slips and slipped):
            return known
        return tree.IfFound(known, known, tree.DisMax(tuple(slipped)))

    def suggested(self, body: Mapping[str, Any], paths: Iterable[str]) -> str | None:
        """The text of a document that is suggested; None where the document has changed since."""
        texts = [text for path in paths for text in texts_at(body, path, _CHARACTERS)]
        for text in texts:
            if keyword(text).startswith(self._start):
                return text
        for text in texts:
            composed = compose(text)
            if self._words.marks(composed, set()) or self._words.slipped(composed, set()):
                return text
        return None


def _option(text: str, hit: EngineHit, shown: bytes, request: SuggestRequest) -> dict[str, Any]:
    option = {"text": text, **hit_head(hit)}
    if request.fetch_source or request.include_source_fields:
        whole = source(hit.kind, shown)
        if request.shown_fields:
            option["_source"] = values_for(request.shown_fields, whole)
        else:
            option["_source"] = Raw(narrow(whole, request.include_source_fields))
    return option
