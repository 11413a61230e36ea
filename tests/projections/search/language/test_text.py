"""Query text: what each form of SEARCH means, and where mistakes are found."""

import contextlib
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from domain.errors import InvalidInput
from projections.search import tree
from projections.search.language.fields import Fields
from projections.search.language.relevance import quoted, relevance
from projections.search.tree import Bool, Exact, Fuzzy, Phrase, Range, Regex, Term, Wildcard
from tests.depth import examples
from tests.query_texts import parse

a, b, c = (Term(None, word) for word in "abc")
DATA_TYPE = "columns.dataType.keyword"


@pytest.mark.parametrize("text", ["", "  ", "*", "*:*", "**"])
def test_parse_of_nothing_is_everything(text):
    assert parse(text) == tree.MatchAll()


@pytest.mark.parametrize("text", ["customer", "fact orders", "a.b-c_d", "[x] {y} a/b", "C++ & co"])
def test_parse_of_plain_text_is_a_relevance_search(text):
    assert parse(text) == relevance(text.split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a AND b", Bool(must=(a, b))),
        ("a && b", Bool(must=(a, b))),
        ("a OR b", Bool(should=(a, b))),
        ("a || b", Bool(should=(a, b))),
        ("NOT a", Bool(must_not=(a,))),
        ("!a", Bool(must_not=(a,))),
        ("NOT NOT a", a),
        ("+a -b", Bool(must=(a,), must_not=(b,))),
        ("a OR +b", Bool(must=(b,), should=(a,))),
        ("a OR b OR -c", Bool(should=(a, b), must_not=(c,))),
        ("a AND b OR c", Bool(should=(Bool(must=(a, b)), c))),
        ("a b OR c", Bool(should=(Bool(must=(a, b)), c))),
        ("a AND (b OR c)", Bool(must=(a, Bool(should=(b, c))))),
        ("a AND & b", Bool(must=(a, b))),
        ("(a)", a),
        ("name:a", Term("name", "a")),
        ("name: a", Term("name", "a")),
        ("columns.name:*_id", Wildcard("columns.name", "*_id")),
        ("name:(a OR b)", Bool(should=(Term("name", "a"), Term("name", "b")))),
        ('tags.tagFQN:"PII.Sensitive"', Phrase("tags.tagFQN", "PII.Sensitive")),
        ('"fact order"~2', Phrase(None, "fact order", 2)),
        (r'"a \" b"', quoted('a " b')),
        (r'"a \" b"~0', quoted('a " b')),
        ("c?st", Wildcard(None, "c?st")),
        (r"c\*st*", Wildcard(None, r"c\*st*")),
        ("custmer~", Fuzzy(None, "custmer", 2)),
        ("custmer~1", Fuzzy(None, "custmer", 1)),
        ("custmer~0", Term(None, "custmer")),
        ("name:orders^4", tree.Boosted(Term("name", "orders"), 4.0)),
        ("(a OR b)^2", tree.Boosted(Bool(should=(a, b)), 2.0)),
        ("version:[0.2 TO 1.0}", Range("version", gte="0.2", lt="1.0")),
        ("updatedAt:{2024-01-01 TO *]", Range("updatedAt", gt="1704153599999")),
        (
            "updatedAt:[2024-01-01 TO 2024-01-31]",
            Range("updatedAt", gte="1704067200000", lte="1706745599999"),
        ),
        ("updatedAt:<2024-01-01T10:00+01:00", Range("updatedAt", lt="1704099600000")),
        ("updatedAt:2024", Range("updatedAt", gte="1704067200000", lte="1735689599999")),
        (
            "usageSummary.date:[2024-01-01 TO 2024-02]",
            Range("usageSummary.date", gte="1704067200000", lte="1709251199999"),
        ),
        ("effectiveFrom:<2024-01-01T01:00+01:00", Range("effectiveFrom", lt="1704067200000")),
        ("effectiveUntil:1704067200000", Exact("effectiveUntil", "1704067200000")),
        ("extension.due:<=2024-01-31", Range("extension.due", lte="2024-01-31T23:59:59.999")),
        (
            "version:(>=0.2 AND <1.0)",
            Bool(must=(Range("version", gte="0.2"), Range("version", lt="1.0"))),
        ),
        (
            "version:({0.1 TO 0.5] OR 2)",
            Bool(should=(Range("version", gt="0.1", lte="0.5"), Exact("version", "2"))),
        ),
        ("deleted:TRUE", Exact("deleted", "true")),
        ("_id:(x OR y)", Bool(should=(tree.Ids(("x",)), tree.Ids(("y",))))),
        ("service.id:x", Exact("service.id", "x")),
        ('_id:"x"', tree.Ids(("x",))),
        (
            'columns.name:(a OR "b c")',
            Bool(should=(Term("columns.name", "a"), Phrase("columns.name", "b c"))),
        ),
        (
            "name:(+a -b c^2)",
            Bool(
                must=(Term("name", "a"), tree.Boosted(Term("name", "c"), 2.0)),
                must_not=(Term("name", "b"),),
            ),
        ),
        ("name:(a service.name:b)", Bool(must=(Term("name", "a"), Term("service.name", "b")))),
        ("name:(* OR a)", Bool(should=(tree.Exists("name"), Term("name", "a")))),
        ("_exists_:*", tree.MatchAll()),
        ("_exists_:columns.*", tree.Exists("columns")),
        ("NOT _exists_:owners", Bool(must_not=(tree.Exists("owners"),))),
        ("name:/a+/", Regex("name", "a+")),
        (r"\(a\) AND b\:c", Bool(must=(Term(None, "(a)"), Term(None, "b:c")))),
        ("*_id AND *mid*", Bool(must=(Wildcard(None, "*_id"), Wildcard(None, "*mid*")))),
        ("extension.f:x", Term("extension.f", "x")),
        (r"extension.🦆:مرحبا", Term("extension.🦆", "مرحبا")),
        ("upstreamLineage.fromEntity.id:x", tree.MatchNone()),
        ("tableType:View", Exact("tableType.keyword", "View")),
        ("tableType.keyword:View", Exact("tableType.keyword", "View")),
        ('columns.children.dataType:"MEASURE HIDDEN"~2', Exact(DATA_TYPE, "MEASURE HIDDEN")),
        (
            "tableType:(View OR Mat*)",
            Bool(
                should=(Exact("tableType.keyword", "View"), Wildcard("tableType.keyword", "Mat*"))
            ),
        ),
        ("serviceType:postgers~1", Fuzzy("serviceType.keyword", "postgers", 1)),
        ("entityStatus:/dra.*/", Regex("entityStatus.keyword", "dra.*")),
        ("entityStatus:[a TO d]", Range("entityStatus.keyword", gte="a", lte="d")),
        ("a\x00b AND c", Bool(must=(Term(None, "a\x00b"), c))),
        ("updatedAt:>=1700000000000", Range("updatedAt", gte="1700000000000")),
        ('name:["a b" TO "c"]', Range("name", gte="a b", lte="c")),
        ("name:[* TO *]", tree.Exists("name")),
        ("_exists_:description", tree.Exists("description")),
        ("name:*", tree.Exists("name")),
        ("/stg_.*_v[0-9]/", Regex(None, "stg_.*_v[0-9]")),
        (r"name:a\:b", Term("name", "a:b")),
        ("*:a", a),
        ('a "', None),
    ],
)
def test_parse_of_an_operator(text, expected):
    if expected is None:
        with pytest.raises(InvalidInput):
            parse(text)
    else:
        assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('a "b', "q: unbalanced '\"' at column 3"),
        ("(a", "q: unbalanced '(' at column 1"),
        ("a)", "q: unbalanced ')' at column 2"),
        ("AND", "q: AND needs something on its left at column 1"),
        ("a AND", "q: something is expected after AND at column 6"),
        ("a OR )", "q: something is expected after OR at column 6"),
        ("NOT", "q: something is expected after NOT at column 4"),
        ("name:", "q: a value is expected after 'name:' at column 6"),
        ("name:(a", "q: unbalanced '(' at column 6"),
        ("name:(a AND)", "q: something is expected after AND at column 12"),
        ("(OR)", "q: OR needs something on its left at column 2"),
        ("name:()", "q: something is expected before ')' at column 7"),
        ("a name:AND", "q: a value is expected after ':' at column 8"),
        ("deleted:maybe", "q: deleted is true or false, got 'maybe' at column 9"),
        ("deleted:tr*", "q: deleted takes true or false, no pattern and no slips at column 9"),
        ("deleted:[a TO b]", "q: deleted is true or false and has no ranges at column 9"),
        ("version:(1 OR abc)", "q: version is a number, got 'abc' at column 15"),
        ("version:>abc", "q: version is a number, got 'abc' at column 9"),
        ("version:NaN", "q: version is a number, got 'NaN' at column 9"),
        ("version:<1e999", "q: version is a number, got '1e999' at column 9"),
        ("columns.dataLength:>wide", "q: columns.dataLength is a number, got 'wide' at column 20"),
        (
            "updatedAt:[a TO b]",
            "q: 'a' is no date: 2024-01-31, 2024-01-31T10:00:00Z or milliseconds since 1970"
            " at column 11",
        ),
        (
            "updatedAt:2024-02-30",
            "q: '2024-02-30' is no date: 2024-01-31, 2024-01-31T10:00:00Z or milliseconds since"
            " 1970 at column 11",
        ),
        ("_id:a*", "q: _id takes a whole id at column 5"),
        (
            "columns.fullyQualifiedName:*x",
            "q: columns.fullyQualifiedName is found by whole values only, not by patterns or ranges"
            " at column 28",
        ),
        ("*:>5", "q: a range needs a field at column 3"),
        (":a", "q: a field is expected before ':' at column 1"),
        (
            "name:b:c",
            "q: a ':' inside a value is written '\\:', or the value in quotes at column 7",
        ),
        ("a^x", "q: a boost is a number above 0 and at most 100 at column 2"),
        ("a^1e308", "q: a boost is a number above 0 and at most 100 at column 2"),
        ("a^nan", "q: a boost is a number above 0 and at most 100 at column 2"),
        ("a~100", "q: the slips of ~ is a whole number from 0 to 2 at column 2"),
        ('"a b"~1000000', "q: a phrase's slop is a whole number from 0 to 100 at column 6"),
        ("updatedAt:>now-1d", "q: 'now-1d': there is no now here at column 11"),
        (
            "entityStatuss:Draft",
            "q: no kind has a field 'entityStatuss'; near it: entityStatus, verdict.status, entity"
            " (a ':' that is meant literally is written '\\:', or in quotes) at column 1",
        ),
        (
            "a AND (b https://a/b)",
            "q: no kind has a field 'https'"
            " (a ':' that is meant literally is written '\\:', or in quotes) at column 10",
        ),
        (
            "_exists_:ownrs",
            "q: no kind has a field 'ownrs'; near it: owners, owners.id, owners.type at column 10",
        ),
        (
            "ownrs:*",
            "q: no kind has a field 'ownrs'; near it: owners, owners.id, owners.type"
            " (a ':' that is meant literally is written '\\:', or in quotes) at column 1",
        ),
        (
            "owners:ann",
            "q: owners holds objects: name a field of theirs, such as owners.deleted,"
            " owners.description, owners.displayName at column 8",
        ),
        ("extension:x", "q: extension holds objects: name a field of theirs at column 11"),
        (
            "description:[a TO b]",
            "q: description is prose, found by its words, and has no ranges at column 13",
        ),
        (
            "columns.description.keyword:a",
            "q: columns.description is prose, found by its words, and has no .keyword at column 29",
        ),
        *(
            (text, f"q: description is prose, found by its words, and has no .keyword {place}")
            for text, place in (
                ("_exists_:description.keyword", "at column 10"),
                ("description.keyword:*", "at column 21"),
                ("description.keyword:[* TO *]", "at column 21"),
            )
        ),
        ("a\\", "q: nothing after the backslash at column 2"),
        ("f.*:a", "q: a field's name cannot have wildcards at column 1"),
        ("cu*t~1", "q: a word with wildcards cannot be fuzzy at column 5"),
        ("a " * 65 + "*", "q: more than 64 clauses at column 129"),
        ("(" * 9 + "a" + ")" * 9, "q: groups are nested more than 8 deep at column 9"),
        ("x" * 1_025, "q may have 1024 characters, got 1025"),
        ("\ud800", "q is not valid Unicode at column 1"),
    ],
)
def test_parse_names_the_mistake_and_its_column(text, message):
    with pytest.raises(InvalidInput) as raised:
        parse(text)
    assert raised.value.message == message


RANGE = "a range is [low TO high], with { or } to leave a bound out"
UNFINISHED = [
    # what is typed   as the value of a field                   alone: a mistake, or words
    ("[1 TO",         RANGE,                                    "a range needs a field"),
    ("{1 TO",         RANGE,                                    "a range needs a field"),
    ("[1 TO 5",       RANGE,                                    "a range needs a field"),
    ('["a b" TO',     RANGE,                                    "a range needs a field"),
    ("[1 TO 5 6]",    RANGE,                                    "a range needs a field"),
    ("[1 TO 5]",      None,                                     "a range needs a field"),
    ("{* TO 5]",      None,                                     "a range needs a field"),
    ("[",             RANGE,                                    None),
    ("[1",            RANGE,                                    None),
    ("[1]",           RANGE,                                    None),
    ("{a}",           RANGE,                                    None),
    ("[TO do]",       RANGE,                                    None),
    ("]",             "unexpected ']'",                         None),
    ("}a",            "unexpected '}'",                         None),
    ("~2",            "unexpected '~'",                         None),
    (">",             "a value is expected after 'version:>'",  None),
    (">=",            "a value is expected after 'version:>'",  None),
    ("<>5",           "a value is expected after 'version:<'",  None),
    ('>"1',           "a value is expected after 'version:>'",  None),
    (">5",            None,                                     None),
    ("(",             "something is expected at the end",       "something is expected at the end"),
    ("(1",            "unbalanced '('",                         "unbalanced '('"),
    ("(1 OR",         "something is expected after OR",         "something is expected after OR"),
    (")",             "a value is expected after 'version:'",   "something is expected before ')'"),
    ("1)",            "unbalanced ')'",                         "unbalanced ')'"),
    ('"1',            "unbalanced '\"'",                        "unbalanced '\"'"),
    ("AND",           "a value is expected after ':'",          "AND needs something on its left"),
    ("1 AND",         "something is expected after AND",        "something is expected after AND"),
    ("1 OR",          "something is expected after OR",         "something is expected after OR"),
    ("NOT",           "a value is expected after ':'",          "something is expected after NOT"),
    (":1",            "a field is expected before ':'",         "a field is expected before ':'"),
    ("^2",            "unexpected '^'",                         "unexpected '^'"),
    ("1^",            "a boost is a number above 0",            "a boost is a number above 0"),
    ("/(1/",          "unbalanced '('",                         "unbalanced '('"),
    ("1\\",           "nothing after the backslash",            "nothing after the backslash"),
]  # fmt: skip
"""Parts of a text without any operator: those that are literal, and operators left unfinished."""


@pytest.mark.parametrize(("typed", "mistake", "alone"), UNFINISHED)
def test_parse_of_what_is_unfinished(typed, mistake, alone):
    for text, why in ((f"version:{typed}", mistake), (typed, alone)):
        if why is None:
            assert parse(text)
        else:
            with pytest.raises(InvalidInput) as raised:
                parse(text)
            assert why in raised.value.message
            assert " at c" in raised.value.message
    if alone is None:
        assert parse(f"{typed} word") == relevance([*typed.split(), "word"])


def test_parse_with_or_as_default_operator_takes_any_word():
    assert parse("a b", either=True) == Bool(should=(a, b))
    assert parse("a b AND c", either=True) == Bool(should=(a, Bool(must=(b, c))))


def test_parse_with_fields_looks_in_each_of_them():
    fields = Fields((("name", 2.0), ("description", 1.0)))
    spread = tree.DisMax((tree.Boosted(Term("name", "a"), 2.0), Term("description", "a")))
    assert parse("a AND id:x", fields=fields) == Bool(must=(spread, Exact("id", "x")))


def test_relevance_puts_the_exact_name_first():
    node = relevance(["raw", "orders"])
    assert isinstance(node, Bool)
    exact = node.should[0]
    assert isinstance(exact, tree.Constant)
    assert Exact("name.keyword", "raw orders") in exact.node.nodes


def test_quoted_name_is_compared_with_whole_names_beside_the_phrase():
    *named, phrase = quoted("a.b").should
    assert phrase == Phrase(None, "a.b")
    assert Exact("fullyQualifiedName.keyword", "a.b") in named[0].node.nodes
    assert parse('"a.b" AND c') == Bool(must=(Phrase(None, "a.b"), c))
    assert parse('name:"a.b"') == Phrase("name", "a.b")


def test_dotted_text_looks_for_what_is_named_by_its_last_part():
    of_two, of_one = relevance(["a.b"]), relevance(["ab"])
    below = Bool(must=(Exact("name.keyword", "b"), Phrase(None, "a b")))
    assert [n.node for n in of_two.should if isinstance(n, tree.Constant)][1] == below
    assert len(of_two.should) == len(of_one.should) + 1
    assert len(relevance(['a."b']).should) == len(of_one.should)


def forgiven(word):
    """The way in which a word of a plain text is forgiven."""
    return relevance([word, "x"]).should[-1].should[0]


def test_words_may_go_on_from_three_letters_on():
    def beginnings(node):
        own = {node.text} if isinstance(node, tree.PhrasePrefix) else set()
        return own.union(*map(beginnings, tree.children(node)))

    assert beginnings(relevance(["ab", "a_b", "abc", "fact_ord", "12"])) == {"abc", "fact_ord"}


@pytest.mark.parametrize(
    ("word", "known", "unknown"),
    [("abc", [], [(1, 1)]), ("abcd", [], [(1, 1)]), ("abcde", [(1, 1)], [(1, 1), (2, 2)])],
)
def test_slips_follow_the_length_of_a_word_and_whether_anything_has_it(word, known, unknown):
    def slips(node):
        own = [(node.distance, node.prefix)] if isinstance(node, Fuzzy) else []
        return sorted(set(own).union(*map(slips, tree.children(node))))

    node = forgiven(word)
    assert (slips(node.sought), slips(node.then), slips(node.otherwise)) == ([], known, unknown)
    assert slips(forgiven("a" * 65)) == slips(forgiven("ab")) == []


@settings(max_examples=examples(400))
@given(
    st.text(max_size=60) | st.text(alphabet='ab *?"()[]{}:/\\~^+-!&|<>=.0ANDORTO_ ', max_size=40)
)
@example("/(a+)+$/")
@example("a:/(/")
@example("https://a/b")
def test_parse_of_any_text_gives_a_tree_or_an_error(text):
    with contextlib.suppress(InvalidInput):
        parse(text)


@settings(max_examples=20)
@given(
    st.sampled_from(["a ", "(", '"', "a:", "NOT ", "\\", "[", "/a", "a OR ", "\ud800", "^", "-"])
)
def test_parse_refuses_a_megabyte_quickly(piece):
    started = time.thread_time()
    with pytest.raises(InvalidInput):
        parse(piece * (1_000_000 // len(piece)))
    assert time.thread_time() - started < 0.05


@settings(max_examples=examples(40), deadline=None)
@given(
    st.sampled_from(["a ", "(", '"', "a:", "NOT ", "!", "[", "/a", "a OR ", "a~", "*a", "-", "+!"])
)
def test_parse_of_the_longest_text_is_quick(piece):
    started = time.thread_time()
    with contextlib.suppress(InvalidInput):
        parse((piece * 1_024)[:1_024])
    assert time.thread_time() - started < 0.05


def test_parse_with_lenient_fields_drops_what_a_field_cannot_hold():
    fields = Fields((("version", 1.0), ("name", 1.0)), lenient=True)
    assert parse("a AND version:x", fields=fields) == Bool(
        must=(tree.DisMax((tree.MatchNone(), Term("name", "a"))), tree.MatchNone())
    )
