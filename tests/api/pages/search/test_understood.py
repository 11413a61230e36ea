"""Searches in plain words."""

import pytest

from api.pages.search.understood import understood
from projections.search.language.dates import Now
from projections.search.language.fields import Fields
from projections.search.language.text import parsed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", None),
        ("*", None),
        ("customer orders", "the word “customer” and the word “orders”, best matches first"),
        ("name:orders -tags:PII", "name has “orders” and not tags has “PII”"),
        ('"hello world"~2', "the phrase “hello world” (words moved by up to 2)"),
        ("columns.name:ema*", "columns.name has a word like “ema*”"),
        ("updatedAt:[2024 TO 2025}", "updatedAt from 2024 below 2025"),
        ("updatedAt:>now-7d", "updatedAt above now-7d"),
        ("ordres~1", "the word “ordres” (or up to one slip away)"),
        ("(a OR b) c", "(the word “a” or the word “b”) and the word “c”"),
        ("_exists_:owners", "any owners"),
        ("/ab+/", "a word that matches /ab+/"),
        ("name:a^2", "name has “a” (counts 2 times)"),
    ],
)
def test_query_is_told_in_plain_words(text: str, said: str | None) -> None:
    assert understood(parsed(text, fields=Fields(now=Now()))) == said
