"""The list of a kind as of a date, and two moments of it side by side."""

import re
from html import unescape
from typing import Any

import pytest

from tests.api.conftest import Client
from tests.api.pages.conftest import TABLE, Browser, Story

ONLY = '<strong class="only">only here</strong>'
MISSING = "not in this list"


def page(client: Client, address: str, status: int = 200) -> str:
    answer = Browser(client, "reader").get(address)
    assert answer.status_code == status, answer.text
    text: str = answer.text
    return text


def names(text: str) -> list[str]:
    """The last parts of the names of a list, in its order."""
    paths = re.findall(r'<small class="path"><bdi>([^<]*)</bdi>', text)
    return [each.rpartition(".")[2] for each in paths]


def turned(text: str, way: str) -> str | None:
    """The address of the page before (`prev`) or after (`next`) this one."""
    found = re.search(f'rel="{way}" href="([^"]*)"', text)
    return found and unescape(found[1])


def rows(text: str) -> list[tuple[str | None, str | None]]:
    """The names in both columns of two moments."""
    body = text.partition("<tbody>")[2].partition("</tbody>")[0]
    shown = []
    for row in body.split("</tr>")[:-1]:
        one, other, _ = re.findall("<td.*?</td>", row, re.DOTALL)
        assert (ONLY in one, ONLY in other) == (MISSING in other, MISSING in one)
        found = (next(iter(names(cell)), None) for cell in (one, other))
        shown.append((next(found), next(found)))
    return shown


def walk(client: Client, address: str, way: str) -> list[str]:
    """All pages of a list, from one on in a direction."""
    texts, following = [], address
    while following:
        texts.append(page(client, following))
        following = turned(texts[-1], way) or ""
    return texts


def test_list_is_of_then_and_says_what_is_purged(story: Story) -> None:
    text = page(story.client, f"/browse/table?at={story.first}")

    assert names(text) == ["orders", "retired"]
    assert '<h1>Table <span class="count">2</span></h1>' in text
    assert "1 more of the kind was there then and is purged by now." in text
    assert "purged by now" not in page(story.client, "/browse/table")


def test_statuses_are_counted_as_of_then(story: Story) -> None:
    counts = r'aria-current="true">All <span class="count">(\d+)<'

    assert re.findall(counts, page(story.client, f"/browse/dataContract?at={story.first}")) == ["1"]
    assert re.findall(counts, page(story.client, "/browse/dataContract?at=1")) == ["0"]


def test_pages_of_a_list_stay_at_their_moment(client: Client) -> None:
    client.many(5)
    head = client.services.stores.log.head()
    texts = [page(client, "/browse/databaseService?limit=2&at=now")]
    for way, address in (("next", turned(texts[0], "next")), ("prev", None)):
        client.create("services/databaseServices", name=f"many001{way}", serviceType="Mysql")
        texts += walk(client, address or turned(texts[-1], way) or "", way)

    shown = [names(text) for text in texts]
    first, second = ["many000", "many001"], ["many002", "many003"]
    assert shown == [first, second, ["many004"], second, first]
    assert all(f"position {head:,}." in text for text in texts)


def test_cursor_alone_says_its_moment(client: Client) -> None:
    client.many(3)
    paging = client.get("/v1/services/databaseServices", limit=1, at="now")["paging"]
    client.many(5)

    text = page(client, f"/browse/databaseService?limit=9&after={paging['after']}")

    assert names(text) == ["many001", "many002"]
    assert "As of " in text
    assert page(client, f"/browse/databaseService?at=1&after={paging['after']}", 400)
    assert page(client, f"/browse/databaseService?after={paging['after'][:20]}", 400)


def test_two_moments_stand_side_by_side(story: Story) -> None:
    text = page(story.client, f"/browse/table?at={story.first}&beside=now")

    # The list is in the order of names.
    assert rows(text) == [(None, "later"), ("orders", "orders"), ("retired", None)]
    assert re.findall(r'<th scope="col">.*?<span class="count">(\d+)', text) == ["2", "2"]
    assert "1 more of the kind, purged by now." in text
    compare = unescape(re.findall(r'<a href="([^"]*)">changed', text)[0])
    assert compare == f"/compare/table/{TABLE}?from=0.1&to=0.4"
    assert page(story.client, compare)


def test_each_column_leads_to_its_moment(story: Story) -> None:
    second = story.first + 1
    text = page(story.client, f"/browse/table?asOf={story.between}&beside={second}")
    leading = [unescape(each) for each in re.findall(r'<td class="text"><a href="([^"]*)"', text)]

    assert len(leading) == 5
    assert f"/entity/table/service.database.schema.later?at={second}" in leading
    for each in leading:
        assert page(story.client, each)


@pytest.mark.parametrize("limit", [1, 2, 3, 50])
def test_pages_of_two_moments_have_each_row_once(client: Client, limit: int) -> None:
    for number in (1, 2, 5, 6):
        client.create("glossaries", name=f"g{number}", description="")
    first = client.services.stores.log.head()
    client.request("DELETE", "/v1/glossaries/name/g2")
    client.request("DELETE", "/v1/glossaries/name/g6")
    for number in (0, 3, 4, 7):
        client.create("glossaries", name=f"g{number}", description="")
    second = client.services.stores.log.head()
    client.create("glossaries", name="g8", description="")
    expected: list[tuple[Any, Any]] = [
        (name if name in ("g1", "g2", "g5", "g6") else None, None if name in ("g2", "g6") else name)
        for name in (f"g{number}" for number in range(8))
    ]
    address = f"/browse/glossary?at={first}&beside={second}&limit={limit}"

    forward = walk(client, address, "next")
    back = [forward[-1]]
    if before := turned(forward[-1], "prev"):
        back += walk(client, before, "prev")

    assert [row for text in forward for row in rows(text)] == expected
    assert [row for text in reversed(back) for row in rows(text)] == expected
    assert all(len(rows(text)) <= limit for text in forward + back)
    counts = r'<th scope="col">.*?<span class="count">(\d+)'
    assert {(*re.findall(counts, text),) for text in forward} == {("4", "6")}


def test_two_moments_are_narrowed_alike(story: Story) -> None:
    address = f"/browse/dataContract?at={story.first}&beside=now&status="
    draft, active = (page(story.client, f"{address}{each}") for each in ("Draft", "Active"))

    assert rows(draft) == [("dataContract_orders", "dataContract_orders")]
    assert rows(active) == []
    assert "Neither list has any." in active


def test_two_moments_are_chosen_by_a_form(story: Story) -> None:
    one = page(story.client, f"/browse/table?asOf={story.between}&limit=9")
    two = page(story.client, f"/browse/table?asOf={story.between}&limit=9&beside=now")
    form = two.partition('<div class="dates past">')[2].partition("</form>")[0]

    (beside,) = re.findall(r'<a href="([^"]*)">Beside today', one)
    assert page(story.client, unescape(beside)) == two
    assert '<form action="/browse/table" method="get">' in form
    assert re.findall(r'<input [^>]*name="([^"]*)"', form) == ["limit", "asOf", "beside"]
    (typed,) = re.findall(r'name="asOf" type="datetime-local" value="([^"]*)"', form)
    assert story.between == f"{typed}Z"


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("beside=now", "beside is another moment than that of at or asOf: give one of them"),
        ("at=1&beside=", "beside must be a position from 0 to 999999999999, `now`, or a time"),
        ("at=1&beside=2999-01-01", "beside: '2999-01-01' is yet to come"),
        ("at=1&beside=now&limit=101", "limit must be from 1 to 100 with beside, got 101"),
        ("at=1&beside=now&limit=0", "limit must be from 1 to 100 with beside, got 0"),
        ("at=1&beside=now&after=x", "after is not a cursor of this list"),
    ],
)
def test_wrong_moments_are_refused_and_say_what_is_allowed(
    story: Story, query: str, said: str
) -> None:
    text = unescape(page(story.client, f"/browse/table?{query}", 400))

    assert said in text
    assert "This page as it is today" in text
