"""Lines of an import: read alone, and put together to chunks and transactions."""

import json

from domain.importing.lines import (
    BATCH_BYTES,
    BATCH_LINES,
    Chunk,
    batches,
    decode_read,
    read_ahead,
    transactions,
)
from domain.kinds.registry import KINDS
from domain.requests.drafts import Draft
from tests.domain.imported_lines import ID


def test_line_is_left_to_the_appending_process_where_the_log_must_be_asked() -> None:
    by_id = {"entityType": "database", "name": "d", "service": {"id": "x", "type": "y"}}
    nested = {
        "entityType": "glossaryTerm",
        "name": "t",
        "glossary": "g",
        "relatedTerms": ["g.other"],
    }
    twice = {
        "entityType": "table",
        "name": "t",
        "databaseSchema": "s.d.s",
        "columns": [{"name": "a", "dataType": "INT"}] * 2,
    }
    lines = [json.dumps(each).encode() for each in (by_id, nested, twice)]
    assert decode_read(read_ahead(lines)).lines == [None, None, None]


def test_names_by_which_lines_are_decided_are_told_once() -> None:
    table = {
        "entityType": "table",
        "databaseSchema": "s.d.s",
        "owners": [{"type": "user", "fullyQualifiedName": "ann"}, "bob"],
        "tags": [{"tagFQN": "a.b"}],
        "columns": [{"name": "c", "dataType": "INT", "tags": [{"tagFQN": "a.b"}]}],
    }
    read = decode_read(read_ahead([json.dumps(table | {"name": name}).encode() for name in "tu"]))
    assert read.names == [
        ("databaseSchema", "s.d.s"),
        ("table", "s.d.s.t"),
        ("table", "s.d.s.u"),
        ("tag", "a.b"),
        ("team", "bob"),
        ("user", "ann"),
        ("user", "bob"),
    ]


def test_what_a_draft_refers_to_and_makes_is_looked_up_with_it() -> None:
    table = {"type": "table", "id": ID}
    contract = {"entityType": "dataContract", "id": ID.upper(), "name": "c", "entity": table}
    case = {
        "entityType": "testCase",
        "name": "rows",
        "entityLink": "<#E::table::s.d.s.t>",
        "testDefinition": "d",
    }
    read = decode_read(read_ahead([json.dumps(each).encode() for each in (contract, case)]))
    assert (read.names, read.ids) == (
        [
            ("testCase", "s.d.s.t.rows"),
            ("testDefinition", "d"),
            ("testSuite", "s.d.s.t.testSuite"),
        ],
        [ID],
    )


def test_batches_end_at_bytes_too() -> None:
    wide = b"x" * (BATCH_BYTES // 2)
    assert [len(group) for group in batches([b"a", wide, wide, b"b", b"c"], 100)] == [3, 2]


def test_batches_number_lines_and_skip_blank_ones() -> None:
    lines = [b"a\n", b"\n", b"b\n", b"  \n", b"c\n"]
    assert list(batches(lines, 2)) == [[(1, b"a\n"), (3, b"b\n")], [(5, b"c\n")]]
    assert list(batches([b"\n"], 2)) == []


def test_transactions_end_at_lines_and_at_bytes() -> None:
    numbered = list(batches([b"x"] * (BATCH_LINES + 150), 100))
    whole = list(transactions(Chunk(lines, end) for end, lines in enumerate(numbered)))
    assert [(len(chunk.lines), chunk.end) for chunk in whole] == [(BATCH_LINES, 9), (150, 11)]
    wide = [Chunk([(number, b"x" * (BATCH_BYTES // 2))], number) for number in (1, 2, 3)]
    assert [chunk.end for chunk in transactions(wide)] == [2, 3]


def test_a_line_may_name_its_kind_under_a_key_that_no_kind_has() -> None:
    own = {"entityType": "TABLE", "testPlatforms": ["dbt"], "name": "rows"}
    given = [{"kind": "testDefinition", **own}, {"kind": "tables", **own}]
    made, refused = decode_read(read_ahead([json.dumps(each).encode() for each in given])).lines
    assert isinstance(made, Draft)
    body = made.recorded(KINDS[made.kind], "rows")
    assert (made.kind, bytes(body["entityType"])) == ("testDefinition", b'"TABLE"')
    assert isinstance(refused, str)
    assert refused.startswith("kind must be one of ")
