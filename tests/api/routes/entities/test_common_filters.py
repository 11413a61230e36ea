"""Lists of every kind narrowed by owner, domain, tag and tier, on whichever database they are."""

from pathlib import Path
from typing import Any

import pytest

from domain.kinds.ids import new_id
from domain.kinds.registry import KINDS
from tests.api.conftest import Client, running_under

COMMON = {"owner": "owners", "domain": "domains", "tag": "tags", "tier": "tags"}


def listed(client: Client, collection: str = "tables", **narrowed: Any) -> list[str]:
    """The names in a list, of which all are on the page."""
    answer = client.get(f"/v1/{collection}", **narrowed)
    names = [item["name"] for item in answer["data"]]
    assert answer["paging"] == {"total": len(names)}
    return names


def person(client: Client, name: str) -> Any:
    return client.create("users", name=name, email=f"{name}@example.com")


def labels(*fqns: str) -> list[dict[str, str]]:
    return [{"tagFQN": fqn} for fqn in fqns]


def test_list_is_narrowed_to_an_owner_by_name_and_id(client: Client) -> None:
    ann, dotted = person(client, "ann"), person(client, "ann.lee")
    data = client.create("teams", name="data", teamType="Group")
    client.schema()
    client.table("a", owners=[{"id": ann["id"], "type": "user"}])
    client.table(
        "b", owners=[{"id": ann["id"], "type": "user"}, {"id": data["id"], "type": "team"}]
    )
    client.table("c", owners=[{"id": dotted["id"], "type": "user"}])
    client.table("d")

    assert listed(client, owner="ann") == ["a", "b"]
    assert listed(client, owner=ann["id"]) == ["a", "b"]
    assert listed(client, owner=ann["id"].upper()) == ["a", "b"]
    assert listed(client, owner="ann.lee") == ["c"]
    assert listed(client, owner='"ann.lee"') == ["c"]
    assert listed(client, owner="data") == listed(client, owner=data["id"]) == ["b"]
    for nobody in ("Ann", "an", "", "\0", new_id(), "x" * 5_000):
        assert listed(client, owner=nobody) == []


def test_team_that_a_team_owns_is_not_below_it(client: Client) -> None:
    above = client.create("teams", name="above", teamType="Group")
    client.create("teams", name="below", teamType="Group", parents=[above["id"]])
    client.create(
        "teams", name="owned", teamType="Group", owners=[{"id": above["id"], "type": "team"}]
    )

    assert listed(client, "teams", parentTeam="above") == ["below"]
    assert listed(client, "teams", owner="above") == ["owned"]


def test_list_is_narrowed_to_a_domain_and_not_to_those_below_it(client: Client) -> None:
    domains = {}
    given = (("Sales", None), ("EU", "Sales"), ("Risk", None), ("EU", "Risk"), ("a.b", None))
    for name, parent in given:
        above = {} if parent is None else {"parent": parent}
        made = client.create("domains", name=name, description="x", domainType="Aggregate", **above)
        domains[made["fullyQualifiedName"]] = made["id"]
    client.schema()
    for name, fqn in (("a", "Sales"), ("b", "Sales.EU"), ("c", "Risk.EU"), ("d", '"a.b"')):
        client.table(name, domains=[fqn])

    assert listed(client, domain="Sales") == ["a"]
    assert listed(client, domain="Sales.EU") == ["b"]
    assert listed(client, domain=domains["Risk.EU"]) == ["c"]
    assert listed(client, domain="a.b") == listed(client, domain='"a.b"') == ["d"]
    # The bare name is that of two domains.
    assert listed(client, domain="EU") == ["b", "c"]
    assert listed(client, domain="Risk") == []
    # A domain of this qualified name goes before those below others.
    client.create("domains", name="EU", description="x", domainType="Aggregate")
    assert listed(client, domain="EU") == []
    client.create("dataProducts", name="p", description="x", domains=["Sales.EU"])
    assert listed(client, "dataProducts", domain="Sales.EU") == ["p"]
    assert listed(client, "dataProducts", domain=domains["Sales.EU"]) == ["p"]
    assert listed(client, "dataProducts", domain="Sales") == []


def vocabulary(client: Client) -> dict[str, str]:
    """Tags and a glossary term, by qualified name with their ids."""
    made = []
    for classification in ("PII", "Tier", "Care"):
        client.create("classifications", name=classification, description="x")
    for classification, name in (
        ("PII", "Sensitive"),
        ("PII", "None"),
        ("Care", "Sensitive"),
        ("Care", "Tier1"),
        ("Tier", "Tier1"),
        ("Tier", "Tier2"),
    ):
        made.append(
            client.create("tags", name=name, description="x", classification=classification)
        )
    client.create("glossaries", name="Terms", description="x")
    made.append(client.create("glossaryTerms", name="Order", description="x", glossary="Terms"))
    return {one["fullyQualifiedName"]: one["id"] for one in made}


def test_list_is_narrowed_to_a_tag_of_the_entity_or_of_its_parts(client: Client) -> None:
    ids = vocabulary(client)
    client.schema()
    client.table("a", tags=labels("PII.Sensitive", "Tier.Tier1"))
    inner = [
        {"name": "i", "dataType": "INT", "tags": labels("PII.Sensitive", "Tier.Tier2")},
    ]
    client.table("b", columns=[{"name": "s", "dataType": "STRUCT", "children": inner}])
    client.table("c", tags=labels("Care.Sensitive", "Care.Tier1"))
    client.table("d", tags=[{"tagFQN": "Terms.Order", "source": "Glossary"}])
    client.table("e", tags=labels("PII.None"))
    client.table("f")

    assert listed(client, tag="PII.Sensitive") == ["a", "b"]
    assert listed(client, tag=ids["PII.Sensitive"]) == ["a", "b"]
    assert listed(client, tag="Sensitive") == ["a", "b", "c"]
    assert listed(client, tag="PII") == ["a", "b", "e"]
    assert listed(client, tag="Terms.Order") == listed(client, tag=ids["Terms.Order"]) == ["d"]
    assert listed(client, tag="Order") == ["d"]
    for nothing in ("pii", "Sensitive.PII", new_id(), "PII.Nothing", ""):
        assert listed(client, tag=nothing) == []
    # A tier is one of the table itself.
    assert listed(client, tier="Tier1") == listed(client, tier="Tier.Tier1") == ["a"]
    assert listed(client, tier=ids["Tier.Tier1"]) == ["a"]
    assert listed(client, tier="Tier2") == listed(client, tier=ids["Care.Tier1"]) == []
    assert listed(client, tag="Tier2") == ["b"]


def test_labels_of_what_was_purged_are_listed_as_searches_find_them(client: Client) -> None:
    vocabulary(client)
    client.schema()
    of_terms = [{"tagFQN": "Terms.Order", "source": "Glossary"}]
    client.table("a", tags=labels("PII.Sensitive"))
    client.table("b", tags=of_terms)
    client.table("c", tags=labels("Tier.Tier2"))
    unlabelled = client.table("d", tags=labels("PII.Sensitive"))
    labelled = client.services.stores.log.head()
    for above in ("classifications/name/PII", "classifications/name/Tier", "glossaries/name/Terms"):
        assert client.ask("DELETE", f"/v1/{above}?hardDelete=true&recursive=true")[0] == 200
    patch = [{"op": "remove", "path": "/tags"}]
    assert client.ask("PATCH", f"/v1/tables/{unlabelled['id']}", json=patch)[0] == 200

    for tag, names in (("PII.Sensitive", ["a"]), ("Terms.Order", ["b"]), ("Tier.Tier2", ["c"])):
        assert listed(client, tag=tag) == listed(client, tag=tag, at="now") == names
        found = client.search_until(
            lambda answer: answer["hits"]["total"]["value"] == 1,
            q=f"tags.tagFQN:{tag}",
            index="table",
        )
        assert [hit["_source"]["name"] for hit in found["hits"]["hits"]] == names
    assert listed(client, tier="Tier2") == listed(client, tier="Tier2", at="now") == ["c"]
    assert listed(client, tag="PII.Sensitive", at=labelled) == ["a", "d"]
    assert listed(client, tag="PII.None") == listed(client, tag="PII.None", at=labelled) == []


def test_common_filters_are_combined_with_each_other_and_with_the_others(client: Client) -> None:
    vocabulary(client)
    ann = person(client, "ann")
    client.create("domains", name="Sales", description="x", domainType="Aggregate")
    client.schema()
    client.create("databaseSchemas", name="other", database="service.database")
    own = [{"id": ann["id"], "type": "user"}]
    for name in "abcdefg":
        client.table(name, owners=own, tags=labels("PII.Sensitive", "Tier.Tier1"))
    client.table("h", owners=own, domains=["Sales"], tags=labels("Tier.Tier1"))
    client.table("i", tags=labels("PII.Sensitive"), domains=["Sales"])
    gone = client.table("j", owners=own)
    client.create(
        "tables", name="k", databaseSchema="service.database.other", columns=[], owners=own
    )
    assert client.ask("DELETE", f"/v1/tables/{gone['id']}")[0] == 200

    assert listed(client, owner="ann", tag="PII") == [*"abcdefg"]
    assert listed(client, owner="ann", tier="Tier1", domain="Sales") == ["h"]
    assert listed(client, tag="PII", domain="Sales", service="service") == ["i"]
    assert listed(client, owner="ann", databaseSchema="service.database.other") == ["k"]
    assert listed(client, owner="ann", include="deleted") == ["j"]
    assert listed(client, owner="ann", tag="Tier", tableRegex="^[ah]") == ["a", "h"]
    assert client.get("/v1/tables", owner="ann", include="all", limit=0)["paging"]["total"] == 10

    pages, cursor = [], None
    while True:
        page = client.get(
            "/v1/tables",
            owner="ann",
            limit=4,
            fields="owners",
            **({"after": cursor} if cursor else {}),
        )
        assert page["paging"]["total"] == 9
        assert all(item["owners"][0]["name"] == "ann" for item in page["data"])
        pages.append([item["name"] for item in page["data"]])
        if (cursor := page["paging"].get("after")) is None:
            break
        other = client.ask("GET", f"/v1/tables?owner={ann['id']}&after={cursor}")
        assert other[0] == 400
    assert pages == [[*"abcd"], [*"efgh"], ["k"]]
    back = client.get("/v1/tables", owner="ann", limit=4, before=page["paging"]["before"])
    assert [item["name"] for item in back["data"]] == [*"efgh"]

    table = client.table("l")
    entity = {"id": table["id"], "type": "table"}
    client.create("dataContracts", name="one", entity=entity, entityStatus="Draft", owners=own)
    assert listed(client, "dataContracts", owner="ann", status="Draft") == ["one"]
    assert listed(client, "dataContracts", owner="ann", status="Active") == []


def test_narrowed_lists_follow_the_changes_of_an_entity(client: Client) -> None:
    vocabulary(client)
    ann, ben = person(client, "ann"), person(client, "ben")
    client.schema()
    own = [{"id": ann["id"], "type": "user"}]
    table = client.table("a", owners=own, tags=labels("PII.Sensitive"))
    patch = [
        {"op": "replace", "path": "/owners/0", "value": {"id": ben["id"], "type": "user"}},
        {"op": "add", "path": "/tags/-", "value": {"tagFQN": "PII.None"}},
    ]
    assert client.ask("PATCH", f"/v1/tables/{table['id']}", json=patch)[0] == 200

    assert (listed(client, owner="ann"), listed(client, owner="ben")) == ([], ["a"])
    assert listed(client, tag="PII") == listed(client, tag="None") == ["a"]
    untagged = [{"op": "remove", "path": "/tags/0"}]
    assert client.ask("PATCH", f"/v1/tables/{table['id']}", json=untagged)[0] == 200
    assert (listed(client, tag="PII.Sensitive"), listed(client, tag="PII")) == ([], ["a"])


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_common_filters_are_those_of_the_keys_that_a_kind_has(empty: Client, kind: Any) -> None:
    for name, key in COMMON.items():
        status, body = empty.ask("GET", f"/v1/{kind.collection}?{name}=x")
        if key in kind.keys:
            assert (status, body) == (200, {"data": [], "paging": {"total": 0}})
        else:
            assert status == 400
            assert body["message"].startswith(f"unknown parameter {name!r}: this list takes ")


def test_filter_of_a_field_that_is_withheld_is_refused(tmp_path: Path) -> None:
    with running_under(
        tmp_path,
        '[[rule]]\nrole="admin"\nallow=["view", "create"]\n'
        '[[rule]]\nrole="some"\nallow=["view", "list", "search"]\n'
        'withhold=["owners", "columns.tags"]\n'
        '[[rule]]\nrole="other"\nkinds=["table"]\nallow=["view", "list"]\nwithhold=["domains"]\n',
    ) as client:
        for name in COMMON:
            hidden = {"some": {"owner", "tag", "tier"}, "other": {"domain"}}
            for role, names in hidden.items():
                for value in ("x", new_id()):
                    answer = client.ask("GET", f"/v1/tables?{name}={value}", role=role)
                    assert answer[0] == (403 if name in names else 200), (name, role)
        refused = client.ask("GET", "/v1/tables?owner=ann", role="some")[1]
        assert refused["message"] == "owner: 'owners' of table is withheld from your roles"
        # Of what has no columns, tags are not withheld with them.
        assert client.ask("GET", "/v1/databases?tag=x", role="some")[0] == 200
        # Nor are they asked for by their short names in a search.
        for name in ("owner", "tag", "tags", "tier"):
            for q in (f"{name}:x", f"_exists_:{name}", f"name:a OR {name}:x*"):
                assert client.ask("GET", f"/v1/search/query?q={q}", role="some")[0] == 403, q
        assert client.ask("GET", "/v1/search/query?q=domain:x", role="some")[0] == 200


def test_tags_are_listed_below_a_tag_or_their_classification(client: Client) -> None:
    client.create("classifications", name="PII", description="-")
    for name, parent in (("Deep", None), ("Deeper", "PII.Deep"), ("Flat", None)):
        above = {} if parent is None else {"parent": parent}
        client.create("tags", name=name, classification="PII", description="-", **above)
    assert listed(client, "tags", parent="PII") == ["Deep", "Deeper", "Flat"]
    assert listed(client, "tags", parent="PII.Deep") == ["Deeper"]
    assert listed(client, "tags", parent="Nothing") == []
