"""YAML is read as datacontract-cli reads it, in bounded time and memory."""

from typing import Any

import pytest
import yaml

from domain.contracts.yaml_input import MAX_NODES, read_yaml
from domain.errors import InvalidInput
from tests.domain.contracts.documents import FULL


class CliLoader(yaml.CSafeLoader):
    """The safe loader without timestamps, as datacontract-cli has it."""


CliLoader.yaml_implicit_resolvers = {
    first: [each for each in rules if not each[0].endswith("timestamp")]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def refusal(text: str) -> str:
    with pytest.raises(InvalidInput) as caught:
        read_yaml(text.encode())
    return caught.value.message


@pytest.mark.parametrize(
    "text",
    [
        FULL,
        "a: [yes, No, 'yes', on, ~, null, Null, '', !!str 1, !!int '7', !!float '1', ! 12]",
        "a: [10:30, 09:30, 0123, 0x1F, 0b11, 1_000, 1e3, 1.0e+3, .5, 1., +1, -0, 190:20:30.15]",
        "a: 2024-01-01\nb: 2024-01-01T10:00:00Z",
        "a: &x {b: 1}\nc: {<<: *x, d: 2}\ne: {<<: [*x, {b: 2, f: 3}], f: 4}\ng: [*x, *x]",
        "? a\n: b\n? |\n  long\n: c",
        "a: >\n  folded\n  text\n\nb: |+\n  kept\n\n",
        "\ufeffa: ü",
        "a:\n- 1\n-\n- - 2\n",
        "",
    ],
)
def test_yaml_is_read_as_the_command_line_tool_reads_it(text: str) -> None:
    expected = yaml.load(text.removeprefix("\ufeff"), CliLoader)
    assert repr(read_yaml(text.encode())) == repr(expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3", "the key 'a' comes twice in line 3"),
        ("a: {b: 1, <<: {c: 1}, <<: {d: 1}}", "the key '<<' comes twice in line 1"),
        ("a: 1\n2: b", "a key must be a text, got 2 in line 2: put it in quotes"),
        ("yes: b", "a key must be a text, got True in line 1: put it in quotes"),
        ("? [a]\n: b", "a key must be a text, got ['a'] in line 1: put it in quotes"),
        ("a: 1\n---\nb: 1", "there may be one document, a second begins in line 2"),
        ("a: !!python/object:os.system x", "the tag 'tag:yaml.org,2002:python/object:os.system'"),
        ("a: !!binary aGk=", "the tag 'tag:yaml.org,2002:binary' in line 1 is not taken"),
        ("a: !!set {b}", "the tag 'tag:yaml.org,2002:set' in line 1 is not taken"),
        ("a: !custom x", "the tag '!custom' in line 1 is not taken"),
        ("a: !!int x", "'x' in line 1 is no int"),
        ("a: .inf", "the number 'inf' is none that JSON can write"),
        ("a: .nan", "the number 'nan' is none that JSON can write"),
        ("a: 1.0e+999", "the number '1.0e+999' is none that JSON can write"),
        ("a: *b", "the alias *b in line 1 has no anchor before it"),
        ("a: &b [*b]", "the alias *b in line 1 has no anchor before it"),
        ("a: {<<: 1}", "<< must name a mapping or a list of them in line 1"),
        ("a: [1", "the document is no YAML in line 2: did not find expected ',' or ']'"),
        ("a: \x00", "the document is no YAML: "),
    ],
)
def test_yaml_is_refused(text: str, message: str) -> None:
    assert refusal(text).startswith(message)


TOO_DEEP = "a document may be 64 levels deep; there is more in line 1"
LARGE = {
    "lists": ("[" * 1_000_000, TOO_DEEP),
    "dashes": ("- " * 100_000, TOO_DEEP),
    "one level more": ("[" * 65 + "]" * 65, TOO_DEEP),
    "digits": ("a: " + "9" * 1_001, "a number may have 1000 digits, there are more in line 1"),
    "base 60": ("a: " + "1:" * 1_000 + "1", "a number may have 1000 digits, there are more in"),
    "bytes": ("a: " + "x" * 4_000_000, "a document may have 4000000 bytes, got 4000003 or more"),
    "values": ("[" + "1," * 200_000 + "]", "a document may have 200000 values, aliases followed"),
}


@pytest.mark.parametrize("sort", LARGE)
def test_large_yaml_is_refused(sort: str) -> None:
    text, message = LARGE[sort]
    assert refusal(text).startswith(message)


def test_yaml_that_is_no_utf8_is_refused() -> None:
    with pytest.raises(InvalidInput, match="the document is not UTF-8 at byte 4"):
        read_yaml(b"a: \xff")


def bomb(item: str, levels: int = 12, width: int = 9) -> str:
    """Lists of aliases of lists of aliases: `width` to the power of `levels` values."""
    lines = [f"a0: &a0 [{', '.join([item] * width)}]"]
    for level in range(1, levels):
        aliases = ", ".join([f"*a{level - 1}"] * width)
        lines.append(f"a{level}: &a{level} [{aliases}]")
    return "\n".join(lines)


def deep(levels: int) -> str:
    """Lists in lists by aliases: each is one level deeper than the one before."""
    lines = [f"a{level}: &a{level} [*a{level - 1}]" for level in range(1, levels)]
    return "\n".join(["a0: &a0 []", *lines])


def merging(levels: int) -> str:
    """Mappings that each merge the one before twice, and have a key more."""
    lines = ["a0: &a0 {k0: 1}"]
    for level in range(1, levels):
        merged = ", ".join([f"*a{level - 1}"] * 9)
        lines.append(f"a{level}: &a{level} {{<<: [{merged}], k{level}: 1}}")
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        (bomb("x"), "values"),
        (bomb("x" * 100_000, levels=2), "bytes"),
        (merging(40), "values"),
        (deep(100), "64 levels deep"),
    ],
    ids=["values", "bytes", "merges", "depth"],
)
def test_bounds_hold_after_aliases_are_followed(text: str, bound: str) -> None:
    assert bound in refusal(text)


def test_most_values_that_may_be_are_read() -> None:
    read: Any = read_yaml(("[" + "1," * (MAX_NODES - 1) + "]").encode())
    assert read == [1] * (MAX_NODES - 1)
