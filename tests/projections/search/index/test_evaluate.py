"""Evaluation against plain Python, and over one segment as over many with dead documents."""

import gc
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.errors import InvalidInput
from projections.search import tree
from projections.search.documents.documents import SearchDocument
from projections.search.documents.sources import object_reader
from projections.search.engine import EngineHits, EngineQuery, Sort
from projections.search.index.build.inverter import Inverter
from projections.search.index.evaluate.evaluator import Evaluator
from projections.search.index.evaluate.nested import Nesting
from projections.search.index.evaluate.object_search import ObjectSearch
from projections.search.index.evaluate.segments import Memory, SegmentView, Snapshot, Steps
from projections.search.index.search_commit import search
from projections.search.language.relevance import relevance
from projections.search.matching.candidates import Candidates
from projections.search.matching.deadline import Deadline
from projections.search.tree import Bool
from tests.depth import examples

WORDS = ("alpha", "alphas", "beta", "gamma", "beta_gamma", "älpha")


def found_document(number: int, words: Sequence[str], version: float | None = None):
    fields = {"name": (f"n{number // 2}",), "entityStatus": tuple(words[:1])}
    if words:
        fields["description"] = (" ".join(words),)
    if version is not None:
        fields["version"] = (version,)
    sort = {"name": f"n{number // 2}", "version": version, "entityStatus": (*words, None)[0]}
    return SearchDocument(f"id{number}", "table", number % 5 == 4, fields, sort)


def view_of(name: str, documents: Sequence[SearchDocument], dead: Sequence[str] = ()):
    inverter = Inverter()
    for document in documents:
        inverter.add(document)
    view = SegmentView(name, inverter.finish())
    buried = np.array([view.stored(number).id in dead for number in range(view.size)], np.bool_)
    return view.with_dead(buried)


def stepped(view: SegmentView, **steps: int) -> SegmentView:
    """The same segment, searched in other steps, with nothing remembered of it."""
    view = SegmentView(view.name, view.arrays, view.dead)
    view.steps = Steps(**steps)
    return view


def run(views: Sequence[SegmentView], query: EngineQuery) -> EngineHits:
    return search(Snapshot(views), query, endless())


def endless() -> Deadline:
    """Time enough for whatever a test does."""
    return Deadline(60, time.monotonic)


def test_search_leaves_no_arrays_to_the_garbage_collector():
    views = [view_of(name, [found_document(0, ["alpha", "beta"])]) for name in ("one", "two")]
    query = EngineQuery(tree=relevance(["alpha", "gamma"]), filter=relevance(["alpha"]))
    gc.collect()
    gc.disable()
    try:
        assert run(views, query).total == 0
        left = [each for each in gc.get_objects() if isinstance(each, Evaluator)]
    finally:
        gc.enable()
    assert left == []


def test_any_of_several_values_is_what_each_of_them_finds():
    words = ["alpha", "beta", "true", "1", "gamma"]
    views = [
        view_of(name, [found_document(at + 10 * n, words[at % 5 :], 1.0) for at in range(9)])
        for n, name in enumerate(("one", "two"))
    ]
    fields = ("entityStatus", "entityStatus.keyword", "description", "version", "id", "deleted")
    for field in fields:
        values = [tree.Exact(field, value) for value in (*words, "id3", "id12", "nothing")]
        each = [run(views, EngineQuery(tree=value, size=99)) for value in values]
        every = run(views, EngineQuery(tree=tree.Constant(tree.any_of(values), 3.0), size=99))
        assert {hit.id for hit in every.hits} == {hit.id for one in each for hit in one.hits}
        assert {hit.score for hit in every.hits} <= {3.0}


leaves = st.one_of(
    st.builds(tree.Term, st.sampled_from([None, "description", "entityStatus"]),
              st.sampled_from(WORDS)),
    st.builds(tree.Phrase, st.sampled_from([None, "description"]),
              st.lists(st.sampled_from(WORDS), min_size=2, max_size=3).map(" ".join),
              st.integers(0, 3)),
    st.builds(tree.Wildcard, st.sampled_from([None, "description"]),
              st.sampled_from(["al*", "*a", "*m*", "?eta", "b*a", "*"])),
    st.builds(tree.Fuzzy, st.sampled_from([None, "description"]),
              st.sampled_from(["alpa", "bota", "gammma"]), st.integers(0, 2)),
    st.builds(tree.Regex, st.just("description"), st.sampled_from(["[ab].*", ".*(ph|am).*"])),
    st.builds(tree.Range, st.just("version"), st.none(), st.sampled_from(["1", "2.5"])),
    st.builds(tree.Exists, st.sampled_from(["description", "version"])),
    st.builds(tree.Ids, st.lists(st.integers(0, 12).map("id{}".format), max_size=3).map(tuple)),
    st.just(tree.MatchAll()),
)  # fmt: skip


def _nodes(inner):
    some = st.lists(inner, max_size=2).map(tuple)
    minimum = st.none() | st.sampled_from(["0", "1", "2", "50%"])
    return st.one_of(
        st.builds(Bool, some, some, some, some, minimum),
        st.builds(tree.Boosted, inner, st.sampled_from([0.3, 2.0])),
        st.builds(tree.Constant, inner, st.sampled_from([0.1, 3.0])),
        st.builds(tree.DisMax, some, st.sampled_from([0.0, 0.3])),
    )


trees = st.recursive(leaves, _nodes, max_leaves=6)
sorts = st.none() | st.builds(
    Sort, st.sampled_from(["_score", "name", "version", "entityStatus"]), st.booleans()
)
contents = st.lists(
    st.tuples(st.lists(st.sampled_from(WORDS), max_size=5), st.sampled_from([None, 1.0, 2.0, 3.5])),
    min_size=1,
    max_size=13,
)


@settings(max_examples=examples(300), deadline=None)
@given(contents, trees, sorts, st.integers(1, 5), st.booleans(), st.none() | trees)
def test_search_over_many_segments_is_that_over_one(
    held, node, sort, size, include_deleted, restriction
):
    documents = [found_document(number, *content) for number, content in enumerate(held)]
    old = [found_document(number, ["alpha"] * 9) for number in range(0, len(held), 2)]
    parts = [documents[at : at + size] for at in range(0, len(documents), size)]
    many = [view_of(str(at), part) for at, part in enumerate(parts)]
    many.append(view_of("old", [*old, documents[-1]], [d.id for d in (*old, documents[-1])]))
    one = [view_of("one", documents)]
    query = EngineQuery(
        tree=node, sort=sort, size=100, include_deleted=include_deleted, filter=restriction
    )
    whole = run(one, query)
    assert run(many, query) == whole
    assert whole.total == len(whole.hits)
    walked, after = [], None
    while page := run(many, _paged(query, size, after)).hits:
        walked += page
        after = page[-1].sort
    assert tuple(walked) == whole.hits
    deep = EngineQuery(tree=node, sort=sort, size=3, offset=2, include_deleted=include_deleted)
    unfiltered = EngineQuery(tree=node, sort=sort, size=99, include_deleted=include_deleted)
    assert run(many, deep).hits == run(one, unfiltered).hits[2:5]


def _paged(query: EngineQuery, size: int, after) -> EngineQuery:
    return EngineQuery(
        tree=query.tree,
        filter=query.filter,
        sort=query.sort,
        size=size,
        search_after=after,
        include_deleted=query.include_deleted,
    )


def _matches(node: tree.Node, document: SearchDocument) -> bool:
    match node:
        case tree.MatchAll():
            return True
        case tree.Ids(values=values):
            return document.id in values
        case tree.Exists(field=field):
            return field in document.fields
        case tree.Boosted(node=inner) | tree.Constant(node=inner):
            return _matches(inner, document)
        case tree.DisMax(nodes=nodes):
            return any(_matches(inner, document) for inner in nodes)
    assert isinstance(node, Bool)
    return (
        all(_matches(inner, document) for inner in (*node.must, *node.filter))
        and not any(_matches(inner, document) for inner in node.must_not)
        and sum(_matches(inner, document) for inner in node.should) >= node.required
    )


plain_leaves = st.one_of(
    st.builds(tree.Exists, st.sampled_from(["description", "version"])),
    st.builds(tree.Ids, st.lists(st.integers(0, 12).map("id{}".format), max_size=9).map(tuple)),
    st.just(tree.MatchAll()),
)


@settings(max_examples=examples(300), deadline=None)
@given(contents, st.recursive(plain_leaves, _nodes, max_leaves=8))
def test_search_combines_sets_as_plain_python_does(held, node):
    documents = [found_document(number, *content) for number, content in enumerate(held)]
    query = EngineQuery(tree=node, size=100, include_deleted=True)
    hits = run([view_of("one", documents)], query).hits
    assert {hit.id for hit in hits} == {d.id for d in documents if _matches(node, d)}


def _with_the_words_themselves(node: tree.Node) -> tree.Node:
    if isinstance(node, tree.Fuzzy):
        return msgspec.structs.replace(node, others=False)
    return tree.map_children(node, _with_the_words_themselves)


@settings(max_examples=examples(300), deadline=None)
@given(contents, st.lists(st.sampled_from((*WORDS, "alphs", "Gama", "beta_")), min_size=1))
def test_plain_text_need_not_count_a_word_as_a_slip_of_itself(held, words):
    documents = [found_document(number, *content) for number, content in enumerate(held)]
    views = [view_of(f"{at}", documents[at::2], ["id3"]) for at in range(min(2, len(documents)))]
    node = relevance(words)
    every = EngineQuery(tree=_with_the_words_themselves(node), size=100)
    assert run(views, EngineQuery(tree=node, size=100)) == run(views, every)


def test_search_of_many_documents_ranks_as_a_full_sort_does():
    words = ["alpha " * (number % 7 + 1) + "beta " * (number % 11) for number in range(3_000)]
    documents = [found_document(number, [text.strip()]) for number, text in enumerate(words)]
    views = [view_of("one", documents)]
    node = Bool(should=(tree.Term(None, "alpha"), tree.Term(None, "beta")))
    for query_tree in (node, tree.Term(None, "alpha")):
        every = run(views, EngineQuery(tree=query_tree, size=3_000)).hits
        scores = [hit.score for hit in every]
        assert scores == sorted(scores, reverse=True)
        assert every == tuple(sorted(every, key=lambda hit: (-hit.score, hit.sort[1:])))
        for offset, size in ((0, 10), (95, 10), (1_200, 40), (2_390, 20)):
            query = EngineQuery(tree=query_tree, offset=offset, size=size)
            assert run(views, query).hits == every[offset : offset + size]


def test_search_of_dead_documents_counts_the_living_only():
    documents = [found_document(number, ["alpha"]) for number in range(10)]
    view = view_of("one", documents, ["id0", "id1"])
    assert run([view], EngineQuery(tree=tree.MatchAll(), include_deleted=True)).total == 8
    assert view.frequency("words", b"alpha") == 8
    assert view.with_dead(None).frequency("words", b"alpha") == 10


def test_search_restricts_to_kinds_and_leaves_out_soft_deleted():
    view = view_of("one", [found_document(number, ["alpha"]) for number in range(10)])
    node = tree.Term(None, "alpha")
    assert run([view], EngineQuery(tree=node)).total == 8
    assert run([view], EngineQuery(tree=node, kinds=frozenset({"table"}))).total == 8
    assert run([view], EngineQuery(tree=node, kinds=frozenset({"topic"}))).total == 0
    assert view.allowed(frozenset({"table"}), True) is None


def test_search_answers_in_time_with_what_it_has():
    view = view_of("one", [found_document(1, ["alpha"])])
    over = Deadline(-1, time.monotonic)
    found = search(Snapshot([view]), EngineQuery(tree=tree.MatchAll()), over)
    assert (found.timed_out, found.relation, found.total) == (True, "gte", 0)


@pytest.mark.parametrize(
    "node",
    [
        tree.Wildcard("id", "a*"),
        tree.Regex("owners.href", "a.*"),
        tree.Fuzzy("id", "abc", 1),
        tree.Range("id", gte="a"),
    ],
)
def test_search_refuses_patterns_over_what_is_matched_whole(node):
    view = view_of("one", [found_document(1, ["alpha"])])
    with pytest.raises(InvalidInput, match="is only matched whole"):
        run([view], EngineQuery(tree=node))


def test_scores_of_a_word_and_its_stem():
    view = view_of("one", [found_document(0, ["alphas"]), found_document(1, ["alpha", "beta"])])
    hits = run([view], EngineQuery(tree=tree.Term("description", "alphas"))).hits
    assert [hit.id for hit in hits] == ["id0", "id1"]
    assert hits[0].score > hits[1].score


TABLES = {
    "a": '{"columns": [{"name": "x", "dataType": "INT"}, {"name": "y", "dataType": "TEXT"}]}',
    "b": '{"columns": [{"name": "x", "dataType": "TEXT", "children": [{"name": "y", '
    '"dataType": "INT"}]}]}',
    "c": '{"columns": []}',
}


def _tables() -> SegmentView:
    fields = {
        "a": {"columns.name": ("x", "y"), "columns.dataType": ("INT", "TEXT")},
        "b": {"columns.name": ("x", "y"), "columns.dataType": ("TEXT", "INT")},
        "c": {"name": ("c",)},
    }
    return view_of("t", [SearchDocument(i, "table", False, f, {}) for i, f in fields.items()])


def _column(name: str, kind: str) -> tuple[tree.Node, tree.Node]:
    return tree.Term("columns.name", name), tree.Term("columns.dataType", kind)


@pytest.mark.parametrize(
    ("node", "ids"),
    [
        (Bool(must=_column("x", "int")), {"a"}),
        (Bool(must=_column("x", "text")), {"b"}),
        (Bool(must=_column("z", "text")), set()),
        (Bool(filter=_column("y", "int")), {"b"}),
        (Bool(must=_column("x", "int")[:1], must_not=_column("x", "int")[1:]), {"b"}),
        (Bool(must_not=_column("x", "int")[:1]), {"a", "b"}),
        (Bool(should=_column("x", "int"), minimum_should_match="2"), {"a"}),
        (tree.Term("columns.name", "x"), {"a", "b"}),
        (tree.MatchAll(), {"a", "b"}),
        (tree.Boosted(Bool(should=_column("x", "int")), 2.0), {"a", "b"}),
    ],
)
def test_nested_needs_one_object_with_everything(node, ids):
    reader = object_reader(lambda wanted: {i: TABLES[i].encode() for i in wanted})
    query = EngineQuery(tree=tree.Nested("columns", node))
    snapshot = Snapshot([_tables()])
    found = search(snapshot, query, endless(), reader)
    assert {hit.id for hit in found.hits} == ids
    filtered = EngineQuery(tree=tree.MatchAll(), filter=tree.Nested("columns", node))
    found = search(snapshot, filtered, endless(), reader)
    assert {hit.id for hit in found.hits} == ids


def test_nested_of_several_conditions_needs_the_objects():
    query = EngineQuery(tree=tree.Nested("columns", Bool(must=_column("x", "int"))))
    with pytest.raises(InvalidInput, match="can only have one condition"):
        run([_tables()], query)
    view = _tables()
    reader = object_reader(lambda wanted: {i: TABLES[i].encode() for i in wanted})
    candidates = Candidates(reader, endless(), ObjectSearch)
    candidates.left = 1
    with pytest.raises(InvalidInput, match="more than 20000 documents"):
        Evaluator(Snapshot([view]), view, Nesting(candidates)).matches(query.tree)


def test_searches_of_several_threads_answer_the_same():
    view = view_of("one", [found_document(number, ["alpha", "beta"]) for number in range(200)])
    snapshot = Snapshot([view])
    queries = [
        EngineQuery(tree=node, filter=tree.Exists("description"))
        for node in (
            tree.Term(None, "alphas"),
            tree.Phrase("description", "alpha beta"),
            tree.Wildcard(None, "*eta"),
            tree.Fuzzy(None, "alpa", 1),
        )
    ]
    alone = [run([view], query) for query in queries]

    def ask(number: int) -> bool:
        query = number % len(queries)
        return search(snapshot, queries[query], endless()) == alone[query]

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(ask, range(400)))


def test_memory_keeps_what_was_used_last_up_to_its_limit():
    memory = Memory(2_000)
    made = []

    def array(key: str) -> None:
        memory.array(key, lambda: made.append(key) or np.zeros(600, np.bool_))

    for key in "abacabc":
        array(key)
    assert made == ["a", "b", "c", "b", "c"]
