"""Pages of what was renamed."""

from typing import Any

from tests.api.conftest import Client
from tests.api.pages.conftest import Browser, hidden


def rename(client: Client, collection: str, which: Any, name: str) -> None:
    patch = [{"op": "replace", "path": "/name", "value": name}]
    assert client.ask("PATCH", f"/v1/{collection}/{which['id']}", json=patch)[0] == 200


def test_pages_show_former_names_and_what_was_renamed(editor: Browser) -> None:
    client = editor.client
    rename(client, "glossaries", client.create("glossaries", name="Old", description=""), "New")

    page = editor.get("/entity/glossary/Old").text
    history = editor.get("/history/glossary/New").text

    assert '<p class="path"><bdi>New</bdi></p>' in page
    assert "<dt>Former names</dt><dd><bdi>Old</bdi></dd>" in page
    assert "<bdi>Old</bdi>" in history


def test_a_rename_is_undone_where_it_was_made(editor: Browser) -> None:
    client = editor.client
    glossary = client.create("glossaries", name="Old", description="")
    term = client.create("glossaryTerms", name="x", glossary="Old", description="")
    rename(client, "glossaries", glossary, "New")

    below = editor.get("/undo/glossaryTerm/New.x")
    answer = editor.post("/undo/glossary/New", hidden(editor.get("/undo/glossary/New").text))

    assert below.status_code == 409
    assert "the last step was a new name of something above it" in below.text
    assert answer.status_code == 303
    back = client.get(f"/v1/glossaries/{glossary['id']}")
    assert (back["name"], back["formerNames"]) == ("Old", ["New"])
    assert client.get(f"/v1/glossaryTerms/{term['id']}")["fullyQualifiedName"] == "Old.x"
