"""Descriptions, which are Markdown of anybody, as HTML that can do no harm."""

from functools import cache
from typing import Any

MOST_CHARACTERS = 20_000
"""Longer texts are shown as they are: rendering takes time that others wait for."""
_TAGS = frozenset(
    [
        "a",
        "blockquote",
        "br",
        "code",
        "del",
        "em",
        "h3",
        "h4",
        "h5",
        "h6",
        "hr",
        "li",
        "ol",
        "p",
        "pre",
        "strong",
        "table",
        "tbody",
        "td",
        "th",
        "thead",
        "tr",
        "ul",
    ]
)


def is_rendered(text: str) -> bool:
    """Whether a text is short enough to be rendered."""
    return len(text) <= MOST_CHARACTERS


def to_html(text: str) -> str:
    """The HTML of a Markdown text: markup in it is text, and links lead out without a referrer.

    Headings are moved below those of the page. Images are shown as their links' texts: nothing of
    another host is loaded.
    """
    # Start-up: only pages need it.
    import nh3  # noqa: PLC0415

    return nh3.clean(
        _parser().render(text),
        tags=set(_TAGS),
        attributes={"a": {"href"}, "ol": {"start"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )


@cache
def _parser() -> Any:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - start-up: only pages need it

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
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
