"""Verdicts over HTTP: in reads, lists, search and history, and what writes make of them."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from tests.api.conftest import Client, running, running_under
from tests.api.routes.contracts.test_results import COLUMNS
from tests.waiting import until

HOUR = 3_600_000


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """One application in which the judge works."""
    with running(tmp_path_factory.mktemp("verdicts"), judged=True) as client:
        client.schema()
        yield client


def promise(client: Client, name: str, **body: Any) -> dict[str, Any]:
    table = client.table(name, columns=COLUMNS)
    about = {"id": table["id"], "type": "table"}
    made: dict[str, Any] = client.create(
        "dataContracts", name=name, entity=about, schema=COLUMNS, **body
    )
    return made


def lose(client: Client, contract: dict[str, Any]) -> dict[str, Any]:
    """Have the table of a contract lose a column; gives the contract back."""
    patch = [{"op": "remove", "path": "/columns/2"}]
    path = f"/v1/tables/{contract['entity']['id']}"
    assert client.ask("PATCH", path, json=patch)[0] == 200
    return contract


def verdict(client: Client, contract: dict[str, Any]) -> Any:
    found = client.get(f"/v1/dataContracts/{contract['id']}", fields="verdict")
    return found["verdict"]


def until_verdict(client: Client, contract: dict[str, Any], status: str) -> dict[str, Any]:
    until(lambda: verdict(client, contract)["status"] == status)
    found: dict[str, Any] = verdict(client, contract)
    return found


def test_contract_shows_its_verdict_where_it_is_asked_for(judged: Client) -> None:
    contract = promise(judged, "shown")
    found = until_verdict(judged, contract, "Success")
    assert sorted(found) == ["judgedAt", "status", "version"]
    assert found["version"] == 0.1
    assert "verdict" not in judged.get(f"/v1/dataContracts/{contract['id']}")
    assert "verdict" not in contract


def test_lists_narrow_to_a_verdict(judged: Client) -> None:
    bad, good = lose(judged, promise(judged, "bad")), promise(judged, "good")
    until_verdict(judged, bad, "Failed")
    until_verdict(judged, good, "Success")
    failed = judged.get("/v1/dataContracts", verdict="Failed", fields="verdict")
    assert [each["name"] for each in failed["data"]] == ["bad"]
    assert failed["paging"]["total"] == 1
    passed = judged.get("/v1/dataContracts", verdict="Success", limit=100)
    assert "good" in [each["name"] for each in passed["data"]]
    both = judged.get("/v1/dataContracts", verdict="Failed", status="Draft")
    assert [each["name"] for each in both["data"]] == ["bad"]
    status, answer = judged.ask("GET", "/v1/dataContracts", params={"verdict": "Green"})
    assert status == 400
    assert "Success" in answer["message"]
    assert judged.ask("GET", "/v1/tables", params={"verdict": "Failed"})[0] == 400


def test_lists_show_the_latest_result_as_single_reads_do(judged: Client) -> None:
    contract = promise(judged, "latest")
    path = f"/v1/dataContracts/{contract['id']}"
    assert judged.request("POST", f"{path}/validate").status_code == 200
    alone = judged.get(path, fields="latestResult")["latestResult"]

    def listed() -> Any:
        asked = {"entity": contract["entity"]["id"], "fields": "latestResult"}
        (found,) = judged.get("/v1/dataContracts", **asked)["data"]
        return found.get("latestResult")

    until(lambda: listed() is not None)
    assert {**listed(), "message": alone["message"]} == alone
    below = judged.get(f"/api{path}", fields="*")
    assert ("latestResult" in below, "verdict" in below) == (True, False)
    assert "verdict" in judged.get(path, fields="*")


def test_verdict_that_time_ends_is_not_remembered_beyond_it(
    judged: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = datetime.now(UTC) + timedelta(hours=1)
    contract = promise(judged, "timed", effectiveUntil=end.strftime("%Y-%m-%dT%H:%M:%SZ"))
    moment = until_verdict(judged, contract, "Success")["validUntil"]

    def listed() -> str:
        page = judged.get("/v1/dataContracts", limit=100, fields="verdict")["data"]
        (shown,) = (each["verdict"] for each in page if each["id"] == contract["id"])
        return str(shown["status"])

    for _ in range(3):
        assert (verdict(judged, contract)["status"], listed()) == ("Success", "Success")
    # The judge, which does not know that it is later, makes no other verdict.
    monkeypatch.setattr("domain.openmetadata.verdicts.clock", SimpleNamespace(now=lambda: moment))

    assert (verdict(judged, contract)["status"], listed()) == ("Unknown", "Unknown")


def test_search_finds_and_counts_verdicts(judged: Client) -> None:
    until_verdict(judged, lose(judged, promise(judged, "sought")), "Failed")

    def found() -> Any:
        return judged.get(
            "/v1/search/query", q="verdict.status:Failed AND name:sought", index="dataContract"
        )

    until(lambda: found()["hits"]["total"]["value"] == 1)
    (hit,) = found()["hits"]["hits"]
    assert hit["_source"]["verdict"]["status"] == "Failed"


def test_judgement_is_no_version_and_spoils_no_condition(judged: Client) -> None:
    contract = promise(judged, "tagged")
    path = f"/v1/dataContracts/{contract['id']}"
    before = judged.request("GET", path)
    until_verdict(judged, contract, "Success")
    after = judged.request("GET", path)
    assert after.json()["version"] == 0.1
    assert before.json()["updatedAt"] == after.json()["updatedAt"]
    patch = [{"op": "add", "path": "/description", "value": "x"}]
    first = contract["version"], judged.get(f"{path}/versions")
    assert [len(first[1]["versions"])] == [1]
    headers = {"If-Match": before.headers["ETag"]}
    changed = judged.request("PATCH", path, json=patch, headers=headers)
    assert changed.status_code == 200, changed.text
    assert judged.request("PATCH", path, json=patch, headers=headers).status_code == 412
    until(lambda: verdict(judged, contract).get("version") == 0.2)
    history = judged.get(f"{path}/versions")["versions"]
    assert len(history) == 2


def test_no_write_gives_a_verdict(judged: Client) -> None:
    contract = promise(judged, "written")
    path = f"/v1/dataContracts/{contract['id']}"
    until_verdict(judged, contract, "Success")
    patch = [{"op": "add", "path": "/verdict", "value": {"status": "Failed"}}]
    assert judged.ask("PATCH", path, json=patch)[0] in (200, 400)
    body = {"name": "w2", "entity": contract["entity"], "verdict": {"status": "Failed"}}
    assert judged.ask("PUT", "/v1/dataContracts", json=body)[0] == 400
    assert verdict(judged, contract)["status"] == "Success"


def test_verdict_whose_time_is_over_reads_unknown(judged: Client) -> None:
    now = int(time.time() * 1_000)
    table = judged.table("fresh", columns=COLUMNS)
    path = f"/v1/tables/{table['id']}/tableProfile"
    profile = {
        "tableProfile": {"timestamp": now},
        "systemProfile": [{"timestamp": now - HOUR, "operation": "INSERT", "rowsAffected": 1}],
    }
    assert judged.ask("PUT", path, json=profile)[0] == 200
    sla = {"refreshFrequency": {"interval": 2, "unit": "hour"}}
    about = {"id": table["id"], "type": "table"}
    contract = judged.create("dataContracts", name="fresh", entity=about, schema=COLUMNS, sla=sla)
    found = until_verdict(judged, contract, "Success")
    assert found["validUntil"] == now + HOUR + 1


def test_judgements_are_in_the_audit(judged: Client) -> None:
    contract = promise(judged, "audited")
    until_verdict(judged, contract, "Success")
    found = judged.get("/v1/audit/events", eventType="contract.judged", entity=contract["id"])
    (event,) = found["data"]
    assert (event["actor"], event["eventType"]) == ("judge", "contract.judged")
    position = event["remark"].pop("position")
    assert 0 < position < event["position"]
    assert event["remark"] == {"verdict": "Success", "reasons": "version 0.1"}


def test_badge_says_a_verdict_in_its_colour(judged: Client) -> None:
    contract = lose(judged, promise(judged, "badge"))
    path = f"/v1/dataContracts/{contract['id']}/badge.svg"
    until_verdict(judged, contract, "Failed")
    assert "Draft 0.1 · Failed" in judged.request("GET", path).text


def test_withheld_verdict_is_shown_nowhere(tmp_path_factory: pytest.TempPathFactory) -> None:
    rules = (
        '[[rule]]\nrole = "admin"\nallow = ["create", "view", "list"]\n[[rule]]\nrole = "reader"\n'
        'allow = ["list", "view", "search"]\nwithhold = ["verdict"]\n'
    )
    with running_under(tmp_path_factory.mktemp("withheld"), rules, judged=True) as client:
        client.schema()
        contract = promise(client, "a")
        path = f"/v1/dataContracts/{contract['id']}"
        until(lambda: "Success" in client.request("GET", f"{path}/badge.svg").text)
        reader: Any = {"role": "reader"}
        assert client.ask("GET", path, params={"fields": "verdict"}, **reader)[0] == 403
        assert (
            client.ask("GET", "/v1/dataContracts", params={"verdict": "Failed"}, **reader)[0] == 403
        )
        badge = client.request("GET", f"{path}/badge.svg", **reader)
        assert badge.status_code == 200
        assert "Success" not in badge.text


def test_reasons_are_told_in_the_audit_to_those_alone_who_see_every_kind(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    rules = (
        '[[rule]]\nrole = "admin"\nallow = ["create", "view", "list", "audit"]\n[[rule]]\n'
        'role = "reader"\nkinds = ["dataContract"]\nallow = ["view", "audit"]\n'
    )
    with running_under(tmp_path_factory.mktemp("reasons"), rules, judged=True) as client:
        client.schema()
        contract = promise(client, "a")
        until_verdict(client, contract, "Success")
        asked = {"eventType": "contract.judged"}
        (whole,) = client.get("/v1/audit/events", **asked)["data"]
        answer = client.ask("GET", "/v1/audit/events", params=asked, role="reader")[1]
        (part,) = answer["data"]
        assert whole["remark"].pop("reasons") == "version 0.1"
        assert part == whole


def test_rules_are_written_by_those_alone_who_see_all_of_the_entity(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    writes = 'allow = ["view", "list", "create", "edit"]\n'
    rules = (
        f'[[rule]]\nrole = "admin"\n{writes}[[rule]]\nrole = "reader"\nkinds = ["dataContract"]\n'
        f'{writes}[[rule]]\nrole = "editor"\n{writes}withhold = ["extension"]\n'
    )
    asks = [{"name": "r", "description": "", "rule": '{"var":"description"}', "enabled": True}]
    with running_under(tmp_path_factory.mktemp("rules"), rules) as client:
        client.schema()
        contract = promise(client, "a")
        path = f"/v1/dataContracts/{contract['id']}"
        rule = [{"op": "add", "path": "/semantics", "value": asks}]
        text = [{"op": "add", "path": "/description", "value": "x"}]
        for role in ("reader", "editor"):
            status, answer = client.ask("PATCH", path, json=rule, role=role)
            assert (status, "all of the table" in answer["message"]) == (403, True)
            put = {"name": "a", "entity": contract["entity"], "semantics": asks}
            assert client.ask("PUT", "/v1/dataContracts", json=put, role=role)[0] == 403
        assert client.ask("PATCH", path, json=rule)[0] == 200
        for role in ("reader", "editor"):
            assert client.ask("PATCH", path, json=text, role=role)[0] == 200
