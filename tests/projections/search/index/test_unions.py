"""Several clauses about a word and others like it: each adds the scores that it has alone."""

from functools import reduce

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from projections.search import tree
from projections.search.engine import EngineQuery
from tests.depth import examples
from tests.projections.search.index.test_evaluate import found_document, run, view_of

WORD = tree.Term(None, "alpha")
clauses = st.one_of(
    st.just(WORD),
    st.builds(tree.Boosted, st.just(WORD), st.sampled_from([0.3, 2.0])),
    # Beside the last ones, scores of neighbouring impacts are the same in single precision.
    st.builds(tree.Constant, st.sampled_from([WORD, tree.Term(None, "gamma")]),
              st.sampled_from([0.1, 4_000.0, 1e6, 3e6, 1e7])),
    st.sampled_from([tree.PhrasePrefix(None, "alp"), tree.Fuzzy(None, "alpa", 1)]),
    st.just(tree.Boosted(tree.PhrasePrefix(None, "alp"), 0.7)),
)  # fmt: skip
repeats = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 2)), min_size=1, max_size=20)
"""How often the word stands in each document, and how often its plural and another word."""


@settings(max_examples=examples(300), deadline=None)
@given(repeats, st.lists(clauses, min_size=1, max_size=5), st.booleans(), st.booleans())
def test_clauses_about_like_words_score_as_each_alone(repeats, nodes, best, include_deleted):
    texts = [["alpha"] * one + ["alphas", "gamma"] * more + ["beta"] for one, more in repeats]
    documents = [found_document(number, words) for number, words in enumerate(texts)]
    views = [view_of("one", documents)]

    def searched(node):
        query = EngineQuery(tree=node, size=99, include_deleted=include_deleted)
        return run(views, query).hits

    combine = np.maximum if best else np.add
    several = tree.DisMax(tuple(nodes)) if best else tree.Bool(should=tuple(nodes))
    alone = [{hit.id: np.float32(hit.score) for hit in searched(node)} for node in nodes]
    scores = {
        each: float(reduce(combine, [one.get(each, np.float32(0)) for one in alone]))
        for each in set().union(*alone)
    }
    hits = searched(several)
    assert {hit.id: hit.score for hit in hits} == scores
    assert list(hits) == sorted(hits, key=lambda hit: (-hit.score, *hit.sort[1:]))
