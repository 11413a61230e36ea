"""YAML that readers of version 1.1 and of 1.2 take for the same value.

A text is written without quotes only where no reader could take it for anything else.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

_PLAIN = re.compile(r"[A-Za-z_/](?:[\w./$%+(), -]*[\w./$%+()-])?", re.ASCII)
"""Texts that begin like a word and hold no sign that has a meaning in YAML."""
_WORDS = re.compile(r"(?i:y|n|yes|no|on|off|true|false|null|nan|inf|infinity)")
"""Words that some reader takes for no text."""
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")
"""Characters that JSON writes as they are, and YAML escapes."""
_BLOCK = re.compile(r"[^\s\x00-\x1f][^\x00-\x09\x0b-\x1f]*\n?")
"""Texts that a literal block may hold: lines without control characters, of which the last ends in
one line feed at most. Characters to escape, and blanks at the ends of lines, are looked for
separately."""
_LONGEST_KEY = 500
"""Characters of a key before a colon; readers look for the colon in the first 1,024."""


def write_yaml(document: dict[str, Any]) -> bytes:
    """The YAML text of a document that JSON can write, in UTF-8."""
    return "".join(_lines(document, 0)).encode() if document else b"{}\n"


def _lines(value: Any, depth: int) -> Iterator[str]:
    """The lines of a mapping or a list that is not empty, each indented by two blanks a level."""
    before = "  " * depth
    if isinstance(value, list):
        for each in value:
            inner = _value(each, depth + 1)
            if isinstance(each, dict | list) and each:
                # The first key stands behind the dash, at the place of the others below it.
                yield before + "- " + inner[0].lstrip(" ")
                yield from inner[1:]
            else:
                yield before + "- " + inner[0]
        return
    for key, each in value.items():
        written = _text(key)
        start = (
            f"{before}{written}:"
            if len(written) <= _LONGEST_KEY
            else f"{before}? {written}\n{before}:"
        )
        inner = _value(each, depth + 1)
        if isinstance(each, dict | list) and each:
            yield start + "\n"
            yield from inner
        else:
            yield start + " " + inner[0]


def _value(value: Any, depth: int) -> list[str]:
    """The lines of a value; those of a scalar are one text, which goes on behind a key or dash."""
    if isinstance(value, dict | list):
        if value:
            return [*_lines(value, depth)]
        return ["{}\n" if isinstance(value, dict) else "[]\n"]
    if isinstance(value, str) and "\n" in value and _is_block(value):
        sign = "|" if value.endswith("\n") else "|-"
        before = "  " * depth
        lines = value.removesuffix("\n").split("\n")
        return [f"{sign}\n" + "".join(f"{before}{line}\n" if line else "\n" for line in lines)]
    return [_scalar(value) + "\n"]


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float):
        # YAML 1.1 takes a number with an exponent for a text unless it has a point and a sign.
        mantissa, exponent, power = repr(value).partition("e")
        if exponent:
            mantissa = mantissa if "." in mantissa else f"{mantissa}.0"
            return f"{mantissa}e{power if power[0] in '+-' else '+' + power}"
        return mantissa
    return json.dumps(value)


def _text(text: str) -> str:
    """A text in one line, in quotes unless it is plain."""
    if _PLAIN.fullmatch(text) and not _WORDS.fullmatch(text):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return _ESCAPED.sub(lambda each: f"\\u{ord(each[0]):04x}", quoted)


def _is_block(text: str) -> bool:
    return (
        _BLOCK.fullmatch(text) is not None
        and not text.endswith("\n\n")
        and _ESCAPED.search(text) is None
        and not any(line != line.rstrip() for line in text.split("\n"))
    )
