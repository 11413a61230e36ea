"""Descriptions as HTML: formatted, and harmless."""

import pytest

from api.pages.markdown import MOST_CHARACTERS, is_rendered, to_html


def test_markdown_is_formatted() -> None:
    html = to_html("# Title\n\n*a* `b` [c](https://example.org)\n\n| x |\n|---|\n| y |")

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

    for bad in ("<script", "<img", "<svg", 'href="javascript', 'href="data', "<a onmouseover"):
        assert bad not in html


def test_long_texts_are_left_as_they_are() -> None:
    assert is_rendered("x" * MOST_CHARACTERS)
    assert not is_rendered("x" * (MOST_CHARACTERS + 1))
