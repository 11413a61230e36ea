"""An ordinary Whoosh searcher over the index finds what our evaluation finds, on random queries."""

import os
import random
import re
from collections.abc import Iterator
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from whoosh import index, query
from whoosh.qparser import QueryParser
from whoosh.qparser.plugins import FieldsPlugin
from whoosh.sorting import FieldFacet, MultiFacet

from projections.search import tree
from projections.search.analysis import keyword, stem, tokens
from projections.search.documents.documents import SORTABLE
from projections.search.engine import EngineQuery, Sort
from projections.search.index.engine import WhooshEngine
from projections.search.index.format.storage import INDEX
from projections.search.language.field_types import is_whole
from projections.search.matching.terms import EXACT, PRESENT, SEPARATOR, WHOLE, WORDS, whole_term
from tests.depth import first_alone
from tests.projections.search.conftest import Catalog
from tests.projections.search.test_oracle import Both, generated
from tests.query_texts import parse

SEED = int(os.environ.get("CATALOG_ORACLE_SEED", random.randrange(2**32)))

Pair = tuple[tree.Node, query.Query]
"""One question, in our words and in Whoosh's."""


class Pairs:
    """Makes questions from the values of documents."""

    def __init__(self, chance: Random, both: Both) -> None:
        self._random = chance
        documents = [document.fields for document in both.documents()]
        self._values = sorted(
            {(p, v) for d in documents for p, vs in d.items() for v in vs if isinstance(v, str)}
        )
        self._words = sorted({w for _, v in self._values for w in tokens(v).parts if w.isascii()})
        self._paths = sorted({path for path, _ in self._values})

    def leaf(self) -> Pair:
        return self._random.choice((self._word, self._prefix, self._whole, self._present))()

    def pair(self, depth: int) -> Pair:
        if not depth or self._random.random() < 0.3:
            return self.leaf()
        pairs = [self.pair(depth - 1) for _ in range(self._random.randint(2, 3))]
        ours, theirs = zip(*pairs, strict=True)
        if self._random.random() < 0.3:
            excluded = tree.Bool(must=ours[:1], must_not=ours[1:])
            return excluded, query.And([theirs[0], *map(query.Not, theirs[1:])])
        if self._random.random() < 0.5:
            return tree.Bool(must=ours), query.And(list(theirs))
        return tree.Bool(should=ours), query.Or(list(theirs))

    def _word(self) -> Pair:
        word = self._random.choice(self._words)
        theirs = [query.Term(WORDS, each) for each in dict.fromkeys((word, stem(word)))]
        return tree.Term(None, word), query.Or(theirs)

    def _prefix(self) -> Pair:
        word = self._random.choice(self._words)
        start = word[: self._random.randint(1, len(word))]
        ends = self._random.random() < 0.5
        pattern = f"{start}*" if ends else f"*{start}"
        theirs = query.Prefix(WORDS, start) if ends else query.Wildcard(WORDS, pattern)
        return tree.Wildcard(None, pattern), theirs

    def _whole(self) -> Pair:
        path, value = self._random.choice(self._values)
        term = query.Term(EXACT, f"{path}.keyword{SEPARATOR}{keyword(value)}")
        if is_whole(path):
            term = query.Term(WHOLE, whole_term(path, value))
        return tree.Exact(f"{path}.keyword", value), term

    def _present(self) -> Pair:
        path = self._random.choice(self._paths)
        here, below = query.Term(EXACT, PRESENT + path), query.Prefix(EXACT, f"{PRESENT}{path}.")
        return tree.Exists(path), query.Or([here, below])


class Texts:
    """Makes query texts that mean the same in our syntax and in Whoosh's."""

    FIELDS = ("name", "displayName", "description", "columns.name", "owners.name")

    def __init__(self, chance: Random, both: Both) -> None:
        self._random = chance
        documents = [document.fields for document in both.documents()]
        analysed = {
            path: [tokens(v) for d in documents for v in d.get(path, ()) if isinstance(v, str)]
            for path in self.FIELDS
        }
        self._words = {
            path: sorted(
                {word for each in some for word in (*each.parts, *(w for w, _ in each.wholes))}
            )
            for path, some in analysed.items()
        }
        self._pairs = {
            path: sorted({pair for each in some for pair in pairwise(each.parts)})
            for path, some in analysed.items()
        }

    def text(self, depth: int) -> str:
        """A text of which each part is in parentheses."""
        if not depth:
            return self._leaf()
        some = [self.text(depth - 1) for _ in range(self._random.randint(2, 3))]
        if self._random.random() < 0.3:
            return f"({some[0]} AND NOT {some[1]})"
        return f"({self._random.choice((' AND ', ' OR ')).join(some)})"

    def _leaf(self) -> str:
        path = self._random.choice([path for path in self.FIELDS if self._words[path]])
        field = self._random.choice((f"{path}:", ""))
        word = self._random.choice([w for w in self._words[path] if re.fullmatch(r"\w+", w)])
        if self._random.random() < 0.4 or not self._pairs[path]:
            start = word[: self._random.randint(1, len(word))]
            return field + self._random.choice((word, word, f"{start}*", f"*{start}", f"*{start}*"))
        if self._random.random() < 0.5:
            return f'{field}"{" ".join(self._random.choice(self._pairs[path]))}"'
        return field + word


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Both, Random, index.Index]]:
    """A catalog of several segments, and its index opened with Whoosh."""
    print(f"seed {SEED}")
    directory = tmp_path_factory.mktemp("index")
    chance = Random(SEED)
    filled = Both(Catalog(WhooshEngine.open(directory)), chance)
    entities = list(generated(chance))
    filled.fill(entities)
    # Nothing is merged any more, or all segments could become one before they are looked at.
    filled.catalog.engine.merges.close()
    filled.add(entities[:1])
    yield filled, chance, index.open_dir(str(directory), indexname=INDEX)
    filled.catalog.engine.close()


def ours(both: Both, node: tree.Node, **options: Any) -> list[str]:
    """The ids that our evaluation finds."""
    query_ = EngineQuery(tree=node, include_deleted=True, size=1_000, **options)
    return [hit.id for hit in both.catalog.engine.search(query_).hits]


@pytest.mark.parametrize("rounds", first_alone(40, 2_000))
def test_whoosh_searcher_and_our_evaluation_find_the_same(both, rounds) -> None:
    filled, chance, opened = both
    pairs = Pairs(chance, filled)
    matched = 0
    with opened.searcher() as searcher:
        assert len(searcher.reader().leaf_readers()) > 1
        for _ in range(rounds):
            node, theirs = pairs.pair(3)
            expected = set(ours(filled, node))
            stored = searcher.search(theirs, limit=None, scored=False)
            assert expected == {hit["id"] for hit in stored}, node
            matched += bool(expected)
    assert matched > (rounds / 3 if rounds == 2_000 else rounds / 12)


@pytest.mark.parametrize("rounds", first_alone(12, 250))
def test_whoosh_parser_and_ours_find_the_same(both, rounds) -> None:
    filled, chance, opened = both
    texts = Texts(chance, filled)
    parser = QueryParser("words", opened.schema)
    parser.replace_plugin(FieldsPlugin(r"(?P<text>[\w.]+|[*]):"))
    matched = 0
    with opened.searcher() as searcher:
        for _ in range(rounds):
            text = texts.text(chance.randint(1, 2))
            expected = set(ours(filled, parse(text)))
            stored = searcher.search(parser.parse(text), limit=None)
            assert expected == {hit["id"] for hit in stored}, text
            matched += bool(expected)
    assert matched > (rounds / 4 if rounds == 250 else 0)


@pytest.mark.parametrize("path", SORTABLE)
@pytest.mark.parametrize("descending", [False, True])
def test_whoosh_sorts_as_we_do(both, path, descending) -> None:
    filled, _, opened = both
    order = MultiFacet([FieldFacet(path, reverse=descending), "name", "id"])
    with opened.searcher() as searcher:
        stored = searcher.search(query.Every(), limit=None, sortedby=order)
        theirs = [hit["id"] for hit in stored]
    assert theirs == ours(filled, tree.MatchAll(), sort=Sort(path, descending))


@pytest.mark.parametrize("path", ["kind", "deleted", "entityType", "version", "owners.name"])
def test_whoosh_groups_by_what_documents_hold(both, path) -> None:
    filled, _, opened = both
    expected: dict[Any, set[str]] = {}
    for document in filled.documents():
        own = {"kind": document.kind, "deleted": document.deleted}
        expected.setdefault(own.get(path, document.sort.get(path)), set()).add(document.id)
    with opened.searcher() as searcher:
        result = searcher.search(query.Every(), limit=None, groupedby=path)
        groups = {
            value: {searcher.stored_fields(docnum)["id"] for docnum in docnums}
            for value, docnums in result.groups(path).items()
        }
    assert groups == expected


def test_whoosh_groups_by_each_of_several_values(both) -> None:
    filled, _, opened = both
    expected: dict[str | None, set[str]] = {}
    for document in filled.documents():
        values = {keyword(v) for v in document.fields.get("columns.name", ()) if v == str(v)}
        for value in values or {None}:
            expected.setdefault(value, set()).add(document.id)
    facet = FieldFacet("columns.name.keyword", allow_overlap=True)
    with opened.searcher() as searcher:
        result = searcher.search(query.Every(), limit=None, groupedby={"columns": facet})
        groups = {
            value: {searcher.stored_fields(docnum)["id"] for docnum in docnums}
            for value, docnums in result.groups("columns").items()
        }
    assert groups == expected
