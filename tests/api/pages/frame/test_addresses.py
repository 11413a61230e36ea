"""Addresses of pages: parameters, and the same page without a date."""

import pytest

from api.pages.frame.addresses import with_query, without_date


def test_parameters_are_added_to_a_query_that_is_there() -> None:
    assert with_query("/tree", {"after": "a&b", "below": None}) == "/tree?after=a%26b"
    assert with_query("/tree?at=5", {"below": "tag", "after": ""}) == "/tree?at=5&below=tag"
    assert with_query("/tree?at=5", {"below": None}) == "/tree?at=5"


@pytest.mark.parametrize(
    ("address", "today"),
    [
        ("/tree", None),
        ("/browse/tag?after=x&status=a", None),
        ("/tree?at=5", "/tree"),
        ("/browse/tag?status=&asOf=2026-01-01&after=x", "/browse/tag?status="),
        ("/browse/tag?owner=a%26b&at=1&beside=now&before=x", "/browse/tag?owner=a%26b"),
        ("/entity/tag/at%3Fat=1?asOf=", "/entity/tag/at%3Fat=1"),
    ],
)
def test_page_of_today_has_neither_date_nor_cursor(address: str, today: str | None) -> None:
    assert without_date(address) == today
