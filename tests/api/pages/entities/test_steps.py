"""Buttons for a whole entity: undo, delete, restore, and the steps of a contract."""

from typing import Any

import pytest

from tests.api.conftest import Client
from tests.api.pages.conftest import Browser, hidden

NAME = "service.database.schema.orders"
CONTRACT = f"{NAME}.dataContract_orders"
PAGE = f"/entity/table/{NAME}"


def shown(client: Client, collection: str = "tables", name: str = NAME) -> Any:
    return client.get(f"/v1/{collection}/name/{name}", include="all")


def patch(client: Client, key: str, value: Any, name: str = NAME, of: str = "tables") -> None:
    answer = client.request(
        "PATCH",
        f"/v1/{of}/name/{name}",
        json=[{"op": "add", "path": f"/{key}", "value": value}],
    )
    assert answer.status_code == 200, answer.text


def test_last_change_is_undone_and_done_again(editor: Browser) -> None:
    before = editor.client.get(f"/v1/tables/name/{NAME}", fields="*")
    columns = [*before["columns"], {"name": "<new>", "dataType": "INT"}]
    patch(editor.client, "columns", columns)
    address = f"/undo/table/{NAME}"

    asked = editor.get(address).text
    assert "the-admin" in asked
    assert "&lt;new&gt;" in asked
    answer = editor.post(address, hidden(asked))

    assert (answer.status_code, answer.headers["location"]) == (303, PAGE)
    undone = editor.client.get(f"/v1/tables/name/{NAME}", fields="*")
    same = {key: undone[key] for key in undone if key not in ("version", "updatedAt", "updatedBy")}
    assert same == {key: before[key] for key in same}
    assert editor.post(address, hidden(editor.get(address).text)).status_code == 303
    assert [each["name"] for each in shown(editor.client)["columns"]][-1] == "<new>"


def test_step_that_is_not_the_last_any_more_is_not_undone(editor: Browser) -> None:
    patch(editor.client, "description", "first")
    form = hidden(editor.get(f"/undo/table/{NAME}").text)
    patch(editor.client, "description", "second")

    again = editor.post(f"/undo/table/{NAME}", form)

    assert again.status_code == 200
    assert "Somebody changed this meanwhile" in again.text
    assert "second" in again.text
    assert shown(editor.client)["description"] == "second"


def test_nothing_is_undone_of_what_was_only_created(editor: Browser) -> None:
    assert "/undo/" not in editor.get(PAGE).text
    assert editor.get(f"/undo/table/{NAME}").status_code == 409


def test_deleted_entity_is_restored_from_its_page(editor: Browser) -> None:
    address = f"/delete/table/{NAME}"
    assert editor.post(address, hidden(editor.get(address).text)).status_code == 303

    page = editor.get(PAGE).text
    assert shown(editor.client)["deleted"] is True
    assert shown(editor.client, "dataContracts", CONTRACT)["deleted"] is True
    assert 'class="edit"' not in page
    for gone in (f"/edit/table/{NAME}?field=description", address):
        assert editor.get(gone).status_code == 404
    answer = editor.post(f"/restore/table/{NAME}", hidden(page))

    assert (answer.status_code, answer.headers["location"]) == (303, PAGE)
    assert "deleted" not in shown(editor.client)
    assert "deleted" not in shown(editor.client, "dataContracts", CONTRACT)


def test_what_has_something_below_it_goes_with_it_or_not_at_all(editor: Browser) -> None:
    address = "/delete/databaseSchema/service.database.schema"
    form = hidden(editor.get(address).text)
    del form["below"]

    refused = editor.post(address, form)
    assert refused.status_code == 400
    assert "It is not empty: it goes only with everything below it." in refused.text
    assert "deleted" not in shown(editor.client)
    assert editor.post(address, {**hidden(refused.text), "below": "yes"}).status_code == 303
    assert shown(editor.client)["deleted"] is True


def test_what_was_changed_meanwhile_is_not_deleted(editor: Browser) -> None:
    address = f"/delete/table/{NAME}"
    form = hidden(editor.get(address).text)
    patch(editor.client, "description", "newer")

    asked = editor.post(address, form)

    assert "Somebody changed this meanwhile" in asked.text
    assert "deleted" not in shown(editor.client)
    assert editor.post(address, hidden(asked.text)).status_code == 303


def status_of(client: Client) -> str:
    status: str = shown(client, "dataContracts", CONTRACT)["entityStatus"]
    return status


def buttons(text: str) -> list[str]:
    return [part.partition('"')[0] for part in text.split('<button name="to" value="')[1:]]


def test_contract_takes_the_steps_that_its_rule_allows(editor: Browser) -> None:
    page, address = f"/entity/dataContract/{CONTRACT}", f"/status/dataContract/{CONTRACT}"
    taken = []
    for target in ("Active", "Deprecated", "Active"):
        text = editor.get(page).text
        taken.append(buttons(text))
        answer = editor.post(address, {**hidden(text), "to": target})
        assert (answer.status_code, answer.headers["location"]) == (303, page)

    assert taken == [["Active", "Deprecated"], ["Deprecated"], ["Active"]]
    assert status_of(editor.client) == "Active"


@pytest.mark.parametrize(("target", "status"), [("Draft", 409), ("<b>Gone", 400)])
def test_refused_step_is_told_on_the_page_of_the_contract(
    editor: Browser, target: str, status: int
) -> None:
    patch(editor.client, "entityStatus", "Active", CONTRACT, "dataContracts")
    form = hidden(editor.get(f"/entity/dataContract/{CONTRACT}").text)

    refused = editor.post(f"/status/dataContract/{CONTRACT}", {**form, "to": target})

    assert refused.status_code == status
    assert 'class="problem" role="alert"' in refused.text
    assert "<b>Gone" not in refused.text
    assert buttons(refused.text) == ["Deprecated"]
    assert status_of(editor.client) == "Active"


def test_step_from_a_status_that_another_has_left_is_asked_anew(editor: Browser) -> None:
    form = hidden(editor.get(f"/entity/dataContract/{CONTRACT}").text)
    patch(editor.client, "description", "newer", CONTRACT, "dataContracts")

    asked = editor.post(f"/status/dataContract/{CONTRACT}", {**form, "to": "Active"})

    assert "Somebody changed this meanwhile" in asked.text
    assert status_of(editor.client) == "Draft"
