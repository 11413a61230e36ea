"""Regular expressions of ours as Lucene reads them."""

import pytest

from projections.search.language.regex import lucene, lucene_escaped


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("abc", "abc"),
        ("a.c*", "a.c*"),
        ("(a|b)+x", "(a|b)+x"),
        ("a|", "a|()"),
        ("|a", "()|a"),
        ("(|a)b", "(()|a)b"),
        ("()", "(())"),
        ("", "()"),
        ("a{2,3}", "a{2,3}"),
        ("[abc]", "[abc]"),
        ("[^a-c]", "[^a-c]"),
        (r"[\]a]", r"[\]a]"),
        (r"\d{2}", "[0-9]{2}"),
        (r"\W", "[^a-z0-9_]"),
        (r"\~\&\@\<\"\#", r"(\~)(\&)(\@)(\<)(\")(\#)"),
        ("a-b c", r"a\-b\ c"),
        ("É", "é"),
    ],
)
def test_expression_is_written_as_the_cluster_reads_it(pattern: str, expected: str) -> None:
    assert lucene(pattern) == expected


def test_text_by_itself_has_no_signs_with_a_meaning() -> None:
    assert lucene_escaped("a.b\x1f[~") == "a\\.b\\\x1f\\[\\~"
