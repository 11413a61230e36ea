"""What changed since a day, asked for on the page of an entity, without scripts and by axe."""

from datetime import UTC, datetime

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open, violations
from tests.e2e.conftest import Server


@pytest.mark.parametrize("scripts", [True, False])
def test_day_leads_from_a_schema_to_what_changed_in_it(
    opened: Open, served: Server, scripts: bool
) -> None:
    schema = served.get("/v1/databaseSchemas", limit=1)["data"][0]
    address = f"/entity/databaseSchema/{schema['fullyQualifiedName']}"
    page = opened("reader", address, java_script_enabled=scripts)

    day = datetime.fromtimestamp(schema["updatedAt"] / 1_000, UTC)
    page.get_by_label("What changed here since").fill(f"{day:%Y-%m-%d}")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("status")).to_contain_text("created")
    table = page.locator("tbody th a").last
    name = table.inner_text()
    table.click()

    expect(page.locator(".path").first).to_have_text(name)


def test_what_changed_keeps_nobody_out(opened: Open, served: Server) -> None:
    page = opened("reader", "/")
    table = served.get("/v1/tables", limit=1)["data"][0]["fullyQualifiedName"]
    page.goto(f"/changed/table/{table}?from=0")

    assert page.get_by_role("status").is_visible()
    assert violations(page) == []
