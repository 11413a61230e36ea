"""Changing the description and the tags of single columns, at whatever depth and by any name."""

import re
from html import unescape
from typing import Any

import msgspec
import pytest

from api.pages.entities.editable import place_in
from domain.errors import InvalidInput
from domain.kinds.registry import KINDS
from domain.patches import json_patch
from tests.api.conftest import Client
from tests.api.pages.conftest import Browser, hidden

TABLE = "service.database.schema.orders"
PAGE = f"/entity/table/{TABLE}"
EDIT = f"/edit/table/{TABLE}"


def columns(client: Client, name: str = TABLE) -> Any:
    return client.get(f"/v1/tables/name/{name}", fields="*")["columns"]


def form(browser: Browser, key: str, column: str) -> dict[str, str]:
    """Return the fields that the form of a column sends without being asked."""
    answer = browser.get(f"{EDIT}?field={key}&column={column}")
    assert answer.status_code == 200, answer.text
    return hidden(answer.text)


def put_columns(client: Client, given: list[dict[str, Any]]) -> None:
    patch = [{"op": "add", "path": "/columns", "value": given}]
    answer = client.request("PATCH", f"/v1/tables/name/{TABLE}", json=patch)
    assert answer.status_code == 200, answer.text


def test_description_of_a_nested_column_is_changed_and_nothing_else(editor: Browser) -> None:
    before = columns(editor.client)
    fields = {**form(editor, "description", "customer.email"), "value": "Where to\r\nwrite"}

    answer = editor.post(EDIT, fields)

    assert (answer.status_code, answer.headers["location"]) == (303, f"{PAGE}#column-3")
    assert 'id="column-3" href=' in editor.get(PAGE).text
    before[1]["children"][0]["description"] = "Where to\nwrite"
    assert columns(editor.client) == before
    assert editor.post(EDIT, {**fields, **form(editor, "description", "id")}).status_code == 303
    assert [each.get("description") for each in columns(editor.client)] == [
        "Where to\nwrite",
        None,
    ]


def test_empty_description_of_a_column_removes_it(editor: Browser) -> None:
    for value in ("Words", " "):
        answer = editor.post(EDIT, {**form(editor, "description", "id"), "value": value})
        assert answer.status_code == 303

    assert "description" not in columns(editor.client)[0]


def test_tags_of_a_column_are_added_to_by_name_and_taken_from(editor: Browser) -> None:
    fields = form(editor, "tags", "customer.email")
    collected = editor.post(EDIT, {**fields, "add": "PII.Email", "step": "add"})
    assert hidden(collected.text)["column"] == "customer.email"
    assert editor.post(EDIT, hidden(collected.text)).status_code == 303

    (tag,) = columns(editor.client)[1]["children"][0]["tags"]
    assert tag["tagFQN"] == "PII.Email"
    assert columns(editor.client)[0]["tags"] == columns(editor.client)[1]["tags"] == []
    kept = form(editor, "tags", "customer.email")
    assert kept.pop("keep.1") == "tag:PII.Email"
    assert editor.post(EDIT, kept).status_code == 303
    assert columns(editor.client)[1]["children"][0]["tags"] == []


def test_forms_of_a_column_lead_to_each_other_and_back(editor: Browser) -> None:
    text = unescape(editor.get(f"{EDIT}?field=tags&column=customer.email").text)

    assert f'href="{EDIT}?field=description&column=customer.email"' in text
    assert f'href="{PAGE}#column-3">Cancel' in text
    assert 'hx-get="/choices/table/tags?column=customer.email"' in text
    choices = editor.get("/choices/table/tags?column=customer.email&add=Ema").text
    assert '<option value="tag:PII.Email">' in choices


@pytest.mark.parametrize(
    "name",
    [
        "zip.code",
        'say "hi"',
        "a/b~1",
        "<b>x</b>",
        "1&column=id",
        "%2F?#",
        "naïve 表",
        "\u202eright",
    ],
)
def test_columns_of_any_name_are_changed_by_the_links_of_the_page(
    editor: Browser, name: str
) -> None:
    inner = {"name": name, "dataType": "INT"}
    put_columns(
        editor.client,
        [inner, {"name": f"in.{name}", "dataType": "STRUCT", "children": [inner]}],
    )
    text = editor.get(PAGE).text
    links = re.findall(r'<a class="edit" id="column-\d" href="([^"]*)"', text)
    assert len(links) == 3

    answer = editor.get(unescape(links[2]))
    assert answer.status_code == 200
    assert "<b>x" not in answer.text
    saved = editor.post(EDIT, {**hidden(answer.text), "value": "This one"})

    assert (saved.status_code, saved.headers["location"]) == (303, f"{PAGE}#column-3")
    first, second = columns(editor.client)
    assert second["children"][0]["description"] == "This one"
    assert [each.get("description") for each in (first, second)] == [None, None]


def test_description_of_another_stands_beside_ones_own_where_the_column_is_now(
    editor: Browser,
) -> None:
    mine = form(editor, "description", "customer.email")
    first, second = columns(editor.client)
    second["children"][0]["description"] = "Theirs <i>"
    put_columns(editor.client, [second, first])

    asked = editor.post(EDIT, {**mine, "value": "Mine <u>"})

    assert asked.status_code == 200
    assert "changed this meanwhile: <strong>columns</strong>" in asked.text
    assert "saving yours replaces it" in asked.text
    assert "Theirs &lt;i&gt;" in asked.text
    assert ">\nMine &lt;u&gt;</textarea>" in asked.text
    assert f'href="{PAGE}#column-2">Take theirs' in asked.text
    assert columns(editor.client)[0]["children"][0]["description"] == "Theirs <i>"
    assert editor.post(EDIT, {**hidden(asked.text), "value": "Mine <u>"}).status_code == 303
    second["children"][0]["description"] = "Mine <u>"
    assert columns(editor.client) == [second, first]


def test_change_of_another_column_is_kept(editor: Browser) -> None:
    mine = form(editor, "description", "id")
    first, second = columns(editor.client)
    put_columns(editor.client, [first, {**second, "description": "Theirs"}])

    asked = editor.post(EDIT, {**mine, "value": "Mine"})

    assert "The description is as you saw it: saving yours keeps what was changed" in asked.text
    assert editor.post(EDIT, {**hidden(asked.text), "value": "Mine"}).status_code == 303
    assert [each["description"] for each in columns(editor.client)] == ["Mine", "Theirs"]


def test_column_that_another_has_removed_is_not_there_to_be_changed(editor: Browser) -> None:
    mine = form(editor, "description", "customer.email")
    put_columns(editor.client, columns(editor.client)[:1])

    answer = editor.post(EDIT, {**mine, "value": "Mine"})

    assert answer.status_code == 404
    assert "has no column &#39;customer.email&#39;" in answer.text


def test_change_of_a_column_is_undone(editor: Browser) -> None:
    before = columns(editor.client)
    assert editor.post(EDIT, {**form(editor, "description", "id"), "value": "x"}).status_code == 303
    undo = f"/undo/table/{TABLE}"

    assert editor.post(undo, hidden(editor.get(undo).text)).status_code == 303

    assert columns(editor.client) == before


def test_patch_of_a_column_changes_none_of_another_name() -> None:
    entity = {"columns": [{"name": "a", "children": [{"name": "b.c"}]}], "fullyQualifiedName": "t"}
    place = place_in(KINDS["table"], entity, 'a."b.c"')

    operations = msgspec.json.decode(place.patch("description", "x"))
    assert json_patch.apply(entity, operations)["columns"][0]["children"][0]["description"] == "x"
    other = {"columns": [{"name": "a", "children": [{"name": "d"}]}]}
    with pytest.raises(InvalidInput, match="not the one tested for"):
        json_patch.apply(other, operations)


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("field=description&column=nothing", 404),
        ("field=description&column=id.inner", 404),
        ("field=description&column=%22id", 400),
        ("field=description&column=id..x", 400),
        ("field=owners&column=id", 403),
        ("field=name&column=id", 400),
    ],
)
def test_form_of_no_column_is_refused(shop: Client, query: str, status: int) -> None:
    editor = Browser(shop, "editor")
    assert editor.get(f"{EDIT}?{query}").status_code == status
    field, column = (each.partition("=")[2] for each in query.split("&"))
    sent = {**form(editor, "description", "id"), "field": field, "column": column, "value": "x"}
    assert editor.post(EDIT, sent).status_code in (status, 404)
    assert "description" not in columns(editor.client)[0]


def test_kind_without_columns_has_no_form_of_any(editor: Browser) -> None:
    answer = editor.get("/edit/databaseSchema/service.database.schema?field=description&column=id")

    assert answer.status_code == 403


def test_form_of_a_late_column_leads_back_to_its_part_of_the_page(client: Client) -> None:
    client.schema()
    client.table("wide", columns=[{"name": f"c{n}", "dataType": "INT"} for n in range(450)])
    browser = Browser(client, "editor")
    address, wide = (f"/{view}/table/service.database.schema.wide" for view in ("edit", "entity"))
    fields = hidden(browser.get(f"{address}?field=description&column=c200").text)

    answer = browser.post(address, {**fields, "value": "x"})

    back = answer.headers["location"]
    assert back == f"{wide}?from=200#column-201"
    text = browser.get(back.partition("#")[0]).text
    assert 'id="column-201" href=' in text
    assert f'<a href="{wide}#columns">From the first column</a>' in text
    assert "From the first column" not in browser.get(wide).text
