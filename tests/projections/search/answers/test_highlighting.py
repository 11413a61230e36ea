"""The words of a query, marked in the texts of a hit."""

import html
import re
from itertools import count

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.errors import InvalidInput
from projections.search import tree
from projections.search.analysis import compose, places, tokens
from projections.search.answers.highlighting import BEGIN, END, FRAGMENT, MAX_FRAGMENTS, Highlighter
from projections.search.answers.sought_words import MAX_PATTERNS, SoughtWords, first_marked
from projections.search.language.patterns import TermPattern
from tests.depth import examples
from tests.query_texts import parse

COLUMNS = [
    {"name": "customer_id", "description": "Id of the customer"},
    {"name": "address", "children": [{"name": "zipCode"}]},
]


def marked(q, /, **body):
    """The highlights of a table, with brackets for tags."""
    found = Highlighter(parse(q)).highlights("table", msgspec.json.encode(body))
    return {
        path: [piece.replace(BEGIN, "[").replace(END, "]") for piece in pieces]
        for path, pieces in found.items()
    }


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("dim", "[dim]_customerOrders"),
        ("order", "dim_customer[Orders]"),
        ("customers", "dim_[customer]Orders"),
        ("dim_customer", "[dim_customer]Orders"),
        ("dim orders", "[dim]_customer[Orders]"),
        ("dim_customerOrders", "[dim_customerOrders]"),
        ("cust", "dim_[customer]Orders"),
        ("dim_cust", "[dim_customer]Orders"),
        ("custmer", "dim_[customer]Orders"),
        ("dmi", "[dim]_customerOrders"),
        ("cust*", "dim_[customer]Orders"),
        ("/custom.r/", "dim_[customer]Orders"),
        ("custoner~", "dim_[customer]Orders"),
        ('"customer orders"', "dim_[customerOrders]"),
        ('"dim orders"~1', "[dim]_customer[Orders]"),
        ("name:dim", "[dim]_customerOrders"),
        ("displayName:dim", None),
        ("dim NOT orders", "[dim]_customerOrders"),
        ("NOT dim", None),
        ("_exists_:name", None),
        ("version:1", None),
        ("*", None),
        ("(", None),
    ],
)
def test_words_are_marked_as_they_are_found(q, expected):
    try:
        found = marked(q, name="dim_customerOrders")
    except InvalidInput:
        found = {}
    assert found == ({} if expected is None else {"name": [expected]})


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("company*", "Two [companies], their raw-[company]_id, foxies, accompany-x and É"),
        ("*xy", "Two companies, their raw-company_id, [foxies], accompany-x and É"),
        ("raw-*", "Two companies, their [raw-company_id], foxies, accompany-x and É"),
        ("*omp*y*", "Two [companies], their [raw-company_id], foxies, [accompany-x] and É"),
        ("t?o", "[Two] companies, their raw-company_id, foxies, accompany-x and É"),
        ("é*", "Two companies, their raw-company_id, foxies, accompany-x and [É]"),
    ],
)
@pytest.mark.parametrize("is_ascii", [True, False])
def test_patterns_mark_words_and_what_joins_them(q, expected, is_ascii):
    if is_ascii:
        expected = expected.replace("[É]", "E").replace("É", "E")
    texts = marked(q, description=expected.replace("[", "").replace("]", ""))
    assert texts == ({"description": [expected]} if "[" in expected else {})


def test_highlights_are_of_each_path_with_the_words():
    assert marked("customer", name="x", description="A customer.", columns=COLUMNS) == {
        "description": ["A [customer]."],
        "columns.name": ["[customer]_id"],
        "columns.description": ["Id of the [customer]"],
    }
    assert marked("zip", columns=COLUMNS) == {"columns.name": ["[zip]Code"]}
    assert marked("columns.name:zip", name="zip", columns=COLUMNS) == {
        "columns.name": ["[zip]Code"]
    }


def test_text_around_the_tags_is_escaped():
    evil = "<script>alert('x')</script> customer & \"co\""
    (piece,) = Highlighter(parse("customer script")).highlights(
        "table", msgspec.json.encode({"description": evil})
    )["description"]
    bare = piece.replace(BEGIN, "").replace(END, "")
    assert "<" not in bare
    assert html.unescape(bare) == evil
    assert re.findall(f"{BEGIN}(.*?){END}", piece) == ["script", "script", "customer"]


def test_longer_texts_are_cut_into_pieces_at_words():
    text = " ".join(f"{'customer' if n % 50 == 7 else 'word'}{n}" for n in range(2_000))[:3_900]
    pieces = marked("customer", description=text)["description"]
    assert len(pieces) == MAX_FRAGMENTS
    for piece in pieces:
        assert "[customer]" in piece
        bare = piece.replace("[", "").replace("]", "")
        assert len(bare) <= FRAGMENT
        assert f" {bare} " in f" {text} "
    words = [{"name": f"customer{n}"} for n in range(30)]
    assert len(marked("customer", columns=words)["columns.name"]) == MAX_FRAGMENTS


def test_slips_are_looked_for_where_the_word_itself_is_not():
    both = marked("custmer", description="custmer, customer", name="customer")
    assert both == {"description": ["[custmer], customer"]}
    assert marked("custmer", columns=COLUMNS)["columns.name"] == ["[customer]_id"]
    assert marked("custmer zip", name="customer", columns=COLUMNS) == {
        "name": ["[customer]"],
        "columns.name": ["[zip]Code"],
    }


def test_work_is_bounded_by_the_answer_and_by_the_path():
    body = msgspec.json.encode({"name": "customer", "description": "x" * 4_000 + " customer"})
    highlighter = Highlighter(parse("customer"), most_bytes=2 * len(body) + 10)
    found = [highlighter.highlights("table", body) for _ in range(3)]
    assert found == [{"name": [f"{BEGIN}customer{END}"]}] * 2 + [{}]
    assert highlighter.highlights("table", b'{"name":"customer"}') == {}


def slips(one, other):
    """How many letters are added, left out, replaced or exchanged with a neighbour, in all."""
    table = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i in range(len(one) + 1):
        for j in range(len(other) + 1):
            ways = [0] if i == j == 0 else []
            if i:
                ways.append(table[i - 1][j] + 1)
            if j:
                ways.append(table[i][j - 1] + 1)
            if i and j:
                ways.append(table[i - 1][j - 1] + (one[i - 1] != other[j - 1]))
            if i > 1 and j > 1 and one[i - 2 : i] == other[j - 2 : j][::-1]:
                ways.append(table[i - 2][j - 2] + 1)
            table[i][j] = min(ways)
    return table[-1][-1]


@given(
    st.text("abc", min_size=1, max_size=9),
    st.text("abc", min_size=1, max_size=9),
    st.sampled_from((1, 2)),
    st.sampled_from(("", "abcabcab")),
)
@settings(max_examples=examples(300))
def test_words_are_marked_as_many_slips_away_as_are_forgiven(typed, held, distance, start):
    typed, held = start + typed, start + held
    words = SoughtWords([tree.Fuzzy(None, typed, distance, 0)])
    near = slips(typed, held) <= distance
    assert words.slipped(held, set()) == [(0, len(held))] * 2 * near


def test_hits_have_no_highlights_once_there_is_no_time():
    ticks = count()  # a second for each look at the clock
    highlighter = Highlighter(parse("custmer~2"), lambda: next(ticks), seconds=60)
    body = msgspec.json.encode({"name": "customer", "columns": COLUMNS})
    found = []
    while not highlighter.timed_out:
        found.append(highlighter.highlights("table", body))
        ticks = count(next(ticks) + 1_000)  # the next document is read, which does not count
    assert len(found) > 2
    assert found[0]["name"] == [f"{BEGIN}customer{END}"]
    assert found[-1] == highlighter.highlights("table", body) == {}
    # One text of many words does not keep it from noticing.
    ticks = count()
    highlighter = Highlighter(parse("custmer~2"), lambda: next(ticks), seconds=60)
    body = msgspec.json.encode({"name": " ".join(f"curtain{n}x" for n in range(99))})
    assert highlighter.highlights("table", body) == {}
    assert (highlighter.timed_out, next(ticks)) == (True, 63)


def test_patterns_are_compiled_once_and_no_more_than_some_of_them(monkeypatch):
    compiled = []
    runs = TermPattern.runs
    monkeypatch.setattr(TermPattern, "runs", lambda own: compiled.append(own) or runs(own))
    many = " OR ".join(f"*{letter}{letter}*" for letter in "abcdefghijklmnopqrst")
    names = " ".join(f"{letter}{letter}{n}" for letter in "abcdefghijklmnopqrst" for n in range(9))
    (piece,) = marked(many, name=names[:140])["name"]
    assert "[aa0]" in piece
    assert len(compiled) == MAX_PATTERNS


@settings(max_examples=examples(200))
@given(st.text(st.sampled_from("aAbB9_-. \u00e4\u00c4\u0130\u01c5e\u0301\u00df\n<&"), max_size=30))
def test_places_are_those_of_the_parts(text):
    composed = compose(text)
    parts = tokens(text).parts
    found = list(places(composed))
    if found:
        assert tuple(token for *_, token in found) == parts
    assert [begin for begin, *_ in found] == sorted(begin for begin, *_ in found)


@settings(max_examples=examples(500))
@given(
    st.lists(st.sampled_from(["ab", "abs", "Ab", "b1", "city", "y", "ab-b1", "\u00e4b", "a"])),
    st.sampled_from([tree.Term, tree.PhrasePrefix, tree.Exact]),
    st.lists(st.text(st.sampled_from("aAbBsy1 _-\n.\u00e4\u212a"), max_size=12), max_size=8),
)
def test_words_of_several_texts_are_those_of_each(typed, leaf, texts):
    words = SoughtWords([leaf(None, text) for text in typed])
    met, met_each = set(), set()
    marked = words.marked(texts, met, MAX_FRAGMENTS)
    each = first_marked(texts, lambda text: words.marks(text, met_each), MAX_FRAGMENTS)
    assert marked == each
    assert met == met_each


def test_only_the_first_texts_are_looked_at():
    words = SoughtWords([tree.Term(None, text) for text in ("first", "second")])
    met = set()
    assert words.marked(["afirst", "first firsts", "no", "(First", "second"], met, 2) == {
        1: [(0, 5), (6, 12)],
        3: [(1, 6)],
    }
    assert met == {"first"}


@settings(max_examples=examples(200))
@given(
    st.text("ab<>&\"' _.1", max_size=40),
    st.text('ab _*~"1', max_size=12),
    st.lists(st.text("ab <&", max_size=200), max_size=3),
)
def test_any_highlight_is_a_part_of_the_text_once_unescaped(name, q, descriptions):
    try:
        node = parse(q)
    except InvalidInput:
        return
    body = {"name": name, "columns": [{"description": text} for text in descriptions]}
    found = Highlighter(node).highlights("table", msgspec.json.encode(body))
    for path, pieces in found.items():
        texts = [name] if path == "name" else descriptions
        for piece in pieces:
            assert piece.count(BEGIN) == piece.count(END) > 0
            bare = piece.replace(BEGIN, "").replace(END, "")
            assert not set("<>") & set(bare)
            assert any(html.unescape(bare) in text for text in texts)
