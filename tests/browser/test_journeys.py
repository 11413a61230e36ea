"""Journeys of people through the pages, from the first page on, in a real browser."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open, violations
from tests.depth import first_alone
from tests.e2e.conftest import Server


def first(served: Server, collection: str) -> str:
    """The qualified name of the first entity of a collection."""
    name: str = served.get(f"/v1/{collection}", limit=1)["data"][0]["fullyQualifiedName"]
    return name


def test_table_is_found_by_typing_and_read(opened: Open, served: Server) -> None:
    fqn = first(served, "tables")
    page = opened("reader", "/")

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    box = page.get_by_role("combobox", name="Search the catalog")
    with page.expect_response(re.compile("/search/suggestions")):
        box.press_sequentially(fqn.rpartition(".")[2][:5])
    expect(page.locator("#suggestions option")).not_to_have_count(0)
    box.fill(fqn.rpartition(".")[2])
    box.press("Enter")
    page.get_by_role("link", name=re.compile(f"^{fqn.rpartition('.')[2]}$")).first.click()

    expect(page.get_by_role("columnheader", name="Type")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_count(1)


def test_facets_narrow_without_a_reload_and_their_address_is_shared(opened: Open) -> None:
    page = opened("reader", "/search?q=")
    page.evaluate("window.kept = true")

    page.get_by_label("Narrow the results").get_by_role("link", name="data contract").click()
    page.wait_for_url(re.compile("kind=datacontract", re.IGNORECASE))
    page.wait_for_selector(".chosen")

    assert page.evaluate("window.kept") is True
    shared = opened("reader", page.url)
    texts = shared.locator(".hits .kind").all_inner_texts()
    assert set(texts) == {"data contract"}


def test_results_follow_what_is_typed(opened: Open) -> None:
    page = opened("reader", "/search?q=nothingatall")
    expect(page.get_by_role("status")).to_contain_text("0 results")
    page.evaluate("window.kept = true")

    page.get_by_role("combobox", name="Search the catalog").fill("contract")
    page.wait_for_url(re.compile("q=contract"))

    expect(page.get_by_role("status")).to_contain_text("results for contract")
    expect(page.locator(".hits li").first).to_be_visible()
    assert page.evaluate("window.kept") is True
    expect(page.locator("#q")).to_be_focused()


def test_who_is_not_signed_in_any_more_is_told_and_led_back(opened: Open) -> None:
    # A page whose console may tell of the answer 401.
    page = opened("reader", "/").context.new_page()
    page.goto("/search?q=")
    page.context.clear_cookies()

    page.get_by_label("Narrow the results").get_by_role("link", name="data contract").click()

    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert page.locator("input[name=to]").input_value() == "/search?q="


def test_pages_work_without_scripts(opened: Open, served: Server) -> None:
    page = opened("reader", "/search?q=", java_script_enabled=False)

    page.get_by_role("link", name="Next page").click()
    page.get_by_role("link", name="First page").click()
    page.locator(".hits a").first.click()

    assert page.get_by_role("heading", level=1).is_visible()


def test_who_sees_less_is_shown_less(opened: Open, served: Server) -> None:
    address = f"/entity/table/{first(served, 'tables')}"

    assert opened("editor", address).locator(".description").count() == 1
    assert opened("clerk", address).locator(".description").count() == 0


def test_form_signs_in_and_signing_out_ends_the_session(
    opened: Open, token_of: Callable[[str], str]
) -> None:
    page = opened(None, "/sign-in")
    page.get_by_label("A token of the API").fill(token_of("admin"))
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("/")

    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("/sign-in")

    assert page.context.cookies() == []


@pytest.mark.parametrize(
    ("scheme", "rules"),
    [("light", None), pytest.param("dark", ["color-contrast"], marks=pytest.mark.deep)],
)
def test_no_page_keeps_anybody_out(opened: Open, served: Server, scheme: Any, rules: Any) -> None:
    addresses = [
        "/",
        "/search?q=a",
        "/search?q=nothing-has-this-name",
        "/browse/table",
        f"/entity/table/{first(served, 'tables')}",
        f"/entity/dataContract/{first(served, 'dataContracts')}",
        f"/entity/table/{first(served, 'tables')}?at=now",
        "/browse/table?at=20&beside=now",
        "/search?q=a&at=now",
        "/search?q=nothing-has-this-name&at=20",
    ]
    page = opened("reader", "/", color_scheme=scheme)
    found = {}
    for address in addresses:
        page.goto(address)
        found[address] = violations(page, rules)
    page.context.clear_cookies()
    page.goto("/sign-in")
    found["/sign-in"] = violations(page, rules)

    assert {address: each for address, each in found.items() if each} == {}


@pytest.mark.parametrize("width", first_alone(320, 768, 1600))
def test_no_page_is_wider_than_its_window(opened: Open, served: Server, width: int) -> None:
    page = opened("reader", "/", size=(width, 800))
    table = f"/entity/table/{first(served, 'tables')}"
    two_moments = "/browse/table?at=now&beside=20"
    searches = ("/search?q=a", "/search?q=a&at=now")
    for address in ("/", *searches, table, f"{table}?at=now", two_moments):
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address


def test_no_name_is_wider_than_its_window(opened: Open, served: Server) -> None:
    long = "W" * 256
    given = {"name": f"wide{long[4:]}", "displayName": long, "description": "It is wide."}
    name = served.post("/v1/glossaries", **given)["fullyQualifiedName"]
    page = opened("editor", "/", size=(320, 800))
    views = ("entity", "history", "compare", "changed", "edit", "delete")
    queries = {"edit": "?field=description", "changed": "?from=0"}

    for view in views:
        page.goto(f"/{view}/glossary/{name}{queries.get(view, '')}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, view


def test_columns_come_as_they_are_scrolled_to_and_are_filtered(
    opened: Open, served: Server
) -> None:
    schema = first(served, "databaseSchemas")
    columns = [{"name": f"column_{number}", "dataType": "INT"} for number in range(13_395)]
    made = served.post("/v1/tables", name="wide", databaseSchema=schema, columns=columns)
    page = opened("reader", f"/entity/table/{made['fullyQualifiedName']}")
    rows = page.locator("#rows-columns th[scope=row]")
    assert rows.count() == 200

    page.get_by_role("link", name="More columns").scroll_into_view_if_needed()
    expect(rows).to_have_count(400)
    page.get_by_label("Filter", exact=True).fill("column_1339")
    expect(rows).to_have_count(6)

    assert rows.first.inner_text() == "column_1339"
    assert page.url.endswith("column=column_1339")
