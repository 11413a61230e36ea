"""Texts of the catalog as agents are given them: without what people who read them do not see.

A description may hold orders for an agent in characters without a width, in comments of HTML, or in
the target of a link. Patterns are those of RE2, which takes linear time over any text.
"""

from functools import cache
from typing import Any

import re2

_INVISIBLE = (
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters, but for tabs and ends of lines
    r"\x{ad}\x{34f}\x{61c}\x{115f}\x{1160}\x{17b4}\x{17b5}\x{180b}-\x{180f}"
    r"\x{200b}-\x{200f}\x{202a}-\x{202e}\x{2060}-\x{206f}\x{3164}\x{fe00}-\x{fe0f}"
    r"\x{feff}\x{ffa0}\x{fff0}-\x{fffb}"
    r"\x{1bca0}-\x{1bca3}\x{1d173}-\x{1d17a}\x{e0000}-\x{e0fff}]"
)
"""Control and bidirectional characters, those without a width, selectors of variants, and tags."""
_MARKUP = (
    (r"(?s)<!--.*?(?:-->|\z)", ""),
    (r"(?is)<img\b[^>]*(?:>|\z)", ""),
    (r"!\[([^\[\]]*)\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\[\]]*\])", r"\1"),
    (r"\[([^\[\]]*)\]\([^()]*(?:\([^()]*\)[^()]*)*\)", r"\1"),
    (r"(?m)^ {0,3}\[[^\[\]\n]+\]:[^\n]*$", ""),
    (r"(?is)<a\b[^>]*(?:>|\z)", ""),
)
"""Comments, images, and targets of links, of HTML and of Markdown, with what is left of each."""
_ROUNDS = 8
"""Passes that take out markup: each may leave new markup where the old one stood."""
_OPENINGS = ("<!--", "![", "](")
"""The remains of markup that was nested more deeply than any that people write."""


def plain(text: str) -> str:
    """A name, a value or code, without the characters that nobody sees."""
    if text.isascii() and text.isprintable():
        return text
    invisible, _ = _patterns()
    cleaned: str = invisible.sub("", text)
    return cleaned


def prose(text: str) -> str:
    """A description, without invisible characters, comments, images and the targets of links."""
    text = plain(text)
    if "<" not in text and "[" not in text:
        # All markup that is taken out has one of these characters.
        return text
    _, markup = _patterns()
    for _ in range(_ROUNDS):
        before = text
        for pattern, left in markup:
            text = pattern.sub(left, text)
        if text == before:
            return text
    for opening in _OPENINGS:
        text = text.replace(opening, "")
    return text


@cache
def _patterns() -> tuple[Any, list[tuple[Any, str]]]:
    # Start-up: no server needs the patterns before an agent asks.
    return re2.compile(_INVISIBLE), [(re2.compile(each), left) for each, left in _MARKUP]
