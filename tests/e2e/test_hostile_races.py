"""The hostile test 40 on a real server of several processes: of two writers one wins."""

import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.e2e.conftest import NO_AUTHORITIES, Server, serving

CALLERS = 8


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("races"), "--workers", "3") as started:
        yield started


def at_once(server: Server, method: str, path: str, body: Any, **headers: str) -> list[Any]:
    """The answers to one request sent by all callers at the same moment, each by its own socket."""
    start = threading.Barrier(CALLERS)
    answers: list[httpx.Response] = []

    def ask() -> None:
        with httpx.Client(
            base_url=server.http.base_url, headers=server.http.headers, verify=NO_AUTHORITIES
        ) as client:
            client.get("/healthz")
            start.wait()
            answers.append(client.request(method, path, json=body, headers=headers))

    threads = [threading.Thread(target=ask) for _ in range(CALLERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == CALLERS
    return answers


def events(server: Server, entity_id: str) -> int:
    return len(server.get(f"/v1/glossaries/{entity_id}/versions")["versions"])


def test_hostile_40_of_writers_with_one_expectation_one_wins(server: Server) -> None:
    made = server.post("/v1/glossaries", name="expected", description="x")
    path = f"/v1/glossaries/{made['id']}"
    for number in range(1, 6):
        patch = [{"op": "replace", "path": "/description", "value": f"round {number}"}]
        expected = f'W/"0.{number}"'
        options: dict[str, Any] = {
            "If-Match": expected,
            "Content-Type": "application/json-patch+json",
        }
        answers = at_once(server, "PATCH", path, patch, **options)
        assert Counter(answer.status_code for answer in answers) == {200: 1, 412: CALLERS - 1}
        for answer in answers:
            if answer.status_code == 412:
                assert answer.json()["errorType"] == "PRECONDITION_FAILED"
        assert events(server, made["id"]) == number + 1


def test_hostile_40_of_creators_of_one_name_one_wins(server: Server) -> None:
    body = {"name": "wanted", "description": "x"}
    answers = at_once(server, "POST", "/v1/glossaries", body)

    assert Counter(answer.status_code for answer in answers) == {201: 1, 409: CALLERS - 1}
    losers = [answer.json()["errorType"] for answer in answers if answer.status_code == 409]
    assert set(losers) == {"ENTITY_ALREADY_EXISTS"}
    assert server.get("/v1/glossaries/name/wanted")["description"] == "x"


def test_hostile_40_one_key_sent_many_times_is_one_event_and_one_answer(server: Server) -> None:
    body = {"name": "repeated", "description": "x"}
    options: dict[str, Any] = {"Idempotency-Key": "once-only"}
    answers = at_once(server, "POST", "/v1/glossaries", body, **options)

    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.content for answer in answers}) == 1
    assert events(server, answers[0].json()["id"]) == 1
