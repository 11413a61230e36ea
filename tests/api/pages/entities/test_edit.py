"""Changing one key of an entity by a form, and what it says when another was first."""

import re
from html import unescape
from typing import Any

import pytest

from tests.api.conftest import Client
from tests.api.pages.conftest import Browser, hidden

TABLE = "service.database.schema.orders"
PAGE = f"/entity/table/{TABLE}"
EDIT = f"/edit/table/{TABLE}"


def table(client: Client) -> Any:
    return client.get(f"/v1/tables/name/{TABLE}", fields="owners,tags,domains", include="all")


def save(browser: Browser, key: str, **given: str) -> Any:
    """The answer to the form of a key, as its page sends it."""
    address = f"{EDIT}?field={key}"
    return browser.post(EDIT, {**hidden(browser.get(address).text), **given})


def typed(answer: Any) -> str:
    """The text that a page gives back which refuses a form."""
    (held,) = re.findall(r'<textarea id="typed"[^>]*>\n(.*?)</textarea>', answer.text, re.DOTALL)
    return unescape(held)


def test_text_is_changed_and_leads_back_to_where_one_was(editor: Browser) -> None:
    answer = save(editor, "description", value="Each order,\r\nonce.")

    assert answer.status_code == 303
    assert answer.headers["location"] == f"{PAGE}#edit-description"
    assert 'id="edit-description"' in editor.get(PAGE).text
    now = table(editor.client)
    assert (now["description"], now["updatedBy"]) == ("Each order,\nonce.", "the-editor")


@pytest.mark.parametrize("key", ["description", "displayName"])
def test_empty_text_removes_it(editor: Browser, key: str) -> None:
    assert save(editor, key, value="  ").status_code == 303

    assert key not in table(editor.client)


@pytest.mark.parametrize(
    "text", ["    code\n    more", "x\n", "tab\t", "\xa0nb\xa0", "a\rb", "a\r\nb", "\n\na"]
)
def test_form_that_was_left_as_it_was_changes_nothing(editor: Browser, text: str) -> None:
    entity = table(editor.client)
    columns = [{"name": "id", "dataType": "INT"}]
    given = {"name": "orders", "databaseSchema": "service.database.schema", "columns": columns}
    editor.client.request("PUT", "/v1/tables", json={**given, "description": text})
    before = table(editor.client)
    assert before["id"] == entity["id"]
    assert before["description"] == text
    shown = editor.get(f"{EDIT}?field=description").text
    (held,) = re.findall(r"<textarea[^>]*>\n(.*?)</textarea>", shown, re.DOTALL)
    # What browsers make of it.
    lines = "\r\n".join(re.split("\r\n|\r|\n", unescape(held)))

    assert save(editor, "description", value=lines).status_code == 303
    assert table(editor.client) == before


def test_code_at_the_start_stays_code(editor: Browser) -> None:
    save(editor, "description", value="    code\r\n\r\nmore\r\n")

    assert table(editor.client)["description"] == "    code\n\nmore"


def test_who_must_sign_in_again_is_led_back_to_the_form(editor: Browser) -> None:
    address = f"{EDIT}?field=description"
    (action,) = re.findall(r'<form action="(/edit/[^"]*)"', editor.get(address).text)
    editor.cookie = None

    refused = editor.post(unescape(action), {"field": "description", "value": "x"})

    assert refused.status_code == 401
    assert f'name="to" value="{action}"' in refused.text
    assert unescape(action) == address


@pytest.mark.parametrize(
    ("referer", "to"),
    [
        (f"http://testserver.local{PAGE}?from=50", f"{PAGE}?from=50"),
        ("http://[", f"/restore/table/{TABLE}"),
        ("http://a//b", f"/restore/table/{TABLE}"),
    ],
)
def test_who_sent_a_button_is_led_back_to_its_page(editor: Browser, referer: str, to: str) -> None:
    editor.cookie = None
    headers = {"Sec-Fetch-Site": "same-origin", "Referer": referer}

    refused = editor.post(f"/restore/table/{TABLE}", {"id": "x"}, headers=headers)

    assert refused.status_code == 401
    assert f'name="to" value="{to}"' in unescape(refused.text)


def test_text_is_given_back_when_the_entity_is_gone(editor: Browser) -> None:
    mine = hidden(editor.get(f"{EDIT}?field=description").text)
    editor.client.request("DELETE", f"/v1/tables/{table(editor.client)['id']}")

    refused = editor.post(EDIT, {**mine, "value": "<b>long\r\nwork"})

    assert (refused.status_code, typed(refused)) == (404, "<b>long\r\nwork")


def test_text_is_given_back_when_the_session_is_another(editor: Browser) -> None:
    mine = hidden(editor.get(f"{EDIT}?field=description").text)

    refused = Browser(editor.client, "admin").post(EDIT, {**mine, "value": "long work"})

    assert (refused.status_code, typed(refused)) == (403, "long work")
    assert "typed" not in editor.get("/entity/table/nothing").text


def test_forms_are_bounded_in_bytes(editor: Browser) -> None:
    mine = hidden(editor.get(f"{EDIT}?field=description").text)

    assert editor.post(EDIT, {**mine, "value": "%" * 160_000}).status_code == 303
    assert editor.get(f"{EDIT}?field=description").status_code == 400
    assert "change it by the API" in editor.get(f"{EDIT}?field=description").text
    assert editor.post(EDIT, {**mine, "value": "%" * 170_000}).status_code == 413
    for size, status in ((10_000, 401), (17_000, 413)):
        assert Browser(editor.client).post("/sign-in", {"token": "a" * size}).status_code == status


def test_lists_are_added_to_by_name_and_taken_from(editor: Browser) -> None:
    editor.client.create("teams", name="a.team", teamType="Group")
    before = table(editor.client)["tags"]

    assert save(editor, "owners", add="a.team").status_code == 303
    assert save(editor, "tags", add="PII.Email").status_code == 303
    assert save(editor, "domains", **{"keep.1": "domain:sales"}).status_code == 303

    now = table(editor.client)
    assert [(each["type"], each["name"]) for each in now["owners"]] == [
        ("user", "annabel"),
        ("team", "a.team"),
    ]
    assert now["tags"] == before
    fields = hidden(editor.get(f"{EDIT}?field=owners").text)
    assert [fields.pop(name) for name in ("keep.1", "keep.2")] == [
        "user:annabel",
        'team:"a.team"',
    ]
    assert editor.post(EDIT, fields).status_code == 303
    assert not table(editor.client).get("owners")


def test_names_are_collected_before_they_are_saved(editor: Browser) -> None:
    fields = hidden(editor.get(f"{EDIT}?field=tags").text)
    del fields["keep.1"]
    collected = editor.post(EDIT, {**fields, "add": "PII.Email", "step": "add"})

    assert collected.status_code == 200
    assert hidden(collected.text)["keep.1"] == "tag:PII.Email"
    assert table(editor.client)["version"] == 0.1
    assert editor.post(EDIT, hidden(collected.text)).status_code == 303
    assert [tag["tagFQN"] for tag in table(editor.client)["tags"]] == ["PII.Email"]


def test_unknown_name_is_told_beside_the_form(editor: Browser) -> None:
    answer = save(editor, "owners", add="nobody<b>")

    assert answer.status_code == 404
    assert "there is no user or team named &#39;nobody&lt;b&gt;&#39;" in answer.text
    assert 'value="nobody&lt;b&gt;"' in answer.text
    assert hidden(answer.text)["keep.1"] == "user:annabel"
    assert table(editor.client)["version"] == 0.1


def test_what_another_changed_meanwhile_stands_beside_ones_own(editor: Browser) -> None:
    mine = hidden(editor.get(f"{EDIT}?field=description").text)
    assert (
        save(Browser(editor.client, "admin"), "description", value="Theirs <i>").status_code == 303
    )

    asked = editor.post(EDIT, {**mine, "value": "Mine <u>"})

    assert asked.status_code == 200
    assert "the-admin" in asked.text
    assert "Theirs &lt;i&gt;" in asked.text
    assert ">\nMine &lt;u&gt;</textarea>" in asked.text
    assert f'href="{PAGE}#edit-description">Take theirs' in asked.text
    assert table(editor.client)["description"] == "Theirs <i>"
    anyway = editor.post(EDIT, {**hidden(asked.text), "value": "Mine <u>"})
    assert anyway.status_code == 303
    assert table(editor.client)["description"] == "Mine <u>"


def test_change_of_another_key_is_named_and_kept(editor: Browser) -> None:
    mine = hidden(editor.get(f"{EDIT}?field=description").text)
    save(Browser(editor.client, "admin"), "displayName", value="Orders")

    asked = editor.post(EDIT, {**mine, "value": "Mine"})
    assert "changed this meanwhile: <strong>display name</strong>" in asked.text
    assert editor.post(EDIT, {**hidden(asked.text), "value": "Mine"}).status_code == 303

    now = table(editor.client)
    assert (now["displayName"], now["description"]) == ("Orders", "Mine")


def test_name_of_a_user_and_a_team_is_asked_about(editor: Browser) -> None:
    editor.client.create("users", name="crew", email="crew@shop.example")
    editor.client.create("teams", name="crew", teamType="Group")

    asked = save(editor, "owners", add="crew")

    assert asked.status_code == 400
    assert "several have this name: write 'user:crew' or 'team:crew'" in unescape(asked.text)
    for value in ("team:crew", "user:crew"):
        assert save(editor, "owners", add=value).status_code == 303
    named = [(each["type"], each["name"]) for each in table(editor.client)["owners"]]
    assert sorted(named) == [("team", "crew"), ("user", "annabel"), ("user", "crew")]


def test_list_of_another_stands_beside_ones_own(editor: Browser) -> None:
    mine = hidden(editor.get(f"{EDIT}?field=owners").text)
    editor.client.create("users", name="bert", email="bert@shop.example")
    save(Browser(editor.client, "admin"), "owners", add="bert")

    asked = editor.post(EDIT, mine)

    theirs, _, own = asked.text.partition('<form action="/edit/')
    assert "<bdi>bert</bdi>" in theirs
    assert "<bdi>bert</bdi>" not in own
    assert [each["name"] for each in table(editor.client)["owners"]] == ["annabel", "bert"]


def test_form_of_an_entity_that_had_the_name_before_is_refused(editor: Browser) -> None:
    mine = hidden(editor.get(f"{EDIT}?field=description").text)
    answer = editor.post(EDIT, {**mine, "id": "00000000-0000-0000-0000-000000000000", "value": "x"})

    assert answer.status_code == 404
    assert table(editor.client)["version"] == 0.1


def test_form_of_an_entity_that_was_made_anew_overwrites_nothing(editor: Browser) -> None:
    client = editor.client
    mine = hidden(editor.get(f"{EDIT}?field=description").text) | {"value": "Mine"}
    purge = f"/v1/tables/{mine['id']}?hardDelete=true&recursive=true"
    assert client.request("DELETE", purge).status_code == 200
    theirs = client.table(description="Theirs")
    assert theirs["version"] == 0.1

    refused = editor.post(EDIT, mine)
    asked = editor.post(EDIT, hidden(refused.text) | {"value": "Mine"})

    assert (refused.status_code, asked.status_code) == (404, 200)
    assert "What is there now stands beside yours: saving yours replaces it." in asked.text
    assert ">\nMine</textarea>" in asked.text
    assert table(client)["description"] == "Theirs"
    assert editor.post(EDIT, hidden(asked.text) | {"value": "Mine"}).status_code == 303
    assert (table(client)["id"], table(client)["description"]) == (theirs["id"], "Mine")


@pytest.mark.parametrize("version", ["0.1", "7.3"])
def test_form_of_a_state_that_was_lost_overwrites_nothing(editor: Browser, version: str) -> None:
    mine = hidden(editor.get(f"{EDIT}?field=description").text)
    mine |= {"etag": f'W/"{version}-00000000"', "value": "Mine"}

    asked = editor.post(EDIT, mine)

    assert (asked.status_code, table(editor.client)["version"]) == (200, 0.1)
    assert "What is there now stands beside yours: saving yours replaces it." in asked.text
    assert editor.post(EDIT, hidden(asked.text) | {"value": "Mine"}).status_code == 303
    assert table(editor.client)["description"] == "Mine"


@pytest.mark.parametrize(
    "fields",
    [
        {"keep.1": "domain:sales"},
        {"keep.1": "user:"},
        {"etag": "nothing"},
        {"field": "columns"},
        {"field": ""},
    ],
)
def test_bad_forms_are_refused(shop: Client, fields: dict[str, str]) -> None:
    editor = Browser(shop, "editor")
    given = hidden(editor.get(f"{EDIT}?field=owners").text)

    assert editor.post(EDIT, {**given, **fields}).status_code == 400
    assert editor.post(EDIT, {"form_token": given["form_token"]}).status_code == 400
    assert table(editor.client)["version"] == 0.1


def test_suggestions_are_of_what_the_list_may_name(editor: Browser) -> None:
    owners = editor.get("/choices/table/owners?add=anna").text
    tags = editor.get("/choices/table/tags?add=Ema").text

    assert '<option value="user:annabel">annabel (user)</option>' in owners
    assert '<option value="tag:PII.Email">' in tags
    assert "<option" not in editor.get("/choices/table/owners?add=Ema").text
    assert editor.get("/choices/table/description?add=a").status_code == 404


@pytest.mark.parametrize(
    "text", ["</textarea><script>", "\u202eleft", "x" * 10_000, "\n\nlate", "&lt;"]
)
def test_hostile_texts_are_shown_as_text_and_saved_as_they_are(editor: Browser, text: str) -> None:
    assert save(editor, "description", value=text).status_code == 303

    shown = editor.get(f"{EDIT}?field=description").text
    (held,) = re.findall(r"<textarea[^>]*>\n(.*?)</textarea>", shown, re.DOTALL)
    assert unescape(held) == text.strip() == table(editor.client)["description"]
    assert "<script>" not in shown


@pytest.mark.parametrize(
    "name", ['<b>"x"</b>', "a/b?c#d%2F", "..", "\u202eright", "naïve 表", "x" * 256]
)
def test_hostile_names_are_changed_by_the_links_of_their_pages(client: Client, name: str) -> None:
    client.create("glossaries", name=name, description="of terms")
    browser = Browser(client, "editor")
    (page,) = re.findall(r'<th scope="row"><a href="([^"]*)"', browser.get("/browse/glossary").text)
    page = unescape(page)
    text = browser.get(page).text
    links = [unescape(each) for each in re.findall(r'class="edit"[^>]* href="([^"]*)"', text)]
    assert len(links) == 6

    for link in links:
        answer = browser.get(link)
        assert (answer.status_code, "<b>" in answer.text) == (200, False), link
    (edit,) = [link for link in links if link.endswith("field=description")]
    form = {**hidden(browser.get(edit).text), "value": "changed"}
    answer = browser.post(edit.partition("?field")[0], form)

    assert (answer.status_code, answer.headers["location"]) == (303, f"{page}#edit-description")
    assert "changed" in browser.get(page).text


def test_list_that_no_form_holds_is_left_to_the_api(editor: Browser) -> None:
    names = [f"tag{number}" for number in range(151)]
    body = [{"name": name, "classification": "PII", "description": name} for name in names]
    editor.client.request("PUT", "/v1/tags/bulk", json=body)
    labels = [
        {
            "tagFQN": f"PII.{name}",
            "source": "Classification",
            "labelType": "Manual",
            "state": "Confirmed",
        }
        for name in names
    ]
    patch = [{"op": "add", "path": "/tags", "value": labels}]
    answer = editor.client.request("PATCH", f"/v1/tables/name/{TABLE}", json=patch)
    assert answer.status_code == 200, answer.text

    refused = editor.get(f"{EDIT}?field=tags")

    assert refused.status_code == 400
    assert "151 tags" in refused.text
