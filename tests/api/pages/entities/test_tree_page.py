"""The catalog as a tree: each entity stands where its parent says, and only there."""

import re
from html import unescape

import pytest

from tests.api.conftest import Client
from tests.api.pages.conftest import Browser


def below(browser: Browser, address: str) -> list[str]:
    """The addresses of the entities on a page of the tree, in order."""
    answer = browser.get(address)
    assert answer.status_code == 200
    tree = answer.text.partition('<div class="below">')[2]
    return [unescape(each) for each in re.findall(r'href="(/entity/[^"]*)"', tree)]


def test_tree_leads_from_the_service_to_the_table(shop: Client) -> None:
    browser, address, path = Browser(shop, "reader"), "/tree", []
    while found := below(browser, address):
        path.append(found[0] if address != "/tree" else "/entity/databaseService/service")
        assert path[-1] in found
        address = path[-1].replace("/entity", "/tree", 1)

    assert path == [
        "/entity/databaseService/service",
        "/entity/database/service.database",
        "/entity/databaseSchema/service.database.schema",
        "/entity/table/service.database.schema.orders",
    ]


def test_top_has_what_has_no_parent(shop: Client) -> None:
    top = below(Browser(shop, "reader"), "/tree")

    assert {"/entity/classification/PII", "/entity/domain/sales"} <= set(top)
    assert "/entity/tag/PII.Email" not in top


def test_terms_below_terms_stand_there_alone(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.pages.entities.browse.SHOWN", 2)
    monkeypatch.setattr("api.pages.entities.browse.READ", 2)
    monkeypatch.setattr("api.pages.entities.browse.MOST_READ", 2)
    client.create("glossaries", name="g", description="Words")
    for name in ("a", "b", "c"):
        client.create("glossaryTerms", name=name, glossary="g", description="A word")
        for inner in ("x", "y"):
            client.create(
                "glossaryTerms", name=inner, glossary="g", parent=f"g.{name}", description="In it"
            )
    browser, address, found = Browser(client, "reader"), "/tree/glossary/g", []
    while address:
        found += below(browser, address)
        following = re.search(r'rel="next" href="([^"]*)"', browser.get(address).text)
        address = unescape(following[1]) if following else ""

    assert found == [f"/entity/glossaryTerm/g.{name}" for name in "abc"]
    inner = below(browser, "/tree/glossaryTerm/g.b")
    assert inner == ["/entity/glossaryTerm/g.b.x", "/entity/glossaryTerm/g.b.y"]


def test_page_of_an_entity_leads_to_its_place(shop: Client) -> None:
    browser = Browser(shop, "reader")

    table = browser.get("/entity/table/service.database.schema.orders").text
    service = browser.get("/entity/databaseService/service").text

    assert 'href="/tree/databaseSchema/service.database.schema">In the tree' in table
    assert 'href="/tree/databaseService/service">In the tree' in service
