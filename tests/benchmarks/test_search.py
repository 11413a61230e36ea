"""The search benchmark asks all engines the same, and its figures come out at small sizes."""

import pytest

from benchmarks import search, search_live, search_stock, search_tantivy
from benchmarks.generate import lines
from benchmarks.search_questions import Sample
from benchmarks.search_stock import Stock
from benchmarks.search_tantivy import Tantivy
from benchmarks.workspace import Workspace, load
from projections.search.bulk_build import load as rebuild
from projections.search.index.engine import WhooshEngine
from projections.wiring.stores import open_log

COUNT, QUESTIONS = 200, 3


@pytest.fixture(scope="module")
def engines(tmp_path_factory):
    """A search engine of ours, tantivy and stock Whoosh over the same documents."""
    directory = tmp_path_factory.mktemp("search")
    log = open_log(directory / "data")
    load(log, lines(COUNT))
    engine = WhooshEngine.open(directory / "index")
    rebuild(engine, log, lambda done, total: None)
    engine.compact()
    documents = list(search.documents(log))
    for name in ("tantivy", "stock"):
        (directory / name).mkdir()
    tantivy = Tantivy(search_tantivy.build(directory / "tantivy", documents))
    stock = Stock(search_stock.build(directory / "stock", documents))
    yield documents, engine, tantivy, stock
    engine.close()
    log.close()


def test_documents_are_those_that_the_projection_indexes(engines):
    documents, engine, _, _ = engines
    assert len(documents) == engine.count() == COUNT


def test_engines_find_as_many_where_they_mean_the_same(engines):
    documents, engine, tantivy, stock = engines
    shapes = [shape for shape in Sample(documents).shapes(QUESTIONS) if shape.same]
    differing = []
    for question in (question for shape in shapes for question in shape.questions):
        ours = search.answer(engine, search.engine_query(question))[0]
        totals = (ours, tantivy.ask(question)[0], stock.ask(question)[0])
        if len(set(totals)) > 1:
            differing.append((question.text, totals))
    assert len(shapes) == 14
    assert differing == []


def test_engines_give_the_same_page_when_sorted_by_name(engines):
    documents, engine, tantivy, _ = engines
    names = {document.id: document.sort["name"] for document in documents}
    shape = next(s for s in Sample(documents).shapes(QUESTIONS) if s.name == "sort by name")
    for question in shape.questions:
        ours = search.answer(engine, search.engine_query(question))[1]
        theirs = tantivy.ask(question)[1]
        assert [names[found] for found in ours] == [names[found] for found in theirs]


def test_questions_of_a_shape_find_something(engines):
    documents, engine, _, _ = engines
    for shape in Sample(documents).shapes(QUESTIONS):
        totals = [search.answer(engine, search.engine_query(q))[0] for q in shape.questions]
        assert len(totals) == QUESTIONS
        assert min(totals) > 0, shape.name


def test_search_figures_have_a_line_for_every_shape_and_budget(tmp_path):
    figures = search.figures_of(Workspace(tmp_path), COUNT, QUESTIONS, quiet_seconds=0.1)
    assert len(figures) == 1 + 1 + 1 + 19 + 3
    assert [
        figure.what for figure in figures if figure.ratio is not None and figure.ratio <= 0
    ] == []
    assert [figure.met is None for figure in figures].count(False) == 1 + 12 + 1


@pytest.mark.deep
def test_live_figures_come_out_of_a_real_server(tmp_path):
    figures = search_live.figures_of(Workspace(tmp_path), COUNT, 3, 1)
    assert [figure.what.split(",")[0] for figure in figures] == [
        "one write to searchable: index commit and reader's first answer",
        "100 clients searching",
        "list of ten",
    ]
