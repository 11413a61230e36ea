"""Every line of the tables of the page about the query language holds for its sample entities."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Client, running
from tests.e2e.conftest import catalog
from tests.waiting import until

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "query-language.md").read_text()
FILE = DOCS / "query-language.jsonl"
SEARCH = "/v1/search/query"
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
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A catalog of the page's entities, made and asked as the page tells to."""
    directory = tmp_path_factory.mktemp("language")
    imported = catalog("import", "--data", str(directory), str(FILE))
    assert imported.returncode == 0, imported.stderr
    with running(directory) as client:
        until(lambda: client.ask("GET", SEARCH, params={"q": "*"})[0] == 200)
        yield client


def ask(client: Client, **parameters: str) -> tuple[int, Any]:
    """Status and body of a search in the kinds of the page's entities."""
    kinds = {"index": "table,topic,dashboard,dataContract", "size": 50}
    return client.ask("GET", SEARCH, params={"q": "", **kinds, **parameters})


def test_entities_of_the_page_are_those_of_the_file() -> None:
    (block,) = re.findall(r"^```jsonl\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    newest = {}
    for line in FILE.read_text().splitlines():
        entity = json.loads(line)
        newest[entity["kind"], entity["name"]] = line
    shown = block.splitlines()
    assert len(shown) == 7
    assert [line for line in shown if line not in newest.values()] == []


def test_every_line_of_a_table_is_read() -> None:
    written = [line for line in PAGE.splitlines() if line.startswith("| `")]
    headers = [line for line in written if line.endswith(("| finds |", "| gives |"))]
    assert len(lines()) + len(facets()) == len(written) - len(headers) > 100


@pytest.mark.parametrize(("parameter", "asked", "answer"), lines())
def test_line_of_the_page_holds(sample: Client, parameter: str, asked: str, answer: str) -> None:
    status, body = ask(sample, **{parameter: asked})
    if answer.startswith("400: "):
        assert status == 400
        assert answer.removeprefix("400: ") in body["message"]
        return
    assert status == 200, body
    names = [hit["_source"]["name"] for hit in body["hits"]["hits"]]
    every = [hit["_source"]["name"] for hit in ask(sample)[1]["hits"]["hits"]]
    assert len(every) == 7
    expected = {"everything": every, "nothing": []}.get(answer, answer.split(", "))
    assert sorted(names) == sorted(expected)
    if asked in ("orders", "fact_orders") or "^5" in asked:
        assert names[0] == expected[0]


@pytest.mark.parametrize(("asked", "answer"), facets())
def test_aggregations_of_the_page_give_what_it_says(
    sample: Client, asked: str, answer: str
) -> None:
    status, body = ask(sample, aggregations=asked)
    if answer.startswith("400: "):
        assert status == 400
        assert answer.removeprefix("400: ") in body["message"]
        return
    assert status == 200, body
    ((name, given),) = body["aggregations"].items()
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
