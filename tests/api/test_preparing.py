"""Read models that are still being built: what is there answers, the rest says how far it is."""

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from domain.event_store.port import EventStore
from projections.entities.sqlite import bulk_load
from projections.feeding.port import Progress
from projections.search import bulk_build
from tests.api.conftest import Client, running
from tests.api.pages.conftest import Browser
from tests.waiting import until

TABLE = "service.database.schema.orders"
SAID = "Preparing search: 41,000 of 100,000"
Building = Callable[[Any, EventStore, Progress], None]


def paused(build: Building, go_on: threading.Event) -> Building:
    """A building that stands at 41,000 of 100,000 entities until it may go on."""

    def stand(place: Any, log: EventStore, progress: Progress) -> None:
        # Each call is one at which a process that stops ends the building.
        while not go_on.wait(0.01):
            progress(41_000, 100_000)
        build(place, log, progress)

    return stand


@contextmanager
def preparing(
    directory: Path, monkeypatch: pytest.MonkeyPatch, module: Any
) -> Iterator[tuple[Client, threading.Event]]:
    """A catalog whose read models are built anew, one of them once it may go on."""
    with running(directory) as client:
        client.schema()
        client.table("orders")
    for path in [*directory.glob("entities*"), *directory.glob("search*")]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    go_on = threading.Event()
    monkeypatch.setattr(module, "load", paused(module.load, go_on))
    with running(directory) as client:
        try:
            yield client, go_on
        finally:
            go_on.set()


@pytest.fixture
def without_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Client, threading.Event]]:
    with preparing(tmp_path, monkeypatch, bulk_build) as prepared:
        until(lambda: prepared[0].http.get("/readyz").json().get("preparing") == SEARCH)
        yield prepared


SEARCH = {"search": {"done": 41_000, "total": 100_000}}


def test_lists_and_entities_are_there_before_search(
    without_search: tuple[Client, threading.Event],
) -> None:
    client, _ = without_search

    assert [each["name"] for each in client.get("/v1/tables")["data"]] == ["orders"]
    assert client.get(f"/v1/tables/name/{TABLE}")["name"] == "orders"
    browser = Browser(client, "editor")
    for address in (
        *("/", "/browse/table", "/tree", f"/entity/table/{TABLE}", f"/history/table/{TABLE}"),
        f"/edit/table/{TABLE}?field=description",
        "/search/suggestions?q=ord",
        "/choices/table/owners?add=ann",
    ):
        assert browser.get(address).status_code == 200, address


@pytest.mark.parametrize(
    "path",
    [
        "/v1/search/query?q=orders",
        "/v1/search/suggest?q=ord",
        f"/v1/search/get/table_search_index/doc/{'0' * 8}-0000-4000-8000-{'0' * 12}",
    ],
)
def test_search_says_how_far_it_is(
    without_search: tuple[Client, threading.Event], path: str
) -> None:
    answer = without_search[0].request("GET", path)

    assert (answer.status_code, answer.json()["message"]) == (503, SAID)
    assert answer.json()["errorType"] == "SERVICE_UNAVAILABLE"
    assert answer.headers["retry-after"] == "5"


def test_page_of_a_search_says_how_far_it_is_and_looks_again(
    without_search: tuple[Client, threading.Event],
) -> None:
    client, go_on = without_search
    browser = Browser(client, "reader")

    answer = browser.get("/search?q=orders")
    part = browser.get("/search?q=orders", headers={"HX-Request": "true"})

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert (part.status_code, SAID in part.text) == (200, True)
    assert SAID in answer.text
    assert 'value="orders"' in answer.text
    assert 'id="found" class="found" hx-get="/search?q=orders" hx-trigger="every 2s"' in answer.text
    assert '<noscript><meta http-equiv="refresh" content="5; url=/search?q=orders">' in answer.text
    go_on.set()
    until(lambda: browser.get("/search?q=orders").status_code == 200)
    assert "Preparing" not in browser.get("/search?q=orders").text


def test_readiness_tells_lists_and_search_apart(
    without_search: tuple[Client, threading.Event],
) -> None:
    client, go_on = without_search

    whole, lists = client.http.get("/readyz"), client.http.get("/readyz?of=lists")

    assert whole.status_code == 503
    assert whole.json() == {"ready": False, "problems": [SAID], "preparing": SEARCH}
    assert lists.status_code == 200
    assert lists.json() == {"ready": True, "problems": [], "preparing": SEARCH}
    states = {each["name"]: each for each in client.get("/v1/system/projections")["projections"]}
    assert (states["search"]["state"], states["search"]["built"]) == ("building", 41_000)
    assert (states["entities"]["state"], states["entities"]["toBuild"]) == ("running", None)
    go_on.set()
    until(lambda: client.http.get("/readyz").json() == {"ready": True, "problems": []})
    assert client.http.get("/readyz?of=else").status_code == 400


def test_lists_say_how_far_they_are_and_search_waits_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "Preparing lists: 41,000 of 100,000"
    with preparing(tmp_path, monkeypatch, bulk_load) as (client, go_on):
        until(lambda: client.http.get("/readyz").json()["problems"][0] == said)

        answer = client.request("GET", "/v1/tables")
        page = Browser(client, "reader").get("/browse/table?limit=5")
        ready = client.http.get("/readyz?of=lists")

        assert (answer.status_code, answer.json()["message"]) == (503, said)
        assert (page.status_code, page.headers["retry-after"]) == (503, "5")
        assert said in page.text
        assert 'hx-get="/browse/table?limit=5" hx-trigger="every 2s"' in page.text
        assert ready.status_code == 503
        assert ready.json()["preparing"]["search"] == {}
        go_on.set()
        until(lambda: client.http.get("/readyz").status_code == 200)


def test_building_that_fails_is_not_said_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with preparing(tmp_path, monkeypatch, bulk_build) as (client, go_on):
        monkeypatch.setattr(bulk_build, "fingerprint_at", full)
        go_on.set()
        until(lambda: "unavailable" in "".join(client.http.get("/readyz").json()["problems"]))

        answer = client.request("GET", "/v1/search/query?q=orders")

        assert answer.status_code == 503
        assert "Preparing" not in answer.text
