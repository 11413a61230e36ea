"""Pages as of a date, in a real browser."""

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open
from tests.browser.test_journeys import first
from tests.depth import first_alone
from tests.e2e.conftest import Server


@pytest.mark.parametrize("scripts", first_alone(False, True))
def test_date_is_chosen_by_keys_and_kept(opened: Open, served: Server, *, scripts: bool) -> None:
    page = opened("reader", "/browse/table", java_script_enabled=scripts)

    field = page.get_by_label("As of (UTC)")
    field.fill("2024-05-06T07:08")
    field.press("Enter")
    page.wait_for_url(re.compile("asOf="))
    expect(page.get_by_role("status")).to_contain_text("As of 2024-05-06 07:08 UTC, position 0.")
    expect(page.get_by_label("As of (UTC)")).to_have_value("2024-05-06T07:08")
    page.goto(f"/entity/table/{first(served, 'tables')}?at=now")
    page.get_by_role("link", name="table", exact=True).click()
    page.wait_for_url(re.compile(r"/browse/table\?at=\d+$"))
    page.get_by_role("link", name="Beside today's list").click()
    expect(page.get_by_role("columnheader", name=re.compile("^Today"))).to_be_visible()
    page.get_by_role("link", name="Today's page").click()
    page.wait_for_url(re.compile("/browse/table$"))
    expect(page.get_by_label("As of (UTC)")).to_have_value("")


def test_columns_are_filtered_at_their_date(opened: Open, served: Server) -> None:
    tables: list[Any] = served.get("/v1/tables", limit=100, fields="columns")["data"]
    wide = max(tables, key=lambda each: len(each["columns"]))
    page = opened("reader", f"/entity/table/{wide['fullyQualifiedName']}?at=now")
    column = wide["columns"][-1]["name"]

    page.get_by_label("Filter", exact=True).fill(column)

    page.wait_for_url(re.compile(rf"\?at=\d+&column={column}$"))
    expect(page.locator("#rows-columns").get_by_role("status")).to_contain_text(column)
    assert page.locator("tbody a.edit").count() == 0


@pytest.mark.parametrize("scripts", first_alone(False, True))
def test_search_from_a_page_of_then_keeps_its_date(
    opened: Open, served: Server, *, scripts: bool
) -> None:
    page = opened("reader", "/browse/table?at=20", java_script_enabled=scripts)
    bar = page.locator("#dates").get_by_role("status")

    box = page.get_by_label("Search the catalog")
    box.fill("a*")
    box.press("Enter")
    page.wait_for_url(re.compile(r"/search\?(?=.*at=20)(?=.*q=a)"))
    expect(bar).to_contain_text("position 20.")
    page.get_by_role("link", name="Name", exact=True).click()
    page.wait_for_url(re.compile(r"(?=.*at=20)(?=.*sort=name)"))
    expect(bar).to_contain_text("position 20.")
    page.locator(".hits a").first.click()
    page.wait_for_url(re.compile(r"/entity/.*\?at=20$"))
    expect(bar).to_contain_text("position 20.")


def test_date_is_chosen_for_what_was_typed_last(opened: Open, served: Server) -> None:
    page = opened("reader", "/search?q=a")
    box = page.get_by_label("Search the catalog")

    box.fill("zebra")
    page.wait_for_url(re.compile("q=zebra"))
    expect(page.locator("#found")).to_contain_text("zebra")
    page.get_by_label("As of (UTC)").fill("2024-05-06T07:08")
    page.get_by_label("As of (UTC)").press("Enter")
    page.wait_for_url(re.compile(r"(?=.*asOf=2024)(?=.*q=zebra)"))
    box.fill("lion")
    page.wait_for_url(re.compile(r"(?=.*asOf=2024)(?=.*q=lion)"))
    expect(page.locator("#found")).to_contain_text("lion")
    expect(page.locator("#dates").get_by_role("status")).to_contain_text("As of 2024-05-06 07:08")
    page.get_by_role("link", name="Today's page").click()
    page.wait_for_url(re.compile(r"/search\?q=lion$"))
