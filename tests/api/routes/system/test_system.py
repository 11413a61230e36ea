"""Version, health, readiness, metrics, projections."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest

from api.callers.tokens.fetching import Unreachable
from api.callers.tokens.issuers import Issuer
from api.callers.tokens.key_cache import CachedKeys
from api.callers.tokens.keys import KeySet, read_key_set, secret_key_set
from api.routes.system import system
from api.routes.system.system import find_key_problems
from api.telemetry.logs import MOST_BYTES, LogWriter
from api.telemetry.metrics import Metrics
from api.telemetry.shared_counts import MOST_LABEL_BYTES, SharedCounts
from domain.event_store.sqlite import log
from domain.measurements.sqlite.store import FILE
from domain.release import RELEASE, commit
from projections.feeding.daemon import ProjectorState, State, states_path
from projections.operation.inspection import inspect
from tests.api.callers.tokens.made import (
    ALGORITHMS,
    Clock,
    document,
    issuer,
    public_jwk,
    start,
    verifier,
)
from tests.api.conftest import SECRET, Client, running
from tests.projections.read_models import opened


def test_version_is_what_the_client_checks(empty: Client) -> None:
    response = empty.http.get("/v1/system/version")

    assert sorted(response.json()) == ["revision", "timestamp", "version"]
    assert response.json()["version"] == "2.0.7"


def test_health_and_readiness_need_no_token(empty: Client) -> None:
    alive = {"status": "alive", "release": RELEASE, "commit": commit()}
    assert empty.http.get("/healthz").json() == alive
    assert empty.http.get("/readyz").json() == {"ready": True, "problems": []}


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (State.STOPPED, "search is behind: stopped by an error (see the log)"),
        (State.RETRYING, "search is behind: retrying after an error (see the log)"),
    ],
)
def test_readiness_says_which_projection_is_behind(client: Client, state: State, said: str) -> None:
    answer = client.get("/v1/system/projections")
    assert [report["state"] for report in answer["projections"]] == ["running", "running"]
    path = states_path(client.directory)
    states = {"entities": ProjectorState(), "search": ProjectorState(state, "poison")}
    path.write_bytes(msgspec.json.encode(states))

    response = client.http.get("/readyz")

    assert response.status_code == 503
    assert response.json() == {"ready": False, "problems": [said]}


def test_readiness_says_that_contracts_are_no_longer_judged(client: Client) -> None:
    states = {
        "entities": ProjectorState(),
        "search": ProjectorState(),
        "judge": ProjectorState(State.STOPPED, "poison"),
    }
    states_path(client.directory).write_bytes(msgspec.json.encode(states))

    ready = client.http.get("/readyz").json()

    assert ready["degraded"] == ["reaction judge is stopped until a restart"]
    assert ready["ready"]
    told = client.get("/v1/system/projections")["reactions"]
    assert (told["judge"]["state"], told["judge"]["error"]) == ("stopped", "poison")


def test_readiness_says_that_a_wrong_clock_has_every_write_refused(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "wall_clock", lambda: time.time() - 3_600)
    status, refused = client.ask("PUT", "/v1/glossaries", json={"name": "g", "description": "G"})
    ready = client.http.get("/readyz")
    told = client.get("/v1/system/projections")["clockFault"]

    assert (status, refused["message"]) == (503, f"nothing can be written now: {told}")
    assert "was set back by 3600 s since the log was opened" in told
    assert (ready.status_code, ready.json()["degraded"]) == (
        200,
        [f"every write is refused: {told}"],
    )
    monkeypatch.undo()
    assert client.http.get("/readyz").json() == {"ready": True, "problems": []}


def test_readiness_says_that_measurements_are_damaged(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"no database " * 1_000)
    with running(tmp_path) as client:
        ready = client.http.get("/readyz")

    assert (ready.status_code, ready.json()["degraded"]) == (
        200,
        [
            "measurements cannot be read or written: measurements.db is damaged: file is not a"
            " database"
        ],
    )


def provided_once(clock: Clock) -> CachedKeys:
    """Keys of a provider that has not answered since the clock stood at its beginning."""
    answers = [read_key_set(document(public_jwk("ES256")), ALGORITHMS)]

    def load() -> tuple[KeySet, list[str]]:
        if not answers:
            raise Unreachable("no answer")
        return answers.pop()

    keys = CachedKeys("https://idp.example/keys", load, clock)
    keys.start()
    return keys


def test_old_and_missing_keys_are_told_and_only_keys_of_nobody_are_in_the_way() -> None:
    clock = Clock(0)
    old = (issuer(), provided_once(clock))
    secret = (Issuer(), start(secret_key_set(SECRET, "the secret")))
    no_keys = CachedKeys("its keys", lambda: (KeySet(), []), clock)
    lacking = (issuer(name="https://other.example"), no_keys)
    verifiers = [verifier(old), verifier(old, secret), verifier(old, lacking)]

    found = {}
    for clock.now in (899, 900, 86_399, 86_400):
        found[clock.now] = [find_key_problems(each.key_ages()) for each in verifiers]

    def overdue(issuers: int, seconds: int) -> str:
        return (
            f"keys of 1 of {issuers} issuers could not be renewed for {seconds} s;"
            " they are used for 86400 s"
        )

    none, nobody = "1 of 2 issuers have no keys", "no issuer has keys: every token is refused"
    assert found == {
        899: [([], []), ([], []), ([], [none])],
        900: [([], [overdue(1, 900)]), ([], [overdue(2, 900)]), ([], [none, overdue(2, 900)])],
        86_399: [
            ([], [overdue(1, 86_399)]),
            ([], [overdue(2, 86_399)]),
            ([], [none, overdue(2, 86_399)]),
        ],
        86_400: [([nobody], []), ([], [none]), ([nobody], [])],
    }


def test_readiness_tells_of_old_keys_without_being_unready(tmp_path: Path) -> None:
    clock = Clock(0)
    with running(tmp_path, verifier=verifier((issuer(), provided_once(clock)))) as client:
        clock.now = 1_000
        late = client.http.get("/readyz")
        clock.now = 86_400
        gone = client.http.get("/readyz")

    assert (late.status_code, gone.status_code) == (200, 503)
    assert late.json() == {
        "ready": True,
        "problems": [],
        "degraded": [
            "keys of 1 of 1 issuers could not be renewed for 1000 s; they are used for 86400 s"
        ],
    }
    assert gone.json() == {
        "ready": False,
        "problems": ["no issuer has keys: every token is refused"],
    }


def test_projections_stand_at_the_head(client: Client) -> None:
    client.schema()
    client.search_until(lambda a: a["hits"]["total"]["value"] == 3, q="*")

    answer = client.get("/v1/system/projections")

    assert (answer["head"], answer["projected"]) == (3, True)
    assert [
        (report["name"], report["checkpoint"], report["lag"], report["entities"], report["error"])
        for report in answer["projections"]
    ] == [("entities", 3, 0, 3, None), ("search", 3, 0, 3, None)]


def test_metrics_count_log_lines_that_were_dropped(tmp_path: Path) -> None:
    counts = SharedCounts.made(1)
    # It is not started: nothing leaves its buffer.
    writer = LogWriter(2, counts.own.count_dropped_line)
    for _ in range(3):
        writer.write(b"x" * MOST_BYTES)

    with opened(tmp_path) as stores:
        text = Metrics(counts).render(inspect(stores), ready=True, proofs={}).decode()

    assert "catalog_log_lines_dropped_total 2.0" in text.splitlines()


def test_every_route_is_counted_under_its_own_template(client: Client) -> None:
    app: Any = client.http.app
    asyncio.run(app.register_rest())
    longest = max((route.path for route in app.routes), key=len)

    assert len(f"OPTIONS {longest} 200") <= MOST_LABEL_BYTES


def test_metrics_count_requests_by_route_template(client: Client) -> None:
    client.schema()
    table = client.table()
    client.get(f"/v1/tables/{table['id']}")
    client.http.get("/v1/tables")

    text = client.request("GET", "/metrics").text

    def count(method: str, route: str, status: int) -> str:
        labels = f'method="{method}",route="{route}",status="{status}"'
        return f"catalog_request_seconds_count{{{labels}}} 1.0"

    assert count("GET", "/v1/tables/{entity_id}", 200) in text
    assert count("GET", "/v1/tables", 401) in text
    assert 'catalog_projection_checkpoint{projection="entities"} 4.0' in text
    assert table["id"] not in text


def test_looks_at_the_projections_are_shared(
    empty: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them takes seconds where a database hangs."""
    asked, looks = threading.Semaphore(0), []

    def look(stores: Any) -> Any:
        looks.append(stores)
        # All have come, and none has an answer.
        for _ in range(4):
            assert asked.acquire(timeout=60)
        return inspect(stores)

    def count(ages: Any) -> Any:
        asked.release()
        return find_key_problems(ages)

    monkeypatch.setattr(system, "inspect", look)
    monkeypatch.setattr(system, "find_key_problems", count)
    with ThreadPoolExecutor(4) as callers:
        answers = [*callers.map(lambda _: empty.http.get("/readyz"), range(4))]

    assert [answer.status_code for answer in answers] == [200] * 4
    assert len(looks) == 1
