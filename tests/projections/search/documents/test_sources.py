"""Documents of hits, narrowed to what is asked for and decoded no further."""

import pytest

from projections.search.documents.sources import in_turn, narrow, texts_at, values_for

WIDE = b'{"name":"a","columns":[{"name":"c","size":1.0e2}],"extension":{"k":[1.0e2,{}]}}'
"""A number that is decoded comes out in another form."""


@pytest.mark.parametrize(
    ("include", "exclude", "left"),
    [
        ((), (), WIDE),
        (("extension",), (), b'{"extension":{"k":[1.0e2,{}]}}'),
        (("name", "columns.name"), (), b'{"name":"a","columns":[{"name":"c"}]}'),
        ((), ("columns",), b'{"name":"a","extension":{"k":[1.0e2,{}]}}'),
        (
            (),
            ("columns.size",),
            b'{"name":"a","columns":[{"name":"c"}],"extension":{"k":[1.0e2,{}]}}',
        ),
        (
            ("columns", "extension"),
            ("extension.k",),
            b'{"columns":[{"name":"c","size":1.0e2}],"extension":{}}',
        ),
        (("nothing",), (), b"{}"),
    ],
)
def test_only_what_a_path_goes_into_is_decoded(
    include: tuple[str, ...], exclude: tuple[str, ...], left: bytes
) -> None:
    assert narrow(WIDE, include, exclude) == left


def test_values_are_decoded_for_the_keys_of_paths_alone() -> None:
    assert values_for(("columns.name", "displayName"), WIDE) == {
        "columns": [{"name": "c", "size": 100.0}]
    }


@pytest.mark.parametrize(
    ("path", "limit", "texts"),
    [
        ("name", 10, ["tables"]),
        ("name", 3, ["tab"]),
        ("name.x", 10, []),
        ("none", 10, []),
        ("size", 10, []),
        ("synonyms", 10, ["one", "two"]),
        ("synonyms", 4, ["one", "t"]),
        ("synonyms", 3, ["one"]),
        ("columns.name", 10, ["a", "b", "c", "d"]),
        ("columns.name", 2, ["a", "b"]),
        ("columns.type.name", 10, ["int"]),
    ],
)
def test_texts_at_a_path_are_those_of_children_too_up_to_a_limit(
    path: str, limit: int, texts: list[str]
) -> None:
    columns = [
        {"name": "a", "children": [{"name": "c", "children": [{"name": "d"}]}]},
        {"name": "b", "type": {"name": "int"}},
        "text",
    ]
    body = {"name": "tables", "size": 1, "synonyms": ["one", 2, "two"], "columns": columns}
    assert texts_at(body, path, limit) == texts


@pytest.mark.parametrize("together", [1, 2, 3, 9])
def test_documents_come_in_turn_and_none_for_those_that_are_gone(together):
    stored = {"a": b"A", "c": b"C", "d": b"D", "f": b"F"}
    asked = []

    def read(ids):
        asked.append(len(ids))
        there = [each for each in ids if each in stored]
        return {each: stored[each] for each in there[:together]}

    ids = ("gone", "d", "a", "b", "c", "e", "f", "g", "h")
    turns = in_turn(read, ids)
    assert asked == []
    assert next(turns) is None
    assert [*turns] == [b"D", b"A", None, b"C", None, b"F", None, None]
    # The last time, nothing is there any more.
    assert len(asked) == -(-len(stored) // together) + 1
    assert [*in_turn(read, ())] == []
