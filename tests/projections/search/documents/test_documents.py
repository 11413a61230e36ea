"""Entities as search documents, and what `_source` shows of them."""

import json
from functools import partial

import pytest

from projections.search.documents.documents import (
    MAX_WEIGHT,
    SORTABLE,
    VALUE_WEIGHT,
    document,
    nested_objects,
)
from projections.search.documents.sources import (
    ancestors,
    in_turn,
    narrow,
    source,
    with_common_keys,
)
from projections.search.language.field_types import is_prose, is_whole
from projections.visibility.field_paths import indexed_path


def test_document_holds_every_scalar_under_its_path(entity):
    made = document(
        entity(
            "orders",
            description="Lines",
            owners=[{"type": "user", "fullyQualifiedName": '"a.b"'}],
            columns=[{"name": "id", "dataLength": 8, "children": [{"name": "sub"}]}],
            extension={"cost": 1.5, "live": True, "empty": "", "none": None, "list": []},
            version=12,
            votes={"upVotes": 3, "downVotes": 1},
        )
    )
    assert made.fields == {
        "id": (made.id,),
        "name": ("orders",),
        "displayName": ("orders",),
        "fullyQualifiedName": ("shop.db.public.orders",),
        "entityType": ("table",),
        "version": (1.2,),
        "updatedAt": (1_700_000_000_000,),
        "updatedBy": ("tester",),
        "deleted": (False,),
        "totalVotes": (2,),
        "description": ("Lines",),
        "owners.type": ("user",),
        "owners.fullyQualifiedName": ('"a.b"',),
        "owners.name": ("a.b",),
        "columns.name": ("id", "sub"),
        "columns.dataLength": (8,),
        "extension.cost": (1.5,),
        "extension.live": (True,),
        "votes.upVotes": (3,),
        "votes.downVotes": (1,),
    }


def test_document_has_tags_of_columns_under_both_paths(entity):
    columns = [{"name": "c", "tags": [{"tagFQN": "PII.Sensitive"}]}]
    made = document(entity(tags=[{"tagFQN": "Tier.Tier1"}], columns=columns))
    assert made.fields["tags.tagFQN"] == ("Tier.Tier1", "PII.Sensitive")
    assert made.fields["columns.tags.tagFQN"] == ("PII.Sensitive",)


def test_document_sorts_by_lower_case(entity):
    made = document(entity("Orders", serviceType="BigQuery"))
    assert set(made.sort) == set(SORTABLE)
    assert made.sort["name"] == "orders"
    assert made.sort["serviceType"] == "bigquery"
    assert made.sort["entityStatus"] is None


def test_document_sorts_by_the_first_value_of_a_path(entity):
    made = document(
        entity(
            owners=[{"type": "user", "fullyQualifiedName": name} for name in ("Zoe", "ann")],
            service={"type": "databaseService", "name": "Shop"},
            usageSummary={"weeklyStats": {"count": 7}},
            tableType=True,
        )
    )
    assert made.sort["owners.name"] == "zoe"
    assert made.sort["service.name"] == "shop"
    assert made.sort["usageSummary.weeklyStats.count"] == 7
    assert made.sort["tableType"] is made.sort["domains.name"] is None


def test_document_finds_columns_and_tags_at_every_depth(entity):
    column = {"name": "leaf", "tags": [{"tagFQN": "Tier.Tier1"}]}
    for name in ("c", "b", "a"):
        column = {"name": name, "children": [column]}
    made = document(entity(columns=[column], dataModel={"columns": [column]}))
    assert made.fields["columns.name"] == ("a", "b", "c", "leaf")
    assert made.fields["columns.tags.tagFQN"] == ("Tier.Tier1",)
    assert made.fields["dataModel.columns.name"] == ("a", "b", "c", "leaf")
    assert made.fields["tags.tagFQN"] == ("Tier.Tier1", "Tier.Tier1")
    assert indexed_path("columns.children.children.name") == "columns.name"


def test_nested_objects_are_told_apart():
    inner = {"name": "zip", "dataType": "INT", "tags": [{"tagFQN": "P.x", "source": "S"}]}
    body = {
        "tags": [{"tagFQN": "T.a"}],
        "owners": [{"type": "user", "fullyQualifiedName": '"a.b"'}],
        "columns": [{"name": "address", "dataType": "STRUCT", "children": [inner]}],
    }

    def objects(path):
        return list(nested_objects(body, path))

    tags = {"tags.tagFQN": ("P.x",), "tags.source": ("S",)}
    of_column = {f"columns.{key}": value for key, value in tags.items()}
    assert objects("tags") == [{"tags.tagFQN": ("T.a",)}, tags]
    assert objects("columns.tags") == [of_column]
    assert objects("columns") == [
        {"columns.name": ("address",), "columns.dataType": ("STRUCT",)},
        {"columns.name": ("zip",), "columns.dataType": ("INT",), **of_column, **tags},
    ]
    assert objects("owners")[0]["owners.name"] == ("a.b",)
    assert objects("columns.name") == objects("nothing") == []


def test_document_keeps_the_beginning_of_a_long_text(entity):
    made = document(entity(description="x" * 20_000))
    assert made.fields["description"] == ("x" * 10_000,)


def test_document_of_many_values_keeps_the_first_at_each_path(entity):
    columns = [{"name": f"c{number}", "description": "d" * 490} for number in range(20_000)]
    made = document(entity("orders", columns=columns, extension={"note": "n" * 200}))
    names, texts = made.fields["columns.name"], made.fields["columns.description"]
    assert names == tuple(f"c{number}" for number in range(20_000))
    assert len(texts) == (MAX_WEIGHT - weight(made, without="columns.description")) // 500
    assert made.fields["extension.note"] == ("n" * 200,)
    assert (made.fields["name"], made.fields["id"]) == (("orders",), (made.id,))


def weight(made, without):
    found = (value for path in made.fields if path != without for value in made.fields[path])
    return sum(VALUE_WEIGHT + (len(value) if isinstance(value, str) else 0) for value in found)


def test_document_of_many_long_texts_keeps_what_identifies_it(entity):
    made = document(entity("orders", extension={f"k{n}": "x" * 10_000 for n in range(999)}))
    assert made.fields["name"] == ("orders",)
    assert weight(made, without=None) <= MAX_WEIGHT


def test_document_leaves_out_what_is_below_long_paths(entity):
    made = document(entity("orders", extension={"k" * 1_000: {"a": 1}, "l": {"b": 2}}))
    assert [path for path in made.fields if path.startswith("extension")] == ["extension.l.b"]


def test_document_of_deep_values_ends(entity):
    deep = "leaf"
    for _ in range(200):
        deep = {"a": deep}
    assert not [p for p in document(entity(extension=deep)).fields if p.startswith("extension")]


@pytest.mark.parametrize(
    ("field", "path"),
    [
        ("name.keyword", "name"),
        ("columns.children.name", "columns.name"),
        ("children.name", "children.name"),
        ("columnNames", "columns.name"),
        ("tier.tagFQN.keyword", "tags.tagFQN"),
    ],
)
def test_indexed_path_of_a_field(field, path):
    assert indexed_path(field) == path


def test_paths_are_prose_or_whole_by_their_last_step():
    assert is_prose("columns.description")
    assert not is_prose("descriptionStatus")
    assert is_whole("service.id")
    assert is_whole("columns.fullyQualifiedName")
    assert not is_whole("fullyQualifiedName")


def test_source_is_the_entity_with_its_kind():
    assert source("table", b'{"id":"x"} ') == b'{"id":"x","entityType":"table"}'
    assert source("table", b"{ }") == b'{"entityType":"table"}'


def test_common_keys_are_added_where_they_are_missing():
    empty = b'"owners":[],"tags":[],"deleted":false,"description":""'
    assert with_common_keys(b'{"id":"x"} ') == b'{"id":"x",' + empty + b"}"
    part = b'{"tags":[{"tagFQN":"a.b"}],"deleted":true}'
    assert json.loads(with_common_keys(part)) == {
        **json.loads(part),
        "owners": [],
        "description": "",
    }
    full = b'{"id":"x",' + empty + b"}"
    assert with_common_keys(full) is full


whole = json.dumps(
    {"id": "x", "columns": [{"name": "a", "type": "t", "tags": []}, {"name": "b"}], "n": None}
).encode()


@pytest.mark.parametrize(
    ("include", "exclude", "left"),
    [
        ([], [], json.loads(whole)),
        (["id"], [], {"id": "x"}),
        (["n"], [], {"n": None}),
        (
            ["columns.name", "columns.type"],
            [],
            {"columns": [{"name": "a", "type": "t"}, {"name": "b"}]},
        ),
        (["columns", "columns.name"], [], {"columns": json.loads(whole)["columns"]}),
        (["columns.name", "columns"], [], {"columns": json.loads(whole)["columns"]}),
        (["columns.type"], [], {"columns": [{"type": "t"}]}),
        (["id.deeper", "nothing"], [], {}),
        ([], ["columns", "n"], {"id": "x"}),
        (["id", "columns.name"], ["columns.name"], {"id": "x", "columns": [{}, {}]}),
    ],
)
def test_narrow_leaves_the_named_fields(include, exclude, left):
    assert json.loads(narrow(whole, include, exclude)) == left


def test_narrow_of_no_fields_is_the_same_bytes():
    assert narrow(whole, ()) is whole


def test_ancestors_are_read_level_by_level():
    entities = {
        "t": {"id": "t", "databaseSchema": {"id": "s", "type": "databaseSchema"}},
        "s": {"id": "s", "name": "public", "database": {"id": "d", "type": "database"}},
        "d": {"id": "d", "name": "db", "service": {"id": "gone", "type": "databaseService"}},
    }
    stored = {key: json.dumps(value).encode() for key, value in entities.items()}
    calls = []

    def read(ids):
        calls.append(list(ids))
        return {i: stored[i] for i in ids if i in stored}

    hits = {"t": ("table", stored["t"]), "u": ("user", b"{}")}
    chains = ancestors(hits, partial(in_turn, read))
    shown = [(step["id"], step["type"]) for step in chains["t"]]
    assert shown == [("d", "database"), ("s", "databaseSchema")]
    assert chains["u"] == []
    assert calls == [["s"], ["d"], ["gone"]]
    databases = ancestors(
        hits, partial(in_turn, read), lambda kind, json: json if kind == "database" else None
    )
    assert [step["id"] for step in databases["t"]] == ["d"]


def test_ancestors_of_a_circle_end():
    stored = {"a": b'{"id":"a","parent":{"id":"b","type":"domain"}}'}
    stored["b"] = b'{"id":"b","parent":{"id":"a","type":"domain"}}'

    def read(ids):
        return {i: stored[i] for i in ids}

    chains = ancestors({"a": ("domain", stored["a"])}, partial(in_turn, read))
    assert [step["id"] for step in chains["a"]] == ["a", "b"]
