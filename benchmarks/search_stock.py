"""Whoosh as its documentation has it, on the same tokens: what the engine here started from."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from whoosh import analysis, fields, index, query

from benchmarks.search_questions import COLUMNS, Answer, Question
from benchmarks.search_tantivy import PAGE, split
from domain.kinds.registry import KINDS
from projections.search.documents.documents import SearchDocument
from projections.search.language.relevance import FORGIVEN_FROM


def build(path: Path, documents: Iterable[SearchDocument]) -> Any:
    """A new index in an empty directory, in one commit."""
    spaced = analysis.SpaceSeparatedTokenizer()
    schema = fields.Schema(
        id=fields.ID(stored=True, unique=True),
        kind=fields.ID(stored=True),
        name=fields.ID(stored=True, sortable=True),
        deleted=fields.BOOLEAN,
        words=fields.TEXT(analyzer=spaced),
        columns=fields.TEXT(analyzer=spaced),
    )
    made = index.create_in(str(path), schema)
    with made.writer(limitmb=256) as writer:
        for document in documents:
            paths = (field.path for field in KINDS[document.kind].search)
            texts = [split(document.fields[p], p) for p in paths if p in document.fields]
            writer.add_document(
                id=document.id,
                kind=document.kind,
                name=str(document.sort["name"]),
                deleted=document.deleted,
                words=" . ".join(texts),
                columns=split(document.fields.get(COLUMNS, ()), COLUMNS),
            )
    return made


class Stock:
    """Asks an index, through one searcher."""

    def __init__(self, made: Any) -> None:
        self._searcher = made.searcher()

    def ask(self, question: Question) -> Answer:
        """The exact total and the ids of the page."""
        found = self._searcher.search(
            _query(question),
            limit=question.offset + PAGE,
            sortedby="name" if question.by_name else None,
            filter=query.Term("kind", question.kind) if question.kind else None,
            mask=query.Term("deleted", "t") if question.kind else None,
        )
        return len(found), [hit["id"] for hit in found[question.offset :]]


def _query(asked: Question) -> Any:
    clauses = list(_clauses(asked))
    if asked.any_of or len(asked.forgiving) > 2:
        return query.Or(clauses)
    return clauses[0] if len(clauses) == 1 else query.And(clauses)


def _clauses(asked: Question) -> Iterator[Any]:
    field = "words" if asked.field is None else "columns"
    for word in (*asked.all_of, *asked.any_of):
        yield query.Term(field, word)
    if asked.phrase:
        yield query.Phrase(field, list(asked.phrase))
    if asked.pattern is not None:
        yield query.Regex(field, f"(?:{asked.pattern})\\Z")
    if asked.fuzzy is not None:
        yield query.FuzzyTerm(field, asked.fuzzy, maxdist=1)
    for word in asked.forgiving:
        term = query.Term(field, word)
        fuzzy = query.FuzzyTerm(field, word, boost=0.5, maxdist=1)
        yield term if len(word) < FORGIVEN_FROM else query.Or([term, fuzzy])
    if asked == Question(text=asked.text):
        yield query.Every()
