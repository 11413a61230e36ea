"""Contents of the page of an entity."""

import re
from html import unescape

import msgspec
import pytest

from api.pages.entities.entity import MOST_JSON
from api.pages.frame.documents import MOST_FACT
from domain.kinds.registry import KINDS
from tests.api.conftest import Client
from tests.api.pages.conftest import Browser

TABLE = "/entity/table/service.database.schema.orders"


def test_table_shows_what_it_is_and_what_is_related(shop: Client) -> None:
    text = Browser(shop, "reader").get(TABLE).text

    assert "<p>One <strong>row</strong> per order. &lt;script&gt;" in text
    for address in (
        "/entity/user/annabel",
        "/entity/domain/sales",
        "/entity/tag/PII.Email",
        "/entity/databaseSchema/service.database.schema",
        "/entity/dataContract/service.database.schema.orders.dataContract_orders",
    ):
        assert f'href="{address}"' in text
    names = re.findall(r'<th scope="row" class="(d\d)" title="([^"]*)"', text)
    assert names == [("d0", "id"), ("d0", "customer"), ("d1", "customer.email")]


def test_columns_are_filtered_and_paged(client: Client) -> None:
    client.schema()
    client.table("wide", columns=[{"name": f"c{n}", "dataType": "INT"} for n in range(450)])
    browser = Browser(client, "reader")
    wide = "/entity/table/service.database.schema.wide"

    def numbers(address: str) -> list[int]:
        text = browser.get(address).text
        return [int(each) for each in re.findall(r'<td class="n">(\d+)</td>', text)]

    assert numbers(wide) == list(range(1, 201))
    assert numbers(f"{wide}?from=400") == list(range(401, 451))
    assert numbers(f"{wide}?all=true") == list(range(1, 451))
    assert numbers(f"{wide}?column=C44") == [45, *range(441, 451)]


def test_wide_table_on_one_page_is_compressed_as_it_is_made(client: Client) -> None:
    client.schema()
    client.table("wide", columns=[{"name": f"c{n}", "dataType": "INT"} for n in range(2_000)])
    browser, address = Browser(client, "reader"), "/entity/table/service.database.schema.wide"

    plain = browser.get(f"{address}?all=true", headers={"Accept-Encoding": "identity"})
    small = browser.get(f"{address}?all=true", headers={"Accept-Encoding": "gzip"})

    assert "content-encoding" not in plain.headers
    assert small.headers["content-encoding"] == "gzip"
    assert small.headers["vary"] == plain.headers["vary"] == "Accept, Cookie, Accept-Encoding"
    assert small.text == plain.text
    assert (
        int(plain.headers.get("content-length", len(plain.content)))
        > 5 * small.num_bytes_downloaded
    )


def test_raw_page_is_what_the_api_answers(shop: Client) -> None:
    browser = Browser(shop, "reader")
    shown = browser.get(TABLE.replace("entity", "raw", 1))
    fqn = "service.database.schema.orders"

    asked = shop.request("GET", f"/v1/tables/name/{fqn}", params={"fields": "*", "include": "all"})

    assert shown.json() == asked.json()
    saved = browser.get(TABLE.replace("entity", "raw", 1) + "?download=true")
    assert saved.headers["content-disposition"] == (
        f"attachment; filename=\"table.json\"; filename*=UTF-8''{fqn}.json"
    )


def test_long_fact_is_cut(client: Client) -> None:
    client.schema()
    client.create(
        "storedProcedures",
        name="p",
        databaseSchema="service.database.schema",
        sourceUrl="https://host/" + "x" * 2 * MOST_FACT,
        storedProcedureCode={"code": "select 1"},
    )
    text = Browser(client, "reader").get("/entity/storedProcedure/service.database.schema.p").text
    assert "x" * (MOST_FACT - 100) in text
    assert "x" * MOST_FACT not in text


def test_long_name_is_cut_where_an_entity_is_called_by_it(client: Client) -> None:
    client.schema()
    client.table("orders", displayName="x" * 600)
    browser = Browser(client, "editor")

    for path in (TABLE, "/browse/table", "/tree/databaseSchema/service.database.schema"):
        text = browser.get(path).text
        assert "x" * 500 + "…" in text
        assert "x" * 501 not in text
    assert "x" * 600 in browser.get(f"{TABLE.replace('entity', 'edit', 1)}?field=displayName").text


@pytest.mark.parametrize(
    "name",
    [
        '<b>"x"</b>',
        "a/b?c#d%2F",
        "\u202eright to left",
        "x" * 256,
        "'; --",
        "..",
        "a\\b",
        "naïve 表",
    ],
)
def test_hostile_names_are_shown_as_text_under_their_own_address(client: Client, name: str) -> None:
    client.create("glossaries", name=name, description=name * 30)
    browser = Browser(client, "reader")
    listed = browser.get("/browse/glossary").text
    (address,) = re.findall(r'<th scope="row"><a href="([^"]*)"', listed)

    answer = browser.get(address.replace("&#39;", "'").replace("&amp;", "&"))

    assert answer.status_code == 200
    assert "<b>" not in answer.text
    assert answer.text.count("<h1>") == 1


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_list_and_pages(shop: Client, kind: str) -> None:
    browser = Browser(shop, "reader")

    listed = browser.get(f"/browse/{kind}")

    assert listed.status_code == 200
    for address in re.findall(r'<th scope="row"><a href="([^"]*)"', listed.text)[:2]:
        assert browser.get(address).status_code == 200
    assert browser.get(f"/entity/{kind}/no.such.one").status_code == 404


def test_list_on_a_page_is_narrowed_as_the_list_is(client: Client) -> None:
    ann = client.create("users", name="ann", email="ann@example.com")
    client.schema()
    client.table("orders", owners=[{"id": ann["id"], "type": "user"}])
    client.table("others")
    browser = Browser(client, "reader")

    text = browser.get("/browse/table?owner=ann").text

    assert 'owner: <strong><bdi>ann</bdi></strong> <a href="/browse/table">' in text
    assert ("schema.orders" in text, "schema.others" in text) == (True, False)
    assert browser.get("/browse/table?offset=1").status_code == 400


def test_unknown_kind_is_not_found(shop: Client) -> None:
    assert Browser(shop, "reader").get("/entity/nothing/x").status_code == 404
    assert Browser(shop, "reader").get("/browse/nothing").status_code == 404


def test_table_stands_beside_what_its_contract_promises(client: Client) -> None:
    client.schema()
    given = [{"name": "id", "dataType": "INT"}, {"name": "a", "dataType": "DATE"}]
    table = client.table("t", columns=given)
    promised = [{"name": "id", "dataType": "INT"}, {"name": "a", "dataType": "STRING"}]
    client.create(
        "dataContracts", name="c", entity={"type": "table", "id": table["id"]}, schema=promised
    )

    text = Browser(client, "reader").get("/entity/table/service.database.schema.t").text

    assert 'class="differs"' in text


def test_deep_values_are_shown_as_far_as_a_page_needs(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    value: list[object] = [1] * 1_000
    for _ in range(50):
        value = [value]
    extension = {"deep": [value] * 100}
    client.schema()
    client.table("deep", extension=extension)
    address, browser = "table/service.database.schema.deep", Browser(client, "reader")

    text = browser.get(f"/entity/{address}").text
    raw = browser.get(f"/raw/{address}")

    (shown,) = re.findall(r"<pre [^>]*><bdi>({.*?)</bdi></pre>", text, re.DOTALL)
    assert unescape(shown).startswith('{\n  "deep": [\n    [\n')
    assert (len(unescape(shown)), shown[-1]) == (MOST_JSON + 1, "…")
    # The lines of all of it are fifty times as long as the value, and are sent in pieces.
    assert "content-length" not in raw.headers
    assert raw.json()["extension"] == extension
    assert raw.text == msgspec.json.format(raw.text, indent=2)
