"""The values of facets, which the index has in lower case, as they are written in the catalog."""

import re
from collections.abc import Iterator
from html import unescape

import pytest

from api.pages.search.facets import FACETS, facet_values
from tests.api.conftest import Client, running_under
from tests.api.pages.conftest import Browser

POLICIES = """
[[rule]]
role = "admin"
allow = ["list", "view", "search", "create", "edit", "delete"]

[[rule]]
role = "reader"
allow = ["list", "view", "search"]

[[rule]]
role = "clerk"
allow = ["list", "view", "search"]
kinds = ["table", "team"]
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A catalog in which most names have capitals, and some are written in two ways."""
    directory = tmp_path_factory.mktemp("written")
    long = "Long" * 50
    with running_under(directory, POLICIES) as client:
        client.schema()
        for name in ("AnnaBel", "Bert", "bert"):
            client.create("users", name=name, email=f"{name}@shop.example")
        client.create("teams", name="Sales.Team", teamType="Group")
        client.create("domains", name="Ünited Sales", domainType="Aggregate", description="What")
        client.create("classifications", name="Tier_X", description="How")
        for name in ("Email", long):
            client.create("tags", name=name, classification="Tier_X", description="An address")
        client.create("glossaries", name="Words", description="of ours")
        client.create("glossaryTerms", name="Big <b>", glossary="Words", description="It")
        labels = (("Tier_X.Email", "Classification"), (f"Tier_X.{long}", "Classification"))
        both = [{"type": "user", "fullyQualifiedName": name} for name in ("Bert", "bert")]
        client.table("deliveries", owners=both)
        client.table(
            "orders",
            owners=[
                {"type": kind, "fullyQualifiedName": name}
                for kind, name in (
                    ("user", "AnnaBel"),
                    ("user", "Bert"),
                    ("team", '"Sales.Team"'),
                )
            ],
            domains=["Ünited Sales"],
            tags=[
                {"tagFQN": fqn, "source": source, "labelType": "Manual", "state": "Confirmed"}
                for fqn, source in (*labels, ("Words.Big <b>", "Glossary"))
            ],
        )
        # The table is the last that was written.
        client.search_until(lambda found: found["hits"]["total"]["value"] > 0, q="orders")
        yield client


def facets(client: Client, role: str, query: str = "q=orders") -> dict[str, set[str]]:
    """Title of each facet of a page -> its values."""
    text = Browser(client, role).get(f"/search?{query}").text.partition('class="facets"')[2]
    return {
        unescape(part.partition("</h2>")[0]): set(
            map(unescape, re.findall(r"<bdi>(.*?)</bdi>", part))
        )
        for part in text.split("<h2>")[1:]
    }


@pytest.mark.parametrize("role", ["reader", "clerk"])
def test_names_are_shown_as_what_is_counted_writes_them(written: Client, role: str) -> None:
    """Names are the same if the caller may not search what has them: the table tells them."""
    shown = facets(written, role)

    assert shown["Tag"] == {"Tier_X.Email", "Words.Big <b>", f"Tier_X.{'Long' * 50}"}
    assert shown["Domain"] == {"Ünited Sales"}
    assert shown["Service"] == {"service"}
    # Of two users, one owns the table.
    assert shown["Owner"] == {"AnnaBel", "Bert", "Sales.Team"}


@pytest.mark.parametrize("facet", ["tag=Tier_X.Email", "owner=annabel", "domain=%C3%9Cnited+Sales"])
def test_facet_is_chosen_as_it_is_written(written: Client, facet: str) -> None:
    text = Browser(written, "reader").get(f"/search?q=orders&{facet}").text

    assert text.count('class="chosen"') == 1
    assert "<strong>1</strong> result " in text


def test_kind_is_chosen_however_its_name_is_written(written: Client) -> None:
    for kind in ("glossaryTerm", "glossaryterm"):
        text = Browser(written, "reader").get(f"/search?q=&kind={kind}").text
        assert text.count('class="chosen"') == 1


def test_entity_with_a_value_in_two_ways_is_counted_once(written: Client) -> None:
    text = Browser(written, "reader").get("/search?q=deliveries").text.partition('="facets"')[2]
    owners = text.partition("<h2>Owner</h2>")[2].partition("<h2>")[0]

    assert re.findall(r"<bdi>(.*?)</bdi>", owners) == ["Bert"]
    assert re.findall(r'class="count">(\d+)<', owners) == ["1"]


def test_value_that_entities_write_in_several_ways_is_named_as_most_do() -> None:
    owner = next(row for row in FACETS if row.name == "owner")
    counted = [
        {"key": "two words", "doc_count": 5},
        {"key": "zoë", "doc_count": 4},
        {"key": "anna", "doc_count": 3},
    ]
    written = [
        {"key": "Two  Words", "doc_count": 4},
        {"key": "Zoe\u0308", "doc_count": 4},
        {"key": "two words", "doc_count": 2},
    ]

    kept = {"owner": "TWO WORDS "}
    values = facet_values(owner, counted, written, kept, "/search")["values"]

    assert [(each["value"], each["count"], each["chosen"]) for each in values] == [
        ("Two  Words", 5, True),
        ("Zoe\u0308", 4, False),
        ("anna", 3, False),
    ]
