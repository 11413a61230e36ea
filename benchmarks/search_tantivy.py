"""The yardstick of search: tantivy with the same tokens, and an index that can do the same.

Id, kind and name are stored, what is filtered and sorted by are fast fields; the tokens of every
path are in a JSON field, those of the kinds' search fields in one text field, with positions.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

import tantivy
from tantivy import Document, Index, Occur, Order, Query, SchemaBuilder

from benchmarks.search_questions import Answer, Question
from domain.kinds.registry import KINDS
from projections.search.analysis import stem, tokens
from projections.search.documents.documents import Scalar, SearchDocument
from projections.search.language.field_types import is_prose
from projections.search.language.relevance import FORGIVEN_FROM

HEAP = 128_000_000
PAGE = 10
_PER_COMMIT = 100_000
_GAP = "."
"""A token between values, which no query holds: phrases do not span them."""


def build(path: Path, documents: Iterable[SearchDocument]) -> Index:
    """A new index in an empty directory, by one thread."""
    index = Index(_schema(), str(path))
    writer = index.writer(HEAP, 1)
    for count, document in enumerate(documents, start=1):
        writer.add_document(_document(document))
        if count % _PER_COMMIT == 0:
            writer.commit()
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    return index


def _schema() -> tantivy.Schema:
    builder = SchemaBuilder()
    raw = {"stored": True, "fast": True, "tokenizer_name": "raw", "index_option": "basic"}
    builder.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("kind", **raw)  # type: ignore[arg-type]
    builder.add_text_field("name", **raw)  # type: ignore[arg-type]
    builder.add_boolean_field("deleted", fast=True, indexed=True)
    builder.add_text_field("words", tokenizer_name="whitespace")
    builder.add_json_field("text", tokenizer_name="whitespace", expand_dots_enabled=True)
    return builder.build()


def _document(document: SearchDocument) -> Document:
    made = Document()
    made.add_text("id", document.id)
    made.add_text("kind", document.kind)
    made.add_text("name", str(document.sort["name"]))
    made.add_boolean("deleted", document.deleted)
    texts = {path: split(values, path) for path, values in document.fields.items()}
    made.add_json("text", {path: text for path, text in texts.items() if text})
    searched = (texts.get(field.path) for field in KINDS[document.kind].search)
    made.add_text("words", f" {_GAP} ".join(text for text in searched if text))
    return made


def split(values: tuple[Scalar, ...], path: str) -> str:
    """The tokens of a path's texts between spaces: parts in order, then stems and wholes."""
    prose = is_prose(path)
    return " ".join(_said(v, prose) for v in dict.fromkeys(values) if isinstance(v, str))


@lru_cache(250_000)
def _said(text: str, prose: bool) -> str:
    found = tokens(text, prose)
    roots = (root for part in found.parts if (root := stem(part)) != part)
    return " ".join((*found.parts, _GAP, *roots, *(whole for whole, _ in found.wholes)))


class Tantivy:
    """Asks an index."""

    def __init__(self, index: Index) -> None:
        self._schema = index.schema
        self._searcher = index.searcher()

    @property
    def segments(self) -> int:
        """Return the number of segments."""
        return self._searcher.num_segments

    def ask(self, question: Question) -> Answer:
        """The exact total and the ids of the page."""
        found = self._searcher.search(
            self._query(question),
            PAGE,
            count=True,
            order_by_field="name" if question.by_name else None,
            order=Order.Asc if question.by_name else Order.Desc,
            offset=question.offset,
        )
        total: int = found.count  # type: ignore[attr-defined]  # its stub leaves this out
        return total, [self._searcher.doc(at)["id"][0] for _, at in found.hits]

    def _query(self, asked: Question) -> Query:
        clauses = list(self._clauses(asked))
        if asked.kind is not None:
            clauses.append((Occur.Must, Query.term_query(self._schema, "kind", asked.kind)))
            clauses.append((Occur.MustNot, Query.term_query(self._schema, "deleted", True)))
        if len(clauses) == 1:
            return clauses[0][1]
        least = len(asked.forgiving) * 7 // 10 if len(asked.forgiving) > 2 else None
        return Query.boolean_query(clauses, least)

    def _clauses(self, asked: Question) -> Iterator[tuple[Occur, Query]]:
        schema = self._schema
        field = "words" if asked.field is None else f"text.{asked.field}"
        for word in asked.all_of:
            yield Occur.Must, Query.term_query(schema, field, word)
        for word in asked.any_of:
            yield Occur.Should, Query.term_query(schema, field, word)
        if asked.phrase:
            yield Occur.Must, Query.phrase_query(schema, field, list(asked.phrase))
        if asked.pattern is not None:
            yield Occur.Must, self._regex(asked.field, asked.pattern)
        if asked.fuzzy is not None:
            yield Occur.Must, Query.fuzzy_term_query(schema, field, asked.fuzzy, 1)
        for word in asked.forgiving:
            yield (
                Occur.Must if len(asked.forgiving) <= 2 else Occur.Should,
                _forgiving(schema, word),
            )
        if asked == Question(text=asked.text):
            yield Occur.Must, Query.all_query()

    def _regex(self, path: str | None, pattern: str) -> Query:
        if path is None:
            return Query.regex_query(self._schema, "words", pattern)
        # A term of a JSON field is its path, the type of the value and the token.
        inside = path.replace(".", "\x01") + "\x00s"
        return Query.regex_query(self._schema, "text", inside + pattern)


def _forgiving(schema: tantivy.Schema, word: str) -> Query:
    term = Query.term_query(schema, "words", word)
    if len(word) < FORGIVEN_FROM:
        return term
    fuzzy = Query.boost_query(Query.fuzzy_term_query(schema, "words", word, 1), 0.5)
    return Query.disjunction_max_query([term, fuzzy])
