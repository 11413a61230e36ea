"""JSON of callers is bounded in depth and size, and has every key once."""

import json
import time
from typing import Any

import pytest

from domain.errors import InvalidInput
from domain.patches.json_input import MAX_DEPTH, MAX_VALUES, decode, is_deeper


def refusal(data: bytes, expected: Any = object) -> str:
    with pytest.raises(InvalidInput) as caught:
        decode(data, expected, "the body")
    return caught.value.message


def test_decode_takes_the_deepest_and_the_longest_there_may_be() -> None:
    deepest = b'{"a":' + b"[" * 63 + b"]" * 63 + b"}"
    assert json.dumps(decode(deepest, dict[str, Any], "the body")).count("[") == 63
    longest = b"[" + b"0," * (MAX_VALUES - 2) + b"0]"
    assert len(decode(longest, list[int], "the body")) == MAX_VALUES - 1
    assert decode(b'["' + b"[" * 1_000 + b'"]', list[str], "the body") == ["[" * 1_000]


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 65 + b"]" * 65,
        b'{"a":' * 65 + b"1" + b"}" * 65,
        b'["]",' * 65 + b"1" + b"]" * 65,
        b"[" * 990 + b"]" * 990,
        b"[" * 500_000,
        b"[" * 300_000 + b"]" * 300_000,
    ],
)
def test_decode_refuses_what_is_too_deep(data: bytes) -> None:
    assert refusal(data) == "the body may be 64 levels deep"


def test_decode_refuses_more_values_than_it_could_bear() -> None:
    said = "the body may have 600000 commas and opening brackets, got {} of them"
    assert refusal(b"[" + b"0," * 600_000 + b"0]") == said.format(600_001)
    assert refusal(b"[" * 9_000_000) == said.format(9_000_000)
    assert refusal(b'"' + b"{" * 600_001) == said.format(600_001)


@pytest.mark.parametrize("quotes", [30_000, 4_900_000])
def test_decode_of_text_that_is_never_closed_ends_soon(quotes: int) -> None:
    data = b"[" + b"[]," * 90 + b'"' + b'\\"' * quotes
    started = time.thread_time()
    assert refusal(data) == "the body is not as expected: Input data was truncated"
    assert time.thread_time() - started < 2


@pytest.mark.parametrize(
    ("data", "key"),
    [
        (b'{"a": 1, "b": 2, "a": 1}', "'a'"),
        (b'{"a": 1, "\\u0061": 2}', "'a'"),
        (b'{"x": [{"y": {"deep": null, "deep": null}}]}', "'deep'"),
        (b'[{"a": 1}, {"a": 1, "a": 2}]', "'a'"),
        (b'{"": 0, "": 0}', "''"),
        (b'{"a": {"b": 1}, "a": {"c": 1}}', "'a'"),
        (b'{"' + b"k" * 9_000 + b'":0,"' + b"k" * 9_000 + b'":0}', repr("k" * 80)),
    ],
)
def test_decode_names_a_key_that_stands_twice(data: bytes, key: str) -> None:
    assert refusal(data) == f"the body has the key {key} twice in one object"


@pytest.mark.parametrize(
    "data",
    [
        b'{"a": {"a": [{"a": "a"}, {"a": "a"}]}}',
        b'{"a": "\\"a\\": 1, \\"a\\": 2"}',
        b'{"a": "{\\\\", "b": 1.5e3, "c": "\\\\"}',
        b'{"a": ' + b"9" * 4_000 + b"}",
        '{"ä": "\U0001f600", "a": "\\ud83d\\ude00"}'.encode(),
        b"[]",
        b"{}",
        b"null",
    ],
)
def test_decode_gives_what_the_standard_library_gives(data: bytes) -> None:
    assert decode(data, object, "the body") == json.loads(data)


@pytest.mark.parametrize(
    "data", [b"", b"{", b"\xff", b"NaN", b'"\\ud800"', b"1e999", b"[1] x", b'{"a":1,}', b"'a'"]
)
def test_decode_refuses_what_is_no_json(data: bytes) -> None:
    assert refusal(data).startswith("the body is not as expected: ")


def test_is_deeper_counts_levels_of_arrays_and_objects() -> None:
    value: Any = 1
    assert not is_deeper(value, 0)
    for level in range(1, 1_000):
        value = {"a": value} if level % 2 else [0, value]
        assert not is_deeper(value, level)
        assert is_deeper(value, level - 1)
    assert MAX_DEPTH == 64


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (rb'{"a":"b\ud800c"}', r"\ud800 at byte 8 is half of a character"),
        (rb'{"a":"\ud83d\ude00","b":["\uDE00"]}', r"\uDE00 at byte 27 is half of a character"),
        (rb'{"a":"\\\ud800"}', r"\ud800 at byte 9 is half of a character"),
        (rb'{"a":"\\ud800",}', "JSON is malformed"),
        (b'{"a":"\xff"}', r"byte 7, b'\xff', is not UTF-8"),
    ],
)
def test_text_with_a_broken_character_is_refused_with_its_place(data: bytes, said: str) -> None:
    assert refusal(data).startswith(f"the body is not as expected: {said}")
