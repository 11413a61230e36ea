"""Work of auditors and operators at their pages, in a real browser."""

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open, violations
from tests.e2e.conftest import Server

ADDRESSES = (
    "/audit?follow=true&kind=tag",
    "/audit/1",
    "/audit?at=20",
    "/activity?days=365",
    "/activity?at=now",
    "/operation",
)
FOLLOWS = 5_000
"""Milliseconds after which a list that is followed has asked for newer events."""


@pytest.mark.parametrize(
    ("scheme", "width", "rules"),
    [
        ("light", 320, None),
        pytest.param("dark", 1600, ["color-contrast"], marks=pytest.mark.deep),
    ],
)
def test_pages_of_operators_keep_nobody_out(
    opened: Open, scheme: Any, width: int, rules: Any
) -> None:
    page = opened("admin", "/", size=(width, 800), color_scheme=scheme)
    found = {}
    for address in ADDRESSES:
        page.goto(address)
        found[address] = violations(page, rules)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address

    assert {address: each for address, each in found.items() if each} == {}


def followed(opened: Open) -> Any:
    """A list of events that is followed, on a page whose clock can be put forward."""
    page = opened("admin", "/audit?follow=true&kind=classification")
    page.clock.install()
    page.reload()
    return page


def test_new_events_come_in_above_what_is_open(opened: Open, served: Server) -> None:
    served.post("/v1/classifications", name="before", description="There at first")
    page = followed(opened)
    events = page.locator(".event")
    count = events.count()
    events.first.locator("summary").click()
    expect(page.get_by_text("There at first")).to_be_visible()

    served.post("/v1/classifications", name="after", description="There after")
    page.clock.run_for(FOLLOWS)

    expect(events).to_have_count(count + 1)
    expect(events.first).to_contain_text("after")
    expect(page.get_by_text("There at first")).to_be_visible()


def test_list_that_is_followed_keeps_its_newest_events(opened: Open, served: Server) -> None:
    for name in ("one", "two", "three"):
        served.post("/v1/classifications", name=f"kept-{name}", description="There before")
    page = followed(opened)
    page.locator("#events").evaluate("list => list.dataset.most = 2")
    page.locator(".event summary").first.focus()
    newest = page.locator(".event").first.get_attribute("data-position")

    served.post("/v1/classifications", name="kept-four", description="There after")
    page.clock.run_for(FOLLOWS)

    expect(page.locator(".event")).to_have_count(2)
    expect(page.locator(".event").last).to_contain_text("kept-three")
    expect(page.locator(".event summary").last).to_be_focused()
    link = page.get_by_role("link", name="show them")
    expect(link).to_have_attribute("href", re.compile(rf"kind=classification&before={newest}$"))
    link.click()
    expect(page.locator(".event").first).to_contain_text("kept-two")


def test_page_that_nobody_sees_asks_for_nothing(opened: Open, served: Server) -> None:
    page = followed(opened)
    asked: list[str] = []
    page.on("request", lambda each: asked.append(each.url) if "after=" in each.url else None)
    with page.expect_response(re.compile("after=")):
        page.clock.run_for(FOLLOWS)
    expect(page.locator(".live")).to_be_visible()
    assert len(asked) == 1
    served.post("/v1/classifications", name="unseen", description="While nobody looked")

    show(page, hidden=True)
    page.clock.run_for(60_000)
    assert len(asked) == 1
    show(page, hidden=False)

    page.clock.run_for(FOLLOWS)
    expect(page.locator(".event").first).to_contain_text("unseen")


def show(page: Any, *, hidden: bool) -> None:
    """Have a page believe that its tab is hidden, or is seen again."""
    given = "{value: hidden, configurable: true}"
    page.evaluate(f"hidden => Object.defineProperty(document, 'hidden', {given})", hidden)


def test_progress_of_a_verification_comes_in_by_itself(opened: Open) -> None:
    page = opened("admin", "/operation")
    page.clock.install()

    page.get_by_role("button", name="Verify all").click()
    page.clock.run_for(2_000)

    expect(page.get_by_text("Verified all")).to_be_visible()
    expect(page.locator("#models .status.active")).to_have_count(3)
