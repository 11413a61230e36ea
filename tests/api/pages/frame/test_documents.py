"""Values as people read them, of which no more is formatted than is shown."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from api.pages.frame.documents import formatted, json_lines

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text('aé"\\\n{[', max_size=4),
    lambda inner: st.lists(inner) | st.dictionaries(st.text('k"', max_size=2), inner),
)


@given(VALUES)
def test_lines_are_those_of_json_whatever_is_formatted_at_once(value: Any) -> None:
    body = msgspec.json.encode(value)
    expected = msgspec.json.format(body, indent=2)
    for step in (0, 8, 1_000):
        assert b"".join(json_lines(body, step=step)) == expected
        assert b"".join(json_lines(Raw(body), step=step)) == expected


def test_spaces_of_a_value_are_not_kept() -> None:
    spaced = b'{"a":{' + b" " * 20_000 + b'},"b":[' + b" " * 20_000 + b"1]}"
    assert b"".join(json_lines(spaced)) == b'{\n  "a": {},\n  "b": [\n    1\n  ]\n}'


def test_no_step_formats_much(monkeypatch: pytest.MonkeyPatch) -> None:
    # Deep values: 600 kB of them become 31 MB of lines.
    deep: Any = [1] * 5_000
    for _ in range(50):
        deep = [deep]
    sizes: list[int] = []
    usual = msgspec.json.format

    def noted(body: bytes, **named: Any) -> bytes:
        sizes.append(len(body))
        return usual(body, **named)

    monkeypatch.setattr(msgspec.json, "format", noted)
    value = Raw(msgspec.json.encode({"k": [deep] * 60}))
    shown = formatted(value, 1_000)
    assert len(shown) == 1_000
    assert shown.startswith('{\n  "k": [\n    [\n')
    assert sum(sizes) < 30_000
    sizes.clear()
    assert max(map(len, json_lines(value))) < 2_000_000
    assert max(sizes) <= 16_384


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("abcdef", "abc"),
        (Raw(b'"abcdef"'), "abc"),
        ("ééé" * 9, "ééé"),
        ({"é": 1}, "{\n "),
        (Raw(b'["ab"]'), "[\n "),
        (["é" * 30_000], "[\n "),
        (12345, "123"),
        (None, "nul"),
    ],
)
def test_only_so_many_characters_are_shown(value: Any, shown: str) -> None:
    assert formatted(value, 3) == shown
