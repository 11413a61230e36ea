"""What changed between two points of the log, for each caller and each part of the catalog."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from api.use_cases import differences
from api.use_cases.differences import Comparison
from domain.errors import InvalidInput
from domain.kinds.registry import KINDS
from projections.entities import cursors
from tests.api.conftest import Client, running_under

POLICIES = """
[[rule]]
role = "admin"
allow = ["view", "list", "create", "edit", "delete", "audit"]

[[rule]]
role = "reader"
allow = ["view", "list"]

[[rule]]
role = "clerk"
allow = ["view", "list", "audit"]

[[rule]]
role = "clerk"
kinds = ["table"]
withhold = ["description", "domains"]

[[rule]]
role = "outsider"
allow = ["view"]
kinds = ["user"]

[[rule]]
role = "auditor"
allow = ["view"]

[[rule]]
role = "auditor"
allow = ["audit"]
kinds = ["table"]
"""
SCHEMA = "service.database.schema"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with running_under(tmp_path, POLICIES) as started:
        yield started


def head(client: Client) -> int:
    return client.services.stores.log.head()


def patch(client: Client, path: str, key: str, value: Any) -> None:
    given = [{"op": "add", "path": f"/{key}", "value": value}]
    assert client.ask("PATCH", path, json=given)[0] == 200


def diff(client: Client, from_: Any, role: str = "admin", **params: Any) -> Any:
    answer = client.request("GET", "/v1/diff", role=role, params={"from": from_, **params})
    assert answer.status_code == 200, answer.text
    return answer.json()


def told(answer: Any) -> list[tuple[str, str]]:
    """Change and qualified name of each entity."""
    return [(each["change"], each["entity"]["fullyQualifiedName"]) for each in answer["data"]]


def names(answer: Any) -> list[str]:
    return [name for _, name in told(answer)]


def test_every_change_has_its_word_and_the_versions_of_both_points(client: Client) -> None:
    client.schema()
    tables = {name: client.table(name) for name in ("changed", "gone", "back", "purged", "same")}
    paths = {name: f"/v1/tables/{table['id']}" for name, table in tables.items()}
    client.request("DELETE", paths["back"])
    start = head(client)
    for name in ("changed", "same"):
        patch(client, paths[name], "displayName", "X")
    assert client.ask("PATCH", paths["same"], json=[{"op": "remove", "path": "/displayName"}])[0]
    client.request("DELETE", paths["gone"])
    client.request("PUT", "/v1/tables/restore", json={"id": tables["back"]["id"]})
    client.request("DELETE", f"{paths['purged']}?hardDelete=true")
    new = client.table("new")
    client.request("DELETE", f"/v1/tables/{new['id']}")

    answer = diff(client, start)

    def entity(table: Any, **more: Any) -> Any:
        named = {key: table[key] for key in ("id", "fullyQualifiedName")}
        return {"type": "table", **named, **more}

    assert answer == {
        "from": {"position": start},
        "to": {"position": head(client)},
        "counts": {"created": 1, "changed": 1, "deleted": 1, "restored": 1, "purged": 1},
        "data": [
            {"change": "restored", "entity": entity(tables["back"]), "from": 0.2, "to": 0.3},
            {"change": "changed", "entity": entity(tables["changed"]), "from": 0.1, "to": 0.2},
            {
                "change": "deleted",
                "entity": entity(tables["gone"], deleted=True),
                "from": 0.1,
                "to": 0.2,
            },
            {"change": "created", "entity": entity(new, deleted=True), "to": 0.2},
            {"change": "purged", "entity": entity(tables["purged"]), "from": 0.1},
        ],
        "paging": {"total": 5},
    }


def test_part_of_the_catalog_is_below_a_name_in_a_domain_or_of_a_kind(client: Client) -> None:
    start = head(client)
    client.schema()
    client.create("domains", name="sales", domainType="Aggregate", description="")
    sales = client.create("domains", name="a.b", domainType="Aggregate", description="")
    table = client.table("orders", domains=['"a.b"'])
    client.table("other")
    client.create("users", name="service")

    assert names(diff(client, start, below=SCHEMA)) == [
        SCHEMA,
        f"{SCHEMA}.orders",
        f"{SCHEMA}.other",
    ]
    assert names(diff(client, start, below=SCHEMA, kind="table", limit=1)) == [f"{SCHEMA}.orders"]
    for named in (sales["id"], '"a.b"', sales["id"].upper()):
        assert names(diff(client, start, domain=named)) == [f"{SCHEMA}.orders"]
    below_both = diff(client, start, below="service")
    assert [each["entity"]["type"] for each in below_both["data"]] == [
        *("database", "databaseSchema", "databaseService", "table", "table", "user")
    ]
    left = head(client)
    patch(client, f"/v1/tables/{table['id']}", "domains", [])
    assert told(diff(client, left, domain='"a.b"')) == [("changed", f"{SCHEMA}.orders")]
    assert told(diff(client, left, domain="sales")) == []


def test_what_was_below_follows_new_names(client: Client) -> None:
    glossary = client.create("glossaries", name="g", description="")
    client.create("glossaryTerms", name="t", glossary="g", description="")
    client.create("glossaries", name="other", description="")
    start = head(client)
    patch(client, f"/v1/glossaries/{glossary['id']}", "name", "h")
    renamed = [("changed", "h"), ("changed", "h.t")]

    for below in ("g", "h"):
        assert told(diff(client, start, below=below)) == renamed
    assert told(diff(client, 0, to=start, below="h")) == [("created", "g"), ("created", "g.t")]
    assert told(diff(client, head(client), below="h")) == []


def test_pages_are_of_the_same_two_points(client: Client) -> None:
    client.schema()
    start = head(client)
    for number in range(5):
        client.table(f"t{number}")
    first = diff(client, start, limit=2, to="now")
    client.table("t0a")
    second = diff(client, start, limit=2, to="now", after=first["paging"]["after"])
    third = diff(client, start, limit=2, to="now", after=second["paging"]["after"])

    assert [names(each) for each in (first, second, third)] == [
        [f"{SCHEMA}.t0", f"{SCHEMA}.t1"],
        [f"{SCHEMA}.t2", f"{SCHEMA}.t3"],
        [f"{SCHEMA}.t4"],
    ]
    assert {each["paging"]["total"] for each in (first, second, third)} == {5}
    assert second["to"] == first["to"]
    assert third["paging"].keys() == {"total"}
    cursor = first["paging"]["after"]
    for wrong in ({"below": "service"}, {"from": start - 1}, {"to": start}, {"after": cursor[:-1]}):
        params = {"from": start, "limit": 2, "after": cursor, **wrong}
        status, error = client.ask("GET", "/v1/diff", params=params)
        assert (status, "not a cursor of this list" in error["message"]) == (400, True), error


@pytest.mark.parametrize(
    ("name", "position"),
    [("3.table.a", None), ("3.table.a", 2), ("x", 3), ("-1.table.a", 3), ("3.table.a", 2**63)],
)
def test_cursor_that_somebody_made_up_is_refused(
    client: Client, name: str, position: int | None
) -> None:
    place = cursors.Place(name, str(UUID(int=1)))
    listing = "\0".join(("0", "now", "", "", ""))
    made_up = cursors.encode(place, listing, backward=False, position=position).decode()

    status, error = client.ask("GET", "/v1/diff", params={"from": "0", "after": made_up})

    assert (status, error["message"]) == (400, "after is not a cursor of this comparison")


def test_long_names_have_their_place_in_a_cursor(client: Client) -> None:
    client.create("services/databaseServices", name="\u00e9" * 256, serviceType="Mysql")
    client.create("databases", name="\u00e9" * 256, service="\u00e9" * 256)
    above = f"{'é' * 256}.{'é' * 256}"
    start = head(client)
    for name in ("c", "a", "b"):
        client.create("databaseSchemas", name=name, database=above)
    found: list[str] = []
    cursor: dict[str, str] = {}
    for _ in range(3):
        answer = diff(client, start, limit=1, **cursor)
        found += names(answer)
        cursor = {"after": answer["paging"].get("after")}
    assert cursor == {"after": None}
    assert sorted(found) == [f"{above}.{name}" for name in "abc"]


def test_who_sees_less_is_told_less(client: Client) -> None:
    client.schema()
    client.create("domains", name="sales", domainType="Aggregate", description="")
    tables = {name: client.table(name, description="x") for name in ("a", "b", "gone")}
    start = head(client)
    patch(client, f"/v1/tables/{tables['a']['id']}", "description", "secret")
    patch(client, f"/v1/tables/{tables['b']['id']}", "displayName", "B")
    client.request("DELETE", f"/v1/tables/{tables['gone']['id']}?hardDelete=true")
    brief = client.table("brief")
    client.request("DELETE", f"/v1/tables/{brief['id']}?hardDelete=true")
    client.create("users", name="ann")
    changed = [("changed", f"{SCHEMA}.a"), ("changed", f"{SCHEMA}.b")]
    purged = [("purged", f"{SCHEMA}.brief"), ("purged", f"{SCHEMA}.gone")]
    ann = [("created", "ann")]

    assert told(diff(client, start)) == [*changed, *purged, *ann]
    reader = diff(client, start, "reader")
    assert told(reader) == changed + ann
    assert reader["counts"] == {"created": 1, "changed": 2, "deleted": 0, "restored": 0}
    # Who may not see a field of a kind does not audit it.
    assert told(diff(client, start, "clerk")) == changed[1:] + ann
    assert told(diff(client, start, "outsider")) == ann
    assert told(diff(client, start, "auditor")) == [*changed, *purged, *ann]
    assert "purged" not in diff(client, start, "auditor", kind="user")["counts"]
    for role, params, status in (
        ("outsider", {"kind": "table"}, 403),
        ("outsider", {"below": SCHEMA}, 404),
        ("outsider", {"domain": "sales"}, 403),
        ("clerk", {"domain": "sales"}, 403),
        ("reader", {"domain": "sales"}, 200),
        ("nobody", {}, 403),
    ):
        asked = {"from": start, **params}
        assert client.ask("GET", "/v1/diff", role=role, params=asked)[0] == status, (role, params)


def test_purge_takes_the_past_too(client: Client) -> None:
    client.schema()
    start = head(client)
    table = client.table("gone")
    created = head(client)
    assert told(diff(client, start, to=created)) == [("created", f"{SCHEMA}.gone")]
    client.request("DELETE", f"/v1/tables/{table['id']}?hardDelete=true")

    assert told(diff(client, start, to=created)) == []
    assert told(diff(client, created)) == [("purged", f"{SCHEMA}.gone")]


@pytest.mark.parametrize(
    ("params", "status", "said"),
    [
        ({}, 400, "from"),
        ({"from": "soon"}, 400, "from must be a position"),
        ({"from": "2999-01-01"}, 400, "is yet to come"),
        ({"from": "3", "to": "2"}, 400, "from is position 3, which is after the end, position 2"),
        ({"from": "0", "kind": "lineageEdge"}, 400, "kind"),
        ({"from": "0", "limit": "0"}, 400, "limit"),
        ({"from": "0", "limit": "1001"}, 400, "limit"),
        ({"from": "0", "after": "x"}, 400, "after is not a cursor"),
        ({"from": "0", "below": "no.such"}, 404, "below: nothing is named 'no.such'"),
        ({"from": "0", "below": "\0"}, 404, "below: nothing is named"),
        ({"from": "0", "below": ""}, 404, "below: nothing is named ''"),
        ({"from": "0", "domain": "no.such"}, 404, "domain: there is no domain 'no.such'"),
        ({"from": "0", "under": "x"}, 400, "under"),
    ],
)
def test_wrong_questions_are_refused(
    unchanged: Client, params: dict[str, str], status: int, said: str
) -> None:
    answer = unchanged.ask("GET", "/v1/diff", params=params)

    assert (answer[0], said in answer[1]["message"]) == (status, True), answer


def compared(client: Client, **bounds: Any) -> Comparison:
    """The comparison of the beginning of the log and its end, under other bounds."""
    comparison = Comparison(
        before=0,
        after=head(client),
        kinds=frozenset(KINDS),
        audited=frozenset(),
        withheld={},
        limit=10,
        **bounds,
    )
    assert {*comparison.in_turns(client.services.stores.log)} <= {b""}
    return comparison


def test_no_more_events_are_looked_at_than_the_bound(client: Client) -> None:
    client.schema()
    events = head(client)
    assert len(compared(client, most_events=events).differing) > 1

    with pytest.raises(InvalidInput, match=f"more than {events - 1} events between positions 0"):
        compared(client, most_events=events - 1)


def test_long_comparison_gives_way_to_others_and_ends(client: Client) -> None:
    client.schema()
    whole = compared(client)
    in_many_turns = compared(client, turn_seconds=0)
    assert (in_many_turns.page, in_many_turns.totals) == (whole.page, whole.totals)

    with pytest.raises(InvalidInput, match="takes too long to compare"):
        compared(client, turn_seconds=0, most_seconds=1e-9)


def test_steps_longer_than_a_turn_count_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 1_000, 3))
    monkeypatch.setattr(differences.time, "monotonic", lambda: next(clock))
    turns = differences.in_turns(range(100), seconds=0.1, most=20)

    assert [next(turns) for _ in range(6)] == [b""] * 6
    with pytest.raises(InvalidInput, match="takes too long to compare"):
        next(turns)


def test_first_entities_are_kept_of_many(client: Client) -> None:
    expected = [f"many{number:04}" for number in range(1_200)]
    for part in (expected[600:], expected[:600]):
        services = [{"name": name, "serviceType": "Mysql"} for name in reversed(part)]
        assert client.ask("PUT", "/v1/services/databaseServices/bulk", json=services)[0] == 200
    found: list[str] = []
    cursor: dict[str, str] = {}
    while not found or cursor["after"]:
        answer = diff(client, 0, limit=80, kind="databaseService", **cursor)
        found += names(answer)
        cursor = {"after": answer["paging"].get("after")}
    assert found == expected
