"""The history for agents: who, when, by which request, and what stood there before."""

from collections.abc import Iterator

import pytest

from tests.api.conftest import Client, running
from tests.api.mcp.agent import Agent, table

CHANGES = 120


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with running(tmp_path_factory.mktemp("changed")) as client:
        client.schema()
        client.table("orders", description="first")
        path = f"/v1/tables/name/{table('orders')['name']}"
        for number in range(CHANGES):
            key = "displayName" if number % 10 == 0 else "description"
            patch = [{"op": "add", "path": f"/{key}", "value": f"{key} {number} " + "x" * 200}]
            response = client.request(
                "PATCH", path, role="editor", json=patch, headers={"X-Request-Id": f"r{number}"}
            )
            assert response.status_code == 200
        yield client


def test_walk_meets_each_version_once(changed: Client) -> None:
    pages = list(Agent(changed).pages("get_history", entity=table("orders")))
    versions = [each for page in pages for each in page["versions"]]
    assert len(pages) > 1
    assert [each["request_id"] for each in versions[:-1]] == [
        f"r{number}" for number in reversed(range(CHANGES))
    ]
    assert versions[-1]["events"] == ["entity.created"]
    assert {each["actor"] for each in versions[:-1]} == {"the-editor"}
    positions = [each["position"] for each in versions]
    assert positions == sorted(positions, reverse=True)
    newest = versions[0]["changes"][0]
    assert newest["new"].startswith(f"description {CHANGES - 1} ")
    assert newest["old"].startswith(f"description {CHANGES - 2} ")


def test_changes_of_one_field_are_found_among_others(changed: Client) -> None:
    pages = Agent(changed).pages("get_history", entity=table("orders"), field="displayName")
    versions = [each for page in pages for each in page["versions"]]
    assert [each["request_id"] for each in versions] == [
        f"r{number}" for number in reversed(range(0, CHANGES, 10))
    ]


def test_history_since_a_time_ends_there(changed: Client) -> None:
    answer = Agent(changed).call("get_history", entity=table("orders"))
    since = answer["versions"][3]["time"]
    later = Agent(changed).call("get_history", entity=table("orders"), since=str(since))
    assert [each["position"] for each in later["versions"]][:4] == [
        each["position"] for each in answer["versions"][:4]
    ]
    assert all(each["time"] >= since for each in later["versions"])


def test_last_verification_of_the_log_is_told(changed: Client) -> None:
    assert "log_verified" not in Agent(changed).call("get_history", entity=table("orders"))
    (changed.directory / "proof-log.json").write_text(
        '{"verdict": "equal", "position": 5, "compared": 5, "found": 0, "reason": null,'
        ' "generation": null, "at": 17, "seconds": 0.1, "by": "ann"}'
    )
    answer = Agent(changed).call("get_history", entity=table("orders"))
    assert answer["log_verified"] == {"verdict": "equal", "position": 5, "time": 17}
