"""Finding, browsing, reading and comparing in two real catalogs.

Only a deep run reads them in, which takes longer than any other test of this room: the pages are
held to the same on a smaller catalog by `tests/api/pages` and by the other files of this room.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import POLICIES, Open, violations
from tests.e2e.conftest import SHARED, Server, catalog, needs_shared_catalogs, serving
from tests.waiting import until

pytestmark = [needs_shared_catalogs, pytest.mark.deep]

FILES = ("ecommerce.jsonl", "mozilla.jsonl.gz")
SCHEMA = "sample_data.ecommerce_db.shopify"


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory with both catalogs."""
    return tmp_path_factory.mktemp("real")


@pytest.fixture(scope="module")
def served(directory: Path) -> Iterator[Server]:
    """A server with both catalogs, found by searches."""
    policies = directory / "policies.toml"
    policies.write_text(POLICIES)
    for name in FILES:
        imported = catalog("import", str(SHARED / name), "--data", str(directory))
        assert imported.returncode == 0, imported.stderr
    with serving(directory, CATALOG_POLICIES=str(policies)) as server:

        def is_found() -> bool:
            found = server.get("/v1/search/query", q="*", size=0)["hits"]["total"]["value"]
            return bool(found > 4_500)

        until(is_found)
        yield server


def promised(served: Server) -> dict[str, Any]:
    """A table of Mozilla's that has a contract, as the contract refers to it."""
    contracts = served.get("/v1/dataContracts", limit=200, fields="entity")["data"]
    found: dict[str, Any] = next(
        each["entity"] for each in contracts if "moz" in each["entity"]["fullyQualifiedName"]
    )
    return found


def test_table_is_found_and_what_was_understood_is_told(opened: Open) -> None:
    page = opened("reader", "/")

    box = page.get_by_role("combobox", name="Search the catalog")
    box.fill("name:dim_address AND columns.name:address_id")
    box.press("Enter")
    expect(page.locator(".understood")).to_contain_text("name has “dim_address” and columns.name")
    page.get_by_label("Results").get_by_role("link", name="dim_address").first.click()

    expect(page.get_by_role("columnheader", name="Type")).to_be_visible()
    expect(page.locator("#columns th[scope=row]").first).to_be_visible()


def test_tree_unfolds_in_place_from_the_service_to_the_table(opened: Open) -> None:
    page = opened("reader", "/tree")
    page.evaluate("window.kept = true")

    for name in ("sample_data", "ecommerce_db", "shopify"):
        page.locator("summary", has_text=re.compile(f"^{name}$")).click()
    table = page.locator(".of-table").get_by_role("link", name="dim_address", exact=True)
    expect(table).to_have_count(1)
    assert page.evaluate("window.kept") is True
    table.click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("dim_address")


def test_tree_is_walked_without_scripts(opened: Open) -> None:
    page = opened("reader", "/tree", java_script_enabled=False)

    for name in ("sample_data", "ecommerce_db", "shopify"):
        page.locator("summary", has_text=re.compile(f"^{name}$")).click()
        page.get_by_role("link", name=f"What is below {name}", exact=True).click()
    page.get_by_role("link", name="dim_address", exact=True).click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("dim_address")
    page.get_by_role("link", name="In the tree").click()
    expect(page.locator(".of-table")).to_be_visible()


def test_table_of_mozilla_stands_beside_its_contract(opened: Open, served: Server) -> None:
    table = promised(served)
    page = opened("reader", f"/entity/table/{table['fullyQualifiedName']}")

    page.locator(".attached").get_by_role("link").first.click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("data contract")
    page.get_by_role("link", name=table["name"], exact=True).first.click()
    expect(page.locator("#columns")).to_be_visible()


def test_two_versions_are_picked_and_compared(opened: Open, served: Server) -> None:
    name = f"{SCHEMA}.dim_customer"
    table = served.get(f"/v1/tables/name/{name}")
    for text in ("One customer per row.", "One person per row."):
        changed = served.http.patch(
            f"/v1/tables/{table['id']}",
            json=[{"op": "add", "path": "/description", "value": text}],
            headers={"Content-Type": "application/json-patch+json"},
        )
        assert changed.status_code == 200
    page = opened("reader", f"/entity/table/{name}")

    page.get_by_role("link", name="History").click()
    expect(page.locator(".history tbody tr")).to_have_count(3)
    page.get_by_label("From version 0.2").check()
    page.get_by_role("button", name="Compare the two").click()

    expect(page.locator("del")).to_have_text("customer")
    expect(page.locator("ins")).to_have_text("person")
    assert violations(page) == []


def test_new_pages_keep_nobody_out(opened: Open) -> None:
    page, found = opened("reader", "/"), {}
    for address in (
        "/tree",
        f"/tree/databaseSchema/{SCHEMA}",
        f"/history/table/{SCHEMA}.dim_address",
        f"/compare/table/{SCHEMA}.dim_address",
        "/search?q=address%20name:dim*",
    ):
        page.goto(address)
        found[address] = violations(page)

    assert {address: each for address, each in found.items() if each} == {}


@pytest.mark.parametrize("width", [320, 768, 1600])
def test_new_pages_fit_their_window(opened: Open, width: int) -> None:
    page = opened("reader", "/", size=(width, 800))
    for view in ("history", "compare", "entity"):
        page.goto(f"/{view}/table/{SCHEMA}.dim_address")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view
