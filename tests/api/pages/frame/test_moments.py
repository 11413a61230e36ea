"""Pages of entities and lists as of a date."""

import re
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.api.conftest import Client, running
from tests.api.pages.conftest import CONTRACT, TABLE, Browser, Story
from tests.waiting import until

DATED = (
    "/",
    "/search?q=orders",
    "/search?q=orders&kind=table&sort=name&deleted=true",
    "/browse/table",
    "/browse/table?databaseSchema=service.database.schema",
    "/browse/dataContract?status=Draft",
    "/tree",
    "/tree/databaseSchema/service.database.schema",
    f"/entity/table/{TABLE}",
    f"/entity/table/{TABLE}?column=id",
    f"/entity/dataContract/{CONTRACT}",
    "/entity/databaseSchema/service.database.schema",
    "/entity/user/annabel",
    "/entity/domain/selling",
    "/entity/tag/PII.Email",
    f"/history/table/{TABLE}",
    f"/compare/table/{TABLE}",
    f"/impact/dataContract/{CONTRACT}",
    f"/changed/table/{TABLE}",
    f"/changed/table/{TABLE}?from=0",
    "/changed/databaseSchema/service.database.schema?from=1",
    "/changed/domain/selling?from=0",
    f"/audit?fqn={TABLE}",
    "/audit/8",
    "/activity",
    "/activity?days=30",
)
OF_THE_PRESENT = (
    f"/results/dataContract/{CONTRACT}",
    f"/badge/dataContract/{CONTRACT}",
    f"/edit/table/{TABLE}?field=displayName",
    "/choices/table/domains?add=sal",
    f"/undo/table/{TABLE}",
    f"/delete/table/{TABLE}",
    "/operation",
    "/sign-in",
)
BAR, FORM = '<p role="status"><strong>As of ', 'name="asOf" type="datetime-local"'


def on(address: str, **date: Any) -> str:
    """The address of a page as of a date."""
    (query,) = (f"{name}={value}" for name, value in date.items())
    return f"{address}{'&' if '?' in address else '?'}{query}"


def reader_of(address: str) -> str:
    """The role with the fewest permissions of those that may see a page."""
    return "admin" if address.startswith(("/audit", "/activity")) else "reader"


def page(story: Story, address: str, role: str | None = None, status: int = 200) -> str:
    answer = Browser(story.client, role or reader_of(address)).get(address)
    assert answer.status_code == status, answer.text
    text: str = answer.text
    return text


def content(text: str) -> str:
    return text.partition("<main")[2].partition("</main>")[0]


def links(text: str) -> list[str]:
    """Addresses of the pages to which the content of a page leads, and loads parts from."""
    return [unescape(each) for each in re.findall(r' (?:href|hx-get)="(/[^"]*)"', content(text))]


def test_entity_is_shown_as_it_was(story: Story) -> None:
    now = page(story, f"/entity/table/{TABLE}")
    text = page(story, on(f"/entity/table/{TABLE}", at=story.first))

    assert "What everybody reads now" in now
    assert "What everybody reads now" not in text
    assert "One <strong>row</strong> per order." in text
    assert "Customer orders" in text
    assert "Other columns" not in text
    assert f"position {story.first:,}." in text
    assert f"""<a href="/entity/table/{TABLE}">Today's page</a>""" in text


def test_bar_says_the_time_that_was_asked_for_and_its_position(story: Story) -> None:
    text = page(story, on(f"/entity/table/{TABLE}", asOf=story.between))
    day = page(story, on("/browse/table", asOf="2026-01-01"))

    assert f"position {story.first:,}." in text
    assert re.search(r"As of 2\d{3}-\d\d-\d\d \d\d:\d\d(:\d\d)? UTC</strong>", text)
    assert "As of 2026-01-01 00:00 UTC</strong>, position 0." in day
    assert "None." in day


@pytest.mark.parametrize("as_of", ["-99999999999999", "0001-01-01", "0", "1969-12-31T23:59:59.5Z"])
def test_times_of_every_year_are_shown(story: Story, as_of: str) -> None:
    assert "None." in page(story, on("/browse/table", asOf=as_of))


@pytest.mark.parametrize("address", DATED)
def test_links_keep_the_date(story: Story, address: str) -> None:
    for name, value in (("at", str(story.first)), ("asOf", story.between)):
        text = page(story, on(address, **{name: value}), "admin")
        (today,) = re.findall(r"""<a href="([^"]*)">Today's page</a>""", text)
        assert unescape(today) == address
        left = links(text)
        left.remove(unescape(today))
        undated = [each for each in left if f"{name}={quote(value, safe='')}" not in each]

        assert undated == []
        assert left


@pytest.mark.parametrize("address", DATED)
def test_pages_of_the_past_lead_to_pages_of_the_past(story: Story, address: str) -> None:
    for each in links(page(story, on(address, at=story.first))):
        assert Browser(story.client, reader_of(each)).get(each).status_code == 200, each


@pytest.mark.parametrize("address", DATED)
def test_nothing_of_the_past_is_changed(story: Story, address: str) -> None:
    text = page(story, on(address, at=story.first), "admin")

    assert 'method="post"' not in content(text)
    assert re.findall(r'href="/(edit|undo|delete|validate|results)/', text) == []


@pytest.mark.parametrize("address", DATED)
def test_page_of_the_present_has_a_form_for_a_date_and_no_bar(story: Story, address: str) -> None:
    text = page(story, address)

    assert BAR not in text
    assert FORM in text
    assert "asOf=" not in text
    path, _, query = address.partition("?")
    form = text.partition('<div id="dates" class="dates">')[2].partition("</form>")[0]
    assert f'<form action="{path}" method="get">' in form
    kept = re.findall(r'type="hidden" name="([^"]*)" value="([^"]*)"', form)
    assert "&".join("=".join(pair) for pair in kept) == query


@pytest.mark.parametrize("address", OF_THE_PRESENT)
def test_page_without_a_past_has_no_form_and_refuses_a_date(story: Story, address: str) -> None:
    browser = Browser(story.client, "admin")
    for name, value in (("at", str(story.first)), ("asOf", "2026-01-01")):
        refused = browser.get(on(address, **{name: value}))
        assert refused.status_code == 400, address
        assert "this request is of the present alone" in refused.text
        assert f'<a href="{address}">This page as it is today</a>' in unescape(refused.text)

    assert FORM not in browser.get(address).text


@pytest.mark.parametrize("address", DATED)
def test_wrong_dates_are_refused_and_say_what_is_allowed(story: Story, address: str) -> None:
    for date, said in (
        ("asOf=yesterday", "2024-01-31, 2024-01-31T10:00:00Z or milliseconds since 1970"),
        ("asOf=", "'' is no date"),
        ("asOf=2999-01-01", "is yet to come"),
        ("at=x", "at must be now, or a position from 0"),
        ("at=now&asOf=2026-01-01", "give one of them"),
    ):
        text = unescape(page(story, f"{address}{'&' if '?' in address else '?'}{date}", status=400))
        assert said in text
        assert f'<a href="{address}">This page as it is today</a>' in text


def test_entity_that_was_not_there_yet_is_not_found(story: Story) -> None:
    address = "/entity/table/service.database.schema.later"
    text = page(story, on(address, at=story.first), status=404)

    assert f"was not there yet at position {story.first}" in text
    assert f'<a href="{address}">This page as it is today</a>' in text
    assert page(story, address)


def test_entity_that_is_purged_has_no_page_of_then(story: Story) -> None:
    address = on("/entity/table/service.database.schema.passing", at=story.first)

    assert "what is purged by now has no past" in page(story, address, status=404)


def test_entity_that_is_deleted_by_now_is_shown_as_it_was(story: Story) -> None:
    address = "/entity/table/service.database.schema.retired"

    assert '<span class="status deleted">' in page(story, address)
    assert '<span class="status deleted">' not in page(story, on(address, at=story.first))


def test_entity_is_found_by_the_name_of_then_and_shows_it(story: Story) -> None:
    for name in ("sales", "selling"):
        text = page(story, on(f"/entity/domain/{name}", at=story.first))
        assert "<h1><bdi>sales</bdi>" in text
    assert "<h1><bdi>selling</bdi>" in page(story, "/entity/domain/sales")


def test_related_lists_are_of_then(story: Story) -> None:
    address = "/entity/databaseSchema/service.database.schema"
    now, text = page(story, address), page(story, on(address, at=story.first))

    assert ("schema.later" in now, "schema.retired" in now) == (True, False)
    assert ("schema.later" in text, "schema.retired" in text) == (False, True)


def test_measurements_are_left_out_of_the_past_which_says_so(story: Story) -> None:
    address = f"/entity/dataContract/{CONTRACT}"
    now, text = page(story, address), page(story, on(address, at=story.first))

    assert "Latest result" in now
    for title in ("Latest result", "Agreement", "Badge"):
        assert title not in text
    assert "have no past" in text
    assert "have no past" not in now


def test_raw_page_is_what_the_api_answers(story: Story) -> None:
    shown = Browser(story.client, "reader").get(on(f"/raw/table/{TABLE}", at=story.first))
    params = {"fields": "*", "include": "all", "at": story.first}

    assert shown.json() == story.client.get(f"/v1/tables/name/{TABLE}", **params)


def test_first_page_and_tree_are_of_then(story: Story) -> None:
    home = page(story, on("/", at=story.first))
    tree = page(story, on("/tree/databaseSchema/service.database.schema", at=story.first))

    # Orders and what is deleted by now, without what is purged and what came later.
    count = r'table</a> <span class="count">(\d+)</span>'
    assert re.findall(count, home) == ["2"]
    assert re.findall(count, page(story, "/")) == ["2"]
    assert ("retired" in tree, "later" in tree) == (True, False)
    assert "Nothing was there that you may see." in page(story, on("/", at=0))


def test_filter_of_columns_keeps_the_date_without_scripts(story: Story) -> None:
    wide = "/entity/table/service.database.schema.retired"
    text = page(story, on(wide, at=story.first))
    form = text.partition('class="filter"')[2].partition("</form>")[0]

    assert f'<input type="hidden" name="at" value="{story.first}">' in form
    assert f'hx-get="{wide}?at={story.first}"' in form
    found = page(story, on(f"{wide}?column=c11", at=story.first))
    assert ("c11" in found, "c10" in found) == (True, False)


def test_page_of_then_asks_what_changed_since_its_day(story: Story) -> None:
    text = page(story, on(f"/entity/table/{TABLE}", asOf=story.between))
    form = text.partition(f'action="/changed/table/{TABLE}"')[2].partition("</form>")[0]

    assert f'name="from" value="{story.between[:10]}"' in form


def test_who_is_not_signed_in_is_led_back_to_the_date(story: Story) -> None:
    address = on(f"/entity/table/{TABLE}", at=story.first)
    answer = Browser(story.client).get(address)

    assert answer.status_code == 401
    assert f'name="to" value="{address}"' in unescape(answer.text)


def test_time_that_may_move_is_kept_as_its_position(client: Client) -> None:
    client.create("glossaries", name="Words", description="")
    browser = Browser(client, "reader")
    head = client.services.stores.log.head()
    # No event is later than this day, but one may be recorded that is.
    last = client.get("/v1/glossaries")["data"][0]["updatedAt"]

    text = browser.get(f"/entity/glossary/Words?asOf={last}").text

    assert f"position {head:,}." in text
    assert f"?at={head}" in text
    assert f"asOf={last}" not in text


def test_verdict_on_a_contract_is_that_of_then(tmp_path: Path) -> None:
    with running(tmp_path, judged=True) as client:
        client.schema()
        columns = [{"name": name, "dataType": "INT"} for name in ("a", "b")]
        about = {"id": client.table("t", columns=columns)["id"], "type": "table"}
        contract = client.create("dataContracts", name="c", entity=about, schema=columns)
        path = f"/v1/dataContracts/{contract['id']}"

        def is_judged(status: str) -> bool:
            found: bool = client.get(path, fields="verdict")["verdict"]["status"] == status
            return found

        until(lambda: is_judged("Success"))
        kept = client.services.stores.log.head()
        patch = [{"op": "remove", "path": "/columns/1"}]
        assert client.ask("PATCH", f"/v1/tables/{about['id']}", json=patch)[0] == 200
        until(lambda: is_judged("Failed"))
        browser = Browser(client, "reader")
        address = f"/entity/dataContract/{contract['fullyQualifiedName']}"
        verdicts = [
            re.findall(r'Verdict: <span class="status ([a-z]*)', browser.get(each).text)
            for each in (address, on(address, at=kept))
        ]

    assert verdicts == [["failed"], ["success"]]
