"""What changed in a part of the catalog since a day: groups, counts, words, and who sees what."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest

from api.pages.history.changed import PAGE_SIZE
from tests.api.conftest import Client, running_under
from tests.api.pages.conftest import Browser

SCHEMA = "service.database.schema"
CHANGED = f"/changed/databaseSchema/{SCHEMA}"
POLICIES = """
[[rule]]
role = "admin"
allow = ["list", "view", "create", "edit", "delete", "audit"]

[[rule]]
role = "reader"
allow = ["list", "view"]

[[rule]]
role = "clerk"
allow = ["list", "view"]

[[rule]]
role = "clerk"
kinds = ["table"]
withhold = ["description", "domains"]
"""


def patch(client: Client, path: str, **values: Any) -> None:
    given = [{"op": "add", "path": f"/{key}", "value": value} for key, value in values.items()]
    assert client.ask("PATCH", path, json=given)[0] == 200


def text(html: str) -> str:
    """The words of the content of a page, with single spaces."""
    content = html.partition("<h1")[2].partition("</main>")[0]
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", content)).split())


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, int]]:
    """A schema with tables of which each met something else, and the position before that."""
    with running_under(tmp_path_factory.mktemp("changed"), POLICIES) as client:
        client.schema()
        client.create("domains", name="sales", domainType="Aggregate", description="")
        made = {name: client.table(name) for name in ("orders", "hidden", "gone", "purged")}
        client.create("databases", name="other", service="service")
        start = client.services.stores.log.head()
        paths = {name: f"/v1/tables/{table['id']}" for name, table in made.items()}
        columns = [*made["orders"]["columns"], {"name": "total", "dataType": "INT"}]
        patch(client, paths["orders"], displayName="Orders", columns=columns)
        patch(client, paths["orders"], domains=[{"type": "domain", "fullyQualifiedName": "sales"}])
        patch(client, paths["hidden"], description="a secret")
        client.request("DELETE", paths["gone"])
        client.request("DELETE", f"{paths['purged']}?hardDelete=true")
        client.table("<new>")
        client.create("databaseSchemas", name="elsewhere", database="service.other")
        yield client, start


def test_changes_are_counted_and_told_by_kind(changed: tuple[Client, int]) -> None:
    client, start = changed
    page = Browser(client, "admin").get(f"{CHANGED}?from={start}")

    assert page.status_code == 200
    said = text(page.text)
    assert "1 created, 2 changed, 1 deleted, 1 purged." in said
    assert "Table 5" in said
    assert (
        f"{SCHEMA}.orders 0.1 → 0.3 changed : columns added; displayName added; domains added"
        in said
    )
    assert "elsewhere" not in said
    links = re.findall(r'<th scope="row"><a href="([^"]*)"', page.text)
    shown = ("%3Cnew%3E", "gone", "hidden", "orders")
    assert links == [f"/entity/table/{SCHEMA}.{each}" for each in shown]
    for link in links:
        assert Browser(client, "admin").get(link).status_code == 200
    assert "<new>" not in page.text


def test_what_a_caller_may_not_see_is_on_no_page(changed: tuple[Client, int]) -> None:
    client, start = changed
    reader = text(Browser(client, "reader").get(f"{CHANGED}?from={start}").text)
    clerk = text(Browser(client, "clerk").get(f"{CHANGED}?from={start}").text)

    assert f"{SCHEMA}.purged" not in reader
    assert "1 created, 2 changed, 1 deleted." in reader
    assert "description added" in reader
    assert "1 created, 1 changed, 1 deleted." in clerk
    assert f"{SCHEMA}.hidden" not in clerk
    assert "domains" not in clerk.partition("Withheld")[0]


def test_page_of_a_domain_is_about_what_is_in_it(changed: tuple[Client, int]) -> None:
    client, start = changed
    address = f"/changed/domain/sales?from={start}"

    assert "Table 1" in text(Browser(client, "reader").get(address).text)
    said = text(Browser(client, "clerk").get(address).text)
    assert "Nothing changed in what you may see." in said
    assert "Withheld from your roles: description , domains ." in said


@pytest.mark.parametrize(
    "address",
    ["databaseService/service", f"databaseSchema/{SCHEMA}", f"table/{SCHEMA}.orders"],
)
def test_entity_leads_to_what_changed_in_it_by_a_form(
    changed: tuple[Client, int], address: str
) -> None:
    browser = Browser(changed[0], "reader")
    form = browser.get(f"/entity/{address}").text.partition(f'action="/changed/{address}"')[2]

    assert '<input id="since" type="date" name="from"' in form.partition("</form>")[0]
    empty = browser.get(f"/changed/{address}?from=")
    assert (empty.status_code, "Choose a day" in text(empty.text)) == (200, True)
    day = "2026-01-01"
    for point, day_shown in ((day, day), (f"{day}T12:00:00Z", day), ("1", "")):
        since = browser.get(f"/changed/{address}", params={"from": point})
        assert (since.status_code, f'name="from" value="{day_shown}"' in since.text) == (200, True)


def test_nothing_is_said_to_have_changed_where_nothing_has(changed: tuple[Client, int]) -> None:
    said = text(Browser(changed[0], "reader").get(f"{CHANGED}?from=now").text)

    assert "Nothing changed in what you may see." in said


def test_page_as_of_a_date_tells_what_had_changed_by_then(changed: tuple[Client, int]) -> None:
    client, start = changed
    browser, then = Browser(client, "admin"), start + 1
    page = browser.get(f"{CHANGED}?from={start}&at={then}").text

    assert "1 changed." in text(page)
    assert f"{SCHEMA}.orders 0.1 → 0.2 changed : columns added; displayName added" in text(page)
    assert f"From position {start} to {then} of the log" in text(page)
    assert f'<a href="/entity/table/{SCHEMA}.orders?at={then}">' in page
    form = page.partition('class="filter"')[2].partition("</form>")[0]
    assert f'<input type="hidden" name="at" value="{then}">' in form
    assert f"""<a href="{CHANGED}?from={start}">Today's page</a>""" in page
    empty = text(browser.get(f"{CHANGED}?at={then}").text)
    assert "all that was different then" in empty


def test_what_is_purged_by_now_has_no_link_to_then(changed: tuple[Client, int]) -> None:
    client, start = changed
    page = Browser(client, "admin").get(f"{CHANGED}?from=0&at={start}").text
    links = re.findall(r'<th scope="row"><a href="([^"]*)"', page)

    assert f"/entity/table/{SCHEMA}.gone?at={start}" in links
    for link in links:
        assert Browser(client, "admin").get(link).status_code == 200, link


@pytest.mark.parametrize(
    ("query", "status"),
    [("from=soon", 400), ("from=2999-01-01", 400), ("from=0&after=x", 400), ("from=2&at=1", 400)],
)
def test_wrong_days_are_refused(changed: tuple[Client, int], query: str, status: int) -> None:
    assert Browser(changed[0], "reader").get(f"{CHANGED}?{query}").status_code == status


def test_entity_that_is_not_there_has_no_page(changed: tuple[Client, int]) -> None:
    browser = Browser(changed[0], "reader")

    for address in ("/changed/table/no.such", "/changed/domain/no?from=0", "/changed/none/a"):
        assert browser.get(address).status_code == 404


@pytest.mark.parametrize("is_dated", [False, True])
def test_pages_follow_one_another_at_the_same_points(client: Client, *, is_dated: bool) -> None:
    client.schema()
    start = client.services.stores.log.head()
    for number in range(PAGE_SIZE + 1):
        client.table(f"t{number:02}")
    date = f"at={client.services.stores.log.head()}"
    if is_dated:
        client.table("t00above")
    address = f"{CHANGED}?from={start}{f'&{date}' if is_dated else ''}"
    browser = Browser(client, "admin")
    first = browser.get(address).text
    client.table("t00later")
    following = re.findall(r'<a rel="next" href="([^"]*)"', first)
    second = browser.get(unescape(following[0])).text

    assert "t25" not in first
    assert f"{PAGE_SIZE + 1} created" in text(second)
    assert re.findall(rf">({SCHEMA}\.t\w*)<", second) == [f"{SCHEMA}.t25"]
    assert 'rel="next"' not in second
    assert f'<a rel="first" href="{address}">' in unescape(second)
    shown = re.findall(r'<th scope="row"><a href="[^"]*?(\?[^"]*)?"', second)
    assert shown == [f"?{date}" if is_dated else ""]
