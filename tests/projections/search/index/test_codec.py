"""The index is an ordinary Whoosh index to those who read it with Whoosh."""

import pickle

import pytest
from whoosh import index
from whoosh.filedb.filestore import FileStorage
from whoosh.highlight import UppercaseFormatter
from whoosh.qparser import QueryParser
from whoosh.query import And, Every, Not, Or, Phrase, Prefix, Term, Wildcard

from projections.search.documents.documents import SearchDocument
from projections.search.index.engine import WhooshEngine
from projections.search.index.format.codec import Segment
from projections.search.index.format.storage import INDEX
from projections.search.matching.terms import whole_term
from tests.commits import commit

NAMES = {
    "1": ("table", "customer_orders", "All orders of a customer."),
    "2": ("table", "customer_id", "The customer of the orders."),
    "3": ("topic", "orders", "Something else"),
    "4": ("topic", "payments", "Removed again."),
    "5": ("table", "dead_orders", "All orders."),
}


def made(document_id):
    kind, name, description = NAMES[document_id]
    fields = {"name": (name,), "description": (description,)}
    return SearchDocument(document_id, kind, False, fields, {"name": name})


@pytest.fixture
def searcher(tmp_path):
    engine = WhooshEngine.open(tmp_path)
    commit(engine, {i: made(i) for i in ("1", "2", "4", "5")}, 1)
    commit(engine, {i: made(i) for i in ("3", "2")}, 2)
    commit(engine, {"4": None, "5": None}, 3)
    engine.close()
    with index.open_dir(str(tmp_path), indexname=INDEX).searcher() as found:
        yield found


QUERIES = {
    Term("words", "customer"): {"1", "2"},
    Term("words", "order"): {"1", "2", "3"},
    Term("exact", "name.keyword\x1forders"): {"3"},
    Term("whole", whole_term("id", "2")): {"2"},
    Term("words", "missing"): set(),
    And([Term("words", "customer"), Term("text", "name\x1forders")]): {"1"},
    Or([Term("text", "name\x1fid"), Term("words", "else")]): {"2", "3"},
    And([Every(), Not(Term("words", "customer"))]): {"3"},
    Prefix("text", "name\x1fcust"): {"1", "2"},
    Wildcard("text", "name\x1f*_id"): {"2"},
    Wildcard("exact", "name.keyword\x1fo?ders"): {"3"},
    Phrase("words", ["orders", "of", "a"]): {"1"},
    Phrase("words", ["of", "orders"]): set(),
}


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_whoosh_searcher_finds_the_living_that_match(searcher, query):
    found = searcher.search(query, limit=None)
    assert {hit["id"] for hit in found} == QUERIES[query]
    assert {hit["kind"] for hit in found} == {NAMES[i][0] for i in QUERIES[query]}


def test_whoosh_reader_tells_terms_and_frequencies(searcher):
    reader = searcher.reader()
    assert reader.doc_count() == 3
    assert list(reader.expand_prefix("words", "customer")) == [
        b"customer",
        b"customer_id",
        b"customer_orders",
    ]
    assert reader.doc_frequency("words", b"something") == 1
    assert reader.doc_frequency("words", b"missing") == 0
    assert sorted(reader.indexed_field_names()) == ["exact", "text", "whole", "words"]


def test_whoosh_cursor_walks_the_terms(tmp_path):
    engine = WhooshEngine.open(tmp_path)
    commit(engine, {"3": made("3")}, 1)
    engine.close()
    found = index.open_dir(str(tmp_path), indexname=INDEX)
    cursor = found.reader().cursor("words")
    walked = [cursor.first()]
    while (text := cursor.next()) is not None:
        walked.append(text)
    assert walked == ["else", "order", "orders", "something"]
    assert cursor.find("or") == "order"
    assert cursor.find("zzz") is None
    assert not cursor.is_valid()


def test_storage_of_another_kind_reads_the_same(tmp_path):
    engine = WhooshEngine.open(tmp_path)
    commit(engine, {"3": made("3")}, 1)
    engine.close()
    with FileStorage(str(tmp_path)).open_index(INDEX).searcher() as searcher:
        assert [hit["id"] for hit in searcher.search(Term("words", "orders"))] == ["3"]


def test_segment_remembers_its_dead_through_a_pickle():
    segment = Segment(INDEX, 10_000)
    assert (segment.deleted_count(), segment.has_deletions(), segment.dead) == (0, False, None)
    small = len(pickle.dumps(segment))
    segment = segment.with_dead([0, 8]).with_dead([9_999])
    data = pickle.dumps(segment)
    assert len(data) < small + 10_000 // 8 + 20
    again = pickle.loads(data)
    assert again.deleted_docs() == {0, 8, 9_999}
    assert [n for n in (0, 7, 8, 9_998, 9_999) if again.is_deleted(n)] == [0, 8, 9_999]
    assert (again.deleted_count(), again.doc_count()) == (3, 9_997)
    more = again.with_dead([1, 8])
    assert (more.deleted_count(), again.deleted_count()) == (4, 3)
    assert more.segment_id() == again.segment_id()


def test_segments_are_named_by_the_system_random_numbers():
    assert len({Segment(INDEX, 1).segment_id() for _ in range(100)}) == 100


def test_whoosh_looks_up_documents_by_id_and_by_whole_values(searcher):
    assert searcher.document(id="1")["name"] == "customer_orders"
    assert searcher.document(id="4") is None
    assert searcher.document(name="Customer_ID") == searcher.document(id="2")
    assert {hit["id"] for hit in searcher.documents(**{"name.keyword": "orders"})} == {"3"}


def test_whoosh_finds_documents_like_another_by_the_words_that_it_has(searcher):
    first = searcher.document_number(id="1")
    assert {hit["id"] for hit in searcher.more_like(first, "words")} == {"2", "3"}
    assert {hit["id"] for hit in searcher.more_like(first, "name")} == {"2", "3"}
    assert [hit["id"] for hit in searcher.more_like(first, "words", text="something else")] == ["3"]


def test_whoosh_marks_words_and_their_stems_in_a_text(searcher):
    parser = QueryParser("words", searcher.schema)
    results = searcher.search(parser.parse("order"))
    results.formatter = UppercaseFormatter()
    marked = {hit.highlights("words", text="Two Orders of: order_id") for hit in results}
    assert marked == {"Two ORDERS of: ORDER_id"}


def test_whoosh_takes_a_field_that_no_kind_has_for_a_word(searcher):
    parser = QueryParser("words", searcher.schema)
    assert "nmae" not in searcher.schema
    assert {field for field, _ in parser.parse("nmae:customer").iter_all_terms()} == {"words"}
    assert {field for field, _ in parser.parse("name:customer").iter_all_terms()} == {"name"}


def test_whoosh_searcher_sees_one_commit_until_it_is_refreshed(tmp_path):
    engine = WhooshEngine.open(tmp_path)
    commit(engine, {i: made(i) for i in ("1", "2")}, 1)
    searcher = index.open_dir(str(tmp_path), indexname=INDEX).searcher()
    commit(engine, {"3": made("3"), "1": None}, 2)
    engine.compact()
    assert {hit["id"] for hit in searcher.search(Every())} == {"1", "2"}
    newest = searcher.refresh()
    assert {hit["id"] for hit in newest.search(Every())} == {"2", "3"}
    newest.close()
    engine.close()


def test_not_is_answered_of_a_segment_whose_dead_fill_whole_bytes(tmp_path):
    """504 documents are 63 bytes of dead ones; Whoosh asks of the number after the last, too."""
    engine = WhooshEngine.open(tmp_path)
    tables = {
        str(n): SearchDocument(str(n), "table", False, {"name": (f"n{n}",)}, {"name": f"n{n}"})
        for n in range(504)
    }
    commit(engine, tables, 1)
    commit(engine, {"7": None}, 2)
    engine.close()
    with index.open_dir(str(tmp_path), indexname=INDEX).searcher() as searcher:
        assert searcher.reader().doc_count_all() == 504
        found = searcher.search(Not(Term("text", "name\x1fx")), limit=None)
        assert {hit["id"] for hit in found} == set(tables) - {"7"}
        assert not searcher.reader().is_deleted(504)
