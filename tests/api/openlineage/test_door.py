"""The door over HTTP: its paths, packed bodies, and the answers that clients try again."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from api.callers.limits import Places
from api.services import MAX_WRITES
from tests.api.conftest import Client, RunFilled, running
from tests.api.openlineage.captured import edge, head, run_event, send, shop

EVENT = run_event(reads=("orders",), writes=("daily_revenue",))
PATHS = ("/v1/lineage", "/api/v1/lineage", "/v1/openlineage/lineage", "/api/v1/openlineage/lineage")


def post(client: Client, body: bytes, path: str = "/api/v1/lineage", **headers: str) -> Any:
    given = {"Content-Type": "application/json", **headers}
    return client.request("POST", path, content=body, headers=given, role="bot")


@pytest.mark.parametrize("path", PATHS)
def test_event_is_taken_at_each_path(client: Client, path: str) -> None:
    single = post(client, json.dumps(EVENT).encode(), path)
    assert single.status_code == 200
    assert single.json()["status"] == "ok"
    batch = post(client, json.dumps({"events": [EVENT, EVENT]}).encode(), f"{path}/batch")
    assert (batch.status_code, batch.json()["summary"]["successful"]) == (200, 2)


def test_packed_body_is_taken(tmp_path: Path, run_filled: RunFilled) -> None:
    with shop(run_filled, tmp_path) as client:
        packed = gzip.compress(json.dumps(EVENT).encode())
        answer = post(client, packed, **{"Content-Encoding": "gzip"})
        assert answer.json() == {"status": "ok", "edges": 1, "unresolved": [], "ignored": []}
        assert edge(client, "orders", "daily_revenue") is not None


def test_events_record_the_job_and_the_run_beside_the_bot(
    tmp_path: Path, run_filled: RunFilled
) -> None:
    event = run_event(job="nightly", run="r1", reads=("orders",), writes=("daily_revenue",))
    with shop(run_filled, tmp_path) as client:
        send(client, event)
        stored = client.services.stores.log.read(0, 1_000)
        said = {each.event.kind: each.event for each in stored if each.event.via is not None}
        assert {"lineageEdge", "pipeline"} <= {*said}
        for one in said.values():
            assert (one.actor, one.via.door) == ("the-bot", "openlineage")
            assert one.via.what == f"{event['job']['namespace']}.nightly"
            assert one.via.run == event["run"]["runId"]


@pytest.mark.parametrize(
    ("body", "status", "why"),
    [
        (gzip.compress(b'{"a":"' + b" " * 20_000_000 + b'"}', compresslevel=1), 413, "unpacked"),
        (gzip.compress(json.dumps(EVENT).encode())[:-9], 400, "breaks off"),
        (gzip.compress(b"{}") + gzip.compress(b"{}"), 400, "goes on"),
        (b"no gzip at all", 400, "not packed by gzip"),
    ],
    ids=["bomb", "cut", "two parts", "other"],
)
def test_body_that_cannot_be_unpacked_is_refused(
    empty: Client, body: bytes, status: int, why: str
) -> None:
    answer = post(empty, body, **{"Content-Encoding": "gzip"})
    assert answer.status_code == status
    assert why in answer.json()["message"]


def test_other_packing_is_refused(empty: Client) -> None:
    answer = post(empty, b"{}", **{"Content-Encoding": "br"})
    assert answer.status_code == 415
    assert "must be identity or gzip or x-gzip, got 'br'" in answer.json()["message"]


def without(*keys: str) -> dict[str, Any]:
    return {key: value for key, value in EVENT.items() if key not in keys}


@pytest.mark.parametrize(
    "event",
    [
        b"no JSON",
        b"[]",
        b"{}",
        without("eventTime"),
        {**EVENT, "eventTime": "yesterday"},
        {**EVENT, "eventTime": 17},
        without("job"),
        {**EVENT, "job": {"namespace": "jobs"}},
        {**EVENT, "job": {"namespace": "jobs", "name": ""}},
        {**EVENT, "job": {"namespace": "jobs", "name": "a\u0000b"}},
        {**EVENT, "inputs": [{"namespace": "x"}]},
        {**EVENT, "run": {}},
    ],
)
def test_what_is_no_event_is_refused(empty: Client, event: Any) -> None:
    before = head(empty)
    body = event if isinstance(event, bytes) else json.dumps(event).encode()
    answer = post(empty, body)
    assert (answer.status_code, answer.json()["errorType"]) == (400, "BAD_REQUEST")
    assert head(empty) == before


def test_facets_that_do_not_fit_are_left_out_and_told(
    tmp_path: Path, run_filled: RunFilled
) -> None:
    event = run_event(reads=("orders",), writes=("daily_revenue",))
    event["outputs"][0]["facets"] = {"schema": {"fields": 17}, "documentation": ["x"]}
    event["job"]["facets"] = 5
    event["run"]["facets"] = {"parent": {"job": {}}, "unknown": {"password": "x"}}
    with shop(run_filled, tmp_path) as client:
        (answer,) = send(client, event)
        assert answer["edges"] == 1
        named = ("schema", "documentation", "facets", "parent")
        for name in named:
            assert any(name in sentence for sentence in answer["ignored"]), name


def test_batch_names_what_is_no_event(client: Client) -> None:
    events = [EVENT, {"eventTime": "2026-11-23T07:00:00Z"}, 17]
    answer = post(client, json.dumps(events).encode(), "/v1/lineage/batch").json()
    assert answer["status"] == "partial_success"
    assert answer["summary"] == {
        "received": 3,
        "successful": 1,
        "failed": 2,
        "retriable": 0,
        "non_retriable": 2,
    }
    assert [(each["index"], each["retriable"]) for each in answer["failed_events"]] == [
        (1, False),
        (2, False),
    ]


@pytest.mark.parametrize("body", [b"17", b'{"events": 17}', b"{}", b"[" + b"0," * 1_000 + b"0]"])
def test_what_is_no_batch_is_refused(empty: Client, body: bytes) -> None:
    assert post(empty, body, "/v1/lineage/batch").status_code == 400


def test_rate_limit_is_meant_by_a_503(tmp_path: Path) -> None:
    with running(tmp_path, rate_limit=0.001, rate_burst=1) as client:
        send(client, EVENT)
        answer = post(client, json.dumps(EVENT).encode())
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
        behind = post(client, json.dumps(EVENT).encode(), "/api/v1/lineage/")
        assert behind.status_code == 503
        assert client.request("GET", "/v1/lineage/unresolved", role="bot").status_code == 429


def test_event_that_finds_no_place_is_a_503(tmp_path: Path) -> None:
    full = {"write_places": Places(0, "writes")}
    with running(tmp_path, services=full) as client:
        answer = post(client, json.dumps(EVENT).encode())
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")


def test_same_event_is_answered_from_memory(tmp_path: Path, run_filled: RunFilled) -> None:
    again = {**EVENT, "eventTime": "2026-11-23T09:00:00Z"}
    with shop(run_filled, tmp_path) as client:
        first, second = send(client, EVENT, EVENT)
        # Who has all places of writes gets an answer all the same.
        with client.services.write_places.held("the-bot", MAX_WRITES):
            assert send(client, again) == [first]
        assert first == second


def test_edge_that_was_removed_is_drawn_by_the_next_run(
    tmp_path: Path, run_filled: RunFilled
) -> None:
    with shop(run_filled, tmp_path) as client:
        send(client, EVENT, EVENT)
        path = "/v1/lineage/table/name/duck.shop.sales.orders/table/name"
        assert client.ask("DELETE", f"{path}/duck.shop.sales.daily_revenue")[0] == 200
        assert edge(client, "orders", "daily_revenue") is None
        older = run_event(
            run="old", reads=("orders",), writes=("daily_revenue",), at="2026-11-20T07:00:00Z"
        )
        send(client, older)
        assert edge(client, "orders", "daily_revenue") is None
        send(client, run_event(run="new", reads=("orders",), writes=("daily_revenue",)))
        assert edge(client, "orders", "daily_revenue") is not None
