"""Renames by a patch of `name`, and what follows them."""

from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from api.callers.tokens.issuers import Issuer
from api.callers.tokens.minting import mint
from tests.api.conftest import SECRET, Answer, Client
from tests.waiting import until

PATIENCE = 300
"""Seconds until a test says that it has waited in vain."""


def rename(
    client: Client, collection: str, which: str, name: str, *more: Any, **options: Any
) -> Answer:
    """The answer to a patch of the name, and of whatever `more` changes."""
    patch = [{"op": "replace", "path": "/name", "value": name}, *more]
    headers = {"Content-Type": "application/json-patch+json", **options.pop("headers", {})}
    return client.ask("PATCH", f"/v1/{collection}/{which}", json=patch, headers=headers, **options)


def vocabulary(client: Client) -> dict[str, Any]:
    """A glossary with a term in a term, and a table with a label of the lower one."""
    glossary = client.create("glossaries", name="Sales", description="")
    upper = client.create("glossaryTerms", name="Customer", glossary="Sales", description="")
    lower = client.create(
        "glossaryTerms", name="Buyer", parent="Sales.Customer", glossary="Sales", description=""
    )
    client.schema()
    label = {"tagFQN": "Sales.Customer.Buyer", "source": "Glossary"}
    columns = [{"name": "id", "dataType": "INT", "tags": [label]}]
    table = client.table(columns=columns, tags=[{**label, "tagFQN": "Sales.Customer"}])
    return {"glossary": glossary, "upper": upper, "lower": lower, "table": table}


def test_a_rename_moves_what_is_below_and_every_reference(client: Client) -> None:
    made = vocabulary(client)

    status, renamed = rename(client, "glossaries", made["glossary"]["id"], "Trade")

    assert status == 200, renamed
    assert (renamed["name"], renamed["fullyQualifiedName"]) == ("Trade", "Trade")
    assert renamed["formerNames"] == ["Sales"]
    assert renamed["version"] == 0.2
    lower = client.get(f"/v1/glossaryTerms/{made['lower']['id']}")
    assert lower["fullyQualifiedName"] == "Trade.Customer.Buyer"
    assert lower["formerNames"] == ["Sales.Customer.Buyer"]
    assert lower["parent"]["fullyQualifiedName"] == "Trade.Customer"
    assert lower["glossary"]["name"] == lower["glossary"]["fullyQualifiedName"] == "Trade"
    table = client.get(f"/v1/tables/{made['table']['id']}", fields="tags")
    assert [each["tagFQN"] for each in table["tags"]] == ["Trade.Customer"]
    assert [each["tagFQN"] for each in table["columns"][0]["tags"]] == ["Trade.Customer.Buyer"]
    assert table["version"] == 0.2


def test_old_names_lead_to_what_was_renamed(client: Client) -> None:
    made = vocabulary(client)
    assert rename(client, "glossaries", made["glossary"]["id"], "Trade")[0] == 200

    assert client.get("/v1/glossaries/name/Sales")["id"] == made["glossary"]["id"]
    assert client.get("/v1/glossaryTerms/name/Sales.Customer.Buyer")["id"] == made["lower"]["id"]
    for name in ("Sales", "Trade"):
        listed = client.get("/v1/glossaryTerms", glossary=name)
        assert {each["name"] for each in listed["data"]} == {"Customer", "Buyer"}
    for name in ("Sales.Customer", "Trade.Customer"):
        listed = client.get("/v1/glossaryTerms", parent=name)
        assert [each["name"] for each in listed["data"]] == ["Buyer"]
        listed = client.get("/v1/tables", tag=name)
        assert listed["paging"]["total"] == 1
    created = client.create(
        "glossaryTerms", name="Seller", parent="Sales.Customer", glossary="Sales", description=""
    )
    assert created["fullyQualifiedName"] == "Trade.Customer.Seller"
    labelled = client.table("lines", tags=[{"tagFQN": "Sales.Customer", "source": "Glossary"}])
    assert [each["tagFQN"] for each in labelled["tags"]] == ["Trade.Customer"]
    body = {"name": "Buyer", "parent": "Sales.Customer", "glossary": "Sales", "description": "x"}
    status, put = client.ask("PUT", "/v1/glossaryTerms", json=body)
    assert (status, put["id"], put["description"]) == (200, made["lower"]["id"], "x")
    assert put["fullyQualifiedName"] == "Trade.Customer.Buyer"
    status, put = client.ask("PUT", "/v1/glossaries", json={"name": "Sales", "description": "y"})
    assert (status, put["id"], put["name"]) == (200, made["glossary"]["id"], "Trade")
    status, bulk = client.ask("PUT", "/v1/glossaryTerms/bulk", json=[body])
    assert (status, bulk["numberOfRowsPassed"]) == (200, 1)
    assert client.get("/v1/glossaryTerms")["paging"]["total"] == 3


def test_a_former_name_is_taken_until_the_entity_is_purged(client: Client) -> None:
    made = client.create("teams", name="data", teamType="Group")
    other = client.create("teams", name="other", teamType="Group")
    assert rename(client, "teams", made["id"], "platform")[0] == 200

    refused = client.ask("POST", "/v1/teams", json={"name": "data", "teamType": "Group"})
    taken = rename(client, "teams", other["id"], "data")
    held = rename(client, "teams", other["id"], "platform")

    message = "'data' is a former name of team 'platform', which keeps it"
    assert (refused[0], refused[1]["message"]) == (409, message)
    assert (taken[0], taken[1]["message"]) == (409, message)
    assert (held[0], held[1]["message"]) == (409, "a team named 'platform' exists already")
    assert client.ask("DELETE", f"/v1/teams/{made['id']}?hardDelete=true")[0] == 200
    assert rename(client, "teams", other["id"], "data")[0] == 200
    assert client.create("teams", name="platform", teamType="Group")["name"] == "platform"


def test_an_entity_may_be_called_what_it_was_called_before(client: Client) -> None:
    made = client.create("domains", name="A", domainType="Aggregate", description="")
    below = client.create("domains", name="x", parent="A", domainType="Aggregate", description="")

    for name, former in (
        ("B", ["A"]),
        ("C", ["A", "B"]),
        ("A", ["B", "C"]),
        ("a", ["B", "C", "A"]),
    ):
        status, answer = rename(client, "domains", made["id"], name)
        assert (status, answer["formerNames"]) == (200, former)

    for name in "ABCa":
        assert client.get(f"/v1/domains/name/{name}")["id"] == made["id"]
        assert client.get(f"/v1/domains/name/{name}.x")["fullyQualifiedName"] == "a.x"
    assert client.get(f"/v1/domains/{below['id']}")["formerNames"] == ["B.x", "C.x", "A.x"]


def test_two_entities_swap_their_names_by_a_third_only_with_other_names(client: Client) -> None:
    one = client.create("classifications", name="one", description="")
    two = client.create("classifications", name="two", description="")
    assert rename(client, "classifications", one["id"], "three")[0] == 200

    status, refusal = rename(client, "classifications", two["id"], "one")

    assert status == 409
    assert refusal["message"] == "'one' is a former name of classification 'three', which keeps it"


def test_other_keys_change_with_the_name(client: Client) -> None:
    made = vocabulary(client)
    more = {"op": "add", "path": "/displayName", "value": "Trade and Sales"}

    path = "name/Sales.Customer"
    status, renamed = rename(client, "glossaryTerms", path, "Party", more)

    assert status == 200
    shown = (renamed["name"], renamed["fullyQualifiedName"], renamed["displayName"])
    assert shown == ("Party", "Sales.Party", "Trade and Sales")
    assert renamed["changeDescription"]["fieldsUpdated"] == [
        {"name": "name", "oldValue": "Customer", "newValue": "Party"},
        {"name": "fullyQualifiedName", "oldValue": "Sales.Customer", "newValue": "Sales.Party"},
    ]
    lower = client.get(f"/v1/glossaryTerms/{made['lower']['id']}")
    assert lower["fullyQualifiedName"] == "Sales.Party.Buyer"


def test_versions_show_the_name_of_then(client: Client) -> None:
    made = vocabulary(client)
    assert rename(client, "glossaries", made["glossary"]["id"], "Trade")[0] == 200

    path = f"/v1/glossaryTerms/{made['lower']['id']}/versions"
    first, second = (client.get(f"{path}/{version}") for version in ("0.1", "0.2"))

    assert first["fullyQualifiedName"] == "Sales.Customer.Buyer"
    assert second["fullyQualifiedName"] == "Trade.Customer.Buyer"
    assert "formerNames" not in first
    path = f"/v1/tables/{made['table']['id']}/versions/0.1"
    assert [each["tagFQN"] for each in client.get(path)["tags"]] == ["Sales.Customer"]


def test_the_past_has_the_names_of_then(client: Client) -> None:
    made = vocabulary(client)
    path = f"/v1/glossaryTerms/{made['lower']['id']}"
    before = client.request("GET", path).headers["X-Catalog-Position"]
    assert rename(client, "glossaries", made["glossary"]["id"], "Trade")[0] == 200
    assert rename(client, "glossaries", made["glossary"]["id"], "Shop")[0] == 200

    then = client.get(path, at=before)
    named = client.get("/v1/glossaryTerms/name/Trade.Customer.Buyer", at=before)
    now = client.get(path, at="now")
    changed = client.get(f"{path}/diff", **{"from": before})["changeDescription"]

    assert then["fullyQualifiedName"] == named["fullyQualifiedName"] == "Sales.Customer.Buyer"
    assert "formerNames" not in then
    assert now["formerNames"] == ["Sales.Customer.Buyer", "Trade.Customer.Buyer"]
    assert {
        "name": "fullyQualifiedName",
        "oldValue": "Sales.Customer.Buyer",
        "newValue": "Shop.Customer.Buyer",
    } in changed["fieldsUpdated"]


def test_clients_of_openmetadata_are_shown_no_former_names(client: Client) -> None:
    made = client.create("glossaries", name="Sales", description="")
    headers = {"Content-Type": "application/json-patch+json"}
    patch = [{"op": "replace", "path": "/name", "value": "Trade"}]
    path = f"/api/v1/glossaries/{made['id']}"

    status, renamed = client.ask("PATCH", path, json=patch, headers=headers)

    assert (status, renamed["name"]) == (200, "Trade")
    bodies = [
        renamed,
        client.get(path),
        client.get(path, fields="*"),
        client.get(path, fields="formerNames"),
        client.get(f"{path}/versions/0.2"),
        *client.get("/api/v1/glossaries", fields="*")["data"],
        *client.get("/api/v1/glossaries", fields="formerNames")["data"],
    ]
    assert [each["name"] for each in bodies] == ["Trade"] * 7
    assert not any("formerNames" in each for each in bodies)
    listed = client.get("/v1/glossaries", fields="formerNames")["data"]
    assert [each["formerNames"] for each in listed] == [["Sales"]]
    assert "formerNames" not in client.get("/v1/glossaries")["data"][0]


@pytest.mark.parametrize(
    ("collection", "body"),
    [
        ("users", {"name": "ann"}),
        ("services/databaseServices", {"name": "ann", "serviceType": "Mysql"}),
    ],
)
def test_what_sources_name_is_not_renamed(
    client: Client, collection: str, body: dict[str, Any]
) -> None:
    made = client.create(collection, **body)

    status, refusal = rename(client, collection, made["id"], "eve")

    assert status == 400
    assert refusal["message"].endswith(
        "cannot be patched: it is the one that its source knows it by; what may be renamed is"
        " classification, dataProduct, domain, glossary, glossaryTerm, tag, team"
    )


@pytest.mark.parametrize("name", ["", "x" * 257, "a\nb", None, 3])
def test_a_name_that_no_entity_can_have_is_refused(client: Client, name: Any) -> None:
    made = client.create("teams", name="data", teamType="Group")

    assert rename(client, "teams", made["id"], name)[0] == 400
    assert client.get(f"/v1/teams/{made['id']}")["version"] == 0.1


def test_a_soft_deleted_entity_is_not_renamed(client: Client) -> None:
    made = client.create("teams", name="data", teamType="Group")
    assert client.ask("DELETE", f"/v1/teams/{made['id']}")[0] == 200

    assert rename(client, "teams", made["id"], "x")[0] == 404


def test_what_is_deleted_below_follows_and_comes_back(client: Client) -> None:
    made = vocabulary(client)
    path = f"/v1/glossaryTerms/{made['upper']['id']}"
    assert client.ask("DELETE", f"{path}?recursive=true")[0] == 200
    assert rename(client, "glossaries", made["glossary"]["id"], "Trade")[0] == 200

    status, restored = client.ask(
        "PUT", "/v1/glossaryTerms/restore", json={"id": made["upper"]["id"]}
    )

    assert (status, restored["fullyQualifiedName"]) == (200, "Trade.Customer")
    lower = client.get(f"/v1/glossaryTerms/{made['lower']['id']}")
    assert lower["fullyQualifiedName"] == "Trade.Customer.Buyer"


def test_of_two_renames_on_one_version_the_second_is_refused(client: Client) -> None:
    made = client.create("teams", name="data", teamType="Group")
    answer = client.request("GET", f"/v1/teams/{made['id']}")
    headers = {"If-Match": answer.headers["ETag"]}

    first = rename(client, "teams", made["id"], "one", headers=headers)
    second = rename(client, "teams", made["id"], "two", headers=headers)

    assert (first[0], second[0]) == (200, 412)
    assert client.get(f"/v1/teams/{made['id']}")["name"] == "one"


def test_search_finds_the_new_name(client: Client) -> None:
    made = vocabulary(client)
    assert rename(client, "glossaries", made["glossary"]["id"], "Trade")[0] == 200

    found = client.search_until(
        lambda answer: answer["hits"]["total"]["value"] == 1,
        q="fullyQualifiedName:Trade.Customer.Buyer",
        index="glossary_term_search_index",
    )

    assert found["hits"]["hits"][0]["_id"] == made["lower"]["id"]
    client.search_until(
        lambda answer: answer["hits"]["total"]["value"] == 1,
        q='tags.tagFQN:"Trade.Customer"',
        index="table_search_index",
    )


def test_the_audit_tells_the_name_of_then(client: Client) -> None:
    made = vocabulary(client)
    assert rename(client, "glossaries", made["glossary"]["id"], "Trade")[0] == 200

    found = client.get("/v1/audit/events", entity=made["upper"]["id"])["data"]

    told = [(each["eventType"], each["fullyQualifiedName"], each.get("remark")) for each in found]
    new = {"name": "Customer", "fqn": "Trade.Customer"}
    assert sorted(told, key=lambda each: each[0]) == [
        ("entity.changed", "Trade.Customer", None),
        ("entity.created", "Sales.Customer", None),
        ("entity.renamed", "Trade.Customer", new),
    ]
    renamed = client.get("/v1/audit/events", eventType="entity.renamed", fqn="Trade.Customer")
    assert [each["entityId"] for each in renamed["data"]] == [made["upper"]["id"]]


def test_what_a_connector_saw_by_a_former_name_is_not_stale(client: Client) -> None:
    made = vocabulary(client)
    assert rename(client, "glossaries", made["glossary"]["id"], "Trade")[0] == 200
    body = {
        "scopeFqn": "Sales",
        "scopeEntityType": "glossary",
        "seenFqns": ["Sales.Customer", "Trade.Customer.Buyer"],
    }

    status, result = client.ask("DELETE", "/v1/glossaryTerms/deleteStale", json=body)

    assert (status, result["numberOfRowsProcessed"]) == (200, 0)
    assert client.get("/v1/glossaryTerms")["paging"]["total"] == 2


def test_labels_that_excluded_each_other_go_on_to_do_so(client: Client) -> None:
    made = client.create("classifications", name="One", description="", mutuallyExclusive=True)
    for name in "ab":
        client.create("tags", name=name, classification="One", description="")
    assert rename(client, "classifications", made["id"], "Two")[0] == 200
    service = {"name": "s", "serviceType": "Mysql"}
    labels = [{"tagFQN": each, "source": "Classification"} for each in ("One.a", "Two.b")]

    status, refusal = client.ask(
        "POST", "/v1/services/databaseServices", json={**service, "tags": labels}
    )

    assert status == 400
    assert "exclude each other" in refusal["message"]


def test_renames_that_search_the_log_leave_the_turns_of_writes_to_others(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, held, searching = client.services.stores.log, Event(), Event()
    mentioning = log.mentioning

    def slow(texts: Collection[bytes], *, after: int = 0) -> tuple[set[str], int]:
        searching.set()
        assert held.wait(PATIENCE)
        return mentioning(texts, after=after)

    monkeypatch.setattr(log, "mentioning", slow)
    callers = [f"caller{n}" for n in range(8)]
    for caller in callers:
        client.create("glossaries", name=caller, description="")

    def rename_one(caller: str) -> Answer:
        token = mint(Issuer(secret=SECRET), caller, ("editor",), 600)
        headers = {"Authorization": f"Bearer {token}"}
        return rename(client, "glossaries", f"name/{caller}", f"{caller} x", headers=headers)

    with ThreadPoolExecutor(len(callers)) as threads:
        renames = [threads.submit(rename_one, each) for each in callers]
        try:
            until(searching.is_set)
            for n in range(20):
                client.create("glossaries", name=f"other{n}", description="")
        finally:
            held.set()
        answers = [each.result(PATIENCE) for each in renames]

    assert [status for status, _ in answers] == [200] * len(callers)
