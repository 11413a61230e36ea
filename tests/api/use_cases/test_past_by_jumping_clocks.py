"""Reads as of a time, of a log whose writers had clocks that jump by hours and years."""

import random
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from domain.aggregate.entity import Entity
from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.opening import open_event_log
from projections.search.language import dates
from tests.api.conftest import Client, over_files, running
from tests.projections.entities.random_log import JUMPING, YEAR, RandomLog
from tests.projections.entities.test_past_rows import is_kept, states
from tests.waiting import until

pytestmark = over_files


class History:
    """A random log, what it says of each position, and the application over it."""

    def __init__(self, client: Client, rng: random.Random) -> None:
        self.client = client
        self.rng = rng
        self.read()

    def read(self) -> None:
        log = self.client.services.stores.log
        self.events: list[RecordedEvent] = log.read(0, 1_000_000)
        self.lives = dict([(0, {}), *states(log)])
        self.last = self.lives[log.head()]

    def position(self, moment: int) -> int:
        """The position that a time stands for."""
        later = (each.position for each in self.events if each.event.at > moment)
        return next(later, len(self.events) + 1) - 1

    def moments(self, count: int) -> Iterator[int]:
        """Times at and near those of events that are over by now."""
        now = time.time_ns() // 1_000_000
        over = [each.event.at for each in self.events if 0 < each.event.at < now - 1]
        for at in self.rng.sample(over, min(count, len(over))):
            yield at + self.rng.choice((-1, 0, 1))

    def alive(self, position: int) -> list[Entity]:
        """The entities that are kept of a position."""
        return [one for one in self.lives[position].values() if is_kept(one, self.last)]

    def ask(self, path: str, **params: Any) -> tuple[int, Any]:
        """The position that an answer is of, and its body without the time that it took."""
        response = self.client.request("GET", path, params=params)
        assert response.status_code == 200, (path, params, response.text)
        body = response.json()
        body.pop("took", None)
        return int(response.headers["X-Catalog-At"]), body


def iso(moment: int) -> str:
    written = datetime.fromtimestamp(moment / 1_000, UTC).isoformat(timespec="milliseconds")
    return written.replace("+00:00", "Z")


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    with closing(open_event_log(tmp_path / "events.db")) as log:
        RandomLog(rng, log, JUMPING).fill(60)
    with running(tmp_path, patience=60.0) as client:
        # It begins to serve before its read models are built.
        until(lambda: client.request("GET", "/v1/search/query?q=*&at=now").status_code == 200)
        yield History(client, rng)


def test_reads_as_of_a_time_go_by_the_greatest_time_before(history: History) -> None:
    for moment in history.moments(10):
        position = history.position(moment)
        then = {"at": position}
        names = sorted(
            (one.name, one.id)
            for one in history.alive(position)
            if one.kind == "table" and not one.deleted
        )
        for form in (str(moment), iso(moment)):
            at, listed = history.ask("/v1/tables", limit=100, asOf=form)
            assert at == position, form
            assert [(each["name"], each["id"]) for each in listed["data"]] == names
            assert history.ask("/v1/tables", limit=100, **then) == (at, listed)
        for path, params in (
            ("/v1/dataContracts", {"limit": 0}),
            ("/v1/search/query", {"q": "*", "size": 100, "includeAggregations": "true"}),
            ("/v1/search/entityTypeCounts", {"q": "*"}),
            *((f"/v1/tables/{entity_id}", {}) for _, entity_id in names[:1]),
        ):
            found = history.ask(path, asOf=str(moment), **params)
            assert (found[0], found) == (position, history.ask(path, **params, **then))


def test_days_begin_where_the_greatest_time_is_of_one(history: History) -> None:
    for moment in history.moments(10):
        day = iso(moment)[:10]
        begun = dates.span(day).first
        assert history.ask("/v1/tables", limit=0, asOf=day)[0] == history.position(begun)


def test_walk_begun_as_of_a_time_ends_at_its_position(history: History) -> None:
    for moment in history.moments(4):
        position = history.position(moment)
        at, page = history.ask("/v1/tables", limit=1, asOf=str(moment), include="all")
        walked = [*page["data"]]
        while "after" in page["paging"]:
            cursor = {"after": page["paging"]["after"], "include": "all"}
            at, page = history.ask("/v1/tables", limit=1, **cursor)
            assert at == position
            walked += page["data"]
        expected = history.ask("/v1/tables", limit=100, at=position, include="all")[1]["data"]
        assert walked == expected
        assert {each["id"] for each in walked} == {
            one.id for one in history.alive(position) if one.kind == "table"
        }


def test_differences_are_those_of_the_positions_of_two_times(history: History) -> None:
    for moment, other in zip(history.moments(5), history.moments(5), strict=True):
        # Of two times the later one may stand for no earlier position.
        first, second = sorted((moment, other))
        ends = history.position(first), history.position(second)
        assert ends[0] <= ends[1]
        found, same = (
            history.client.get("/v1/diff", **{"from": from_, "to": to})
            for from_, to in (map(iso, (first, second)), map(str, ends))
        )
        assert (found["from"]["position"], found["to"]["position"]) == ends
        assert {**found, "paging": 0} == {**same, "paging": 0}


def test_time_that_is_over_stays_what_it_is_whatever_is_recorded_late(history: History) -> None:
    greatest = max(each.event.at for each in history.events)
    moments = [each for each in history.moments(10) if each < greatest]
    before = {each: history.ask("/v1/tables", limit=0, asOf=str(each))[0] for each in moments}
    with closing(open_event_log(history.client.directory / "events.db")) as log:
        RandomLog(history.rng, log, JUMPING).fill(10)
        head = {"X-Catalog-Position": str(log.head())}
    assert history.client.request("GET", "/v1/tables", headers=head).status_code == 200
    assert before
    for moment, position in before.items():
        assert history.ask("/v1/tables", limit=0, asOf=str(moment))[0] == position


def test_event_from_the_future_ends_the_log_for_times_until_then(history: History) -> None:
    now = time.time_ns() // 1_000_000
    first = history.position(now)
    with closing(open_event_log(history.client.directory / "events.db")) as log:
        RandomLog(history.rng, log, (100 * YEAR,)).fill(1)
        RandomLog(history.rng, log, (-100 * YEAR,)).fill(5)
        head = {"X-Catalog-Position": str(log.head())}
    assert history.client.request("GET", "/v1/tables", headers=head).status_code == 200
    # What clocks that were right recorded afterwards counts as later, too.
    assert history.ask("/v1/tables", limit=0, asOf=str(now))[0] == first
    yet_to_come = {"asOf": str(now + 3_600_000)}
    status, error = history.client.ask("GET", "/v1/tables", params=yet_to_come)
    assert (status, "is yet to come" in error["message"]) == (400, True)
