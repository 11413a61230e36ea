"""The lattice of data types, and the spellings that mean the same type."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.contracts.data_types import DataType, Relation, agrees, of_column, read_type, relation

SPELLINGS = (
    "int",
    "bigint",
    "tinyint",
    "double precision",
    "decimal",
    "decimal(10,2)",
    "decimal(12, 2)",
    "decimal(12,4)",
    "varchar",
    "varchar(20)",
    "varchar(30)",
    "char(5)",
    "text",
    "date",
    "timestamp",
    "timestamp with time zone",
    "array",
    "array<int>",
    "array<bigint>",
    "map<varchar(3),int>",
    "struct<a int, b array<int>>",
    "my own type",
    "",
)
_types = st.sampled_from(SPELLINGS).map(read_type)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("INT", "integer", Relation.SAME),
        ("NUMBER(5)", "decimal(5, 0)", Relation.SAME),
        ("character varying(20)", "VARCHAR ( 20 )", Relation.SAME),
        ("timestamp(3) without time zone", "timestamp_ntz", Relation.WIDER),
        ("timestamp without time zone", "TIMESTAMP_NTZ", Relation.SAME),
        ("integer[]", "ARRAY<INT>", Relation.SAME),
        ("nvarchar(max)", "nvarchar", Relation.SAME),
        ("varchar(20)", "varchar(30)", Relation.WIDER),
        ("varchar(20)", "varchar", Relation.WIDER),
        ("varchar(20)", "text", Relation.WIDER),
        ("char(20)", "varchar(30)", Relation.WIDER),
        ("char(20)", "varchar(10)", Relation.UNRELATED),
        ("tinyint", "bigint", Relation.WIDER),
        ("int", "double", Relation.WIDER),
        ("bigint", "double", Relation.UNRELATED),
        ("float", "double", Relation.WIDER),
        ("int", "decimal(10,0)", Relation.WIDER),
        ("int", "decimal(10,2)", Relation.UNRELATED),
        ("int", "decimal(12,2)", Relation.WIDER),
        ("bigint", "number", Relation.WIDER),
        ("decimal(10,2)", "decimal(12,4)", Relation.WIDER),
        ("decimal(10,2)", "decimal(10,4)", Relation.UNRELATED),
        ("date", "timestamp(3)", Relation.WIDER),
        ("date", "timestamptz", Relation.UNRELATED),
        ("integer", "number", Relation.WIDER),
        ("string", "integer", Relation.UNRELATED),
        ("array<int>", "array<bigint>", Relation.WIDER),
        ("array", "array<record>", Relation.NARROWER),
        ("map<string, array<int>>", "map<string,array<bigint>>", Relation.WIDER),
        ("struct<a int>", "STRUCT<A INT>", Relation.SAME),
    ],
)
def test_types_are_related_by_their_values(old: str, new: str, expected: Relation) -> None:
    mirrored = {Relation.WIDER: Relation.NARROWER, Relation.NARROWER: Relation.WIDER}

    assert relation(read_type(old), read_type(new)) is expected
    assert relation(read_type(new), read_type(old)) is mirrored.get(expected, expected)


@given(_types, _types, _types)
def test_the_relation_is_an_order(a: DataType, b: DataType, c: DataType) -> None:
    no_wider = {Relation.SAME, Relation.NARROWER}

    assert relation(a, a) is Relation.SAME
    if relation(a, b) in no_wider and relation(b, c) in no_wider:
        assert relation(a, c) in no_wider


@given(st.text(max_size=60) | st.text("<>(),[] ARYMPINT09", max_size=60))
def test_any_text_is_a_type(text: str) -> None:
    assert relation(read_type(text), read_type(text)) is Relation.SAME


def test_a_type_of_many_levels_is_read() -> None:
    deep = "ARRAY<" * 160 + "INT" + ">" * 160

    assert relation(read_type(deep), read_type(deep.lower())) is Relation.SAME
    assert relation(read_type("x" * 2_000_000), read_type("X" * 2_000_000)) is Relation.SAME


def test_a_column_agrees_where_it_is_no_wider() -> None:
    array = of_column("ARRAY")

    assert agrees(array, of_column("ARRAY", "RECORD"))
    assert not agrees(of_column("ARRAY", "RECORD"), array)
    assert agrees(of_column("VARCHAR", length=30), of_column("VARCHAR", length=20))
    assert not agrees(of_column("VARCHAR", length=20), of_column("VARCHAR", length=30))
    assert agrees(of_column("INT", length=1), of_column("INT"))
    assert agrees(
        of_column("DECIMAL", precision=12, scale=2), of_column("NUMERIC", precision=10, scale=2)
    )
    assert not agrees(of_column("INT"), of_column("BIGINT"))
    assert str(of_column("ARRAY", "INTEGER")) == "ARRAY<INT>"
