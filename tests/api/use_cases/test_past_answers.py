"""What every read of the past answers where there is none: the table of "The past" in docs/api.md.

Each row is asked of lists, totals, entities, lineages, searches, differences and pages for people.
"""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from api.answers.read_positions import MAX_POSITION, MAX_WAITING
from projections.entities import cursors
from tests.api.conftest import Client, running
from tests.api.pages.conftest import Browser
from tests.waiting import until

NAME = "service.database.schema.orders"
OF_LISTS = ("/v1/tables", "/v1/tables?limit=0", "/v1/tables?databaseSchema=service.database.schema")
OF_ONE = (
    "/v1/tables/{id}",
    "/v1/tables/name/{name}",
    "/v1/lineage/table/{id}",
    "/v1/lineage/table/name/{name}",
)
OF_SEARCHES = (
    "/v1/search/query?q=*",
    "/v1/search/fieldQuery?fieldName=name&fieldValue=*",
    "/v1/search/sourceUrl?sourceUrl=https%3A%2F%2Fexample.org",
    "/v1/search/aggregate?field=name",
    "/v1/search/entityTypeCounts",
    "/v1/search/suggest?q=a",
    "/v1/search/export?q=*",
)
ONE_DOCUMENT = "/v1/search/get/table/doc/{id}"
SINCE_1970 = str(1_790_000_000_000)
"""A time in milliseconds, as OpenMetadata's clients send times: no position that a log reaches."""
OF_PAGES = ("/", "/tree", "/browse/table", "/entity/table/{name}", "/history/table/{name}")
DIFFERENCES = ("/v1/diff", "/v1/tables/{id}/diff")
CHANGED = "/changed/table/{name}"
AT = (*OF_LISTS, *OF_ONE, *OF_SEARCHES, ONE_DOCUMENT, *OF_PAGES, CHANGED + "?from={alive}")
"""What is asked with `at` or `asOf`."""
POINTS = (
    *(f"{path}?{ends}" for path in DIFFERENCES for ends in ("from=", "from={alive}&to=")),
    f"{CHANGED}?from=",
)
"""What is asked with a point at the end of its address."""


class Shop(msgspec.Struct, frozen=True):
    """A table with a past, and another one that was purged."""

    client: Client
    before: int
    """A position before both."""
    alive: int
    """A position at which both were there."""
    table: dict[str, Any]
    purged: dict[str, Any]

    def ask(self, path: str, table: dict[str, Any] | None = None, **past: Any) -> tuple[int, str]:
        """Status and text of an answer about a table, the one that is there if none is given."""
        about = table or self.table
        path = path.format(id=about["id"], name=about["fullyQualifiedName"], alive=self.alive)
        (named,) = (f"{key}={value}" for key, value in past.items()) if past else ("",)
        if named:
            path += f"{'&' if '?' in path else '?'}{named}"
        return self.get(path)

    def get(self, path: str) -> tuple[int, str]:
        """Status and text of an answer, by the API or as a page."""
        if path.startswith("/v1/"):
            response = self.client.request("GET", path)
        else:
            response = Browser(self.client, "admin").get(path)
        return response.status_code, response.text


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """It waits for a moment only, as nobody appends to it."""
    with running(tmp_path_factory.mktemp("shop"), patience=0.05) as client:
        client.schema()
        before = client.services.stores.log.head()
        table, purged = client.table(), client.table("passing")
        alive = client.services.stores.log.head()
        client.request("DELETE", f"/v1/tables/{purged['id']}?hardDelete=true")
        head = client.services.stores.log.head()
        # It knows by then that lists and searches have all of this.
        seen = {"X-Catalog-Position": str(head)}
        read = "/v1/search/query?q=*"
        until(lambda: client.request("GET", read, headers=seen).status_code == 200)
        yield Shop(client, before, alive, table, purged)


@pytest.mark.parametrize("path", AT)
def test_past_that_is_no_past_is_refused(shop: Shop, path: str) -> None:
    for right in (shop.alive, "now"):
        status, said = shop.ask(path, at=right)
        assert status == 200, said
    for wrong in (
        *("-1", "%2B1", "1.5", "1e3", "0x1", "Now", "", "yesterday", "%D9%A1"),
        *(SINCE_1970, str(MAX_POSITION + 1), "9" * 5_000),
    ):
        status, said = shop.ask(path, at=wrong)
        assert (status, "at must be now, or a position" in said) == (400, True), (wrong, said)
    assert shop.ask(f"{path}{'&' if '?' in path else '?'}at=1", asOf="2026-01-01")[0] == 400


@pytest.mark.parametrize("path", POINTS)
def test_point_that_is_no_point_is_refused(shop: Shop, path: str) -> None:
    for wrong in (
        *("-1", "1.5", "1e3", "Now", "yesterday", "%D9%A1", "2999-01-01"),
        *(SINCE_1970, str(MAX_POSITION + 1), "9" * 5_000),
    ):
        status, said = shop.ask(path + wrong)
        name = path.rpartition("&")[2].rpartition("?")[2].removesuffix("=")
        assert (status, name in said) == (400, True), (wrong, said)


@pytest.mark.parametrize("path", [*AT, *POINTS])
def test_position_that_was_never_given_is_waited_for(shop: Shop, path: str) -> None:
    for position in (shop.client.services.stores.log.head() + 1, MAX_POSITION):
        if path in POINTS:
            status, said = shop.ask(f"{path}{position}")
        else:
            status, said = shop.ask(path, at=position)
        assert status == 503, said
        assert f"this host has not applied position {position} yet" in said


@pytest.mark.parametrize("path", [*OF_ONE, ONE_DOCUMENT, *OF_PAGES[3:]])
def test_entity_that_was_not_there_yet_is_not_found(shop: Shop, path: str) -> None:
    for past in ({"at": shop.before}, {"asOf": "2001-01-01"}):
        position = past.get("at", 0)
        status, said = shop.ask(path, **past)
        assert (status, f"was not there yet at position {position}" in said) == (404, True), said


@pytest.mark.parametrize(
    "path", [OF_ONE[0], OF_ONE[2], ONE_DOCUMENT, "/v1/tables/{id}/diff?from={alive}"]
)
def test_entity_that_was_purged_since_has_no_past(shop: Shop, path: str) -> None:
    past = {} if "from" in path else {"at": shop.alive}
    status, said = shop.ask(path, shop.purged, **past)
    assert (status, "ENTITY_PURGED" in said) == (410, True), said


@pytest.mark.parametrize("path", [OF_ONE[1], OF_ONE[3], *OF_PAGES[3:]])
def test_name_that_was_purged_since_is_found_nowhere(shop: Shop, path: str) -> None:
    assert shop.ask(path, shop.purged, at=shop.alive)[0] == 404


@pytest.mark.parametrize("later", ["alive", "before"])
def test_entity_that_was_not_there_yet_has_no_difference(shop: Shop, later: str) -> None:
    ends = f"from={shop.before}&to={getattr(shop, later)}"
    status, said = shop.ask(f"/v1/tables/{{id}}/diff?{ends}")
    assert (status, f"was not there yet at position {shop.before}" in said) == (404, True), said


@pytest.mark.parametrize("path", [OF_LISTS[0], OF_LISTS[2], "/browse/table"])
def test_cursor_of_another_position_is_refused(shop: Shop, path: str) -> None:
    given = f"{path}{'&' if '?' in path else '?'}limit=1&include=all"
    listed = given.replace("/browse/table", "/v1/tables")
    head = shop.client.services.stores.log.head()
    others = [shop.client.table(name)["id"] for name in ("another", "later")]
    try:
        position = shop.client.services.stores.log.head()
        pinned, plain = (
            msgspec.json.decode(shop.get(each)[1])["paging"]["after"]
            for each in (f"{listed}&at=now", listed)
        )
        for past in ("", f"&at={position}", "&at=now"):
            assert shop.get(f"{given}&after={pinned}{past}")[0] == 200
        for past in (f"at={head}", f"at={position - 1}", "at=0", "asOf=2001-01-01"):
            status, said = shop.get(f"{given}&after={pinned}&{past}")
            assert (status, f"the cursor is of position {position}" in said) == (400, True), said
        for past in (f"at={head}", "at=now", "asOf=2001-01-01"):
            status, said = shop.get(f"{given}&after={plain}&{past}")
            assert (status, "a cursor of the list at the present" in said) == (400, True), said
    finally:
        for other in others:
            shop.client.request("DELETE", f"/v1/tables/{other}?hardDelete=true")


@pytest.mark.parametrize("path", [*OF_LISTS[:2], "/browse/table"])
def test_cursor_that_somebody_made_up_is_refused_without_waiting(shop: Shop, path: str) -> None:
    place = cursors.Place("orders", shop.table["id"])
    made_up = cursors.encode(place, "any list", backward=False, position=2**60).decode()
    status, said = shop.get(f"{path}{'&' if '?' in path else '?'}after={made_up}")
    assert (status, "after is not a cursor of this list" in said) == (400, True), said


def test_reads_that_wait_for_a_position_are_bounded_for_each_caller(tmp_path: Path) -> None:
    with running(tmp_path, patience=60.0) as client:
        client.schema()
        table, alive = client.table(), client.services.stores.log.head()
        shop = Shop(client, 0, alive, table, table)
        to_come = alive + 1
        # Lists and search may have to come so far first.
        for read in AT:
            assert shop.ask(read, at=alive)[0] == 200
        reads = [*AT, *POINTS]
        answers: list[int] = []

        def ask(read: str) -> None:
            past = {} if read in POINTS else {"at": to_come}
            asked = f"{read}{to_come}" if read in POINTS else read
            answers.append(shop.ask(asked, **past)[0])

        threads = [
            threading.Thread(target=ask, args=(reads[number % len(reads)],))
            for number in range(MAX_WAITING + 1)
        ]
        for thread in threads:
            thread.start()
        # One of them has no place any more, as all others wait.
        until(lambda: answers)
        assert answers == [429]
        for read in reads:
            ask(read)
        assert answers == [429] * (1 + len(reads))
        # Nobody else has to wait for that, and what needs no waiting is answered.
        for read in AT:
            assert shop.ask(read, at=alive)[0] == 200
        assert client.request("GET", "/v1/tables?at=now", role="reader").status_code == 200
        client.table("to come")
        for thread in threads:
            thread.join()
        assert sorted(answers[1 + len(reads) :]) == [200] * MAX_WAITING
