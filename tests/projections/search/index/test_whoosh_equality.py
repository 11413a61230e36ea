"""An ordinary Whoosh searcher over the index finds what our evaluation finds, on random queries."""

import os
import random
from pathlib import Path
from random import Random

from whoosh import index, query

from projections.search import tree
from projections.search.analysis import keyword, stem, tokens
from projections.search.engine import EngineQuery
from projections.search.index.engine import WhooshEngine
from projections.search.index.format.schema import EXACT, WHOLE, WORDS
from projections.search.index.format.storage import INDEX
from projections.search.index.format.terms import PRESENT, SEPARATOR, whole_term
from projections.search.language.field_texts import is_whole
from tests.projections.search.conftest import Catalog
from tests.projections.search.test_oracle import Both, generated

SEED = int(os.environ.get("CATALOG_ORACLE_SEED", random.randrange(2**32)))
ROUNDS = 2_000

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


def test_whoosh_searcher_and_our_evaluation_find_the_same(tmp_path: Path) -> None:
    print(f"seed {SEED}")
    chance = Random(SEED)
    both = Both(Catalog(WhooshEngine.open(tmp_path)), chance)
    both.fill(list(generated(chance)))
    engine = both.catalog.engine
    pairs = Pairs(chance, both)
    matched = 0
    with index.open_dir(str(tmp_path), indexname=INDEX).searcher() as searcher:
        assert len(searcher.reader().leaf_readers()) > 1
        for _ in range(ROUNDS):
            ours, theirs = pairs.pair(3)
            asked = EngineQuery(tree=ours, include_deleted=True, size=1_000)
            found = {hit.id for hit in engine.search(asked).hits}
            stored = searcher.search(theirs, limit=None, scored=False)
            assert found == {hit["id"] for hit in stored}, ours
            matched += bool(found)
    engine.close()
    assert matched > ROUNDS / 3
