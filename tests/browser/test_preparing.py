"""A search that is asked for while search is still being built, in a real browser."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playwright.sync_api import expect

from benchmarks.generate import lines
from projections.feeding.daemon import ProjectorState, states_path
from tests.browser.conftest import Open, violations
from tests.browser.test_typing import rest, type_slowly
from tests.e2e.conftest import Server, catalog, serving
from tests.e2e.family import Family


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of a server of several processes."""
    return tmp_path_factory.mktemp("workers")


@pytest.fixture(scope="module")
def served(directory: Path) -> Iterator[Server]:
    """A server whose processes that answer learn of generations from files alone."""
    sample = directory / "sample.jsonl"
    sample.write_bytes(b"\n".join(lines(50)))
    imported = catalog("import", str(sample), "--data", str(directory))
    assert imported.returncode == 0, imported.stderr
    with serving(directory, "--workers", "2") as server:
        yield server


@contextmanager
def standing_at(server: Server, directory: Path, done: int) -> Iterator[None]:
    """Have the server of a directory see no index of search, and a building that stands still.

    The process that builds is stopped meanwhile, or it would go by the pointer that it finds.
    """
    pointer = directory / "search.json"
    kept = pointer.read_bytes()
    builder = Family(server, directory).children()["project"]
    os.kill(builder, signal.SIGSTOP)
    states = {"entities": ProjectorState(), "search": ProjectorState(done=done, total=100_000)}
    states_path(directory).write_bytes(msgspec.json.encode(states))
    replace(pointer, b'{"live":null,"previous":null,"refused":null,"last":0}')
    try:
        yield
    finally:
        replace(pointer, kept)
        os.kill(builder, signal.SIGCONT)


def replace(path: Path, content: bytes) -> None:
    fresh = path.with_suffix(".fresh")
    fresh.write_bytes(content)
    fresh.replace(path)


@pytest.mark.deep
def test_page_of_a_search_goes_on_by_itself_and_keeps_what_is_typed(
    opened: Open, served: Server, directory: Path
) -> None:
    # A page whose console may tell of the answer 503.
    page: Any = opened("reader", "/").context.new_page()
    page.clock.install()
    with standing_at(served, directory, 41_000):
        page.goto("/search?q=cust")
        said = page.get_by_role("status")
        expect(said).to_have_text("Preparing search: 41,000 of 100,000")
        assert violations(page) == []
        type_slowly(page.locator("#q"), "customer")
        expect(said).to_have_text("Preparing search: 41,000 of 100,000")

    page.clock.run_for(3_000)
    rest(page)

    expect(said).to_contain_text("results for customer")
    expect(page.locator(".hits li").first).to_be_visible()
    expect(page.locator("#q")).to_have_value("customer")
    assert page.url.endswith("/search?q=customer")
