"""Markup of pages is HTML by its standard, for every page of the walk."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Client
from tests.api.pages.conftest import Browser, fill, hidden
from tests.api.pages.test_every_page import ADDRESSES, CHANGING, TABLE

CHECKER = Path(__file__).parents[3] / "browser" / "node_modules" / ".bin" / "html-validate"
RULES = {"root": True, "extends": ["html-validate:standard"]}
CONTRACT = "/entity/dataContract/service.database.schema.orders.dataContract_orders"
OTHERS = (
    "/sign-in",
    "/nowhere",
    "/search?q=name:(",
    "/search?q=nothing-has-this-name",
    "/browse/dataContract",
    CONTRACT,
    f"/edit/table/{TABLE}?field=description",
    f"/edit/table/{TABLE}?field=owners",
    f"/edit/table/{TABLE}?field=tags",
    f"/edit/table/{TABLE}?field=tags&column=customer.email",
    "/delete/databaseSchema/service.database.schema",
    "/entity/user/annabel",
    "/entity/tag/PII.Email",
    "/?at=now",
    "/search?q=orders&at=now",
    "/search?q=name:(&at=2",
    "/search?q=nothing&kind=table&asOf=2026-01-01",
    "/browse/table?asOf=2026-01-01",
    "/browse/table?at=2&beside=now",
    "/browse/table?at=now&beside=now",
    "/tree/databaseSchema/service.database.schema?at=now",
    f"/entity/table/{TABLE}?at=now",
    f"{CONTRACT}?at=now",
    f"/history/table/{TABLE}?at=now",
    f"/changed/table/{TABLE}?at=now",
    f"/changed/table/{TABLE}?from=1&at=now",
    f"{CONTRACT.replace('entity', 'impact')}?at=now",
    "/audit?at=2",
    "/audit/2?at=now",
    "/activity?at=now",
    f"/entity/table/{TABLE}?at=1",
    f"/entity/table/{TABLE}?asOf=yesterday",
)
"""Pages beside those of the walk: with other parts, or that say what went wrong."""


needs_checker = pytest.mark.skipif(
    not CHECKER.exists() or shutil.which("node") is None,
    reason="html-validate is not installed: npm ci --prefix tests/browser",
)


@needs_checker
def test_every_page_is_html_by_the_standard(shop: Client, tmp_path: Path) -> None:
    browser = Browser(shop, "admin")
    addresses = (*ADDRESSES.values(), *CHANGING.values(), *OTHERS)
    texts = {address: browser.get(address).text for address in addresses}

    # Suggestions and the like are pieces, which stand in a page.
    pages = {at: text for at, text in texts.items() if text.startswith("<!DOCTYPE html>")}
    assert complaints(pages, tmp_path) == []
    assert len(pages) > 15


@needs_checker
def test_page_that_asks_what_to_do_is_html_by_the_standard(client: Client, tmp_path: Path) -> None:
    fill(client)
    browser = Browser(client, "admin")
    pages = {}
    for key, value in (("description", {"value": "x"}), ("owners", {})):
        seen = hidden(browser.get(f"/edit/table/{TABLE}?field={key}").text)
        client.request("PATCH", f"/v1/tables/name/{TABLE}", json=patch(f"{key} was seen"))
        pages[f"conflict in {key}"] = browser.post(f"/edit/table/{TABLE}", {**seen, **value}).text
    pages["undo"] = browser.get(f"/undo/table/{TABLE}").text
    seen = hidden(browser.get(CONTRACT).text)
    refused = browser.post(CONTRACT.replace("entity", "status"), {**seen, "to": "Gone"})
    pages["refused step"] = refused.text

    assert complaints(pages, tmp_path) == []
    assert all('role="alert"' in text for at, text in pages.items() if at != "undo")


def patch(description: str) -> list[dict[str, str]]:
    return [{"op": "add", "path": "/description", "value": description}]


def complaints(pages: dict[str, str], folder: Path) -> list[str]:
    """Return the complaints of the checker about pages, given by their addresses."""
    names = {f"{number}.html": address for number, address in enumerate(pages)}
    for name, address in names.items():
        (folder / name).write_text(pages[address])
    (folder / ".htmlvalidate.json").write_text(json.dumps(RULES))
    checked = subprocess.run(
        [CHECKER, "--formatter", "json", *names],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    found: list[Any] = json.loads(checked.stdout)
    said = [
        f"{names[Path(file['filePath']).name]}:{each['line']} {each['ruleId']}: {each['message']}"
        for file in found
        for each in file["messages"]
    ]
    assert (checked.returncode == 0) is (not said)
    return said
