"""The page of the log: narrowed, walked, followed, and opened to what an event changed."""

import asyncio
import re
from html import unescape
from itertools import chain
from typing import Any

import msgspec
import pytest

from api.pages.history import audit
from api.pages.history.audit import EVENT_CHARACTERS, PAGE_SIZE
from api.routes.system.audit import PAGE_BYTES
from tests.api.conftest import Client
from tests.api.pages.conftest import Browser, fill

TABLE = "service.database.schema.orders"


def positions(text: str) -> list[int]:
    """The positions of the events of a page, in order."""
    return [int(each) for each in re.findall(r'<a href="/audit/(\d+)">Event', text)]


def address(text: str, start: str) -> str | None:
    """The address of the first link that begins so."""
    found = re.search(rf'href="({re.escape(start)}[^"]*)"', text)
    return unescape(found[1]) if found else None


def test_events_are_the_ones_that_the_api_gives(shop_anywhere: Client) -> None:
    browser = Browser(shop_anywhere, "admin")
    for query in ("", "kind=table", f"fqn={TABLE}", "actor=nobody", "since=2100-01-01"):
        asked = shop_anywhere.request("GET", f"/v1/audit/events?order=desc&{query}").json()["data"]

        shown = positions(browser.get(f"/audit?{query}").text)
        assert shown == [each["position"] for each in asked]


def test_empty_fields_of_the_form_narrow_nothing(shop: Client) -> None:
    browser = Browser(shop, "admin")

    everything = browser.get("/audit?kind=&eventType=&fqn=+&entity=&since=&until=").text

    assert positions(everything) == positions(browser.get("/audit").text)


def test_pages_are_walked_to_the_first_event(anywhere: Client) -> None:
    anywhere.many(2 * PAGE_SIZE + 1)
    browser, seen = Browser(anywhere, "admin"), []
    at: str | None = "/audit"
    while at:
        text = browser.get(at).text
        seen.append(positions(text))
        at = address(text, "/audit?before=")

    assert [len(each) for each in seen] == [PAGE_SIZE, PAGE_SIZE, 1]
    assert [*chain(*seen)] == [*range(2 * PAGE_SIZE + 1, 0, -1)]


def test_newer_events_are_followed_without_a_gap(anywhere: Client) -> None:
    anywhere.schema()
    browser = Browser(anywhere, "admin")
    before = browser.get("/audit?follow=true").text
    anywhere.many(PAGE_SIZE + 10)

    polled = re.search(r'hx-get="([^"]*)" hx-trigger="every 4s"', before)
    assert polled is not None
    first = browser.get(unescape(polled[1])).text
    again = re.search(r'hx-get="([^"]*)" hx-trigger="every 4s"', first)
    assert again is not None
    then = browser.get(unescape(again[1])).text

    assert len(positions(first)) == PAGE_SIZE
    assert positions(then) + positions(first) == [*range(3 + PAGE_SIZE + 10, 3, -1)]


def test_event_is_shown_with_what_it_changed(client: Client) -> None:
    client.schema()
    table = client.table("orders", description="old")
    patch = [{"op": "replace", "path": "/description", "value": "<b>new</b>"}]
    answer = client.request(
        "PATCH",
        f"/v1/tables/{table['id']}",
        json=patch,
        headers={"Content-Type": "application/json-patch+json"},
    )
    assert answer.status_code == 200
    browser = Browser(client, "admin")
    stream = browser.get(f"/audit?entity={table['id']}").text
    event = browser.get(f"/audit/{positions(stream)[0]}").text

    for text in (stream, event):
        assert "<b>new</b>" not in text
        assert "&lt;b&gt;new&lt;/b&gt;" in text
        assert '<span class="dim">description</span>' in text or "<dd>description</dd>" in text
    assert '<span class="op replace">replace</span>' in stream


def test_page_that_ends_early_says_so(client: Client) -> None:
    browser = Browser(client, "admin")
    said = "The page ends early"
    client.schema()
    assert said not in browser.get("/audit").text
    for name in ("a", "b", "c"):
        client.table(name, description="x" * (PAGE_BYTES // 2))

    assert said in browser.get("/audit").text
    assert said not in browser.get("/audit?after=5").text


def test_long_event_is_cut_and_says_where_all_of_it_is(client: Client) -> None:
    client.schema()
    client.table(description="x" * EVENT_CHARACTERS)
    browser, number = Browser(client, "admin"), 4
    assert "has more characters" not in browser.get(f"/audit/{number - 1}").text

    cut = browser.get(f"/audit/{number}").text

    shown = cut.partition("<pre class")[2].partition("<bdi>")[2].partition("</bdi>")[0]
    assert "has more characters" in cut
    assert len(unescape(shown)) == EVENT_CHARACTERS
    (asked,) = re.findall(r"/v1/audit/events\?[^']*", unescape(cut))
    (event,) = client.request("GET", asked).json()["data"]
    assert event["position"] == number
    assert unescape(shown).splitlines()[0] == "{"


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("entity=x", "is not an id"),
        ("eventType=x", "is not a type of event"),
        ("since=soon", "since must be"),
        ("kind=x", "kind must be one of"),
        ("after=9999999", "after must be at most"),
    ],
)
def test_wrong_filters_are_explained_in_place(shop: Client, query: str, said: str) -> None:
    answer = Browser(shop, "admin").get(f"/audit?{query}")

    assert answer.status_code == 400
    assert said in unescape(answer.text.partition('role="alert">')[2].partition("</p>")[0])


def test_event_that_is_not_there_is_told(shop_anywhere: Client) -> None:
    assert Browser(shop_anywhere, "admin").get("/audit/999999").status_code == 404
    assert Browser(shop_anywhere, "admin").get("/audit/0").status_code == 400


def test_events_are_read_in_a_thread_and_their_values_are_not_decoded(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(client)
    browser = Browser(client, "admin")
    values: list[Any] = []
    usual = audit.formatted

    def noted(value: Any, most: int) -> str:
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()
        values.append(value)
        return usual(value, most)

    monkeypatch.setattr(audit, "formatted", noted)
    assert positions(browser.get("/audit").text)
    assert {type(value) for value in values} == {msgspec.Raw}
