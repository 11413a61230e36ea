"""The picture of the lineage in a real browser: unfolded in place or by links, and by keys."""

import re
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open, violations
from tests.browser.test_journeys import first
from tests.depth import first_alone
from tests.e2e.conftest import Server


@pytest.fixture(scope="module")
def chain(served: Server) -> list[str]:
    """Qualified names of four tables, each made of the one before, and by columns."""
    schema = first(served, "databaseSchemas")
    tables: list[Any] = [
        served.post(
            "/v1/tables",
            name=f"link_{number}",
            databaseSchema=schema,
            columns=[{"name": "total", "dataType": "INT"}],
        )
        for number in range(4)
    ]
    for beginning, end in pairwise(tables):
        columns = [f"{each['fullyQualifiedName']}.total" for each in (beginning, end)]
        edge = {
            "fromEntity": {"id": beginning["id"], "type": "table"},
            "toEntity": {"id": end["id"], "type": "table"},
            "lineageDetails": {
                "columnsLineage": [{"fromColumns": columns[:1], "toColumn": columns[1]}]
            },
        }
        served.http.put("/v1/lineage", json={"edge": edge}).raise_for_status()
    return [table["fullyQualifiedName"] for table in tables]


def test_picture_unfolds_in_place_and_keeps_the_focus(opened: Open, chain: list[str]) -> None:
    page = opened("reader", f"/entity/table/{chain[0]}")
    page.evaluate("window.kept = true")
    boxes = page.locator(".picture .box")
    expect(boxes).to_have_count(2)

    link = page.locator("#more-down")
    link.focus()
    # A link that is pressed before the script has taken it up leads to its own page.
    page.evaluate(
        "() => { window.settled = new Promise(on =>"
        " document.addEventListener('htmx:afterSettle', on, {once: true})) }"
    )
    page.keyboard.press("Enter")
    page.evaluate("window.settled.then(() => true)")
    expect(boxes).to_have_count(3)
    expect(page.locator("#more-down")).to_be_focused()
    page.keyboard.press("Enter")
    expect(boxes).to_have_count(4)

    assert page.evaluate("window.kept") is True
    assert page.url.endswith(f"/entity/table/{chain[0]}")


@pytest.mark.parametrize("scripts", first_alone(False, True))
def test_path_of_a_column_is_lit_by_keys(opened: Open, chain: list[str], *, scripts: bool) -> None:
    page = opened("reader", f"/entity/table/{chain[1]}", java_script_enabled=scripts)

    page.get_by_role("link", name="total", exact=True).first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/lineage/table/.*column="))

    expect(page.get_by_role("status")).to_contain_text(f"The path of {chain[1]}.total is lit.")
    expect(page.locator(".picture .box.on")).to_have_count(3)
    page.get_by_role("link", name="1 further downstream").click()
    expect(page.locator(".picture .box.on")).to_have_count(4)
    page.locator(".picture").get_by_role("link", name=re.compile("link_3")).click()
    page.wait_for_url(re.compile(r"/entity/table/.*link_3"))


@pytest.mark.parametrize(("scheme", "width"), [("dark", 320), ("light", 1280)])
def test_picture_can_be_used_by_everybody(
    opened: Open, chain: list[str], scheme: Any, width: int
) -> None:
    page = opened("editor", "/", size=(width, 800), color_scheme=scheme)

    for address in (
        f"/delete/table/{chain[0]}",
        f"/edit/table/{chain[0]}?field=description&column=total",
        "/unresolved",
        f"/entity/table/{chain[1]}",
        f"/lineage/table/{chain[1]}?up=2&down=3&column={chain[1]}.total",
    ):
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address
        assert violations(page) == [], address
