"""A real browser without a window, at a real server with the sample catalog.

One browser and one server serve all tests of this room, which xdist gives to one worker. A page of
the browser fails its test for anything in the console, and for any request that leaves the host.
"""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect, sync_playwright

from api.callers.tokens.minting import find_minter, mint
from api.settings import read_settings
from benchmarks.generate import lines
from tests.api.pages.conftest import OWN
from tests.e2e.conftest import Server, catalog, serving
from tests.waiting import until

ROOM = Path(__file__).parent
AXE = ROOM / "node_modules" / "axe-core" / "axe.min.js"
ENTITIES = 300
ABORTED = ("htmx:sendAbort,", "htmx:afterRequest,")
"""What htmx tells of a request that another one has taken the place of; of one that failed it tells
more."""
PATIENCE = 120_000
"""Milliseconds that a page may take, on a machine that does many other things at the same time."""
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
BINARY = next((path for name in _NAMES if (path := shutil.which(name))), None)
POLICIES = """
[[rule]]
role = "admin"
allow = ["list", "view", "search", "create", "edit", "delete", "operate", "audit", "sample"]

[[rule]]
role = "editor"
allow = ["list", "view", "search", "create", "edit", "delete"]

[[rule]]
role = "reader"
allow = ["list", "view", "search"]

[[rule]]
role = "clerk"
allow = ["list", "view", "search"]
withhold = ["description", "owners"]
"""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have one worker run all tests of this room, or say why none is run.

    First, as the rules for all tests give a module that shares something a group of its own.
    """
    for item in items:
        if str(item.path).startswith(f"{ROOM}/"):
            item.add_marker(pytest.mark.xdist_group("browser"))
            if BINARY is None:
                item.add_marker(pytest.mark.skip(reason="no browser: install chromium"))


@pytest.fixture(scope="package")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of the server."""
    return tmp_path_factory.mktemp("sample")


@pytest.fixture(scope="package")
def served(directory: Path) -> Iterator[Server]:
    """A server with the sample catalog, and a role `clerk` that sees less of it."""
    sample, policies = directory / "sample.jsonl", directory / "policies.toml"
    sample.write_bytes(b"\n".join(lines(ENTITIES)))
    policies.write_text(POLICIES)
    imported = catalog("import", str(sample), "--data", str(directory))
    assert imported.returncode == 0, imported.stderr
    with serving(directory, CATALOG_POLICIES=str(policies)) as server:
        yield server


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    """The browser of the machine."""
    with sync_playwright() as driver:
        # Who runs tests in a container is root, and a container has no sandbox of its own.
        expect.set_options(timeout=PATIENCE)
        started = driver.chromium.launch(
            executable_path=BINARY, args=["--no-sandbox"], timeout=PATIENCE
        )
        yield started
        started.close()


Open = Callable[..., Any]


def had_time(page: Any) -> bool:
    """True unless a page shows a search that ran out of time, which is then asked for again.

    On a busy machine the first search does, and lacks facets and results.
    """
    if page.get_by_text("The search ran out of time").count() == 0:
        return True
    page.reload()
    return False


@pytest.fixture
def token_of(served: Server, directory: Path) -> Callable[[str], str]:
    """Makes a token of a role."""
    settings = read_settings({}, data=str(directory))
    return lambda role: mint(find_minter(settings), f"the-{role}", (role,), 600)


@pytest.fixture
def opened(served: Server, token_of: Callable[[str], str], browser: Any) -> Iterator[Open]:
    """Opens pages of browsers that are signed in as a role: `opened("reader", "/search?q=a")`.

    `size` is the width and height of the window, `options` are those of a context of playwright.
    """
    contexts, problems = [], []
    base = str(served.http.base_url).rstrip("/")

    def open_page(
        role: str | None, address: str, size: tuple[int, int] = (1280, 900), **options: Any
    ) -> Any:
        context = browser.new_context(
            base_url=base, viewport={"width": size[0], "height": size[1]}, **options
        )
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: note(said.text))
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        page.on("request", lambda asked: check(asked.url))
        if role is not None:
            # As the form of the page does, which takes a browser as long as many a test.
            answer = context.request.post(
                "/sign-in", form={"token": token_of(role)}, headers=OWN, max_redirects=0
            )
            assert answer.status == 303, answer.text()
        page.goto(address)
        until(lambda: had_time(page))
        return page

    def note(said: str) -> None:
        # Who types on takes back what was asked for before: on a busy machine it is not answered.
        if not said.startswith(ABORTED):
            problems.append(f"console: {said}")

    def check(url: str) -> None:
        if urlsplit(url).netloc != urlsplit(base).netloc:
            problems.append(f"request to {url}")

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []


def violations(page: Any, rules: list[str] | None = None) -> list[str]:
    """Return what axe finds on a page by all of its rules, or some: rule and element of each."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed: npm ci --prefix tests/browser")
    page.evaluate(AXE.read_text())
    found = page.evaluate("only => axe.run(only ? {runOnly: only} : {})", rules)
    return [
        f"{each['id']}: {node['target']} {node['failureSummary']}"
        for each in found["violations"]
        for node in each["nodes"]
    ]
