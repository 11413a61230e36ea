"""Descriptions as HTML: formatted, and harmless."""

import pytest

from api.pages.frame.rendering import MOST_CHARACTERS, to_html


def test_markdown_is_formatted() -> None:
    html = to_html("# Title\n\n*a* `b` [c](https://example.org)\n\n| x |\n|---|\n| y |")

    assert html is not None
    assert "<h3>Title</h3>" in html
    assert "<em>a</em> <code>b</code>" in html
    assert '<a href="https://example.org" rel="noopener noreferrer nofollow">c</a>' in html
    assert "<td>y</td>" in html


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](data:text/html,y)",
        "<a href='javascript:alert(1)'>x</a>",
        '[x](https://e.org "onmouseover=alert(1)")',
        "![x](https://elsewhere.example/pixel.png)",
        "<svg/onload=alert(1)>",
    ],
)
def test_markup_and_scripts_are_text(text: str) -> None:
    html = to_html(text)

    assert html is not None
    for bad in ("<script", "<img", "<svg", 'href="javascript', 'href="data', "<a onmouseover"):
        assert bad not in html


def test_long_texts_are_left_as_they_are() -> None:
    assert to_html("x" * MOST_CHARACTERS) is not None
    assert to_html("x" * (MOST_CHARACTERS + 1)) is None


def test_deep_texts_are_shown_whole() -> None:
    levels = [f"level{number}" for number in range(14)]
    html = to_html("\n".join(f"{'  ' * depth}- {level}" for depth, level in enumerate(levels)))

    assert html is not None
    assert all(level in html for level in levels)
    # Deeper than the parser goes, where it would leave out the rest.
    assert to_html("> " * 31 + "important") is None
    assert to_html("- " * 5_000 + "important") is None


def test_table_that_would_be_filled_up_is_text() -> None:
    wide = "|a" * 500 + "|\n" + "|-" * 500 + "|\n"

    html = to_html(wide + "|\n" * 8_000)

    assert html is not None
    assert "<td" not in html
    assert "<td" in (to_html(wide + "|b|\n") or "")


def test_page_is_in_proportion_to_what_links_repeat() -> None:
    definition = f"[a]: https://example.org/{'x' * 9_000}\n\n"

    assert to_html(definition + "[a] " * 2_000) is None
    assert (to_html(definition + "[a] " * 20) or "").count("<a href") == 20
