"""Two versions of a contract on a page: each change with its grades, and who is hit."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from tests.api.conftest import Client, running_under
from tests.api.pages.conftest import Browser
from tests.api.pages.contracts.conftest import FQN, POLICIES, document, fill
from tests.api.routes.contracts.giving import put

PAGE = f"/impact/dataContract/{FQN}?from=0.1&to=0.2"
MOST_BYTES = 300_000
MANY = 1_600
"""Columns, whose names of 200 characters are more than a page may have."""


def text_of(client: Client, role: str, address: str) -> str:
    """The text of a page's content, without marks and with single spaces."""
    answer = Browser(client, role).get(address)
    assert answer.status_code == 200, answer.text
    main = answer.text.partition("<main")[2].partition(">")[2]
    return " ".join(unescape(re.sub("<[^>]*>", " ", main)).split())


def test_each_change_has_both_grades_its_place_and_its_bump(promised: Client) -> None:
    said = text_of(promised, "reader", PAGE)

    assert "breaking 1 breaking, 1 compatible. The version has to rise by: major" in said
    changes = said.partition("Changes 2")[2]
    removed, _, added = changes.partition("Compatible Column added")
    assert "Breaking Column removed schema.orders.properties.total" in removed
    assert '{"name": "total", "physicalType": "INT"} nothing breaking compatible major' in removed
    assert 'schema.orders.properties.<new> nothing {"name": "<new>", "physicalType": "INT"}' in (
        added
    )
    assert "} compatible breaking minor" in added


@pytest.mark.parametrize(
    ("perspective", "counts"),
    [
        ("consumer", "1 breaking, 1 compatible."),
        ("producer", "1 breaking, 1 compatible."),
        ("full", "2 breaking."),
    ],
)
def test_the_view_decides_what_breaks(promised: Client, perspective: str, counts: str) -> None:
    said = text_of(promised, "reader", f"{PAGE}&perspective={perspective}")

    assert counts in said
    first = said.partition("Changes 2")[2].partition("schema.")[0]
    assert first.endswith("Column added " if perspective == "producer" else "Column removed ")


def test_a_comparison_the_other_way_mirrors_it(promised: Client) -> None:
    page = Browser(promised, "reader").get(PAGE).text
    around = unescape(re.findall('href="([^"]*)">The other way round', page)[0])

    assert "Column removed schema.orders.properties.<new>" in text_of(promised, "reader", around)
    alike = text_of(promised, "reader", f"/impact/dataContract/{FQN}")
    assert "Nothing that is promised has changed." in alike
    assert "Who is hit" not in alike


def test_who_is_hit_is_named_with_owners(promised: Client) -> None:
    said = text_of(promised, "reader", PAGE).partition("Who is hit")[2].partition("Changes 2")[0]
    breaks, _, may_break = said.partition("May break 1")

    assert "Breaks 1" in breaks
    assert "sums table Columns: service.database.schema.sums.total Owned by annabel" in breaks
    assert "copied table Nobody owns it" in may_break


def test_what_is_withheld_stays_withheld(promised: Client) -> None:
    ownerless = text_of(promised, "ownerless", PAGE)
    assert "sums table" in ownerless
    assert "Its owners are withheld" in ownerless
    assert "annabel" not in ownerless.partition("Who is hit")[2]
    unlinked = text_of(promised, "unlinked", PAGE)
    assert "The lineage is withheld from your roles" in unlinked
    assert "sums" not in unlinked
    refused = Browser(promised, "termless").get(PAGE)
    assert refused.status_code == 403
    assert "Column removed" not in refused.text


def test_the_page_is_found_from_the_history_and_beside_the_texts(promised: Client) -> None:
    for view in ("history", "compare"):
        address = f"/{view}/dataContract/{FQN}"
        assert f"/impact/dataContract/{FQN}" in Browser(promised, "reader").get(address).text
        assert "/impact/" not in Browser(promised, "termless").get(address).text
        table = f"/{view}/table/service.database.schema.orders"
        assert "/impact/" not in Browser(promised, "reader").get(table).text


@pytest.mark.parametrize(
    ("address", "status"),
    [
        (f"/impact/dataContract/{FQN}?from=9.9", 404),
        (f"/impact/dataContract/{FQN}?perspective=mine", 400),
        ("/impact/dataContract/nobody", 404),
        ("/impact/table/service.database.schema.orders", 404),
        (f"{PAGE}&start=-1", 400),
    ],
)
def test_what_cannot_be_compared_is_refused(promised: Client, address: str, status: int) -> None:
    assert Browser(promised, "reader").get(address).status_code == status


def newest_before_the_second_version(client: Client) -> int:
    """The last position of the log at which the contract had its first version."""
    path = f"/v1/dataContracts/name/{FQN}"
    head = client.services.stores.log.head()
    return max(at for at in range(1, head) if version_at(client, path, at) == 0.1)


def version_at(client: Client, path: str, at: int) -> float | None:
    status, entity = client.ask("GET", path, params={"at": at})
    return entity["version"] if status == 200 else None


def test_changes_are_graded_as_of_a_date_without_who_is_hit(promised: Client) -> None:
    head = promised.services.stores.log.head()
    now, then = (text_of(promised, "reader", f"{PAGE}{at}") for at in ("", f"&at={head}"))
    page = Browser(promised, "reader").get(f"{PAGE}&at={head}").text

    assert "Who is hit The lineage of now tells who is hit: today's page has it." in then
    assert "sums table" in now
    assert "sums table" not in then
    assert now.partition("Changes 2")[2] == then.partition("Changes 2")[2] != ""
    today = re.findall(r"""<a href="([^"]*)">today's page</a>""", page)
    assert [unescape(each) for each in today] == [PAGE]


def test_version_of_later_is_not_graded_as_of_a_date(promised: Client) -> None:
    before, browser = newest_before_the_second_version(promised), Browser(promised, "reader")

    refused = browser.get(f"{PAGE}&at={before}")
    assert refused.status_code == 404
    assert "had no version 0.2 yet" in refused.text
    alike = text_of(promised, "reader", f"/impact/dataContract/{FQN}?at={before}")
    assert "from version 0.1 to 0.1" in alike
    history = browser.get(f"/history/dataContract/{FQN}?at={before}").text
    assert f'formaction="/impact/dataContract/{FQN}?at={before}"' in history


def test_contract_that_is_deleted_by_now_is_graded_as_it_was(tmp_path: Path) -> None:
    with running_under(tmp_path, POLICIES) as client:
        contract = fill(client)
        live = client.services.stores.log.head()
        assert client.request("DELETE", f"/v1/dataContracts/{contract['id']}").status_code == 200
        deleted = client.services.stores.log.head()
        browser = Browser(client, "reader")
        answers = [browser.get(f"{PAGE}&at={at}") for at in (live, deleted)]

    assert [each.status_code for each in answers] == [200, 404]
    assert f"was soft-deleted at position {deleted}" in answers[1].text


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """The same contract, which loses many columns with long names."""
    with running_under(tmp_path_factory.mktemp("wide"), POLICIES) as client:
        fill(client)
        table = client.get("/v1/tables/name/service.database.schema.orders")
        names = [f"{'x' * 400}{number}" for number in range(MANY)]
        for columns in (names, ["id"]):
            answer = put(client, table, document(*columns))
            assert answer.status_code == 200, answer.text
        yield client


def test_many_changes_are_shown_page_by_page(wide: Client) -> None:
    browser = Browser(wide, "reader")
    address, pages, rows = f"/impact/dataContract/{FQN}?from=0.3&to=0.4", 0, 0
    while address:
        page = browser.get(address)
        assert page.status_code == 200
        assert len(page.content) < MOST_BYTES
        pages, rows = pages + 1, rows + page.text.count("Column removed")
        following = re.findall('rel="next" href="([^"]*)"', page.text)
        address = unescape(following[0]) if following else ""

    assert (pages, rows) == (17, MANY)


def test_the_page_of_a_contract_that_lacks_much_is_small(wide: Client) -> None:
    table = wide.get("/v1/tables/name/service.database.schema.orders")
    names = [f"{'x' * 200}{number}" for number in range(MANY)]
    assert put(wide, table, document(*names)).status_code == 200
    contract = wide.get(f"/v1/dataContracts/name/{FQN}")
    path = f"/v1/dataContracts/{contract['id']}/validate"
    assert wide.request("POST", path).status_code == 200

    for view in ("entity", "results"):
        page = Browser(wide, "admin").get(f"/{view}/dataContract/{FQN}")
        assert page.status_code == 200
        assert "more</li>" in page.text
        assert len(page.content) < MOST_BYTES
