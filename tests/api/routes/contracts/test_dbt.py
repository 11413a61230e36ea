"""Contracts from manifests of dbt, and results from its runs."""

import gzip
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from domain.contracts.judging import faults
from tests.api.conftest import Client, RunFilled, body_of, running, running_under
from tests.domain.dbt.recorded import Artifact, artifact, packed, run

MANIFEST, RUN = "/v1/dbt/manifest", "/v1/dbt/runResults"
TABLES = ("customers", "orders_v1", "orders_v2", "notes")


@pytest.fixture
def client(tmp_path: Path, run_filled: RunFilled) -> Iterator[Client]:
    with run_filled(tmp_path, shop) as client:
        yield client


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory, run_filled: RunFilled) -> Iterator[Client]:
    """Such a catalog, for requests that are all refused."""
    with run_filled(tmp_path_factory.mktemp("unchanged"), shop) as client:
        yield client


def shop(client: Client, *tables: str) -> None:
    """The tables of the project in a service of the name `duck`."""
    client.create("services/databaseServices", name="duck", serviceType="Mysql")
    client.create("databases", name="shop", service="duck")
    client.create("databaseSchemas", name="main", database="duck.shop")
    columns = [{"name": name, "dataType": "INT"} for name in ("id", "customer", "total", "status")]
    for name in tables or TABLES:
        client.create("tables", name=name, databaseSchema="duck.shop.main", columns=columns)


def post(client: Client, path: str, content: bytes | Artifact, **more: Any) -> Any:
    content = content if isinstance(content, bytes) else packed(content)
    headers = {"Content-Type": "application/json", **more.pop("headers", {})}
    params = {"service": more.pop("service", "duck")}
    return client.request("POST", path, content=content, headers=headers, params=params, **more)


def imported(client: Client, content: bytes | Artifact, **more: Any) -> list[dict[str, Any]]:
    answer = post(client, MANIFEST, content, **more)
    assert answer.status_code == 200, answer.text
    assert answer.json()["omitted"] == 0
    models: list[dict[str, Any]] = answer.json()["models"]
    return models


def outcomes(models: list[dict[str, Any]]) -> dict[str, str]:
    return {each["uniqueId"].removeprefix("model.shop."): each["outcome"] for each in models}


def contract(client: Client, table: str) -> dict[str, Any]:
    fqn = f"duck.shop.main.{table}.dataContract_{table}"
    found: dict[str, Any] = client.get(f"/v1/dataContracts/name/{fqn}", fields="*")
    return found


def document(client: Client, table: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"/v1/dataContracts/{contract(client, table)['id']}/odcs")
    return found


def head(client: Client) -> int:
    position = client.services.stores.log.durable_head()
    return position


def at(**ago: float) -> str:
    return (datetime.now(UTC) - timedelta(**ago)).isoformat()


def test_models_with_an_enforced_contract_have_one(client: Client) -> None:
    client.create("users", name="ann")

    models = imported(client, artifact("manifest"))

    assert models == [
        {
            "uniqueId": f"model.shop.{model}",
            "entity": f"duck.shop.main.{table}",
            "contract": f"duck.shop.main.{table}.dataContract_{table}",
            "outcome": "created",
        }
        for model, table in (
            ("customers", "customers"),
            ("orders.v1", "orders_v1"),
            ("orders.v2", "orders_v2"),
        )
    ]
    made = contract(client, "orders_v1")
    assert made["entityStatus"] == "Active"
    assert made["description"] == "What was ordered."
    assert made["effectiveUntil"] == "2027-06-30T00:00:00Z"
    assert [each["name"] for each in made["owners"]] == ["ann"]
    assert [
        (each["name"], each["dataType"], each.get("constraint")) for each in made["schema"]
    ] == [
        ("id", "INT", "PRIMARY_KEY"),
        ("customer", "INT", None),
        ("total", "DECIMAL", None),
        ("status", "VARCHAR", None),
    ]
    assert [
        (each.get("column"), each.get("metric"), each["type"]) for each in made["odcsQualityRules"]
    ] == [
        ("id", "nullValues", "library"),
        ("id", "duplicateValues", "library"),
        ("customer", None, "custom"),
        ("total", None, "custom"),
        ("status", "invalidValues", "library"),
        ("status", None, "custom"),
    ]
    whole = document(client, "orders_v2")
    assert faults(whole) == []
    assert whole["version"] == "2.0.0"
    assert whole["schema"][0]["properties"][1]["relationships"][0]["to"] == "customers.id"


def test_second_import_stores_nothing(client: Client) -> None:
    imported(client, artifact("manifest"))
    before = head(client)

    models = imported(client, gzip.compress(packed(artifact("manifest"))))

    assert set(outcomes(models).values()) == {"unchanged"}
    assert head(client) == before


def test_what_people_wrote_stays(client: Client) -> None:
    imported(client, artifact("manifest"))
    made = contract(client, "customers")
    given = {
        "name": "customers",
        "entity": {"id": made["entity"]["id"], "type": "table"},
        "termsOfUse": "Ask first.",
        "sla": {"maxLatency": {"value": 2, "unit": "hour"}},
        "owners": [{"id": client.create("users", name="bea")["id"], "type": "user"}],
        "odcsQualityRules": [
            *made["odcsQualityRules"],
            {"name": "ours", "type": "text", "description": "Looked at by hand."},
        ],
    }
    assert client.request("PUT", "/v1/dataContracts", json=given).status_code == 200
    tests = artifact("manifest")
    tests["nodes"] = {
        key: each for key, each in tests["nodes"].items() if "customers_name" not in key
    }

    assert outcomes(imported(client, artifact("manifest")))["customers"] == "changed"
    before = head(client)
    assert outcomes(imported(client, artifact("manifest")))["customers"] == "unchanged"
    assert head(client) == before
    models = imported(client, tests)

    assert [each.get("bump") for each in models] == ["patch", None, None]
    after = contract(client, "customers")
    assert after["termsOfUse"] == {"content": "Ask first."}
    assert after["sla"] == given["sla"]
    assert [each["name"] for each in after["owners"]] == ["bea"]
    assert [each["name"] for each in after["odcsQualityRules"]] == ["ours"]


def test_contract_that_is_no_longer_enforced_is_withdrawn_and_comes_back(client: Client) -> None:
    imported(client, artifact("manifest"))

    models = imported(client, artifact("later_manifest"))

    assert outcomes(models) == {
        "orders.v2": "changed",
        "customers": "withdrawn",
        "orders.v1": "withdrawn",
    }
    assert models[0]["bump"] == "major"
    assert contract(client, "customers")["entityStatus"] == "Deprecated"
    assert document(client, "orders_v1")["status"] == "deprecated"
    before = head(client)
    assert outcomes(imported(client, artifact("later_manifest"))) == {"orders.v2": "unchanged"}
    assert head(client) == before
    assert set(outcomes(imported(client, artifact("manifest"))).values()) == {"changed"}
    assert contract(client, "customers")["entityStatus"] == "Active"


def test_contract_that_people_deprecated_stays_so(client: Client) -> None:
    imported(client, artifact("manifest"))
    made = contract(client, "customers")
    patch = [{"op": "replace", "path": "/entityStatus", "value": "Deprecated"}]
    headers = {"Content-Type": "application/json-patch+json"}
    path = f"/v1/dataContracts/{made['id']}"
    assert client.request("PATCH", path, json=patch, headers=headers).status_code == 200

    imported(client, artifact("manifest"))
    for name in ("later_manifest", "manifest"):
        models = imported(client, artifact(name))
        assert outcomes(models).get("customers", "unchanged") == "unchanged"

    assert contract(client, "customers")["entityStatus"] == "Deprecated"


def test_contracts_of_another_project_and_of_people_are_left_alone(client: Client) -> None:
    imported(client, artifact("manifest"))
    notes = client.get("/v1/tables/name/duck.shop.main.notes")
    given = {"name": "notes", "entity": {"id": notes["id"], "type": "table"}}
    client.create("dataContracts", **given)
    other = {"metadata": {"project_name": "other"}, "nodes": {}}

    assert imported(client, other) == []


def test_manifest_of_a_place_without_tables_withdraws_nothing(client: Client) -> None:
    imported(client, artifact("manifest"))
    elsewhere = artifact("manifest")
    for node in elsewhere["nodes"].values():
        node["schema"] = "a_developer"

    models = imported(client, elsewhere)

    assert set(outcomes(models).values()) == {"skipped"}
    assert contract(client, "customers")["entityStatus"] == "Active"


def test_manifests_without_a_project_withdraw_nothing_of_each_other(client: Client) -> None:
    nameless = artifact("manifest")
    nameless["metadata"] = {}
    imported(client, nameless)

    assert imported(client, {"metadata": {}, "nodes": {}}) == []
    assert contract(client, "customers")["entityStatus"] == "Active"


def test_answers_cut_long_names(client: Client) -> None:
    name = "x" * 100_000
    model = {**artifact("manifest")["nodes"]["model.shop.customers"], "alias": name}
    manifest = {"nodes": {f"model.shop.{name}": model}}
    results = {
        "metadata": {"generated_at": at(hours=1)},
        "results": [{"unique_id": f"model.shop.{name}", "status": "success"}],
    }

    (told,) = imported(client, manifest)
    answer = post(client, RUN, json.dumps(results).encode())

    assert told["uniqueId"] == f"model.shop.{name}"[:299] + "…"
    assert told["entity"] == f"duck.shop.main.{name}"[:299] + "…"
    assert answer.json()["unmatched"] == [told["uniqueId"]]


def test_model_without_a_table_is_skipped_with_a_reason(tmp_path: Path) -> None:
    with running(tmp_path) as client:
        shop(client, "ORDERS_V2")
        manifest = artifact("manifest")
        manifest["nodes"]["model.shop.orders.v2"] |= {"database": "shop", "schema": "main"}

        models = imported(client, manifest)

    assert outcomes(models) == dict.fromkeys(("customers", "orders.v1", "orders.v2"), "skipped")
    assert models[0] == {
        "uniqueId": "model.shop.customers",
        "entity": "duck.shop.main.customers",
        "outcome": "skipped",
        "reason": "the catalog has no such table",
    }


def test_table_is_found_in_the_capitals_of_its_warehouse(tmp_path: Path) -> None:
    with running(tmp_path) as client:
        client.create("services/databaseServices", name="duck", serviceType="Mysql")
        client.create("databases", name="SHOP", service="duck")
        client.create("databaseSchemas", name="MAIN", database="duck.SHOP")
        columns = [{"name": "ID", "dataType": "INT"}]
        client.create("tables", name="CUSTOMERS", databaseSchema="duck.SHOP.MAIN", columns=columns)

        models = imported(client, artifact("manifest"))

    assert (models[0]["entity"], models[0]["outcome"]) == ("duck.SHOP.MAIN.CUSTOMERS", "created")


def test_owner_who_is_not_there_is_told(client: Client) -> None:
    models = imported(client, artifact("manifest"))

    assert models[0]["reason"] == "no user or team is named 'ann'"
    assert contract(client, "customers")["owners"] == []


def test_the_gate_holds_and_a_version_announces(tmp_path: Path) -> None:
    with running(tmp_path, contract_gate="consumer") as client:
        shop(client)
        imported(client, artifact("manifest"))
        later = artifact("later_manifest")

        refused = imported(client, later)[0]
        later["nodes"]["model.shop.orders.v2"]["config"]["meta"] = {"contract_version": "3.0.0"}
        passed = imported(client, later)[0]

    assert refused["outcome"] == "skipped"
    assert "this breaks the contract for those who read the data" in refused["reason"]
    assert (passed["outcome"], passed["bump"]) == ("changed", "major")


def test_results_of_a_build_are_results_of_contracts(client: Client) -> None:
    imported(client, artifact("manifest"))

    answer = post(client, RUN, run("run_results", at(hours=1)))

    assert answer.status_code == 200, answer.text
    assert answer.json() == {
        "contracts": [
            {
                "uniqueId": f"model.shop.{model}",
                "contract": f"duck.shop.main.{table}.dataContract_{table}",
                "status": "Success",
            }
            for model, table in (
                ("customers", "customers"),
                ("orders.v1", "orders_v1"),
                ("orders.v2", "orders_v2"),
            )
        ],
        "unmatched": ["model.shop.notes"],
        "omitted": 0,
    }
    path = f"/v1/dataContracts/{contract(client, 'orders_v2')['id']}/results"
    (result,) = client.get(path)["data"]
    assert result["schemaValidation"] == {"passed": 4, "failed": 0, "total": 4}
    assert result["qualityValidation"] == {
        "passed": 7,
        "failed": 0,
        "total": 7,
        "qualityScore": 100.0,
    }
    assert result["result"].startswith("version 0.1; dbt run ")


def test_run_that_is_reported_twice_counts_once_and_an_older_one_is_not_the_newest(
    client: Client,
) -> None:
    imported(client, artifact("manifest"))
    newest = run("failed_tests", at(hours=1))
    for body in (newest, newest, run("run_results", at(hours=2))):
        assert post(client, RUN, body).status_code == 200

    path = f"/v1/dataContracts/{contract(client, 'orders_v2')['id']}/results"
    found = client.get(path)["data"]

    assert [each["contractExecutionStatus"] for each in found] == ["Failed", "Success"]
    assert client.get(f"{path}/latest") == found[0]
    assert found[0]["result"].endswith(
        "failed: test.shop.accepted_values_orders_v2_status__open__paid.a7f42ee18b"
    )


def test_broken_build_fails_all_columns_and_evaluates_nothing_else(client: Client) -> None:
    imported(client, artifact("manifest"))
    post(client, RUN, run("failed_build", at(hours=1)))

    path = f"/v1/dataContracts/{contract(client, 'orders_v2')['id']}/results/latest"
    result = client.get(path)

    assert result["contractExecutionStatus"] == "Failed"
    assert result["schemaValidation"]["failed"] == 4
    assert "qualityValidation" not in result
    assert result["result"].endswith("failed: the model; not evaluated: quality: 7 rules")


def test_run_vouches_for_what_it_has_tested_and_not_for_what_was_changed_since(
    client: Client,
) -> None:
    before = at(seconds=1)
    imported(client, artifact("manifest"))
    path = f"/v1/dataContracts/{contract(client, 'orders_v2')['id']}"
    made = client.get(path)["version"]
    change = {"op": "add", "path": "/description", "value": "another"}
    client.request("PATCH", path, json=[change])
    changed = client.get(path)["version"]

    told = post(client, RUN, run("run_results", before)).json()["contracts"]
    of_another = post(client, RUN, run("run_results", before, "another")).json()["contracts"]
    of_now = post(client, RUN, run("run_results", at(), "another")).json()["contracts"]

    assert changed > made
    assert (len(told), of_another, len(of_now)) == (3, [], 3)
    found = client.get(f"{path}/results")["data"]
    assert [each["dataContractVersion"] for each in found] == [changed, made]


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        (MANIFEST, b"{}", "this is no manifest.json of dbt"),
        (MANIFEST, b"[", "this is no manifest.json of dbt"),
        (MANIFEST, b"\x1f\x8bnothing", "the artifact cannot be unpacked"),
        (RUN, b"{}", "this is no run_results.json of dbt"),
        (RUN, b'{"metadata": {}, "results": []}', "metadata.generated_at"),
    ],
    ids=["no nodes", "no JSON", "no gzip", "no results", "no time"],
)
def test_what_is_no_artifact_is_refused(
    unchanged: Client, path: str, body: bytes, message: str
) -> None:
    answer = post(unchanged, path, body)

    assert answer.status_code == 400, answer.text
    assert message in body_of(answer)["message"]


def test_artifact_that_is_too_large_is_refused(unchanged: Client) -> None:
    answer = post(unchanged, MANIFEST, gzip.compress(b" " * 100_000_001, compresslevel=1))

    assert answer.status_code == 400, answer.text
    assert "may have 100000000 bytes, unpacked" in body_of(answer)["message"]


def test_run_from_before_the_time_that_is_kept_is_refused(client: Client) -> None:
    imported(client, artifact("manifest"))

    answer = post(client, RUN, run("run_results", at(days=1_000)))

    assert answer.status_code == 400
    assert "the time of a result measurement" in body_of(answer)["message"]


@pytest.mark.parametrize("path", [MANIFEST, RUN])
def test_request_that_fits_nothing_is_refused(unchanged: Client, path: str) -> None:
    body = packed(artifact("manifest")) if path == MANIFEST else run("run_results", at(hours=1))

    assert post(unchanged, path, body, service="nowhere").status_code == 404
    assert post(unchanged, path, body, role="reader").status_code == 403
    assert post(unchanged, path, body, headers={"Content-Type": "text/plain"}).status_code == 415
    assert post(unchanged, path, body, headers={"If-Match": "*"}).status_code == 400


POLICIES = """
[[rule]]
role = "admin"
allow = ["list", "view", "create", "edit", "delete"]

[[rule]]
role = "half"
allow = ["view", "create", "edit"]

[[rule]]
role = "half"
kinds = ["dataContract"]
withhold = ["sla"]

[[rule]]
role = "blind"
allow = ["create", "edit"]
"""


def test_who_does_not_see_all_of_contracts_imports_none(tmp_path: Path) -> None:
    with running_under(tmp_path, POLICIES) as client:
        shop(client)
        answers = [
            post(client, MANIFEST, artifact("manifest"), role=role) for role in ("half", "blind")
        ]
        answers.append(post(client, RUN, artifact("run_results"), role="blind"))
        assert [each.status_code for each in answers] == [403, 403, 403]
        assert set(outcomes(imported(client, artifact("manifest"))).values()) == {"created"}


def test_caller_imports_one_manifest_at_a_time(client: Client) -> None:
    body = packed(artifact("manifest"))
    with ThreadPoolExecutor(6) as threads:
        asked = [threads.submit(post, client, MANIFEST, body) for _ in range(6)]
    statuses = [each.result().status_code for each in asked]

    assert set(statuses) == {200, 429}
