"""The past of a running server: asked by many at once, beside writes, and while it is rebuilt."""

import os
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from api.callers.tokens.minting import find_minter, mint
from api.settings import read_settings
from domain.event_store.opening import open_event_log
from tests.depth import first_alone
from tests.e2e.conftest import NO_AUTHORITIES, Server, replay, serving
from tests.e2e.past_of_glossaries import PastOfGlossaries, Shown, answered, fill, shown
from tests.waiting import until

CALLERS = 50
MEMORY = 100_000_000
"""Most bytes that the process may grow by while it answers all callers."""


class Shop(msgspec.Struct):
    """A server with many glossaries."""

    directory: Path
    server: Server
    past: PastOfGlossaries
    rng: random.Random

    @contextmanager
    def client(self, name: str) -> Iterator[httpx.Client]:
        """A client with a token of its own."""
        settings = read_settings(dict(os.environ), data=str(self.directory))
        token = mint(find_minter(settings), name, ("admin",), 3_600)
        headers = {"Authorization": f"Bearer {token}"}
        base = self.server.http.base_url
        with httpx.Client(
            base_url=base, headers=headers, timeout=300, verify=NO_AUTHORITIES
        ) as http:
            yield http

    def memory(self) -> int:
        """Bytes that the server's process has in memory."""
        status = Path(f"/proc/{self.server.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) * 1024


@pytest.fixture(scope="module", params=first_alone(1_200, 8_000))
def shop(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shop]:
    """Each test reads what others have appended."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    rng, directory = random.Random(seed), tmp_path_factory.mktemp("shop")
    fill(directory, rng, request.param)
    with serving(directory) as server, closing(open_event_log(directory / "events.db")) as log:
        yield Shop(directory, server, PastOfGlossaries(log), rng)


def get(http: httpx.Client, path: str, *, seen: int = 0, **params: Any) -> Any:
    """An answer that includes what was appended up to the position `seen`."""
    answer = http.get(path, params=params, headers={"X-Catalog-Position": str(seen)})
    assert answer.status_code == 200, (path, params, answer.text)
    return answer


def walk(http: httpx.Client, at: int | str, limit: int) -> Iterator[tuple[int, Any]]:
    """The pages of a list of the past to its end, each with its position."""
    answer = get(http, "/v1/glossaries", limit=limit, at=at)
    while True:
        page = answer.json()
        yield int(answer.headers["X-Catalog-At"]), page
        if "after" not in page["paging"]:
            return
        answer = get(http, "/v1/glossaries", limit=limit, after=page["paging"]["after"])


class Asker:
    """Asks for random moments, and compares each answer with what the log says."""

    def __init__(self, past: PastOfGlossaries, seed: float) -> None:
        self.past = past
        self.rng = random.Random(seed)
        self.asked = 0

    def ask(self, http: httpx.Client) -> None:
        position = self.rng.randint(0, self.past.head)
        self.rng.choice((self.page, self.total, self.entity, self.search))(http, position)
        self.asked += 1

    def page(self, http: httpx.Client, position: int) -> None:
        """Two pages of the list, the first one at a position, or as of a time."""
        at: dict[str, Any] = {"at": position}
        if 0 < position < self.past.head // 2:
            at = {"asOf": self.past.times[position - 1]}
            position = self.past.position(at["asOf"])
        expected, limit = kept(self.past, position), self.rng.choice((10, 400))
        answer = get(http, "/v1/glossaries", limit=limit, **at)
        assert answer.headers["X-Catalog-At"] == str(position)
        page = answer.json()
        assert [*map(answered, page["data"])] == expected[:limit]
        assert_counted(self.past, page, position)
        if len(expected) > limit:
            page = get(http, "/v1/glossaries", limit=limit, after=page["paging"]["after"]).json()
            assert [*map(answered, page["data"])] == expected[limit : 2 * limit]

    def total(self, http: httpx.Client, position: int) -> None:
        page = get(http, "/v1/glossaries", limit=0, at=position).json()
        assert_counted(self.past, page, position)

    def entity(self, http: httpx.Client, position: int) -> None:
        entity_id = self.rng.choice(self.past.ids)
        params = {"at": position, "include": "all"}
        answer = http.get(f"/v1/glossaries/{entity_id}", params=params)
        state = self.past.state(entity_id, position)
        if entity_id in self.past.purged:
            assert answer.status_code == 410
        elif state is None:
            assert answer.status_code == 404
        else:
            assert (answer.status_code, answered(answer.json())) == (200, shown(state))

    def search(self, http: httpx.Client, position: int) -> None:
        asked = {"q": "*", "index": "glossary", "size": 5, "sortField": "name", "sortOrder": "asc"}
        # Searches may show what was purged last for a moment more.
        answer = get(http, "/v1/search/query", seen=self.past.head, at=position, **asked)
        hits = answer.json()["hits"]
        expected = kept(self.past, position)
        assert hits["total"]["value"] == len(expected)
        assert [each["_source"]["name"] for each in hits["hits"]] == [
            one[0] for one in expected[:5]
        ]


def kept(past: PastOfGlossaries, position: int) -> list[Shown]:
    """The list of a position, less what was purged since."""
    return [one for one in past.listed(position) if one[1] not in past.purged]


def assert_counted(past: PastOfGlossaries, page: Any, position: int) -> None:
    """Whatever was purged by now, those that are left and those that are not are all there were."""
    total, purged = page["paging"]["total"], page["paging"].get("purged", 0)
    assert total + purged == len(past.listed(position)), (position, page["paging"])


@contextmanager
def at_once(count: int, work: Callable[[int], None]) -> Iterator[list[str]]:
    """Threads that work beside the block, which waits for them at its end; yields what failed."""
    failed: list[str] = []

    def run(number: int) -> None:
        try:
            work(number)
        except (AssertionError, httpx.HTTPError, KeyError) as error:
            failed.append(f"{type(error).__name__}: {error}"[:2_000])

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield failed
    finally:
        for thread in threads:
            thread.join()


def test_random_moments_are_answered_to_many_callers_at_once(shop: Shop) -> None:
    shop.past.read()
    askers = [Asker(shop.past, shop.rng.random()) for _ in range(CALLERS)]
    rounds = 4 if len(shop.past.ids) < 2_000 else 12
    done, others, memory = threading.Event(), [0], list[int]()

    def call(number: int) -> None:
        with shop.client(f"caller{number}") as http:
            for _ in range(rounds):
                askers[number].ask(http)

    def go_on(_: int) -> None:
        """Read and write the present, as somebody else."""
        with shop.client("somebody else") as http:
            while not done.is_set():
                body = {"name": f"d{others[0]}", "domainType": "Aggregate", "description": ""}
                made = http.post("/v1/domains", json=body)
                assert made.status_code == 201, made.text
                listed = get(http, "/v1/domains", limit=1_000).json()["data"]
                others[0] += 1
                assert len(listed) == others[0]
                memory.append(shop.memory())

    with shop.client("first") as http:
        # What a server has in memory for all that it is asked.
        for ask in (askers[0].page, askers[0].total, askers[0].entity, askers[0].search):
            ask(http, shop.past.head // 2)
    before = shop.memory()
    with at_once(1, go_on) as others_failed:
        try:
            with at_once(CALLERS, call) as failed:
                pass
        finally:
            done.set()
    assert (failed, others_failed) == ([], [])
    assert sum(asker.asked for asker in askers) == CALLERS * rounds
    assert others[0] > 1
    assert max(memory) - before < MEMORY


def test_pinned_walk_beside_writes_is_the_list_of_its_first_page(shop: Shop) -> None:
    stop, written = threading.Event(), [0, 0]

    def write(number: int) -> None:
        rng = random.Random(number)
        ids = shop.past.ids[number::2]
        with shop.client(f"writer{number}") as http:
            while not stop.is_set():
                path, way = f"/v1/glossaries/{rng.choice(ids)}", rng.random()
                if way < 0.6:
                    patch = [{"op": "add", "path": "/description", "value": f"{rng.random()}"}]
                    answer = http.patch(path, json=patch)
                else:
                    answer = http.delete(path, params={"hardDelete": way < 0.8})
                assert answer.status_code in (200, 204, 404), answer.text
                written[number] += answer.status_code < 300

    pages: list[Any] = []
    with at_once(2, write) as failed, shop.client("walker") as http:
        try:
            until(lambda: min(written) > 3 or failed)
            for position, page in walk(http, "now", 100):
                pages.append((position, page))
                begun = sum(written)
                until(lambda begun=begun: sum(written) > begun + 2 or failed)
        finally:
            stop.set()
    assert failed == []
    assert {each for each, _ in pages} == {position}
    shop.past.read()
    walked = [answered(each) for _, page in pages for each in page["data"]]
    then = shop.past.listed(position)
    gone = {one[1] for one in then} - {one[1] for one in walked}
    assert walked == [one for one in then if one[1] not in gone]
    # Only what was purged after the first page may be missing.
    assert all(shop.past.purged[each] > position for each in gone)
    assert any(at > position for at in shop.past.purged.values())
    for _, page in pages:
        assert_counted(shop.past, page, position)


def test_past_is_read_on_while_it_is_rebuilt(shop: Shop) -> None:
    shop.past.read()
    stop = threading.Event()
    askers = [Asker(shop.past, shop.rng.random()) for _ in range(4)]

    def read(number: int) -> None:
        with shop.client(f"reader{number}") as http:
            while not stop.is_set():
                askers[number].ask(http)

    with at_once(len(askers), read) as failed, shop.client("walker") as http:
        try:
            for command in (("rebuild", "--force"), ("rollback",)):
                position = shop.rng.randint(shop.past.head // 2, shop.past.head)
                pages = walk(http, position, 100)
                walked = [answered(each) for each in next(pages)[1]["data"]]
                before = [asker.asked for asker in askers]
                done = replay(*command, "--json", "--data", str(shop.directory))
                assert done.returncode == 0, done.stderr
                # The cursors of one generation are those of the other.
                walked += [answered(each) for _, page in pages for each in page["data"]]
                assert walked == kept(shop.past, position)
                until(
                    lambda before=before: (
                        failed
                        or all(asker.asked > n for asker, n in zip(askers, before, strict=True))
                    )
                )
        finally:
            stop.set()
    assert failed == []
    proof = replay("verify", "--data", str(shop.directory))
    assert proof.returncode == 0, proof.stdout
