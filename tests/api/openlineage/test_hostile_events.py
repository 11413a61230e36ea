"""Events of an attacker: large, of other people's names, replayed, of the future, malformed."""

import json
import random
import time
from pathlib import Path
from typing import Any

from domain.kinds.bodies.lineage import MAX_MAPPINGS
from tests.api.conftest import Client, RunFilled
from tests.api.openlineage.captured import DUCK, edge, head, run_event, send, shop

NOW = "2026-11-23T07:00:00Z"


def mapped(columns: dict[str, list[str]], source: str = "orders") -> dict[str, Any]:
    """The facet that says of which columns of a table each column is made."""
    fields = {
        to: {
            "inputFields": [
                {"namespace": DUCK, "name": f"shop.sales.{source}", "field": each} for each in made
            ]
        }
        for to, made in columns.items()
    }
    return {"columnLineage": {"fields": fields}}


def runs(client: Client, name: str = "jobs.job") -> list[dict[str, Any]]:
    data = client.get(f"/v1/pipelines/{name}/status")["data"]
    assert isinstance(data, list)
    return data


def test_event_with_20_000_mappings_keeps_to_its_bounds(
    tmp_path: Path, run_filled: RunFilled
) -> None:
    names = [f"c{number}" for number in range(200)]
    columns = [{"name": name, "dataType": "INT"} for name in names]
    event = run_event(writes=("wide",))
    # Each of 200 columns is made of each of 200.
    event["outputs"][0]["facets"] = mapped({to: names for to in names}, "also_wide")
    with shop(run_filled, tmp_path) as client:
        for name in ("wide", "also_wide"):
            client.create("tables", name=name, databaseSchema="duck.shop.sales", columns=columns)
        (answer,) = send(client, event)
        assert answer["edges"] == 1
        assert answer["ignored"] == [
            f"column mappings left out: an event may have {MAX_MAPPINGS:,}"
        ]
        mappings = edge(client, "also_wide", "wide")["columnsLineage"]
        assert sum(len(each["fromColumns"]) for each in mappings) == MAX_MAPPINGS
        before = head(client)
        send(client, event)
        assert head(client) == before


def test_event_with_too_many_datasets_is_cut_and_told(
    tmp_path: Path, run_filled: RunFilled
) -> None:
    event = run_event(reads=("orders",) * 3, writes=tuple(f"t{n}" for n in range(1_200)))
    with shop(run_filled, tmp_path) as client:
        (answer,) = send(client, event)
        assert len(answer["unresolved"]) == 100
        assert answer["ignored"] == [
            "201 outputs left out: an event may have 1,000 datasets",
        ]
        assert client.get("/v1/lineage/unresolved")["paging"]["total"] == 999


def test_event_of_300_by_300_datasets_has_10_000_edges(
    tmp_path: Path, run_filled: RunFilled
) -> None:
    reads, writes = (tuple(f"{side}{n}" for n in range(300)) for side in "rw")
    with shop(run_filled, tmp_path) as client:
        (answer,) = send(client, run_event(reads=reads, writes=writes))
        assert answer["ignored"] == ["edges left out: an event may have 10,000"]


def test_event_of_the_future_is_one_of_now(tmp_path: Path, run_filled: RunFilled) -> None:
    with shop(run_filled, tmp_path) as client:
        future = run_event(
            run="future", at="2999-01-01T00:00:00Z", reads=("orders",), writes=("daily_revenue",)
        )
        send(client, future)
        (shown,) = runs(client)
        assert shown["endTime"] <= time.time() * 1_000
        sql = {"sql": {"query": "select 1"}}
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 5))
        later = run_event(run="later", at=now, reads=("orders",), writes=("daily_revenue",), **sql)
        send(client, later)
        # What comes afterwards counts as later all the same.
        assert edge(client, "orders", "daily_revenue")["sqlQuery"] == "select 1"


def test_replayed_event_changes_nothing_that_is_newer(
    tmp_path: Path, run_filled: RunFilled
) -> None:
    old = run_event(
        run="old",
        at="2026-11-20T07:00:00Z",
        reads=("orders",),
        writes=("daily_revenue",),
        sql={"query": "select old"},
    )
    new = run_event(
        run="new", reads=("orders",), writes=("daily_revenue",), sql={"query": "select new"}
    )
    with shop(run_filled, tmp_path) as client:
        send(client, old, new, old)
        before = head(client)
        send(client, {**old, "run": {"runId": "another"}})
        assert head(client) == before
        assert edge(client, "orders", "daily_revenue")["sqlQuery"] == "select new"


def test_run_that_is_older_than_measurements_is_taken(
    tmp_path: Path, run_filled: RunFilled
) -> None:
    with shop(run_filled, tmp_path) as client:
        event = run_event(at="1999-01-01T00:00:00Z", reads=("orders",), writes=("daily_revenue",))
        (answer,) = send(client, event)
        assert (answer["edges"], runs(client)) == (1, [])


def test_second_job_adds_mappings_and_never_takes_the_edge(
    tmp_path: Path, run_filled: RunFilled
) -> None:
    first = run_event(writes=("daily_revenue",), sql={"query": "select 1"})
    first["outputs"][0]["facets"] = mapped({"revenue": ["amount"]})
    second = run_event(job="other", writes=("daily_revenue",), sql={"query": "select 2"})
    second["outputs"][0]["facets"] = mapped({"day": ["ordered_at"]})
    with shop(run_filled, tmp_path) as client:
        send(client, first, second)
        details = edge(client, "orders", "daily_revenue")
        assert details["sqlQuery"] == "select 1"
        assert details["pipeline"]["name"] == "job"
        assert len(details["columnsLineage"]) == 2
        before = head(client)
        for run in ("a", "b"):
            for event in (first, second):
                send(client, {**event, "run": {"runId": run}})
        assert head(client) == before


def test_what_an_event_does_not_say_stays(tmp_path: Path, run_filled: RunFilled) -> None:
    first = run_event(writes=("daily_revenue",), sql={"query": "select 1"})
    first["outputs"][0]["facets"] = mapped({"revenue": ["amount"]})
    with shop(run_filled, tmp_path) as client:
        send(client, first)
        whole = edge(client, "orders", "daily_revenue")
        later = run_event(run="b", at="2026-11-24T07:00:00Z", reads=("orders",))
        later["outputs"] = [{"namespace": DUCK, "name": "shop.sales.daily_revenue"}]
        send(client, later)
        assert edge(client, "orders", "daily_revenue") == whole
        changed = run_event(run="c", at="2026-11-24T08:00:00Z", writes=("daily_revenue",))
        changed["outputs"][0]["facets"] = mapped({"revenue": ["order_id"]})
        send(client, changed)
        (mapping,) = edge(client, "orders", "daily_revenue")["columnsLineage"]
        assert mapping["fromColumns"] == ["duck.shop.sales.orders.order_id"]


def test_time_at_which_an_edge_was_told_last_is_kept_to_the_hour(
    tmp_path: Path, run_filled: RunFilled
) -> None:
    ends = "/".join(f"table/name/duck.shop.sales.{name}" for name in ("orders", "daily_revenue"))
    path = f"/v1/lineage/getLineageEdge/{ends}"

    def seen(client: Client, run: str, at: str) -> str:
        send(client, run_event(run=run, at=at, reads=("orders",), writes=("daily_revenue",)))
        shown = client.get(path)["lastSeen"] / 1_000
        return time.strftime("%H:%M", time.gmtime(shown))

    with shop(run_filled, tmp_path) as client:
        assert seen(client, "a", "2026-11-23T07:00:00Z") == "07:00"
        before = head(client)
        assert seen(client, "b", "2026-11-23T07:59:00Z") == "07:00"
        assert seen(client, "c", "2026-11-23T08:01:00Z") == "08:01"
        assert seen(client, "d", "2026-11-23T05:00:00Z") == "08:01"
        assert head(client) == before


def test_column_that_is_missing_is_told(tmp_path: Path, run_filled: RunFilled) -> None:
    event = run_event(writes=("daily_revenue",))
    event["outputs"][0]["facets"] = mapped({"revenue": ["amount", "tax"], "tax": ["amount"]})
    with shop(run_filled, tmp_path) as client:
        (answer,) = send(client, event)
        assert answer["ignored"] == [
            "'duck.shop.sales.orders' has no column 'tax'",
            "'duck.shop.sales.daily_revenue' has no column 'tax'",
        ]


def test_run_ids_of_other_people_change_no_run_of_theirs(
    tmp_path: Path, run_filled: RunFilled
) -> None:
    with shop(run_filled, tmp_path) as client:
        send(client, run_event("START", reads=("orders",)), run_event(reads=("orders",)))
        send(client, run_event("FAIL", job="attack", reads=("orders",)))
        (shown,) = runs(client)
        assert shown["executionStatus"] == "Successful"


def test_final_state_of_a_run_stays(tmp_path: Path, run_filled: RunFilled) -> None:
    with shop(run_filled, tmp_path) as client:
        send(client, run_event(at="2026-11-23T07:00:30Z", reads=("orders",)))
        send(client, run_event("START", at=NOW, reads=("orders",)))
        send(client, run_event("RUNNING", at="2026-11-23T07:01:00Z", reads=("orders",)))
        (shown,) = runs(client)
        assert shown["executionStatus"] == "Successful"
        assert shown["endTime"] - shown["startTime"] == 30_000


def test_message_of_a_run_holds_no_secret(tmp_path: Path, run_filled: RunFilled) -> None:
    event = run_event("FAIL", reads=("orders",))
    text = "cannot connect\npassword=hunter2 was refused\n" + "x" * 5_000
    event["run"]["facets"] = {"errorMessage": {"message": text}}
    with shop(run_filled, tmp_path) as client:
        send(client, event)
        (shown,) = runs(client)
        message = shown["error"]["errorMessage"]
        assert "hunter2" not in message
        assert len(message) <= 1_000


def test_facets_that_may_hold_secrets_are_kept_nowhere(
    tmp_path: Path, run_filled: RunFilled
) -> None:
    secret = "s3cr3t-of-somebody"
    facets = {"sourceCode": {"language": "python", "sourceCode": secret}}
    event = run_event(reads=("orders",), writes=("daily_revenue",), **facets)
    event["run"]["facets"] = {"environment-properties": {"key": secret}, "spark_properties": secret}
    event["outputs"][0]["facets"] = {"unknown": {"token": secret}}
    with shop(run_filled, tmp_path) as client:
        send(client, event)
        client.services.measurements.close()
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert secret.encode() not in file.read_bytes(), file


def test_odd_json_is_never_a_500(tmp_path: Path, run_filled: RunFilled) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chosen = random.Random(seed)
    odd: list[Any] = [
        *(None, 17, -1, 1e300, True, "", "x" * 3_000, "\x01", [], {}, [[]], [None], {"a": None}),
        *({"namespace": "a", "name": "b"}, "2026-11-23T07:00:00Z", {"facets": {"parent": 1}}),
        json.loads("[" * 200 + "]" * 200),
    ]

    def broken(value: Any) -> Any:
        if chosen.random() < 0.08:
            return chosen.choice(odd)
        if isinstance(value, dict):
            return {key: broken(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [broken(inner) for inner in value]
        return value

    event = run_event(reads=("orders",), writes=("daily_revenue",), sql={"query": "select 1"})
    event["run"]["facets"] = {
        "parent": {"run": {"runId": "r"}, "job": {"namespace": "jobs", "name": "root"}},
        "nominalTime": {"nominalStartTime": NOW},
        "errorMessage": {"message": "m"},
    }
    event["outputs"][0]["facets"] = {
        **mapped({"revenue": ["amount"]}),
        "schema": {"fields": [{"name": "revenue", "description": "d", "fields": []}]},
        "ownership": {"owners": [{"name": "team:x"}]},
        "symlinks": {"identifiers": [{"namespace": "n", "name": "m", "type": "TABLE"}]},
        "lifecycleStateChange": {"lifecycleStateChange": "DROP"},
        "documentation": {"description": "d"},
    }
    event["inputs"][0]["inputFacets"] = {
        "dataQualityAssertions": {
            "assertions": [{"assertion": "unique", "column": "order_id", "success": True}]
        }
    }
    with shop(run_filled, tmp_path) as client:
        for _ in range(150):
            path = chosen.choice(("/v1/lineage", "/v1/lineage/batch"))
            body = broken(event)
            sent = [body, broken(event)] if path.endswith("batch") else body
            answer = client.request("POST", path, json=sent, role="bot")
            assert answer.status_code in (200, 400), (body, answer.text)
