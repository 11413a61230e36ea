"""The search page as of a date: hits, order, facets and suggestions are those of then."""

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from api.pages.search.search import PAGE_SIZE
from tests.api.conftest import Client, running
from tests.api.pages.conftest import TABLE, Browser, Story, patch


def page(story: Story, address: str, status: int = 200, role: str = "reader") -> str:
    answer = Browser(story.client, role).get(address)
    assert answer.status_code == status, answer.text
    text: str = answer.text
    return text


def results(text: str) -> list[str]:
    """The addresses of the hits of a page, in order."""
    return [unescape(each) for each in re.findall(r'<h2><a href="(/entity/[^"]*)"', text)]


def counted(text: str, title: str) -> dict[str, int]:
    """The values of a facet of a page, with their counts."""
    facet = text.partition(f"<h2>{title}</h2>")[2].partition("</section>")[0]
    values = re.findall(r"<bdi>([^<]*)</bdi>.*?</a> <span class=\"count\">(\d+)</span>", facet)
    return {unescape(value): int(count) for value, count in values}


def header(text: str) -> str:
    return text.partition("<header")[2].partition("</header>")[0]


@pytest.mark.parametrize("sort", ["relevance", "name", "changed", "kind"])
def test_hits_are_those_of_then_in_the_order_of_the_api(story: Story, sort: str) -> None:
    sorts = {"name": "name", "changed": "updatedAt", "kind": "entityType", "relevance": "_score"}
    order = "asc" if sort in ("name", "kind") else "desc"
    for asked in ({"q": "orders"}, {"q": ""}, {"q": "customer row"}):
        text = page(story, f"/search?q={asked['q']}&sort={sort}&at={story.first}")
        wanted = {**asked, "sortField": sorts[sort], "sortOrder": order, "size": PAGE_SIZE}
        found = story.client.get("/v1/search/query", **wanted, at=story.first)["hits"]
        total = found["total"]["value"]

        assert results(text) == [
            f"/entity/{hit['_source']['entityType']}/{hit['_source']['fullyQualifiedName']}"
            f"?at={story.first}"
            for hit in found["hits"]
        ]
        assert f'<p role="status"><strong>{total}</strong> result' in text
        assert total > 0


def test_texts_of_then_are_found_and_shown(story: Story) -> None:
    then = page(story, f"/search?q=displayName:customer&at={story.first}")
    now = page(story, "/search?q=displayName:customer")

    assert '<span class="text-highlighter">Customer</span> orders' in then
    assert f"position {story.first:,}." in then
    assert results(then) == [f"/entity/table/{TABLE}?at={story.first}"]
    assert results(now) == []
    assert results(page(story, f"/search?q=everybody&at={story.first}")) == []
    assert results(page(story, "/search?q=everybody")) == [f"/entity/table/{TABLE}"]


def test_what_is_deleted_is_found_and_what_is_purged_or_to_come_is_not(story: Story) -> None:
    for name, found in (("retired", 1), ("later", 0), ("passing", 0)):
        text = page(story, f"/search?q=name:{name}&at={story.first}")
        assert len(results(text)) == found, name
    assert '<span class="status deleted">' not in page(story, f"/search?q=*&at={story.first}")


def test_facets_count_what_was_there(story: Story) -> None:
    then, now = page(story, f"/search?at={story.first}"), page(story, "/search")

    assert (counted(then, "Domain"), counted(now, "Domain")) == ({"sales": 1}, {"selling": 1})
    assert counted(then, "Kind")["table"] == 2
    chosen = page(story, f"/search?kind=table&at={story.first}")
    assert 'class="chosen"><a href="/search?at=' in chosen
    assert len(results(chosen)) == 2


def test_former_name_of_a_domain_narrows_the_past_alone(story: Story) -> None:
    assert len(results(page(story, f"/search?domain=sales&at={story.first}"))) == 1
    assert results(page(story, "/search?domain=sales")) == []


@pytest.mark.parametrize(
    "address",
    ["/", "/tree", "/browse/table", f"/entity/table/{TABLE}", "/search?q=orders&kind=table"],
)
def test_search_in_the_head_of_a_page_keeps_its_date(story: Story, address: str) -> None:
    more = "&" if "?" in address else "?"
    for name, value in (("at", str(story.first)), ("asOf", story.between)):
        form = header(page(story, f"{address}{more}{name}={value}"))
        asked = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', form)
        (suggestions,) = re.findall(r'hx-get="(/search/suggestions[^"]*)"', form)

        assert (name, value) in asked
        text = Browser(story.client, "reader").get(f"{unescape(suggestions)}&q=cust").text
        assert text.strip() == f'<option value="Customer orders">{TABLE}</option>'
    form = header(page(story, address))
    assert ('name="at"' in form, 'name="asOf"' in form) == (False, False)
    assert 'hx-get="/search/suggestions"' in form


def test_suggestions_are_of_then(story: Story) -> None:
    now = page(story, "/search/suggestions?q=other")

    assert "Other columns" in now
    assert page(story, f"/search/suggestions?q=other&at={story.first}").strip() == ""


@pytest.mark.parametrize("query", ["q=name:(", "kind=bogus", "after=x"])
def test_wrong_search_of_then_is_explained_in_place_at_its_date(story: Story, query: str) -> None:
    text = page(story, f"/search?{query}&at={story.first}", status=400)

    assert 'class="problem" role="alert"' in text
    assert f"position {story.first:,}." in text
    kept = "" if query.startswith("after") else f"?{query.replace(':(', '%3A%28')}"
    assert f'href="/search{kept}">Today' in text


@pytest.mark.parametrize("path", ["/search?q=a", "/search/suggestions?q=a"])
def test_position_that_is_not_there_is_waited_for_and_then_refused(
    tmp_path: Path, path: str
) -> None:
    with running(tmp_path) as client:
        client.services.searchable.seconds = client.services.listed.seconds = 0.05
        answer = Browser(client, "reader").get(f"{path}&at=10000")

    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert "this host has not applied position 10000 yet" in answer.text
    assert f'<a href="{path}">This page as it is today</a>' in answer.text


def test_pages_of_results_are_of_one_moment_while_others_write(client: Client) -> None:
    names = [f"t{number:03}" for number in range(2 * PAGE_SIZE + 1)]
    client.schema()
    for name in names:
        client.table(name)
    at = client.services.stores.log.head()
    browser, seen = Browser(client, "reader"), []
    address = f"/search?kind=table&sort=name&at={at}"
    while address:
        text = browser.get(address).text
        seen += [each.rpartition(".")[2] for each in results(text)]
        client.table(f"a{len(seen)}")
        patch(client, f"/v1/tables/name/service.database.schema.{names[-1]}", "displayName", "a")
        after = re.search(r'rel="next" href="([^"]*)"', text)
        address = unescape(after[1]) if after else ""

    assert seen == [f"{name}?at={at}" for name in names]


def test_time_that_may_move_is_kept_as_its_position(client: Client) -> None:
    glossary: Any = client.create("glossaries", name="Words", description="")
    head = client.services.stores.log.head()
    text = Browser(client, "reader").get(f"/search?asOf={glossary['updatedAt']}").text

    assert results(text) == [f"/entity/glossary/Words?at={head}"]
    assert f'name="at" value="{head}"' in header(text)
