"""The log, its events and the figures by day, as of a date."""

import re
from html import unescape
from itertools import chain

import pytest

from api.pages.frame.rendering import day
from api.pages.history.audit import PAGE_SIZE
from domain.reading.moments import DAY
from tests.api.conftest import Client
from tests.api.pages.conftest import Browser, Story


def positions(text: str) -> list[int]:
    """The positions of the events of a page, in order."""
    return [int(each) for each in re.findall(r'<a href="/audit/(\d+)[^"]*">Event', text)]


def test_log_ends_at_its_date(story: Story) -> None:
    browser = Browser(story.client, "admin")
    for query, at in (("", 5), ("", story.first), ("kind=table", story.first)):
        then = browser.get(f"/audit?{query}&at={at}").text
        now = browser.get(f"/audit?{query}").text

        assert positions(then) == [each for each in positions(now) if each <= at]
        assert f"up to event {at}" in then
        assert "Newer" not in then
        assert "Follow live" not in then
        assert ("Newer" in now, "Follow live" in now) == (True, True)


def test_filters_of_the_log_keep_its_date(story: Story) -> None:
    text = Browser(story.client, "admin").get(f"/audit?asOf={story.between}").text
    form = text.partition('<form class="filters"')[2].partition("</form>")[0]

    assert f'<input type="hidden" name="asOf" value="{story.between}">' in form


@pytest.mark.parametrize(
    ("query", "said"),
    [("follow=true", "follow is of the present alone"), ("before=9", "before must be at most 6")],
)
def test_what_no_past_has_is_refused(story: Story, query: str, said: str) -> None:
    refused = Browser(story.client, "admin").get(f"/audit?at=5&{query}")

    assert (refused.status_code, said in refused.text) == (400, True)


def test_event_that_is_later_is_not_there(story: Story) -> None:
    browser = Browser(story.client, "admin")

    assert browser.get("/audit/5?at=5").status_code == 200
    later = browser.get("/audit/6?at=5")
    assert later.status_code == 404
    assert "the log ends at position 5" in later.text


def test_pages_of_the_log_are_walked_at_a_date(client: Client) -> None:
    client.many(2 * PAGE_SIZE + 1)
    last = 2 * PAGE_SIZE
    browser, seen, address = Browser(client, "admin"), [], f"/audit?at={last}"
    while address:
        text = browser.get(address).text
        seen.append(positions(text))
        older = re.search(r'rel="next" href="([^"]*)"', text)
        address = unescape(older[1]) if older else ""
    back = re.search(r'<a href="(/audit[^"]*after=[^"]*)">Newer', text)

    assert [len(each) for each in seen] == [PAGE_SIZE, PAGE_SIZE]
    assert [*chain(*seen)] == [*range(last, 0, -1)]
    assert back is None


def test_figures_are_of_the_days_that_were_over(story: Story) -> None:
    browser = Browser(story.client, "admin")
    today = story.client.get("/v1/tables")["data"][0]["updatedAt"] // DAY * DAY
    now, at_head = (browser.get(f"/activity{query}").text for query in ("", "?at=now"))
    begun = browser.get(f"/activity?asOf={today}&days=30").text

    assert "None in these days." not in now
    for text in (begun, at_head):
        assert text.count("None in these days.") == 6
        assert f"The days that were over then, up to {day(today - DAY)}." in text
    assert '<a href="/activity?days=90&amp;at=' in at_head
    assert f'<a href="/activity?days=90&amp;asOf={today}">' in begun
