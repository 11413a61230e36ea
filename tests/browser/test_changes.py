"""Changes that people make to pages, by keyboard, without scripts, and at the same time."""

import re
from urllib.parse import quote

from playwright.sync_api import expect

from tests.browser.conftest import Open, violations
from tests.e2e.conftest import Server


def table_of(served: Server, name: str, **more: object) -> str:
    """The address of the page of a new table, after `/entity`."""
    schema = served.get("/v1/databaseSchemas", limit=1)["data"][0]["fullyQualifiedName"]
    given = {"columns": [{"name": "id", "dataType": "INT"}], **more}
    made = served.post("/v1/tables", name=name, databaseSchema=schema, **given)
    return f"/table/{made['fullyQualifiedName']}"


def test_description_is_changed_by_keyboard_beside_that_of_another(
    opened: Open, served: Server
) -> None:
    table = table_of(served, "conflicting", description="Old")
    mine = opened("editor", f"/entity{table}")
    plain = opened("admin", f"/edit{table}?field=description", java_script_enabled=False)

    link = mine.get_by_role("link", name="Edit description")
    link.focus()
    mine.keyboard.press("Enter")
    box = mine.get_by_label("Description")
    expect(box).to_be_focused()
    assert violations(mine) == []
    mine.keyboard.press("Control+a")
    mine.keyboard.type("Mine <b>")
    expect(plain.get_by_label("Description")).to_be_focused()
    plain.get_by_label("Description").fill("Theirs")
    plain.get_by_role("button", name="Save").click()
    expect(plain.locator(".description")).to_contain_text("Theirs")
    mine.keyboard.press("Tab")
    mine.keyboard.press("Enter")
    expect(mine.get_by_role("alert")).to_contain_text("the-admin changed this meanwhile")
    expect(mine.get_by_role("region", name="Theirs, as it is now")).to_contain_text("Theirs")
    expect(box).to_have_value("Mine <b>")
    expect(box).to_be_focused()
    assert violations(mine) == []
    mine.keyboard.press("Tab")
    mine.keyboard.press("Enter")
    expect(mine.locator(".description")).to_contain_text("Mine <b>")

    expect(link).to_be_focused()


def test_column_is_described_and_tagged_by_keyboard(opened: Open, served: Server) -> None:
    inner = [{"name": "zip.code", "dataType": "INT"}]
    columns = [{"name": 'a "b"/c', "dataType": "STRUCT", "children": inner}]
    page = opened("editor", f"/entity{table_of(served, 'unfolded', columns=columns)}")
    tag = served.get("/v1/tags", limit=1)["data"][0]["fullyQualifiedName"]

    link = page.get_by_role("link", name="Edit zip.code")
    link.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Description")).to_be_focused()
    assert violations(page) == []
    page.keyboard.type("Where <b>letters</b> go")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(link).to_be_focused()
    row = page.get_by_role("row").filter(has=link)
    expect(row).to_contain_text("Where <b>letters</b> go")
    page.keyboard.press("Enter")
    # A page that finds the focus elsewhere when it takes it would tell of it.
    expect(page.get_by_label("Description")).to_be_focused()
    page.get_by_role("link", name="Tags", exact=True).click()
    box = page.get_by_label("Add tag or glossary term, by name")
    expect(box).to_be_focused()
    # A page that is left while it asks would tell of it.
    with page.expect_response(lambda answer: answer.url.endswith(quote(tag))):
        # Not filled in at once: what comes before the page listens is asked for with the next key.
        box.press_sequentially(tag)
    page.get_by_role("button", name="Save").click()

    expect(row.get_by_role("link", name=tag)).to_be_visible()
    expect(link).to_be_focused()
    assert violations(page) == []


def test_owner_is_suggested_then_undone_and_a_table_deleted_and_restored(
    opened: Open, served: Server
) -> None:
    owner = served.get("/v1/users", limit=1)["data"][0]["name"]
    page = opened("editor", f"/entity{table_of(served, 'owned')}")

    page.get_by_role("link", name="Add owners").click()
    box = page.get_by_label("Add user or team, by name")
    expect(box).to_be_focused()
    with page.expect_response(re.compile("/choices/table/owners")):
        box.press_sequentially(owner[:4])
    expect(page.locator("#choices option").first).to_be_attached()
    box.fill(owner)
    box.press("Enter")
    expect(page.get_by_role("checkbox", name=owner)).to_be_checked()
    assert violations(page) == []
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("link", name="Edit owners")).to_be_focused()
    page.get_by_role("link", name="Undo the last change").click()
    assert violations(page) == []
    page.get_by_role("button", name="Undo it").click()
    expect(page.get_by_role("link", name="Add owners")).to_be_visible()
    page.get_by_role("link", name="Delete").click()
    assert violations(page) == []
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("deleted")
    page.get_by_role("button", name="Restore").click()

    expect(page.get_by_role("link", name="Delete")).to_be_visible()


def test_contract_goes_from_step_to_step(opened: Open, served: Server) -> None:
    about = table_of(served, "promised").removeprefix("/table/")
    made = served.post(
        "/v1/dataContracts",
        name="promised",
        entity={"type": "table", "fullyQualifiedName": about},
        schema=[{"name": "id", "dataType": "INT"}],
        termsOfUse="For **everybody**",
        sla={"retention": {"period": 2, "unit": "year"}},
    )
    page = opened("editor", "/browse/dataContract?status=Draft")
    assert violations(page) == []
    page.goto(f"/entity/dataContract/{made['fullyQualifiedName']}")
    steps = page.get_by_role("form", name="Status")

    for target, then in (("Active", "Deprecated"), ("Deprecated", "Active")):
        steps.get_by_role("button", name=f"Make {target}").click()
        expect(steps.locator("[aria-current]")).to_have_text(target)
        assert steps.get_by_role("button").all_inner_texts() == [f"Make {then}"]

    expect(page.locator(".agrees")).to_have_text(
        "✓ The promised column is in promised, with its type."
    )
    assert violations(page) == []
    assert opened("reader", page.url).get_by_role("form", name="Status").count() == 0
