"""Texts that mean harm, in a real browser."""

import pytest

from tests.browser.conftest import Open
from tests.depth import first_alone
from tests.e2e.conftest import Server

HOSTILE = {
    "script": "<script>document.title='taken'</script><img src=x onerror=alert(1)>",
    "right to left": "\u202eevil \u05d0\u05d1 \u2067 turned \u0627\u0644",
    "markdown": "[x](javascript:alert(1)) <svg onload=alert(1)> ![](https://evil.example/x.png)",
    "long": "w" * 10_000,
}
"""Descriptions by what they try."""


@pytest.mark.parametrize("sort", first_alone(*HOSTILE))
def test_hostile_texts_are_texts_on_every_page(opened: Open, served: Server, sort: str) -> None:
    name, text = f"h {sort} <b>{HOSTILE[sort][:40]}</b>", HOSTILE[sort]
    made = served.post("/v1/glossaries", name=name, displayName=name, description="before")
    served.http.patch(
        f"/v1/glossaries/{made['id']}",
        json=[{"op": "replace", "path": "/description", "value": text}],
        headers={"Content-Type": "application/json-patch+json"},
    ).raise_for_status()
    fqn = made["fullyQualifiedName"]
    page = opened("reader", "/browse/glossary", size=(768, 800))
    title = page.title()
    address = page.get_by_role("link", name=name, exact=True).get_attribute("href")
    views = [address.replace("/entity/", f"/{view}/", 1) for view in ("history", "compare", "tree")]

    for each in ("/browse/glossary", address, *views, f"{views[1]}?from=0.1&to=0.2", "/tree"):
        page.goto(each)
        assert page.locator("main script, main img, main svg, main b, main [onload]").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 768, each
        if each == address:
            assert fqn in page.locator("main").inner_text()
    assert "taken" not in (page.title(), title)
