"""Order, pages, totals and deadlines, in every search engine."""

import pytest

from domain.errors import InvalidInput
from projections.search.engine import SCORE, TOTAL_CAP, EngineQuery, SearchEngine, Sort
from projections.search.tree import Bool, Exists, MatchAll, Nested, Term
from tests.contracts.search_engines import (
    OpenEngine,
    apply,
    engine,
    filled_engine,
    in_order,
    made,
    open_engine,
)
from tests.depth import first_alone

__all__ = ["engine", "filled_engine", "open_engine"]

VERSIONS: dict[str, float | None] = {"d": 0.2, "b": 0.1, "e": None, "a": 0.2, "c": 1.0, "f": None}
STATUSES = {"d": "draft", "b": "approved", "a": "draft"}


@pytest.fixture(scope="module")
def tables(filled_engine: SearchEngine) -> SearchEngine:
    """Six tables in four commits; some have the same version and status, some have none."""
    documents = [
        made(
            name,
            description="word " * (1 + "abcdef".index(name)),
            sort={"version": version, "entityStatus": STATUSES.get(name)},
        )
        for name, version in VERSIONS.items()
    ]
    for position, some in enumerate((documents[:2], documents[2:3], documents[3:5], documents[5:])):
        apply(filled_engine, position + 1, *some)
    return filled_engine


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        (Sort("name"), "abcdef"),
        (Sort("name", descending=True), "fedcba"),
        (Sort("version"), "badcef"),
        (Sort("version", descending=True), "cadbef"),
        (Sort("entityStatus"), "badcef"),
        (Sort("entityStatus", descending=True), "adbcef"),
        (Sort("serviceType"), "abcdef"),
    ],
)
def test_order_has_ties_by_name_and_missing_values_last(
    tables: SearchEngine, sort: Sort, expected: str
) -> None:
    assert "".join(in_order(tables, MatchAll(), sort)) == expected


def test_order_of_equal_names_is_by_id(engine: SearchEngine) -> None:
    for position, document in enumerate((made("z"), made("x"), made("y")), 1):
        same = {**document.sort, "name": "same"}
        apply(engine, position, made(document.id, sort=same))
    assert in_order(engine, MatchAll()) == ["x", "y", "z"]
    assert in_order(engine, MatchAll(), Sort("version", descending=True)) == ["x", "y", "z"]


ORDERS = [
    Sort("name"),
    Sort("name", descending=True),
    Sort("version"),
    Sort("version", descending=True),
    Sort("entityStatus", descending=True),
    Sort(SCORE),
    Sort(SCORE, descending=True),
]


@pytest.mark.parametrize("sort", ORDERS)
@pytest.mark.parametrize("size", first_alone(2, 1, 4))
def test_pages_make_the_whole_order(tables: SearchEngine, sort: Sort, size: int) -> None:
    node = Term("description", "word")
    whole = tables.search(EngineQuery(tree=node, sort=sort)).hits
    assert len(whole) == 6
    by_offset, after_hits, after = [], [], None
    for offset in range(0, 6, size):
        query = EngineQuery(tree=node, sort=sort, offset=offset, size=size)
        by_offset += tables.search(query).hits
    while page := tables.search(
        EngineQuery(tree=node, sort=sort, size=size, search_after=after)
    ).hits:
        after_hits += page
        after = page[-1].sort
    assert (tuple(by_offset), tuple(after_hits)) == (whole, whole)


def test_hits_have_what_they_are_sorted_by(tables: SearchEngine) -> None:
    first, *_, last = tables.search(EngineQuery(tree=MatchAll(), sort=Sort("version"))).hits
    assert (first.id, first.kind, first.score, first.sort) == ("b", "table", None, (0.1, "b", "b"))
    assert last.sort == (None, "f", "f")


def test_scores_fall_and_the_best_one_is_told_on_every_page(tables: SearchEngine) -> None:
    node = Term("description", "word")
    found = tables.search(EngineQuery(tree=node))
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, key=lambda score: -(score or 0))
    assert found.max_score == scores[0]
    assert tables.search(EngineQuery(tree=node, offset=4, size=1)).max_score == scores[0]
    assert tables.search(EngineQuery(tree=node, sort=Sort("name"))).max_score is None


def test_total_is_of_all_that_match_whatever_the_page(tables: SearchEngine) -> None:
    for query in (
        EngineQuery(tree=MatchAll(), size=0),
        EngineQuery(tree=MatchAll(), size=2, offset=4),
        EngineQuery(tree=MatchAll(), offset=100),
        EngineQuery(tree=MatchAll(), sort=Sort("name"), search_after=("c", "c", "c")),
        EngineQuery(tree=MatchAll(), exact_total=False),
    ):
        found = tables.search(query)
        assert (found.total, found.relation, found.timed_out) == (6, "eq", False)


def test_total_that_need_not_be_exact_may_stop_at_the_cap(engine: SearchEngine) -> None:
    apply(engine, 1, *(made(f"n{number:05}") for number in range(TOTAL_CAP + 1)))
    exact = engine.search(EngineQuery(tree=MatchAll(), size=1))
    assert (exact.total, exact.relation) == (TOTAL_CAP + 1, "eq")
    about = engine.search(EngineQuery(tree=MatchAll(), size=1, exact_total=False))
    assert about.total >= TOTAL_CAP
    assert about.relation == "gte" or about.total == TOTAL_CAP + 1
    assert about.hits == exact.hits


@pytest.mark.parametrize("after", [(), (1,), ("x", "a", "b"), (1, 2, 3), (None, None, None)])
def test_values_of_no_hit_are_refused(tables: SearchEngine, after: tuple[str | int | None]) -> None:
    with pytest.raises(InvalidInput, match="search_after"):
        tables.search(EngineQuery(tree=MatchAll(), sort=Sort("version"), search_after=after))


@pytest.mark.parametrize("value", ["None", "", "NULL", "Draft", 1, 1.5, True])
def test_value_of_no_text_field_is_refused(tables: SearchEngine, value: str | float | None) -> None:
    for field in ("entityStatus", "name"):
        query = EngineQuery(tree=MatchAll(), sort=Sort(field), search_after=(value, "e", "e"))
        with pytest.raises(InvalidInput, match=f"search_after .* {field}"):
            tables.search(query)


@pytest.mark.parametrize("value", ["None", "", "NULL", "nan", True])
def test_value_of_no_number_field_is_refused(
    tables: SearchEngine, value: str | float | None
) -> None:
    query = EngineQuery(tree=MatchAll(), sort=Sort("version"), search_after=(value, "e", "e"))
    with pytest.raises(InvalidInput, match=r"search_after .* version"):
        tables.search(query)


def test_page_goes_on_after_values_that_are_texts(tables: SearchEngine) -> None:
    sort = Sort("version", descending=True)
    first, *rest = tables.search(EngineQuery(tree=MatchAll(), sort=sort)).hits
    after = tuple(str(value) for value in first.sort)
    assert after == ("1.0", "c", "c")
    query = EngineQuery(tree=MatchAll(), sort=sort, search_after=after)
    assert tables.search(query).hits == tuple(rest)


class Clock:
    """A clock that goes on by a second whenever the objects of an entity are read."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def read(self, entity_id: str, path: str):
        self.now += 1.0
        yield {"columns.name": ("id",), "columns.dataType": ("INT",)}


ID_OF_INT = Nested("columns", Bool(must=(Term("columns.name", "id"), Exists("columns.dataType"))))


@pytest.mark.parametrize("commits", [1, 5])
def test_search_that_takes_too_long_gives_hits_that_match_and_says_so(
    open_engine: OpenEngine, commits: int
) -> None:
    clock = Clock()
    engine = open_engine(deadline=10.0, clock=clock)
    made_of = {"columns__name": "id", "columns__dataType": "INT"}
    documents = [made(f"n{number:02}", **made_of) for number in range(50)]
    for position in range(commits):
        apply(engine, position + 1, *documents[position::commits])
    found = engine.search(EngineQuery(tree=ID_OF_INT, size=100), clock.read)
    assert (found.timed_out, found.relation) == (True, "gte")
    assert 0 < len(found.hits) == found.total <= 11
    assert found.hits == tuple(sorted(found.hits, key=lambda hit: hit.sort[1] or ""))
    assert clock.now <= 12.0
    without = engine.search(EngineQuery(tree=Bool(must_not=(ID_OF_INT,)), size=100), clock.read)
    assert (without.timed_out, without.relation, without.hits) == (True, "gte", ())
