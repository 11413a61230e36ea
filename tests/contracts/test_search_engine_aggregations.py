"""Buckets and top hits of all that matches, in every search engine."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import chain, repeat
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domain.errors import InvalidInput
from projections.search.aggregations import (
    CALENDAR,
    MAX_BUCKETS,
    MAX_TOP_HITS,
    Aggregation,
    DateHistogram,
    Terms,
    TopHits,
)
from projections.search.documents.documents import SearchDocument
from projections.search.engine import (
    Buckets,
    EngineQuery,
    Facet,
    FacetResult,
    SearchEngine,
    Sort,
    TopDocuments,
)
from projections.search.tree import Exact, Exists, MatchAll, Node, Term
from tests.commits import commit
from tests.contracts.search_engines import (
    OpenEngine,
    apply,
    engine,
    filled_engine,
    made,
    open_engine,
)
from tests.depth import examples
from tests.projections.search.aggregation_oracle import as_told, told

__all__ = ["engine", "filled_engine", "open_engine"]

DAY = 86_400_000


def asked(
    engine: SearchEngine, aggregation: Aggregation, node: Node | None = None, **options: Any
) -> FacetResult:
    """Return the result of an aggregation over all that matches a node."""
    query = EngineQuery(tree=node or MatchAll(), size=0, facets=(Facet(aggregation),), **options)
    hits = engine.search(query)
    assert not hits.timed_out
    (result,) = hits.facets
    return result


def keys(result: FacetResult) -> list[tuple[Any, int]]:
    assert isinstance(result, Buckets)
    return [(bucket.key, bucket.count) for bucket in result.buckets]


@pytest.fixture(scope="module")
def tables(filled_engine: SearchEngine) -> SearchEngine:
    """Documents of two kinds in three commits, one of them deleted, one replaced, one removed."""
    ann, bob = {"owners__name": ("Ann", "bob")}, {"owners__name": "bob"}
    apply(filled_engine, 1, made("a", serviceType="Mysql", version=0.5, **ann), made("b", **bob))
    apply(
        filled_engine,
        2,
        made("c", serviceType="mysql", version=2, **bob),
        made("x", serviceType="No"),
    )
    apply(
        filled_engine,
        3,
        made("d", "topic", serviceType="Kafka"),
        made("b", serviceType="Glue", **ann),
    )
    apply(filled_engine, 4, made("e", serviceType="Glue", deleted=True))
    commit(filled_engine, {"x": None}, 5)
    return filled_engine


def test_terms_count_living_documents_by_whole_values(tables: SearchEngine) -> None:
    by_type = Terms(name="", field="serviceType")
    assert keys(asked(tables, by_type)) == [("mysql", 2), ("glue", 1), ("kafka", 1)]
    assert keys(asked(tables, by_type, kinds=frozenset({"table"}))) == [("mysql", 2), ("glue", 1)]
    everything = asked(tables, by_type, include_deleted=True)
    assert keys(everything) == [("glue", 2), ("mysql", 2), ("kafka", 1)]


def test_document_counts_once_in_each_of_its_buckets(tables: SearchEngine) -> None:
    assert keys(asked(tables, Terms(name="", field="owners.name"))) == [("bob", 3), ("ann", 2)]
    assert keys(asked(tables, Terms(name="", field="owners.name"), Term("owners.name", "ann"))) == [
        ("ann", 2),
        ("bob", 2),
    ]


def test_terms_tell_what_is_beyond_their_size(tables: SearchEngine) -> None:
    result = asked(tables, Terms(name="", field="serviceType", size=1))
    assert isinstance(result, Buckets)
    assert (keys(result), result.others) == ([("mysql", 2)], 2)
    assert asked(tables, Terms(name="", field="serviceType", size=0)) == Buckets((), 4)
    assert asked(tables, Terms(name="", field="nothing")) == Buckets()


def test_terms_by_key_by_pattern_and_by_text(tables: SearchEngine) -> None:
    by_key = Terms(name="", field="serviceType.keyword", order="key")
    assert keys(asked(tables, by_key)) == [("glue", 1), ("kafka", 1), ("mysql", 2)]
    fitting = Terms(name="", field="serviceType", order="key", pattern="[gk].*|none", size=1)
    assert asked(tables, fitting) == Buckets(asked(tables, by_key).buckets[:1], 1)  # type: ignore[union-attr]
    beginning = Terms(name="", field="serviceType", prefix="My")
    assert keys(asked(tables, beginning)) == [("mysql", 2)]
    within = Terms(name="", field="serviceType", containing="L")
    assert keys(asked(tables, within)) == [("mysql", 2), ("glue", 1)]


def test_terms_as_they_are_written_have_a_bucket_for_each_way(tables: SearchEngine) -> None:
    apply(tables, 6, made("f", owners__name=("ANN", "Ann"), tags__tagFQN=("Tier.Tier1", "Pii.No")))
    by_owner = Terms(name="", field="owners.name", written=True)
    assert keys(asked(tables, by_owner)) == [("Ann", 3), ("bob", 3), ("ANN", 1)]
    assert keys(asked(tables, by_owner, Term("owners.name", "bob"))) == [("bob", 3), ("Ann", 2)]
    by_tier = Terms(name="", field="tags.tagFQN", prefix="Tier.", written=True)
    assert keys(asked(tables, by_tier)) == [("Tier.Tier1", 1)]


def test_nearest_values_come_first(engine: SearchEngine) -> None:
    names = ["my_name", "name", "named", "a*name", "rename", "name*", "other"]
    for position, name in enumerate(names, 1):
        apply(engine, position, made(str(position), name__part=name))
    near = Terms(name="", field="name.part", containing="NAME", order="nearest")
    order = ["name", "name*", "named", "a*name", "my_name", "rename"]
    assert [key for key, _ in keys(asked(engine, near))] == order
    starred = Terms(name="", field="name.part", containing="e*", order="nearest")
    assert keys(asked(engine, starred)) == [("name*", 1)]


def test_terms_of_numbers_and_booleans(engine: SearchEngine) -> None:
    apply(engine, 1, made("a", version=10, disabled=True), made("b", version=-1.5, disabled=True))
    apply(engine, 2, made("c", version=(10, 2), disabled=False), made("d", version="10"))
    numbers = Terms(name="", field="version", values="numbers", order="key")
    assert keys(asked(engine, numbers)) == [(-1.5, 1), (2.0, 1), (10.0, 2)]
    booleans = Terms(name="", field="disabled", values="booleans")
    assert keys(asked(engine, booleans)) == [(True, 2), (False, 1)]
    assert keys(asked(engine, Terms(name="", field="version"))) == [("10", 1)]


def test_numbers_beyond_all_are_the_largest(engine: SearchEngine) -> None:
    apply(engine, 1, made("a", version=10**400), made("b", version=-(10**400)), made("c"))
    numbers = Terms(name="", field="version", values="numbers", order="key")
    assert keys(asked(engine, numbers)) == [(-sys.float_info.max, 1), (sys.float_info.max, 1)]
    years = DateHistogram(name="", field="version", interval="year")
    assert asked(engine, years) == Buckets()


def test_facets_keep_the_query_and_its_filter_and_not_the_post_filter(
    tables: SearchEngine,
) -> None:
    by_type = Terms(name="", field="serviceType")
    hits = tables.search(
        EngineQuery(
            tree=MatchAll(),
            filter=Exists("owners.name"),
            post_filter=Exact("serviceType", "glue"),
            facets=(Facet(by_type), Facet(by_type, Exact("owners.name", "ann"))),
        )
    )
    assert [hit.id for hit in hits.hits] == ["b"]
    assert [keys(facet) for facet in hits.facets] == [
        [("mysql", 2), ("glue", 1)],
        [("glue", 1), ("mysql", 1)],
    ]


@pytest.mark.parametrize(
    ("interval", "begins"),
    [
        ("year", ["2023-01-01", "2024-01-01"]),
        ("quarter", ["2023-10-01", "2024-01-01"]),
        ("month", ["2023-12-01", "2024-01-01", "2024-02-01"]),
        ("week", ["2023-12-25", "2024-01-01", "2024-01-29"]),
        ("day", ["2023-12-31", "2024-01-01", "2024-02-01"]),
        (30 * DAY, ["2023-12-19", "2024-01-18"]),
    ],
)
def test_date_histogram_counts_by_the_calendar(
    engine: SearchEngine, interval: str | int, begins: list[str]
) -> None:

    def milliseconds(text: str) -> int:
        return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)

    late = milliseconds("2023-12-31T23:59:59.999")
    apply(engine, 1, made("a", updatedAt=late), made("b", updatedAt=late + 1))
    apply(engine, 2, made("c", updatedAt=(milliseconds("2024-02-01"), late)))
    without_gaps = DateHistogram(name="", field="updatedAt", interval=interval, gaps=False)
    result = keys(asked(engine, without_gaps))
    assert [key for key, _ in result] == [milliseconds(begin) for begin in begins]


def test_date_histogram_fills_gaps(engine: SearchEngine) -> None:
    apply(engine, 1, made("a", updatedAt=0), made("b", updatedAt=(3 * DAY, 3 * DAY + 5, -1)))
    days = DateHistogram(name="", field="updatedAt", interval="day")
    expected = [(-DAY, 1), (0, 1), (DAY, 0), (2 * DAY, 0), (3 * DAY, 1)]
    assert keys(asked(engine, days)) == expected
    assert keys(asked(engine, days, Term("name", "nothing"))) == []


def test_buckets_have_aggregations_of_their_own(tables: SearchEngine) -> None:
    best = TopHits(name="", size=1, sort_field="name", descending=True)
    owners = Terms(name="", field="owners.name", below=(best,))
    result = asked(tables, Terms(name="", field="serviceType", size=1, below=(owners, best)))
    assert as_told(result)["buckets"][0]["below"] == [
        {
            "buckets": [
                {"key": "bob", "count": 2, "below": [{"total": 2, "ids": ["c"]}]},
                {"key": "ann", "count": 1, "below": [{"total": 1, "ids": ["a"]}]},
            ],
            "others": 0,
        },
        {"total": 2, "ids": ["c"]},
    ]


def test_top_hits_by_score_are_those_of_the_search(engine: SearchEngine) -> None:
    for position, name in enumerate("abc", 1):
        apply(engine, position, made(name, description="word " * position))
    node = Term("description", "word")
    result = asked(engine, TopHits(name="", size=2), node)
    hits = engine.search(EngineQuery(tree=node, size=2))
    assert isinstance(result, TopDocuments)
    assert (result.hits, result.max_score, result.total) == (hits.hits, hits.max_score, 3)
    assert result.hits[0].score == result.max_score != result.hits[1].score


def test_facets_leave_hits_as_they_are(tables: SearchEngine) -> None:
    query = EngineQuery(tree=MatchAll(), sort=Sort("name"), size=2)
    faceted = EngineQuery(
        tree=MatchAll(),
        sort=Sort("name"),
        size=2,
        facets=(Facet(Terms(name="", field="serviceType")),),
    )
    plain, hits = tables.search(query), tables.search(faceted)
    assert (plain.hits, plain.total, plain.facets) == (hits.hits, hits.total, ())


def test_too_many_buckets_are_refused(engine: SearchEngine) -> None:
    apply(engine, 1, made("a", updatedAt=0), made("b", updatedAt=MAX_BUCKETS * 1_000))
    seconds = DateHistogram(name="", field="updatedAt", interval=1_000)
    with pytest.raises(InvalidInput, match="10,000 buckets"):
        asked(engine, seconds)
    assert len(keys(asked(engine, DateHistogram(name="", field="updatedAt", interval=2_000)))) == (
        MAX_BUCKETS // 2 + 1
    )


def test_too_many_top_hits_are_refused(engine: SearchEngine) -> None:
    names = tuple(f"n{number}" for number in range(MAX_TOP_HITS // 2 + 1))
    apply(engine, 1, made("a", tag=names), made("b", tag=names))
    top = TopHits(name="", size=2)
    most = Terms(name="", field="tag", size=MAX_TOP_HITS // 2, below=(top,))
    assert len(keys(asked(engine, most))) == MAX_TOP_HITS // 2
    more = Terms(name="", field="tag", size=MAX_TOP_HITS // 2 + 1, below=(top,))
    with pytest.raises(InvalidInput, match="top hits may have 1,000"):
        asked(engine, more)


def test_facet_without_time_is_empty(open_engine: OpenEngine) -> None:
    apply(open_engine(), 1, made("a", serviceType="x"))
    facets = (Facet(Terms(name="", field="serviceType")), Facet(TopHits(name="")))
    query = EngineQuery(tree=MatchAll(), facets=facets)
    complete = open_engine().search(query)
    cut = []
    for looks in range(20):
        times = chain(repeat(0.0, looks), repeat(9.0))
        hits = open_engine(deadline=1.0, clock=partial(next, times)).search(query)
        if not hits.timed_out:
            assert hits == complete
            continue
        assert hits.relation == "gte"
        for facet, whole in zip(hits.facets, complete.facets, strict=True):
            assert facet in (whole, Buckets(), TopDocuments())
        cut.append((hits.total, hits.facets))
    assert (0, (Buckets(), TopDocuments())) in cut
    assert (1, (complete.facets[0], TopDocuments())) in cut


# Anything, against the oracle

VALUES = st.sampled_from(("a", "A", "ab", "b ", "é", "a.b", "x" * 40))
MOMENTS = st.integers(-40 * 366 * DAY, 60 * 366 * DAY)
FIELDS = {
    "serviceType": VALUES,
    "tags__tagFQN": st.lists(VALUES, min_size=1, max_size=3).map(tuple),
    "version": st.sampled_from((0.1, 1, 2.5, -3)),
    "disabled": st.booleans(),
    "updatedAt": MOMENTS,
    "tags__appliedAt": st.lists(MOMENTS, min_size=1, max_size=3).map(tuple),
}
DOCUMENTS = st.lists(
    st.builds(
        lambda fields, kind, deleted, version: (fields, kind, deleted, version),
        st.fixed_dictionaries({}, optional=FIELDS),
        st.sampled_from(("table", "topic")),
        st.booleans(),
        st.sampled_from((None, 1.0, 2.0)),
    ),
    max_size=25,
)
INTERVALS = st.sampled_from((*CALENDAR, 7 * DAY, 1_000 * 3600 * 5))
NO_MINUTES = st.sampled_from(("month", "quarter", "year", 31 * DAY))


def aggregations() -> st.SearchStrategy[Aggregation]:
    top: st.SearchStrategy[Any] = st.builds(
        TopHits,
        name=st.just("t"),
        size=st.integers(0, 3),
        sort_field=st.sampled_from(("name", "version")),
        descending=st.booleans(),
    )

    def around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        below = st.lists(inner, max_size=2).map(tuple)
        sizes = st.integers(0, 5)
        orders = st.sampled_from(("count", "key"))
        texts = st.builds(
            Terms,
            name=st.just("t"),
            field=st.sampled_from(("serviceType", "tags.tagFQN", "tags.tagFQN.keyword", "nothing")),
            size=sizes,
            order=orders,
            prefix=st.sampled_from(("", "A", "a.")),
            pattern=st.sampled_from((None, "a.*", "[^a]+", "b|ab")),
            containing=st.sampled_from((None, "B", ".", "")),
            below=below,
        )
        near = st.builds(
            Terms,
            name=st.just("t"),
            field=st.just("tags.tagFQN"),
            size=sizes,
            order=st.just("nearest"),
            containing=st.sampled_from(("a", "b")),
            below=below,
        )
        others = [
            st.builds(
                Terms,
                name=st.just("t"),
                field=st.just(field),
                values=st.just(values),
                size=sizes,
                order=orders,
                below=below,
            )
            for field, values in (("version", "numbers"), ("disabled", "booleans"))
        ]
        time = st.builds(
            DateHistogram,
            name=st.just("t"),
            field=st.sampled_from(("updatedAt", "tags.appliedAt")),
            interval=INTERVALS,
            gaps=st.just(value=False),
            below=below,
        )
        filled = st.builds(
            DateHistogram,
            name=st.just("t"),
            field=st.sampled_from(("updatedAt", "tags.appliedAt")),
            interval=NO_MINUTES,
            below=st.just(()),
        )
        return st.one_of(texts, near, *others, time, filled)

    return st.one_of(top, st.recursive(around(st.nothing() | top), around, max_leaves=4))


@given(rows=DOCUMENTS, asked_for=st.lists(aggregations(), min_size=1, max_size=4), data=st.data())
@settings(
    max_examples=examples(30, quick=8), suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_engine_agrees_with_the_oracle(
    engine: SearchEngine, rows: Sequence[Any], asked_for: list[Aggregation], data: st.DataObject
) -> None:
    documents: dict[str, SearchDocument] = {}
    engine.reset()
    for number, (fields, kind, deleted, version) in enumerate(rows):
        name = data.draw(st.sampled_from("abcdefgh")) if number % 2 else f"n{number}"
        documents[name] = made(name, kind, deleted=deleted, sort={"version": version}, **fields)
        if number % 5 == 4:
            apply(engine, number + 1, *documents.values())
    apply(engine, 100, *documents.values())
    kinds = data.draw(st.sampled_from((None, frozenset({"table"}))))
    narrowed = data.draw(st.sampled_from((MatchAll(), Exists("version"), Exact("name", "a"))))
    hits = engine.search(
        EngineQuery(
            tree=narrowed,
            kinds=kinds,
            include_deleted=True,
            size=0,
            facets=tuple(map(Facet, asked_for)),
        )
    )
    matching = [
        document
        for document in documents.values()
        if (kinds is None or document.kind in kinds)
        and (narrowed != Exists("version") or "version" in document.fields)
        and (narrowed != Exact("name", "a") or document.id == "a")
    ]
    expected = [told(matching, aggregation) for aggregation in asked_for]
    assert list(map(as_told, hits.facets)) == expected
