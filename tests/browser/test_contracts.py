"""A contract is validated, and two of its versions are graded, by keyboard and without a script."""

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open, violations
from tests.browser.test_changes import table_of
from tests.e2e.conftest import Server


@pytest.mark.parametrize(
    ("name", "scheme", "width", "scripts"),
    [("judged", "light", 1280, True), ("narrow", "dark", 320, False)],
)
def test_contract_is_validated_and_its_versions_graded(
    opened: Open, served: Server, name: str, scheme: Any, width: int, scripts: bool
) -> None:
    about = table_of(served, name).removeprefix("/table/")
    given: dict[str, Any] = {"name": name, "entity": {"type": "table", "fullyQualifiedName": about}}
    columns = [{"name": "id", "dataType": "INT"}]
    made = served.post("/v1/dataContracts", **given, schema=columns)
    changed = served.http.patch(
        f"/v1/dataContracts/{made['id']}",
        json=[{"op": "replace", "path": "/schema/0/dataType", "value": "TEXT"}],
    )
    assert changed.status_code == 200, changed.text
    page = opened(
        "editor",
        f"/entity/dataContract/{made['fullyQualifiedName']}",
        size=(width, 900),
        color_scheme=scheme,
        java_script_enabled=scripts,
    )

    def check() -> None:
        """Hold what is shown to the rules of accessibility, and to the window."""
        if scripts:
            assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width

    page.get_by_role("button", name="Validate now").press("Enter")
    expect(page.locator("#results .verdict .status")).to_be_visible()
    expect(page.locator("#results p:not(.verdict) > .status")).to_have_text("Success")
    check()
    page.get_by_role("link", name="Results").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Results of")
    check()
    page.goto(f"/history/dataContract/{made['fullyQualifiedName']}")
    check()
    page.get_by_role("button", name="What breaks between them").press("Enter")
    expect(page.get_by_role("status")).to_contain_text("The version has to rise by: major")
    check()
