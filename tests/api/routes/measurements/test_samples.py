"""Samples of topics, and of rows that failed a test, as OpenMetadata's client sends them."""

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from domain.measurements import reports
from domain.measurements.reports import SAMPLE, Point
from tests.api.conftest import Client, RunFilled, running_under

NOW = int(time.time() * 1_000)
CASES = "/api/v1/dataQuality/testCases"
NAME = "service.database.schema.orders.counted"
ROWS = {"columns": ["id", "label"], "rows": [[1, "secret row"], [None, 2.5]]}
MESSAGES = {"messages": ['{"id": 1, "who": "secret row"}', "plain"]}


def fill(client: Client) -> None:
    """Create a table with a test case, and a topic."""
    client.schema()
    client.table()
    client.create("services/messagingServices", name="kafka", serviceType="Kafka")
    client.create("topics", name="events", service="kafka", partitions=1)
    client.create(
        "dataQuality/testDefinitions",
        name="rowCount",
        entityType="TABLE",
        testPlatforms=["OpenMetadata"],
    )
    link = "<#E::table::service.database.schema.orders>"
    client.create(
        "dataQuality/testCases", name="counted", testDefinition="rowCount", entityLink=link
    )


@pytest.fixture
def client(tmp_path: Path, run_filled: RunFilled) -> Iterator[Client]:
    with run_filled(tmp_path, fill) as started:
        yield started


@pytest.fixture
def case(client: Client) -> str:
    """The path of the test case, by its id."""
    return f"{CASES}/{client.get(f'{CASES}/name/{NAME}')['id']}"


def result(client: Client, status: str, at: int = NOW) -> None:
    sent = {"timestamp": at, "testCaseStatus": status}
    answer = client.ask("POST", f"{CASES}/testCaseResults/{NAME}", json=sent, role="bot")
    assert answer[0] == 200, answer


def test_rows_that_failed_are_taken_and_shown_alone(client: Client, case: str) -> None:
    path = f"{case}/failedRowsSample"
    result(client, "Failed")
    head = client.get("/v1/system/projections")["head"]
    # The client ends the address so where it wants the columns compared with those of the table.
    for address in (f"{path}?", f"{path}?validate=false"):
        status, answer = client.ask("PUT", address, json=ROWS, role="bot")
        assert (status, answer["failedRowsSample"], answer["name"]) == (200, ROWS, "counted")
    assert client.get(path) == ROWS
    assert client.get(f"{CASES}/{NAME}/failedRowsSample") == ROWS
    assert client.get("/v1/system/projections")["head"] == head

    status, answer = client.ask("DELETE", path, role="bot")
    assert (status, answer["id"]) == (200, case.rpartition("/")[2])
    status, answer = client.ask("GET", path)
    assert (status, "has no failedRowsSample" in answer["message"]) == (404, True)


def test_rows_are_taken_of_a_test_that_failed_and_go_when_it_passes(
    client: Client, case: str
) -> None:
    path = f"{case}/failedRowsSample"

    def put() -> tuple[int, str]:
        status, answer = client.ask("PUT", path, json=ROWS)
        return status, answer.get("message", "")

    assert put() == (
        400,
        "failedRowsSample needs a test case whose newest result is Failed, and it has no result",
    )
    result(client, "Aborted", NOW - 9_000)
    assert put()[1].endswith("and it is Aborted")
    result(client, "Failed", NOW - 5_000)
    assert put()[0] == 200
    result(client, "Success", NOW - 7_000)
    assert client.get(path) == ROWS
    result(client, "Success")
    assert client.ask("GET", path)[0] == 404
    assert put()[1].endswith("and it is Success")


def test_rows_beside_which_the_test_passes_do_not_stay(
    client: Client, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    result(client, "Failed", NOW - 5_000)
    store = client.services.measurements
    write = store.write

    def late(entity_id: str, points: Iterable[Point], now: int) -> None:
        given = list(points)
        if given[0].series == SAMPLE:
            passed = reports.TestResult(timestamp=NOW, test_case_status="Success")
            write(entity_id, passed.points(), now)
        write(entity_id, given, now)

    monkeypatch.setattr(store, "write", late)
    status, answer = client.ask("PUT", f"{case}/failedRowsSample", json=ROWS)
    assert (status, answer["message"].endswith("and it is Success")) == (400, True)
    assert client.ask("GET", f"{case}/failedRowsSample")[0] == 404


@pytest.mark.parametrize(
    ("which", "body", "says"),
    [
        ("case", {"columns": ["a", "b"], "rows": [[1]]}, "row 1 has 1 values for 2 columns"),
        ("case", {"columns": [], "rows": [[]] * 10_001}, "length <= 10000"),
        ("case", {"rows": []}, "columns"),
        ("topic", {"messages": ["a"] * 10_001}, "length <= 10000"),
        ("topic", {"messages": [1]}, "messages"),
        ("topic", {"columns": [], "rows": []}, "columns"),
    ],
)
def test_wrong_samples_are_refused_by_name(
    client: Client, case: str, which: str, body: Any, says: str
) -> None:
    result(client, "Failed")
    topic = "/v1/topics/kafka.events/sampleData"
    path = f"{case}/failedRowsSample" if which == "case" else topic
    status, answer = client.ask("PUT", path, json=body)
    assert (status, says in answer["message"]) == (400, True), answer


def test_sample_has_no_more_bytes_than_that_of_a_table(client: Client, case: str) -> None:
    result(client, "Failed")
    large = "x" * 4_000_000
    rows = {"columns": ["a"], "rows": [[large]]}
    assert client.ask("PUT", f"{case}/failedRowsSample", json=rows)[0] == 413
    path = "/v1/topics/kafka.events/sampleData"
    assert client.ask("PUT", path, json={"messages": [large]})[0] == 413


def test_messages_of_a_topic_are_shown_in_the_topic(client: Client) -> None:
    topic = client.get("/v1/topics/name/kafka.events")
    path = f"/api/v1/topics/{topic['id']}/sampleData"
    assert "sampleData" not in client.get(path)
    status, answer = client.ask("PUT", path, json=MESSAGES, role="bot")
    assert (status, answer["sampleData"]) == (200, MESSAGES)
    assert client.get(path) == {**topic, "sampleData": MESSAGES}
    assert client.ask("DELETE", "/v1/topics/kafka.events/sampleData", role="bot")[0] == 200
    assert client.get(path) == topic


def test_samples_are_shown_to_those_who_may_see_samples_alone(client: Client, case: str) -> None:
    result(client, "Failed")
    rows, messages = f"{case}/failedRowsSample", "/v1/topics/kafka.events/sampleData"
    assert client.ask("PUT", rows, json=ROWS)[0] == 200
    assert client.ask("PUT", messages, json=MESSAGES)[0] == 200
    for role in ("reader", "editor", "bot"):
        assert client.ask("GET", rows, role=role)[0] == 403
        assert client.ask("GET", messages, role=role)[0] == 403
        for other in (f"{case}?fields=*,failedRowsSample", "/v1/topics?fields=*,sampleData"):
            assert "secret row" not in client.request("GET", other, role=role).text
    for method in ("PUT", "DELETE"):
        assert client.ask(method, rows, json=ROWS, role="reader")[0] == 403
        assert client.ask(method, messages, json=MESSAGES, role="reader")[0] == 403


def test_samples_are_hidden_with_the_fields_that_they_are_of(tmp_path: Path) -> None:
    with running_under(
        tmp_path,
        '[[rule]]\nrole = "admin"\nallow = ["list", "view", "create", "edit", "sample"]\n'
        '[[rule]]\nrole = "bot"\nallow = ["edit"]\n'
        '[[rule]]\nrole = "reader"\nallow = ["view", "sample"]\n'
        'withhold = ["columns", "messageSchema"]\n',
    ) as client:
        fill(client)
        result(client, "Failed")
        for path, body in (
            (f"{CASES}/{NAME}/failedRowsSample", ROWS),
            ("/v1/topics/kafka.events/sampleData", MESSAGES),
        ):
            # Who may not view the kind is told no more than the id, and what was sent.
            answer = client.ask("PUT", path, json=body, role="bot")
            assert (answer[0], len(answer[1])) == (200, 2)
            assert client.ask("GET", path)[0] == 200
            status, refused = client.ask("GET", path, role="reader")
            assert (status, "withheld" in refused["message"]) == (403, True)
