"""Contents of the search page."""

import asyncio
import re
from html import unescape
from itertools import chain
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from api.pages.search.search import PAGE_SIZE
from tests.api.conftest import Client
from tests.api.pages.conftest import Browser


def titles(text: str) -> list[str]:
    """The titles of the results of a page, in order."""
    found = re.findall(r'<h2><a href="/entity/[^"]*"><bdi>(.*?)</bdi></a>', text)
    return [unescape(re.sub("<[^>]*>", "", each)) for each in found]


@pytest.mark.parametrize("path", ["/search?q=orders", "/search/suggestions?q=ord"])
def test_only_what_is_shown_is_decoded_and_in_the_thread_of_the_search(
    client: Client, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    client.schema()
    client.table("orders_wide", extension={"k": "x" * 20_000})
    client.search_until(lambda answer: answer["hits"]["total"]["value"] == 1, q="orders_wide")
    browser = Browser(client, "reader")
    decoded: list[int] = []
    decode = msgspec.json.decode

    def noted(body: Any, **named: Any) -> Any:
        if named:  # keys alone
            return decode(body, **named)
        decoded.append(len(bytes(body)))
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()
        return decode(body)

    monkeypatch.setattr(msgspec.json, "decode", noted)
    text = browser.get(path).text

    assert "orders_wide" in text
    assert 0 < max(decoded) < 20_000


def test_results_show_what_was_found_in_them(shop: Client) -> None:
    text = Browser(shop, "reader").get("/search?q=customer").text

    assert titles(text) == ["Customer orders"]
    assert '<span class="text-highlighter">Customer</span> orders' in text


@pytest.mark.parametrize(
    ("facet", "count"),
    [
        ("kind=table", 1),
        ("owner=annabel", 1),
        ("tag=PII.Email", 1),
        ("status=Draft", 1),
        ("kind=x", 0),
    ],
)
def test_facets_narrow_and_can_be_given_up(shop: Client, facet: str, count: int) -> None:
    text = Browser(shop, "reader").get(f"/search?q=orders&{facet}").text

    assert len(titles(text)) == count
    if count:
        assert 'class="chosen"><a href="/search?q=orders&amp;sort=relevance"' in text


def test_places_are_walked_to_the_end(client: Client) -> None:
    many = 2 * PAGE_SIZE + 1
    client.many(many)
    client.search_until(lambda found: found["hits"]["total"]["value"] == many, q="*")
    browser, seen, address = Browser(client, "reader"), [], "/search?sort=name"
    while address:
        text = browser.get(address).text
        seen.append(re.findall(r'<h2><a href="(/entity/[^"]*)"', text))
        after = re.search(r'rel="next" href="([^"]*)"', text)
        address = unescape(after[1]) if after else ""

    assert [len(each) for each in seen] == [PAGE_SIZE, PAGE_SIZE, 1]
    assert len(set(chain(*seen))) == many


WRONG = (
    *("q=name:(", "after=x", "sort=nothing", "q=" + "a" * 5_000),
    *("kind=bogus", "status=Drafty"),
)


@pytest.mark.parametrize("query", WRONG)
def test_wrong_searches_are_explained_in_place(shop: Client, query: str) -> None:
    answer = Browser(shop, "reader").get(f"/search?{query}")

    assert answer.status_code == 400
    assert 'class="problem" role="alert"' in answer.text


def test_hostile_query_is_shown_as_text(shop: Client) -> None:
    hostile = '"><script>alert(1)</script>'

    text = Browser(shop, "reader").get(f"/search?q={quote(hostile)}").text

    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text


def test_suggestions_begin_with_what_is_typed(shop: Client) -> None:
    text = Browser(shop, "reader").get("/search/suggestions?q=cust").text

    assert text.strip() == '<option value="Customer orders">service.database.schema.orders</option>'


def test_what_was_understood_is_told(shop: Client) -> None:
    text = Browser(shop, "reader").get(f"/search?q={quote('name:orders <b>')}").text

    assert "name has “orders” and the word “&lt;b&gt;”" in text


def test_statuses_are_written_as_people_write_them(shop: Client) -> None:
    text = Browser(shop, "reader").get("/search?q=orders&status=Draft").text

    assert '<bdi>Draft</bdi><span class="unseen">' in text


def test_results_come_before_the_facets(shop: Client) -> None:
    text = Browser(shop, "reader").get("/search?q=orders").text

    assert text.index('class="hits"') < text.index('class="facets"')
