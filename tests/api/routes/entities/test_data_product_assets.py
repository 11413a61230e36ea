"""Assets of a data product, added and removed as OpenMetadata's client does."""

from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Client, running_under

ASSETS = "/api/v1/dataProducts/sales.orders/assets"
NOBODY = "01890000-0000-7000-8000-000000000000"


def fill(client: Client) -> list[Any]:
    """References to two tables and to a topic, beside a data product."""
    client.create("domains", name="sales", domainType="Aggregate")
    client.create("dataProducts", name="orders", domains=["sales"])
    client.schema()
    tables = [client.table(name)["id"] for name in ("one", "two")]
    client.create("services/messagingServices", name="kafka", serviceType="Kafka")
    topic = client.create("topics", name="events", service="kafka", partitions=1)["id"]
    return [*({"id": each, "type": "table"} for each in tables), {"id": topic, "type": "topic"}]


def change(client: Client, operation: str, assets: list[Any], **more: Any) -> Any:
    """The answer to a request as the client sends it, empty keys included."""
    role = more.pop("role", "admin")
    given = [{"name": None, "href": None, **each} for each in assets]
    body = {"assets": given, **more}
    answer = client.request("PUT", f"{ASSETS}/{operation}", json=body, role=role)
    assert answer.status_code == 200, answer.text
    return answer.json()


def products(client: Client) -> dict[str, list[str]]:
    """Name of each table and topic -> names of the data products that it is in."""
    lists = (
        client.get(f"/v1/{each}", fields="dataProducts")["data"] for each in ("tables", "topics")
    )
    return {
        one["name"]: [each["name"] for each in one["dataProducts"]]
        for some in lists
        for one in some
    }


def test_assets_are_added_once_and_removed(client: Client) -> None:
    one, two, topic = assets = fill(client)
    done = change(client, "add", [*assets, one], role="bot")
    assert (done["status"], done["numberOfRowsPassed"], done["dryRun"]) == ("success", 4, False)
    assert [(each["request"], each["message"]) for each in done["successRequest"]] == [
        ("service.database.schema.one", "entityUpdated"),
        ("service.database.schema.two", "entityUpdated"),
        ("kafka.events", "entityUpdated"),
        ("service.database.schema.one", "entityNoChange"),
    ]
    assert products(client) == {each: ["orders"] for each in ("one", "two", "events")}
    head = client.get("/v1/system/projections")["head"]
    change(client, "add", assets, role="bot")
    assert client.get("/v1/system/projections")["head"] == head

    change(client, "remove", [two, topic], dryRun=True)
    assert client.get("/v1/system/projections")["head"] == head
    done = change(client, "remove", [two, {"fullyQualifiedName": "kafka.events", "type": "topic"}])
    assert done["numberOfRowsPassed"] == 2
    assert products(client) == {"one": ["orders"], "two": [], "events": []}
    product = client.get("/v1/dataProducts/name/sales.orders")["id"]
    body = {"assets": [two]}
    again = client.ask("PUT", f"/v1/dataProducts/{product}/assets/remove", json=body)[1]
    assert [each["message"] for each in again["successRequest"]] == ["entityNoChange"]
    (newest,) = client.get("/v1/audit/events", order="desc", limit=1)["data"]
    assert (newest["kind"], newest["eventType"]) == ("topic", "entity.changed")


def test_what_is_wrong_is_told_asset_by_asset(client: Client) -> None:
    one, *_ = fill(client)
    user = client.create("users", name="ann")
    done = change(client, "add", [{"id": NOBODY, "type": "table"}, one, {"id": user["id"]}, {}])
    assert (done["status"], done["numberOfRowsFailed"]) == ("partialSuccess", 3)
    assert [(each["status"], each["message"]) for each in done["failedRequest"]] == [
        (404, f"assets: entity instance for {NOBODY} not found"),
        (400, "a user has no dataProducts"),
        (400, "assets: a reference needs `id` or `fullyQualifiedName`"),
    ]
    assert products(client)["one"] == ["orders"]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("sales.nothing/assets/add", {"assets": []}, 404),
        ("sales.orders/assets/add", {"assets": [{"id": NOBODY}] * 1_001}, 400),
        ("sales.orders/assets/add", {}, 400),
        ("sales.orders/assets/add", {"assets": [], "x": 1}, 400),
        ("sales.orders/assets/other", {"assets": []}, 404),
    ],
)
def test_wrong_requests_are_refused_whole(
    client: Client, path: str, body: dict[str, Any], status: int
) -> None:
    fill(client)
    assert client.ask("PUT", f"/v1/dataProducts/{path}", json=body)[0] == status
    headers = {"Idempotency-Key": "k"}
    assert client.ask("PUT", f"{ASSETS}/add", json={"assets": []}, headers=headers)[0] == 400


def test_assets_are_changed_by_those_who_may_edit_them(tmp_path: Path) -> None:
    with running_under(
        tmp_path,
        '[[rule]]\nrole = "admin"\nallow = ["list", "view", "create", "edit"]\n'
        '[[rule]]\nrole = "bot"\nallow = ["edit"]\nkinds = ["dataProduct", "topic"]\n'
        '[[rule]]\nrole = "guest"\nallow = ["edit"]\nwithhold = ["dataProducts"]\n'
        '[[rule]]\nrole = "reader"\nallow = ["edit"]\nkinds = ["table"]\n',
    ) as client:
        one, _, topic = fill(client)
        (failed,) = change(client, "add", [one, topic], role="bot")["failedRequest"]
        assert (failed["status"], "edit table" in failed["message"]) == (403, True)
        (failed,) = change(client, "add", [one], role="guest")["failedRequest"]
        assert (failed["status"], "withheld" in failed["message"]) == (403, True)
        body = {"assets": [one]}
        assert client.ask("PUT", f"{ASSETS}/add", json=body, role="reader")[0] == 403
        assert products(client) == {"one": [], "two": [], "events": ["orders"]}


def test_assets_of_one_request_have_so_many_bytes_together(client: Client) -> None:
    fill(client)
    large = [client.table(f"t{n}", description="x" * 5_000_000)["id"] for n in range(4)]
    done = change(client, "add", [{"id": each, "type": "table"} for each in large])
    assert (done["numberOfRowsPassed"], done["numberOfRowsFailed"]) == (3, 1)
    assert "16000000 bytes" in done["failedRequest"][0]["message"]
    shown = products(client)
    assert [shown[f"t{n}"] for n in range(4)] == [["orders"]] * 3 + [[]]
