"""What pages are made of is HTML by its standard, for every page of the walk."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Client
from tests.api.pages.conftest import Browser
from tests.api.pages.test_every_page import ADDRESSES

CHECKER = Path(__file__).parents[2] / "browser" / "node_modules" / ".bin" / "html-validate"
RULES = {"root": True, "extends": ["html-validate:standard"]}
CONTRACT = "/entity/dataContract/service.database.schema.orders.dataContract_orders"
OTHERS = (
    "/sign-in",
    "/nowhere",
    "/search?q=name:(",
    "/search?q=nothing-has-this-name",
    "/browse/dataContract",
    CONTRACT,
    "/entity/user/annabel",
    "/entity/tag/PII.Email",
)
"""Pages beside those of the walk: with other parts, or that say what went wrong."""


@pytest.mark.skipif(
    not CHECKER.exists() or shutil.which("node") is None,
    reason="html-validate is not installed: npm ci --prefix tests/browser",
)
def test_every_page_is_html_by_the_standard(shop: Client, tmp_path: Path) -> None:
    browser, pages = Browser(shop, "admin"), {}
    for address in (*ADDRESSES.values(), *OTHERS):
        answer = browser.get(address)
        # Suggestions and the like are pieces, which stand in a page.
        if answer.text.startswith("<!DOCTYPE html>"):
            pages[f"{len(pages)}.html"] = address
            (tmp_path / f"{len(pages) - 1}.html").write_text(answer.text)
    (tmp_path / ".htmlvalidate.json").write_text(json.dumps(RULES))

    checked = subprocess.run(
        [CHECKER, "--formatter", "json", *sorted(pages)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    found: list[Any] = json.loads(checked.stdout)
    assert [
        f"{pages[Path(file['filePath']).name]}:{each['line']} {each['ruleId']}: {each['message']}"
        for file in found
        for each in file["messages"]
    ] == []
    assert checked.returncode == 0
    assert len(pages) > 15
