"""The hostile tests 20 to 24 and 27 as questions to a filled catalog: answered or refused, soon.

What they come to on a million documents is measured: `python -m benchmarks live`.
"""

import base64
import json
import string
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from benchmarks.generate import lines
from benchmarks.workspace import load
from projections.search.index.engine import DEADLINE
from projections.wiring.stores import open_stores
from tests.api.conftest import Client, running
from tests.depth import examples
from tests.projections.search.language.test_filter_json import json_values
from tests.waiting import until

QUERY = "/v1/search/query"
ENTITIES = 400
ANYTHING = settings(
    max_examples=examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
BYTES = st.binary(max_size=80) | st.text(max_size=60).map(str.encode)
SYNTAX = st.text(alphabet='ab *?"()[]{}:/\\~^+-!&|<>=.,019ANDORTO_', max_size=40).map(str.encode)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    directory = tmp_path_factory.mktemp("filled")
    stores = open_stores(directory)
    load(stores.log, lines(ENTITIES))
    stores.close()
    with running(directory) as client:
        nothing = {"q": "*", "size": 0}
        until(lambda: client.request("GET", QUERY, params=nothing).status_code != 503)
        client.search_until(lambda body: body["hits"]["total"]["value"] == ENTITIES, q="*", size=0)
        yield client


def asked(client: Client, **params: Any) -> tuple[int, Any]:
    """Status and body of a search, whose work must end before its deadline."""
    started = time.process_time()
    answer = client.ask("GET", QUERY, params=params)
    assert time.process_time() - started < DEADLINE
    return answer


@pytest.mark.parametrize(
    "q",
    [
        "*",
        "**",
        "*a*",
        "?????*",
        "*a*b*",
        "* * * *",
        " ".join(f"{letter}*" for letter in string.ascii_lowercase),
        " OR ".join(f"*{letter}*" for letter in string.ascii_lowercase),
        '"a* b*"',
    ],
)
def test_hostile_21_patterns_are_answered_in_time(filled: Client, q: str) -> None:
    status, body = asked(filled, q=q, size=1_000)
    assert status in (200, 400), body
    if q in ("*", "**"):
        assert body["hits"]["total"]["value"] == ENTITIES


@pytest.mark.parametrize(
    ("q", "status"),
    [
        ("/(a+)+$/", 400),
        ("/(a+)+z/", 200),
        ("/(a|a)*(a|a)*(a|a)*b/", 200),
        ("/" + "a?" * 60 + "/", 200),
        ("/a{1,5000}/", 400),
        ("customer~100", 400),
        ("customer~2", 200),
        ('"a b"~1000000', 400),
        ('"a b"~100', 200),
        ("updatedAt:[* TO *]", 200),
        ("name:[* TO *]", 200),
        ("orders^1e308", 400),
        ("orders^NaN", 400),
        ("orders^-1", 400),
        ("orders^2", 200),
        ("updatedAt:[NaN TO 1e999]", 400),
    ],
)
def test_hostile_22_costly_clauses_are_bounded_or_refused(
    filled: Client, q: str, status: int
) -> None:
    found, body = asked(filled, q=q)
    assert found == status, body
    if status == 400:
        assert body["errorType"] == "BAD_REQUEST"
        assert body["message"]


@pytest.mark.parametrize(
    "q",
    [
        *('"', "(", ")", "a)", '"a', "[1 TO", "AND", "OR", "NOT", "a AND", "AND a", "name:", ":"),
        *("https://a/b", "a:b:c", "^", "~", "/", "/a", "!", "+", "--", "&&", "||", "\\"),
        *("\U0001f600", "\u202eabc", "\x00", "a\x00b", "\U0010ffff", "\ufeff", "e\u0301"),
    ],
)
def test_hostile_23_broken_text_is_searched_or_refused_with_its_place(
    filled: Client, q: str
) -> None:
    status, body = asked(filled, q=q)
    assert status in (200, 400), body
    if status == 400:
        assert "character" in body["message"] or "column" in body["message"], body


def answered(client: Client, path: str, name: str, value: bytes, **others: str) -> None:
    """Ask with a parameter of any bytes: only a caller's mistake may be the answer."""
    rest = "".join(f"&{key}={quote(text)}" for key, text in others.items())
    status, body = client.ask("GET", f"{path}?{name}={quote(value)}{rest}")
    assert status in (200, 400), body


@ANYTHING
@given(BYTES | SYNTAX)
@example(b"\xff\xfe")
def test_hostile_20_any_bytes_are_query_text_or_a_mistake(filled: Client, value: bytes) -> None:
    answered(filled, QUERY, "q", value)


@ANYTHING
@given(st.sampled_from(["queryFilter", "postFilter"]), BYTES | SYNTAX)
@example("queryFilter", b'{"term": {"name": "\xff"}}')
@example("postFilter", b'{"term": {"name": "\\ud800"}}')
def test_hostile_24_any_bytes_are_a_filter_or_a_mistake(
    filled: Client, name: str, value: bytes
) -> None:
    answered(filled, QUERY, name, value, q="*")


@ANYTHING
@given(json_values)
def test_hostile_24_any_json_is_a_filter_or_a_mistake(filled: Client, value: Any) -> None:
    text = json.dumps({"bool": {"filter": value}} if isinstance(value, list) else value).encode()
    answered(filled, QUERY, "queryFilter", text, q="*")


@ANYTHING
@given(st.sampled_from(["after", "before"]), BYTES, st.booleans())
def test_hostile_27_any_bytes_are_a_cursor_or_a_mistake(
    filled: Client, name: str, value: bytes, encoded: bool
) -> None:
    answered(filled, "/v1/tables", name, base64.urlsafe_b64encode(value) if encoded else value)


@ANYTHING
@given(st.sampled_from(["index", "sortField", "sortOrder", "size", "includeSourceFields"]), BYTES)
def test_any_bytes_are_a_parameter_or_a_mistake(filled: Client, name: str, value: bytes) -> None:
    answered(filled, QUERY, name, value, q="*")
