"""Descriptions, which are Markdown of anybody, as HTML that can do no harm."""

from functools import cache
from typing import Any

MOST_CHARACTERS = 20_000
"""Longer texts are shown unformatted: rendering takes time for which other requests wait."""
_MOST_CELLS = 10_000
_MOST_DEPTH = 30
_MOST_BRACKETS = 2_000
"""Most opening brackets: for each the parser searches the closing one."""
_MOST_ADDRESSES = 200_000
"""Characters of the addresses of all links."""
_TAGS = (
    "a blockquote br code del em h3 h4 h5 h6 hr li ol p pre strong table tbody td th thead tr ul"
)
"""All that is left of the HTML."""


def to_html(text: str) -> str | None:
    """The HTML of a Markdown text: markup in it is text, and links lead out without a referrer.

    Headings are moved below those of the page. Images are shown as their links' texts: nothing of
    another host is loaded. None for what is to be shown as it is: what is too long, too deep, or
    would become a page out of proportion. A table that is too large is left as text.
    """
    if len(text) > MOST_CHARACTERS or text.count("[") > _MOST_BRACKETS:
        return None
    parser = _parser(tables=_most_cells(text) <= _MOST_CELLS)
    tokens = parser.parse(text)
    # The parser leaves out what is deeper than it goes.
    if any(token.level >= _MOST_DEPTH for token in tokens):
        return None
    # A link that is defined once may be used thousands of times.
    links = (child for token in tokens for child in token.children or () if child.attrs)
    if sum(len(str(link.attrs.get("href", ""))) for link in links) > _MOST_ADDRESSES:
        return None
    # Start-up: only pages need it.
    import nh3  # noqa: PLC0415

    return nh3.clean(
        parser.renderer.render(tokens, parser.options, {}),
        tags=set(_TAGS.split()),
        attributes={"a": {"href"}, "ol": {"start"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )


def _most_cells(text: str) -> int:
    """Most cells that the tables of a text can have: each row is filled up to the longest."""
    lines = text.split("\n")
    return len(lines) * max(line.count("|") for line in lines)


@cache
def _parser(*, tables: bool) -> Any:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - start-up: only pages need it

    options = {"html": False, "maxNesting": _MOST_DEPTH + 4}
    parser = MarkdownIt("commonmark", options).enable("strikethrough")
    if tables:
        parser.enable("table")
    parser.disable(["image", "html_block", "html_inline"])
    parser.add_render_rule("heading_open", _lower_heading)
    parser.add_render_rule("heading_close", _lower_heading)
    return parser


def _lower_heading(renderer: Any, tokens: Any, at: int, options: Any, env: Any) -> str:
    """A heading two levels below its own."""
    token = tokens[at]
    token.tag = f"h{min(6, int(token.tag[1]) + 2)}"
    rendered: str = renderer.renderToken(tokens, at, options, env)
    return rendered
