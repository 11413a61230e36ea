"""The impact of changes of a stored contract on what the lineage makes of its table."""

from collections.abc import Iterator
from typing import Any

import pytest

from api.use_cases.impact import MOST_HITS
from domain.contracts.canonical import canonical
from tests.api.conftest import Client, running_under
from tests.api.routes.contracts.giving import put

COLUMNS = [{"name": "id", "dataType": "INT"}, {"name": "total", "dataType": "INT"}]
POLICIES = """
[[rule]]
role = "admin"
allow = ["list", "view", "create", "edit", "delete"]

[[rule]]
role = "ownerless"
allow = ["view"]

[[rule]]
role = "ownerless"
kinds = ["table"]
withhold = ["owners"]

[[rule]]
role = "columnless"
allow = ["view"]

[[rule]]
role = "columnless"
kinds = ["table"]
withhold = ["columns"]

[[rule]]
role = "tables"
allow = ["view"]
kinds = ["table", "dataContract", "lineageEdge"]

[[rule]]
role = "unlinked"
allow = ["view"]
kinds = ["table", "dataContract"]
"""


def document(*columns: str, **keys: Any) -> str:
    properties = [{"name": name, "physicalType": "INT"} for name in columns]
    whole = {
        "apiVersion": "v3.1.0",
        "kind": "DataContract",
        "id": "orders",
        "status": "active",
        "schema": [
            {"name": "orders", "properties": properties},
            {"name": "others", "properties": [{"name": "x"}]},
        ],
        **keys,
    }
    return canonical(whole)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, str]]:
    """Orders, of which sums are made by their total, a copy, and a dashboard of the sums."""
    with running_under(tmp_path_factory.mktemp("drawn"), POLICIES) as client:
        client.schema()
        user = client.create("users", name="ann", email="ann@example.org")
        owners = [{"id": user["id"], "type": "user"}]
        orders = client.table("orders", columns=COLUMNS)
        sums = client.table("sums", columns=COLUMNS, owners=owners)
        copy = client.table("copy", columns=COLUMNS)
        client.create("services/dashboardServices", name="boards", serviceType="Superset")
        board = client.create("dashboards", name="sales", service="boards")
        client.create("dataContracts", name="sums", entity={"type": "table", "id": sums["id"]})
        name = f"{orders['fullyQualifiedName']}.total"
        mapping = {"fromColumns": [name], "toColumn": f"{sums['fullyQualifiedName']}.total"}
        edges = (
            (orders, "table", sums, "table", {"columnsLineage": [mapping]}),
            (orders, "table", copy, "table", {}),
            (sums, "table", board, "dashboard", {}),
        )
        for beginning, from_kind, end, to_kind, details in edges:
            edge = {
                "fromEntity": {"id": beginning["id"], "type": from_kind},
                "toEntity": {"id": end["id"], "type": to_kind},
                "lineageDetails": details,
            }
            assert client.request("PUT", "/v1/lineage", json={"edge": edge}).status_code == 200
        contract = put(client, orders, document("id", "total")).json()
        yield client, f"/v1/dataContracts/{contract['id']}/compare"


def impact(drawn: tuple[Client, str], text: str, role: str = "admin") -> Any:
    client, path = drawn
    answer = client.request("POST", path, content=text, role=role)
    assert answer.status_code == 200, answer.text
    return answer.json().get("impact")


def named(found: Any) -> dict[str, list[str]]:
    tiers = ("breaks", "mayBreak", "lookAgain")
    return {tier: sorted(each["name"] for each in found[tier]) for tier in tiers}


def test_what_is_made_of_a_lost_column_breaks(drawn: tuple[Client, str]) -> None:
    found = impact(drawn, document("id"))

    assert named(found) == {"breaks": ["sums"], "mayBreak": ["copy"], "lookAgain": ["sales"]}
    (sums,) = found["breaks"]
    assert (sums["type"], sums["steps"]) == ("table", 1)
    assert sums["columns"] == [f"{sums['fullyQualifiedName']}.total"]
    assert sums["columnCount"] == 1
    assert [each["name"] for each in sums["owners"]] == ["ann"]
    assert [each["name"] for each in sums["contracts"]] == ["sums"]
    (sales,) = found["lookAgain"]
    assert (sales["type"], sales["steps"], sales["owners"]) == ("dashboard", 2, [])
    assert (found["omitted"], found["truncated"]) == (0, False)


def test_only_what_breaks_for_readers_hits(drawn: tuple[Client, str]) -> None:
    empty = {"breaks": [], "mayBreak": [], "lookAgain": []}
    properties = [{"name": name, "physicalType": "INT"} for name in ("id", "total")]
    without_others = document(schema=[{"name": "orders", "properties": properties}])

    assert named(impact(drawn, document("id", "total", "more"))) == empty
    assert named(impact(drawn, without_others)) == empty
    assert named(impact(drawn, document("id", "total", schema=[]))) == {
        "breaks": ["copy", "sums"],
        "mayBreak": [],
        "lookAgain": ["sales"],
    }


def test_what_is_withheld_stays_withheld(drawn: tuple[Client, str]) -> None:
    lost = document("id")

    assert "owners" not in impact(drawn, lost, "ownerless")["breaks"][0]
    # Who sees no columns does not learn of which columns something is made.
    columnless = impact(drawn, lost, "columnless")
    assert named(columnless) == {"breaks": [], "mayBreak": ["copy", "sums"], "lookAgain": ["sales"]}
    assert named(impact(drawn, lost, "tables"))["lookAgain"] == []
    assert impact(drawn, lost, "unlinked") is None


def test_two_documents_of_nothing_stored_have_no_impact(drawn: tuple[Client, str]) -> None:
    client, _ = drawn
    text = f'{{"before": {document("id", "total")}, "after": {document("id")}}}'

    answer = client.request("POST", "/v1/dataContracts/compare", content=text)

    assert answer.status_code == 200
    assert "impact" not in answer.json()


def test_no_more_entities_are_named_than_an_answer_has_room_for(drawn: tuple[Client, str]) -> None:
    client, _ = drawn
    wide = client.table("wide", columns=COLUMNS)
    for number in range(MOST_HITS + 2):
        made = client.table(f"made{number}")
        edge = {
            "fromEntity": {"id": wide["id"], "type": "table"},
            "toEntity": {"id": made["id"], "type": "table"},
        }
        assert client.request("PUT", "/v1/lineage", json={"edge": edge}).status_code == 200
    contract = put(client, wide, document("id", "total").replace("orders", "wide")).json()

    path = f"/v1/dataContracts/{contract['id']}/compare"
    found = impact((client, path), document("id").replace("orders", "wide"))

    assert len(found["mayBreak"]) == MOST_HITS
    assert found["omitted"] == 2
