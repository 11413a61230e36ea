"""What depends on an entity, with its owners, beside its deletion and a change of a column."""

import re
from collections.abc import Iterator
from html import unescape

import pytest

from tests.api.conftest import Client, running_under
from tests.api.pages.conftest import Browser
from tests.api.pages.entities.test_lineage_page import COLUMNS, SCHEMA, draw

ALL = '["list", "view", "search", "create", "edit", "delete"]'
POLICIES = f"""
[[rule]]
role = "admin"
allow = {ALL}

[[rule]]
role = "reader"
allow = ["list", "view"]

[[rule]]
role = "ownerless"
allow = {ALL}

[[rule]]
role = "ownerless"
kinds = ["table"]
withhold = ["owners"]

[[rule]]
role = "unlinked"
allow = {ALL}
kinds = ["table"]
"""
MANY = 105
"""More than an answer names."""


def fill(client: Client) -> None:
    """Create orders -> sums -> report, orders -> copy, and a table with many made of it.

    A table of another schema is made of one beside these.
    """
    client.schema()
    owned = {}
    for name in ("annabel", "bert"):
        user = client.create("users", name=name, email=f"{name}@shop.example")
        owned[name] = [{"id": user["id"], "type": "user"}]
    orders, sums, report, copy, gone = (
        client.table(name, columns=COLUMNS, owners=owners)
        for name, owners in (
            ("orders", owned["bert"]),
            ("sums", owned["annabel"]),
            ("report", owned["annabel"]),
            ("copy", []),
            ("gone", owned["bert"]),
        )
    )
    draw(client, orders, sums, "total")
    draw(client, sums, report, "total")
    draw(client, orders, copy)
    draw(client, orders, gone, "total")
    assert client.request("DELETE", f"/v1/tables/{gone['id']}").status_code == 200
    client.create("databaseSchemas", name="other", database="service.database")
    placed = {"databaseSchema": "service.database.other", "columns": COLUMNS}
    elsewhere = client.create("tables", name="elsewhere", **placed)
    draw(client, client.table("apart", columns=COLUMNS), elsewhere, "total")
    hub = client.table("hub", columns=COLUMNS)
    for number in range(MANY):
        draw(client, hub, client.table(f"part_{number}", columns=COLUMNS))


@pytest.fixture(scope="module")
def depending(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Such a catalog, for tests that write nothing."""
    with running_under(tmp_path_factory.mktemp("depending"), POLICIES) as client:
        fill(client)
        yield client


def text_of(client: Client, role: str, address: str) -> str:
    """The text of a page's content, without marks and with single spaces."""
    answer = Browser(client, role).get(address)
    assert answer.status_code == 200, answer.text
    main = answer.text.partition("<main")[2].partition(">")[2]
    return " ".join(unescape(re.sub("<[^>]*>", " ", main)).split())


def test_deletion_tells_what_depends_and_who_owns_it(depending: Client) -> None:
    said = text_of(depending, "admin", f"/delete/table/{SCHEMA}.orders")

    assert "3 things depend on this : owned by annabel 2 ; nobody owns 1." in said
    breaks = said.partition("What depends on it Breaks 3")[2]
    assert f"sums table Columns: {SCHEMA}.sums.total Owned by annabel" in breaks
    assert f"report table Columns: {SCHEMA}.report.total Owned by annabel" in breaks
    assert "copy table Nobody owns it" in breaks
    assert "gone" not in said
    one = text_of(depending, "admin", f"/delete/table/{SCHEMA}.sums")
    assert "1 thing depends on this :" in one


def test_page_of_an_entity_tells_it_beside_delete_to_who_may_delete(depending: Client) -> None:
    address = f"/entity/table/{SCHEMA}.orders"
    said = text_of(depending, "admin", address)

    assert "Delete 3 things depend on this : owned by annabel 2" in said
    page = Browser(depending, "admin").get(address).text
    assert f'href="/delete/table/{SCHEMA}.orders#dependents"' in page
    assert "depend on this" not in text_of(depending, "reader", address)
    assert "depend" not in text_of(depending, "admin", f"/entity/table/{SCHEMA}.report")


def test_deletion_of_what_nothing_depends_on_says_so(depending: Client) -> None:
    said = text_of(depending, "admin", f"/delete/table/{SCHEMA}.report")

    assert "Nothing that the lineage shows you depends on this ." in said
    assert "What depends on it" not in said
    assert "below it counts" not in said


def test_deletion_of_what_holds_others_counts_what_depends_on_them(depending: Client) -> None:
    said = text_of(depending, "admin", f"/delete/databaseSchema/{SCHEMA}")
    assert (
        "1 thing depends on this : nobody owns 1. What depends on entities below it counts" in said
    )
    assert "Breaks 1" in said
    assert "elsewhere table Columns: service.database.other.elsewhere.total" in said
    assert "sums" not in said
    whole = text_of(depending, "admin", "/delete/databaseService/service")
    assert "Nothing that the lineage shows you depends on this . What" in whole


def test_change_of_a_column_tells_what_is_made_of_it(depending: Client) -> None:
    address = f"/edit/table/{SCHEMA}.orders?field=description"
    total = text_of(depending, "admin", f"{address}&column=total")
    other = text_of(depending, "admin", f"{address}&column=id")

    assert "2 things are made of this column; 1 more may be" in total
    assert "of which columns they are made: owned by annabel 2 ; nobody owns 1." in total
    assert "Nothing that the lineage shows you is made of this column; 1 more may be" in other
    assert "annabel" not in other
    assert "made of this column" not in text_of(depending, "admin", address)


def test_withheld_owners_and_lineage_stay_withheld(depending: Client) -> None:
    address = f"/delete/table/{SCHEMA}.orders"
    ownerless = text_of(depending, "ownerless", address)
    assert "3 things depend on this : the owners of 3 are withheld" in ownerless
    assert "annabel" not in ownerless

    unlinked = text_of(depending, "unlinked", address)
    assert "What depends on it is withheld from your roles" in unlinked
    assert "sums" not in unlinked
    column = text_of(depending, "unlinked", f"/edit/table/{SCHEMA}.orders?field=tags&column=total")
    assert "made of" not in column


def test_of_many_the_number_is_told_and_the_nearest_are_named(depending: Client) -> None:
    said = text_of(depending, "admin", f"/delete/table/{SCHEMA}.hub")

    nearest = "and of the 100 that are hit most surely: nobody owns 100."
    assert f"{MANY} things depend on this , {nearest}" in said
    assert "And 5 more, none of which is hit more surely." in said
