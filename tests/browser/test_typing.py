"""Typing into every text box of every page, key by key, with a pause after each key."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from playwright.sync_api import expect

from tests.api.pages import test_every_page as every_page
from tests.browser.conftest import Open
from tests.browser.test_changes import table_of
from tests.e2e.conftest import Server

TYPED = 'se "un'
"""A text that is no whole query at its end, and that columns begin with on the way."""
LONG = "x" * 400
"""A text longer than any that suggestions are made for."""
PAUSE = 500
"""Milliseconds of the browser's clock after a key: more than any box waits before it asks."""
PARTS = ("/search/suggestions", "/raw/{kind}/{fqn}", "/choices/{kind}/{key}")
"""Addresses that answer with a part of a page, or with JSON."""
ADDRESSES = {
    **{
        path: address
        for path, address in (every_page.ADDRESSES | every_page.CHANGING).items()
        if path not in PARTS
    },
    "a list of references": f"/edit/table/{every_page.TABLE}?field=owners",
    "a text of many lines": f"/edit/table/{every_page.TABLE}?field=description",
    "tags of a column": f"/edit/table/{every_page.TABLE}?field=tags&column=search_1",
    "columns that are filtered": f"/entity/table/{every_page.TABLE}?column=1&from=0",
    "a search that is narrowed": "/search?q=a&kind=table&sort=name",
    "a search that is wrong": "/search?q=name:(",
    "a refusal": "/entity/table/no.such.one",
}
"""Name of each page, as the walk over all pages has them and more -> its address there."""
OFTEN = ("/search", "a list of references")
"""The pages that `make test` types at: one that asks for itself anew, one whose form is sent."""
BOXES = "input:is([type=text], [type=search], [type=password], :not([type])), textarea"
ASKING = ".htmx-request, .htmx-swapping, .htmx-settling"
"""Classes by which htmx marks that a request, or its result, is under way."""


@pytest.fixture(scope="module")
def wide(served: Server) -> str:
    """The qualified name of a table with more columns than are shown without a filter."""
    columns = [{"name": f"search_{number}", "dataType": "INT"} for number in range(250)]
    name = table_of(served, "typed_at", columns=columns).removeprefix("/table/")
    table = served.get(f"/v1/tables/name/{name}")
    # So that there is a last change, which its page can undo.
    served.http.patch(
        f"/v1/tables/{table['id']}",
        json=[{"op": "add", "path": "/description", "value": "Described"}],
        headers={"Content-Type": "application/json-patch+json"},
    ).raise_for_status()
    return name


@pytest.mark.parametrize(
    "path",
    [
        path if path in OFTEN else pytest.param(path, marks=pytest.mark.deep)
        for path in [*ADDRESSES, "/sign-in"]
    ],
)
def test_box_keeps_what_is_typed_and_page_shows_what_the_whole_of_it_finds(
    opened: Open, wide: str, path: str
) -> None:
    schema = every_page.TABLE.rpartition(".")[0]
    address = ADDRESSES.get(path, path).replace(every_page.TABLE, wide)
    address = address.replace(schema, wide.rpartition(".")[0])
    # Signed in by a page of the fixture; those asked for here may be refused, which it forbids.
    context = opened("admin", "/").context
    page = context.new_page()
    if path == "/sign-in":
        context.clear_cookies()
    page.goto(address)
    count = boxes(page).count()
    assert count > 0

    for number in range(count):
        page = context.new_page()
        page.clock.install()
        page.goto(address)
        box = boxes(page).nth(number)
        lists = page.locator("datalist").count()
        with asked_by(page, box.get_attribute("name")) as asked:
            type_slowly(box, TYPED)

            expect(box).to_have_value(TYPED)
            expect(box).to_be_focused()
        assert page.locator("datalist").count() == lists
        again = context.new_page()
        again.goto(page.url)
        assert shown(page) == shown(again), page.url
        assert urlsplit(page.url).path == urlsplit(address).path
        if page.url.partition("?")[2] != address.partition("?")[2]:
            expect(boxes(again).nth(number)).to_have_value(TYPED)
        last = {urlsplit(url).path: values for url, values in asked}
        assert set(last.values()) <= {(TYPED,)}
        again.close()
        page.close()


@pytest.mark.parametrize("address", ["/search?q=", "/edit/table/{wide}?field=owners"])
def test_box_takes_what_is_longer_than_suggestions_are_made_for(
    opened: Open, wide: str, address: str
) -> None:
    page = opened("editor", "/")
    page.clock.install()
    page.goto(address.format(wide=wide))
    box = page.locator("[list]").last

    with asked_by(page, box.get_attribute("name")) as asked:
        box.focus()
        page.keyboard.insert_text(LONG)
        rest(page)

    assert asked
    expect(box).to_have_value(LONG)


def test_suggestions_follow_what_is_typed_on_the_page_of_results(opened: Open, wide: str) -> None:
    page = opened("reader", "/")
    page.clock.install()
    page.goto("/search?q=")

    type_slowly(page.locator("#q"), "typed_a")

    expect(page.locator("#suggestions option")).to_have_count(1)
    expect(page.locator(".hits li")).to_have_count(1)


def test_columns_follow_each_key_until_the_box_is_empty_again(opened: Open, wide: str) -> None:
    page = opened("reader", "/")
    page.clock.install()
    page.goto(f"/entity/table/{wide}?all=true")
    box, rows = page.get_by_label("Filter", exact=True), page.locator("#rows-columns th")

    type_slowly(box, "search_24")
    expect(page.locator("#rows-columns [role=status]")).to_have_text("11 of 250 have search_24.")
    for _ in "search_24":
        box.press("Backspace")
        rest(page)

    expect(page.locator("#rows-columns th[scope=row]")).to_have_count(200)
    assert rows.first.is_visible()


def boxes(page: Any) -> Any:
    """The boxes of a page that a person can type into, those that it folds away included."""
    page.evaluate("document.querySelectorAll('form details').forEach(each => each.open = true)")
    return page.locator(BOXES).and_(page.locator(":not([readonly])"))


def type_slowly(box: Any, text: str) -> None:
    """Replace what is in a box, and let the page come to rest after each key."""
    box.focus()
    box.press("Control+a")
    for key in text:
        box.press(key)
        rest(box.page)


def rest(page: Any) -> None:
    """Let the page ask for whatever it waits with, and wait until it shows the answers."""
    page.clock.run_for(PAUSE)
    expect(page.locator(ASKING)).to_have_count(0)


def shown(page: Any) -> str:
    """The text of a page, without its figures, such as the time that a search took, and the ids of
    requests.

    Suggestions are left out, and what a page renews by itself.
    """
    text: str = page.evaluate(
        """() => {
            const main = document.querySelector("main").cloneNode(true);
            main.querySelectorAll("datalist, [hx-trigger^=every]").forEach(each => each.remove());
            return main.textContent;
        }"""
    )
    return re.sub(r"[0-9a-f]{8}-[0-9a-f]+|[\d,.]+", "", text)


@contextmanager
def asked_by(page: Any, name: str) -> Iterator[list[tuple[str, tuple[str, ...]]]]:
    """The addresses that a page asks for with a parameter, and its values; none is refused.

    No address gives any parameter twice.
    """
    asked: list[tuple[str, tuple[str, ...]]] = []
    wrong: list[str] = []

    def check(answer: Any) -> None:
        given = parse_qsl(urlsplit(answer.url).query, keep_blank_values=True)
        names = [each for each, _ in given]
        if answer.status >= 400 or len(names) != len(set(names)):
            wrong.append(f"{answer.status} {answer.url}")
        if name in names:
            asked.append((answer.url, tuple(value for each, value in given if each == name)))

    page.on("response", check)
    yield asked
    page.remove_listener("response", check)
    assert wrong == []
