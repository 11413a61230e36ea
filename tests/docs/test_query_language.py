"""Every line of the tables of the page about the query language holds for its sample entities."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.errors import InvalidInput
from projections.search.index.engine import WhooshEngine
from tests.projections.search.conftest import Catalog, make_entity

PAGE = (Path(__file__).parents[2] / "docs" / "query-language.md").read_text()
_TABLE = re.compile(r"^\| `(\w+)` \| finds \|\n\|---\|---\|\n((?:\|.*\|\n)+)", re.MULTILINE)
_FACETS = re.compile(r"^\| `aggregations` \| gives \|\n\|---\|---\|\n((?:\|.*\|\n)+)", re.MULTILINE)
_LINE = re.compile(r"^\| `(.*)` \| (.*) \|$", re.MULTILINE)


def lines() -> list[tuple[str, str, str]]:
    """Parameter, its value and what is found, for each line of the tables."""
    return [
        (parameter, asked.replace("\\|", "|"), answer)
        for parameter, table in _TABLE.findall(PAGE)
        for asked, answer in _LINE.findall(table)
    ]


def facets() -> list[tuple[str, str]]:
    """Aggregations and what they give, for each line of their table."""
    (table,) = _FACETS.findall(PAGE)
    return [(asked, answer) for asked, answer in _LINE.findall(table)]


@pytest.fixture(scope="module")
def sample() -> Iterator[Catalog]:
    """A catalog of the page's entities."""
    engine = WhooshEngine.open(None)
    catalog = Catalog(engine)
    (block,) = re.findall(r"^```jsonl\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    for line in block.splitlines():
        entity = json.loads(line)
        kind, name, version = (entity.pop(key) for key in ("kind", "name", "version"))
        catalog.add(make_entity(name, kind, version=round(10 * version), **entity))
    yield catalog
    engine.close()


def test_every_line_of_a_table_is_read() -> None:
    written = [line for line in PAGE.splitlines() if line.startswith("| `")]
    headers = [line for line in written if line.endswith(("| finds |", "| gives |"))]
    assert len(lines()) + len(facets()) == len(written) - len(headers) > 100


@pytest.mark.parametrize(("parameter", "asked", "answer"), lines())
def test_line_of_the_page_holds(sample: Catalog, parameter: str, asked: str, answer: str) -> None:
    if parameter == "q":
        q, query_filter = asked, None
    else:
        q, query_filter = "", asked.encode()
    if answer.startswith("400: "):
        with pytest.raises(InvalidInput) as raised:
            sample.names(q, query_filter=query_filter)
        assert answer.removeprefix("400: ") in raised.value.message
        return
    every = sorted(entity.name for entity in sample.entities.values())
    expected = {"everything": every, "nothing": []}.get(answer, answer.split(", "))
    names = sample.names(q, query_filter=query_filter)
    assert sorted(names) == sorted(expected)
    if q == "orders" or "^5" in q:
        assert names[0] == expected[0]


@pytest.mark.parametrize(("asked", "answer"), facets())
def test_aggregations_of_the_page_give_what_it_says(
    sample: Catalog, asked: str, answer: str
) -> None:
    if answer.startswith("400: "):
        with pytest.raises(InvalidInput) as raised:
            sample.respond("", aggregations=asked.encode())
        assert answer.removeprefix("400: ") in raised.value.message
        return
    ((name, given),) = sample.respond("", aggregations=asked.encode())["aggregations"].items()
    if name.startswith("top_hits#"):
        assert [hit["_source"]["name"] for hit in given["hits"]["hits"]] == answer.split(", ")
        return
    dated = name.startswith("date_histogram#")
    told = [
        f"{bucket['key_as_string'][:10] if dated else bucket['key']} {bucket['doc_count']}"
        for bucket in given["buckets"]
    ]
    others = given.get("sum_other_doc_count")
    assert ", ".join([*told, *([f"others {others}"] if others else [])]) == answer
