"""Filter JSON: what each clause means, and what is refused where."""

import contextlib
import json
import time
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.errors import InvalidInput
from projections.search import tree
from projections.search.language.filter_json import parse
from projections.search.tree import Bool, Constant, Exact, Fuzzy, Phrase, Range, Term, Wildcard
from tests.depth import examples


def read(clause):
    return parse(json.dumps(clause).encode())


@pytest.mark.parametrize("data", [b"", b" ", b"{}", b'{"query": {}}', b'{"match_all": {}}'])
def test_parse_of_an_empty_filter_is_everything(data):
    assert parse(data) == tree.MatchAll()


F, G = "extension.f", "extension.g"
DATA_TYPE = "columns.dataType.keyword"
t = {"term": {F: "a"}}
is_a = Exact(F, "a")


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ({"query": t}, is_a),
        ({"match_none": {}}, tree.MatchNone()),
        ({"term": {F: {"value": True, "boost": 2}}}, tree.Boosted(Exact(F, "true"), 2.0)),
        ({"term": {"version": 0.1}}, Exact("version", "0.1")),
        ({"terms": {F: ["a", 1]}}, Constant(Bool(should=(is_a, Exact(F, "1"))))),
        ({"match": {F: "a b"}}, Bool(should=(Term(F, "a"), Term(F, "b")))),
        (
            {"match": {F: {"query": "a b", "operator": "AND"}}},
            Bool(must=(Term(F, "a"), Term(F, "b"))),
        ),
        (
            {"match": {F: {"query": "a b c", "minimum_should_match": "67%"}}},
            Bool(
                should=(Term(F, "a"), Term(F, "b"), Term(F, "c")),
                minimum_should_match="67%",
            ),
        ),
        ({"match": {F: {"query": "abcdef", "fuzziness": "AUTO"}}}, Fuzzy(F, "abcdef", 2)),
        ({"match_phrase": {F: {"query": "a b", "slop": 2}}}, Phrase(F, "a b", 2)),
        (
            {"multi_match": {"query": "a", "fields": [f"{F}^2", G]}},
            tree.DisMax((tree.Boosted(Term(F, "a"), 2.0), Term(G, "a"))),
        ),
        (
            {"multi_match": {"query": "a", "fields": [F, G], "type": "most_fields"}},
            Bool(should=(Term(F, "a"), Term(G, "a"))),
        ),
        ({"prefix": {F: "a*b"}}, Wildcard(F, r"a\*b*")),
        ({"wildcard": {F: {"value": "a*"}}}, Wildcard(F, "a*")),
        ({"wildcard": {F: {"wildcard": "a*"}}}, Wildcard(F, "a*")),
        ({"regexp": {F: "a.*"}}, tree.Regex(F, "a.*")),
        ({"fuzzy": {F: {"value": "abc", "prefix_length": 0}}}, Fuzzy(F, "abc", 1, 0)),
        ({"exists": {"field": F}}, tree.Exists(F)),
        ({"ids": {"values": ["x"]}}, tree.Ids(("x",))),
        (
            {"range": {F: {"gt": 1, "lte": "2024-01-01"}}},
            Range(F, gt="1", lte="2024-01-01T23:59:59.999"),
        ),
        (
            {"range": {"updatedAt": {"gte": "2024-01-01", "lte": "2024-01", "boost": 2}}},
            tree.Boosted(Range("updatedAt", gte="1704067200000", lte="1706745599999"), 2.0),
        ),
        (
            {"range": {"updatedAt": {"gt": "1704067200000", "format": "epoch_millis"}}},
            Range("updatedAt", gt="1704067200000"),
        ),
        (
            {"range": {"updatedAt": {"lt": "2024-01-01", "time_zone": "+01:00"}}},
            Range("updatedAt", lt="1704063600000"),
        ),
        (
            {
                "range": {
                    "updatedAt": {
                        "gte": "2024-07-01T00:00",
                        "time_zone": "Europe/Berlin",
                        "format": "yyyy-MM-dd||strict_date_optional_time",
                    }
                }
            },
            Range("updatedAt", gte="1719784800000"),
        ),
        (
            {"range": {F: {"gte": "2024-01-01", "format": "yyyy-MM-dd"}}},
            Range(F, gte="1704067200000"),
        ),
        ({"range": {"version": {"gte": 0.5}}}, Range("version", gte="0.5")),
        ({"range": {"version": {"gte": None}}}, tree.Exists("version")),
        ({"term": {"deleted": "TRUE"}}, Exact("deleted", "true")),
        ({"term": {F: {"value": "A", "case_insensitive": True}}}, Exact(F, "A")),
        ({"term": {F: {"value": "A", "case_insensitive": False}}}, Exact(F, "A")),
        (
            {"terms": {"updatedAt": ["2024-01-01"], "boost": 2}},
            tree.Boosted(
                Constant(Range("updatedAt", gte="1704067200000", lte="1704153599999")), 2.0
            ),
        ),
        ({"term": {"_id": "x"}}, tree.Ids(("x",))),
        ({"term": {"tableType": "View"}}, Exact("tableType.keyword", "View")),
        ({"match": {"tableType": "View Regular"}}, Exact("tableType.keyword", "View Regular")),
        (
            {"terms": {"columns.dataType": ["INT", "DATE"]}},
            Constant(Bool(should=(Exact(DATA_TYPE, "INT"), Exact(DATA_TYPE, "DATE")))),
        ),
        ({"prefix": {"tableType": "Mat"}}, Wildcard("tableType.keyword", "Mat*")),
        ({"match_phrase": {"serviceType": "Big Query"}}, Exact("serviceType.keyword", "Big Query")),
        (
            {"multi_match": {"query": "big query", "fields": ["name", "serviceType"]}},
            tree.DisMax(
                (
                    Bool(should=(Term("name", "big"), Term("name", "query"))),
                    Exact("serviceType.keyword", "big query"),
                )
            ),
        ),
        ({"term": {"inherited": True}}, tree.MatchNone()),
        ({"nested": {"path": "upstreamLineage", "query": t}}, tree.MatchNone()),
        (
            {"nested": {"path": "nothing", "query": t, "ignore_unmapped": True}},
            tree.MatchNone(),
        ),
        (
            {"range": {"effectiveFrom": {"gte": "2024-01-01", "time_zone": "+02:00"}}},
            Range("effectiveFrom", gte="1704060000000"),
        ),
        ({"match": {"version": {"query": "abc", "lenient": True}}}, tree.MatchNone()),
        (
            {"multi_match": {"query": "a", "fields": ["version", F], "lenient": True}},
            tree.DisMax((tree.MatchNone(), Term(F, "a"))),
        ),
        ({"multi_match": {"query": "a b", "type": "phrase"}}, tree.DisMax((Phrase(None, "a b"),))),
        ({"match": {f"{F}.keyword": "a b"}}, Term(f"{F}.keyword", "a b")),
        (
            {"match": {f"{F}.keyword": {"query": "a b", "fuzziness": 1}}},
            Fuzzy(f"{F}.keyword", "a b", 1),
        ),
        ({"query_string": {"query": "version:abc", "lenient": True}}, tree.MatchNone()),
        ({"query_string": {"query": "a", "default_field": "*"}}, Term(None, "a")),
        ({"exists": {"field": "*"}}, tree.MatchAll()),
        ({"exists": {"field": "columns.*"}}, tree.Exists("columns")),
        ({"query_string": {"query": f"{F}:a"}}, Term(F, "a")),
        (
            {"query_string": {"query": "a b", "default_operator": "AND", "fields": [F]}},
            Bool(must=(Term(F, "a"), Term(F, "b"))),
        ),
        (
            {"simple_query_string": {"query": 'a -"b c" (d*'}},
            Bool(
                should=(Term(None, "a"), Wildcard(None, "d*")),
                must_not=(Phrase(None, "b c"),),
            ),
        ),
        (
            {"bool": {"must": t, "should": [t], "must_not": [t], "filter": t}},
            Bool((is_a,), (is_a,), (is_a,), (is_a,)),
        ),
        ({"constant_score": {"filter": t, "boost": 3}}, tree.Boosted(Constant(is_a), 3.0)),
        ({"dis_max": {"queries": [t], "tie_breaker": 0.5}}, tree.DisMax((is_a,), 0.5)),
        ({"nested": {"path": "columns", "query": t}}, tree.Nested("columns", is_a)),
        (
            {
                "nested": {
                    "path": "columns",
                    "query": {"bool": {"must": [t, t], "must_not": t}},
                    "score_mode": "max",
                    "ignore_unmapped": True,
                }
            },
            tree.Nested("columns", Bool(must=(is_a, is_a), must_not=(is_a,))),
        ),
    ],
)
def test_parse_of_a_clause(clause, expected):
    assert read(clause) == expected


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        ({"script": {}}, "queryFilter: unknown clause 'script'; known are bool, "),
        ({"bool": {"must": [t, {"geo": 1}]}}, " at $.bool.must[1]"),
        ({"bool": {"most": []}}, "queryFilter: unknown key 'most'; known are must, "),
        ({"bool": {"must": "x"}}, "expected a clause or a list of clauses at $.bool.must"),
        ({"term": {F: {"value": "a", "x": 1}}}, "unknown key 'x'"),
        ({"term": {F: []}}, "expected a text, a number or a boolean at $.term.extension.f"),
        ({"term": {F: {"value": "a", "case_insensitive": 1}}}, "expected true or false"),
        ({"match": {F: {"query": "a", "lenient": "yes"}}}, "expected true or false"),
        ({"match_bool_prefix": {F: "a"}}, "unknown clause 'match_bool_prefix'"),
        ({"match_phrase_prefix": {F: {"query": "a", "max_expansions": 5}}}, "'max_expansions'"),
        ({"match_phrase_prefix": {"version": "1"}}, "version takes a number, no pattern"),
        ({"match_phrase_prefix": {"id": "1"}}, "id is found by whole values only"),
        ({"match_phrase_prefix": {"name.keyword": "a" * 600}}, "has over 256 characters"),
        ({"boosting": {}}, "unknown clause 'boosting'"),
        (
            {"multi_match": {"query": "a", "type": "bool_prefix"}},
            "cross_fields, phrase, phrase_prefix at $.multi_match.type",
        ),
        (
            {"multi_match": {"query": "a", "type": "phrase", "operator": "and"}},
            "a phrase has no such option at $.multi_match.operator",
        ),
        ({"match": {F: "a " * 1_025}}, "expected at most 1024 words at $.match.extension.f.query"),
        ({"dis_max": {"queries": []}}, "expected at least one clause at $.dis_max.queries"),
        ({"term": {"deleted": "maybe"}}, "deleted is true or false, got 'maybe' at $.term"),
        ({"match": {"version": "abc"}}, "version is a number, got 'abc' at $.match"),
        ({"wildcard": {"version": "0*"}}, "version takes a number, no pattern and no slips"),
        ({"range": {"updatedAt": {"gte": "a"}}}, "'a' is no date"),
        ({"range": {"version": {"lt": "x"}}}, "version is a number, got 'x' at $.range"),
        ({"range": {"deleted": {"gte": True}}}, "deleted is true or false and has no ranges"),
        (
            {"range": {"updatedAt": {"gte": "1", "format": "yyyy-MM-dd"}}},
            "'1' is no date in the format yyyy-MM-dd at $.range",
        ),
        ({"range": {"version": {"gte": 1, "format": "epoch_millis"}}}, "version is no moment"),
        (
            {"range": {"updatedAt": {"gte": "2024", "time_zone": "Mars"}}},
            "time_zone must be Z, an offset such as +01:00 or a name such as Europe/Berlin",
        ),
        ({"range": {"updatedAt": {"gte": "2024", "time_zone": 1}}}, "expected a text at"),
        ({"query_string": {"query": "version:abc"}}, "version is a number, got 'abc' at column 9"),
        (
            {"query_string": {"query": "a", "fields": [F], "default_field": F}},
            "default_field and fields exclude each other",
        ),
        (
            {"nested": {"path": "columns", "query": t, "score_mode": "best"}},
            "expected one of avg, max",
        ),
        (
            {"nested": {"path": "nothing", "query": t, "ignore_unmapped": False}},
            "no kind has a field 'nothing' at $.nested.path",
        ),
        (
            {"nested": {"path": "colums", "query": t}},
            "no kind has a field 'colums'; near it: columns, columns.tags, columns.name"
            " at $.nested.path",
        ),
        ({"nested": {"path": "columns.name", "query": t}}, "no kind has objects in 'columns.name'"),
        (
            {"bool": {"filter": [{"term": {"entityStatuss": "Draft"}}]}},
            "queryFilter: no kind has a field 'entityStatuss'; near it: entityStatus,"
            " verdict.status, entity at $.bool.filter[0].term",
        ),
        ({"terms": {"colour": ["a"]}}, "no kind has a field 'colour'"),
        (
            {"exists": {"field": "ownrs"}},
            "no kind has a field 'ownrs'; near it: owners, owners.id, owners.type at $.exists",
        ),
        (
            {"match": {"nmae": {"query": "a", "lenient": True}}},
            "no kind has a field 'nmae'; near it: name at $.match",
        ),
        (
            {"multi_match": {"query": "a", "fields": ["name", "nmae^2"], "lenient": True}},
            "no kind has a field 'nmae'; near it: name at $.multi_match.fields[1]",
        ),
        (
            {"simple_query_string": {"query": "a", "fields": ["nmae"]}},
            "no kind has a field 'nmae'; near it: name at $.simple_query_string.fields[0]",
        ),
        ({"query_string": {"query": "nmae:a", "lenient": True}}, "no kind has a field 'nmae'"),
        ({"term": {"description.keyword": "a"}}, "description is prose, found by its words"),
        ({"exists": {"field": "description.keyword"}}, "description is prose, found by its words"),
        ({"exists": {"field": "columns.description.keyword.*"}}, "columns.description is prose"),
        ({"range": {"description.keyword": {}}}, "description is prose, found by its words"),
        ({"range": {"description": {"gte": "a"}}}, "description is prose, found by its words"),
        ({"term": {"owners": "ann"}}, "owners holds objects: name a field of theirs, such as"),
        ({"terms": {F: list(range(1_025))}}, "expected a list of at most 1024 values"),
        ({"range": {F: {"gte": "now-1d"}}}, f"{F} is not known to hold dates"),
        ({"range": {"updatedAt": {"gte": "now-1d"}}}, "'now-1d': there is no now here"),
        ({"range": {"updatedAt": {"gte": "now-1x"}}}, "'now-1x' is no date: after now, or after"),
        ({"range": {F: {"gte": "x", "format": "x"}}}, "format must be one of strict_date_opt"),
        ({"regexp": {F: "a("}}, "unbalanced '(' at character 2 at $.regexp"),
        ({"query_string": {"query": "a AND"}}, "at column 6 at $.query_string"),
        (
            {"match": {F: {"query": "a", "fuzziness": 9}}},
            "from 0 to 2 at $.match.extension.f.fuzziness",
        ),
        ({"bool": {"should": [t], "minimum_should_match": "x"}}, "minimum_should_match must be"),
        ({"match_all": {"x": 1}}, "unknown key 'x'"),
        ({"query": t, "size": 1}, "expected an object holding exactly one clause at $"),
        ([], "queryFilter must be a JSON object"),
    ],
)
def test_parse_names_the_clause_and_its_place(clause, message):
    with pytest.raises(InvalidInput) as raised:
        read(clause)
    assert message in raised.value.message


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{", "queryFilter is not valid JSON: "),
        (b'{"term": {"f": "a", "f": "b"}}', "has the key 'f' twice"),
        (b'{"term": {"f": NaN}}', "NaN is no JSON value"),
        (b'{"term": {"f": ' + b"9" * 5_000 + b"}}", "holds a number that is too long"),
        (b'{"term": {"f": "\\ud800"}}', "is not valid Unicode"),
        (b"\xff\xfe", "is not valid Unicode"),
        (b'{"bool":' * 100_000, "may have 65536 bytes"),
        (b"[" * 60_000, "may be 80 levels deep"),
        (b"[" * 81 + b"]" * 81, "may be 80 levels deep"),
        (b"[" * 80 + b"]" * 80, "must be a JSON object"),
        (b"[" + b"[]," * 90 + b'"' + b'\\"' * 8_000, "is not valid JSON"),
        (b'{"a":"' + b"x" * 65_536 + b'"}', "may have 65536 bytes"),
    ],
)
def test_parse_refuses_hostile_json_quickly(data, message):
    started = time.thread_time()
    with pytest.raises(InvalidInput) as raised:
        parse(data)
    assert message in raised.value.message
    assert time.thread_time() - started < 0.05


def test_parse_refuses_clauses_nested_too_deeply():
    clause = t
    for _ in range(10):
        clause = {"bool": {"must": clause}}
    assert read(clause)
    with pytest.raises(InvalidInput, match="20 clauses inside each other"):
        read({"dis_max": {"queries": [_constant(clause, 10)]}})


def _constant(clause, times):
    for _ in range(times):
        clause = {"constant_score": {"filter": clause}}
    return clause


FIELDS = [f"extension.f{number}" for number in range(64)]


def _over_fields(kind, words, fields=64):
    """A clause that looks for so many words in each of so many fields."""
    name, _, multi_type = kind.partition(" ")
    body = {"query": "a " * words, "fields": FIELDS[:fields]}
    return {name: body | ({"type": multi_type} if multi_type else {})}


OVER_FIELDS = (
    "multi_match best_fields",
    "multi_match most_fields",
    "multi_match cross_fields",
    "query_string",
    "simple_query_string",
)


@pytest.mark.parametrize("kind", OVER_FIELDS)
def test_parse_bounds_words_times_fields_over_all_clauses(kind):
    assert read(_over_fields(kind, 64))
    assert read({"bool": {"must": [_over_fields(kind, 32), _over_fields(kind, 32)]}})
    with pytest.raises(InvalidInput) as raised:
        read({"bool": {"must": [_over_fields(kind, 64), _over_fields(kind, 1, 1)]}})
    assert raised.value.message == (
        "queryFilter: more than 4,096 words in all, each counted once for every field that it is"
        f" looked for in at $.bool.must[1].{kind.partition(' ')[0]}"
    )


@pytest.mark.parametrize("kind", OVER_FIELDS[:3])
def test_parse_refuses_many_words_in_many_fields_before_it_makes_them(kind):
    tracemalloc.start()
    try:
        with pytest.raises(InvalidInput, match="more than 4,096 words in all"):
            read(_over_fields(kind, 1_024))
        assert tracemalloc.get_traced_memory()[1] < 3_000_000
    finally:
        tracemalloc.stop()


def test_parse_counts_the_words_of_a_match_but_no_terms():
    words = {"match": {F: "a " * 1_024}}
    terms = {"terms": {F: ["a"] * 1_024}}
    assert read({"bool": {"should": [*[words] * 4, *[terms] * 4]}})
    with pytest.raises(InvalidInput, match=r"4,096 words in all.*at \$.bool.should\[4\].match"):
        read({"bool": {"should": [*[words] * 4, {"match": {F: "a"}}]}})


_KEYS = (
    "bool",
    "must",
    "term",
    "terms",
    "match",
    F,
    "value",
    "query",
    "range",
    "gt",
    "wildcard",
    "regexp",
    "fuzzy",
    "boost",
    "nested",
    "path",
    "ids",
    "values",
    "query_string",
    "simple_query_string",
    "exists",
    "field",
    "should",
    "must_not",
    "filter",
    "gte",
    "name",
)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["name", "owners", "description", "*", "gte"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(_KEYS),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=examples(400))
@given(st.binary(max_size=80) | json_values.map(lambda v: json.dumps(v).encode()))
def test_parse_of_any_bytes_gives_a_tree_or_an_error(data):
    with contextlib.suppress(InvalidInput):
        parse(data)


@given(st.text(max_size=80), st.sampled_from(["name", "version", "updatedAt", "deleted", "_id"]))
def test_simple_query_string_is_never_an_error(text, field):
    assert read({"simple_query_string": {"query": text}})
    assert read({"simple_query_string": {"query": text, "fields": [field]}})


@settings(max_examples=20)
@given(st.sampled_from([b'{"bool":', b'["', b"\\", b'"\\"', b"9", b"[]", b"\xf0", b'{"a":1},']))
def test_parse_refuses_a_megabyte_quickly(piece):
    started = time.thread_time()
    with pytest.raises(InvalidInput):
        parse(piece * (1_000_000 // len(piece)))
    assert time.thread_time() - started < 0.05
