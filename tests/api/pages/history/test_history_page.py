"""Contents of the timeline of an entity and of the comparison of its versions, for each caller."""

import re
from collections.abc import Iterator
from html import unescape
from itertools import chain
from typing import Any

import pytest

from api.pages.history.comparison import MOST_ROWS, MOST_VALUES
from api.pages.history.history import STEPS_SHOWN
from domain.aggregate.lifecycle import format_version
from tests.api.conftest import Client, running_under
from tests.api.pages.conftest import Browser

FQN = "service.database.schema.orders"
HISTORY, COMPARE = f"/history/table/{FQN}", f"/compare/table/{FQN}"
POLICIES = """
[[rule]]
role = "admin"
allow = ["list", "view", "search", "create", "edit", "delete", "audit"]

[[rule]]
role = "reader"
allow = ["list", "view"]

[[rule]]
role = "clerk"
allow = ["list", "view"]
withhold = ["description", "columns.description", "owners"]
"""


def patch(client: Client, table: Any, *operations: dict[str, Any]) -> None:
    response = client.request(
        "PATCH",
        f"/v1/tables/{table['id']}",
        json=list(operations),
        headers={"Content-Type": "application/json-patch+json"},
    )
    assert response.status_code == 200, response.text


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A table with a history: texts, types, a column added and one removed."""
    directory = tmp_path_factory.mktemp("changed")
    with running_under(directory, POLICIES) as client:
        client.schema()
        columns = [{"name": f"c{n}", "dataType": "INT"} for n in range(60)]
        table = client.table("orders", columns=columns, description="One row per order")
        patch(client, table, {"op": "replace", "path": "/description", "value": "One row per line"})
        patch(
            client,
            table,
            {"op": "replace", "path": "/columns/7/dataType", "value": "BIGINT"},
            {"op": "add", "path": "/columns/7/description", "value": "Secret of c7"},
        )
        patch(
            client,
            table,
            {"op": "remove", "path": "/columns/50"},
            {"op": "add", "path": "/columns/3", "value": {"name": "new <b>", "dataType": "DATE"}},
        )
        client.request("DELETE", f"/v1/tables/{table['id']}")
        yield client


def walk(client: Client, address: str) -> Iterator[str]:
    """The pages from an address to the last one."""
    while address:
        text = page(client, address)
        yield text
        following = re.search(r'rel="next" href="([^"]*)"', text)
        address = unescape(following[1]) if following else ""


def lines(text: str) -> list[str]:
    """The rows of the tables of a page as plain text."""
    rows = re.findall(r"<tr[ >].*?</tr>", text, re.DOTALL)
    plain = (re.sub(r"<[^>]*>", " ", row) for row in rows)
    return [unescape(" ".join(row.split())) for row in plain]


def test_timeline_tells_each_version_in_a_line(changed: Client) -> None:
    told = [re.sub(r" the-admin .*", "", line) for line in lines(page(changed, HISTORY))[1:]]

    assert told == [
        "1.4 deleted",
        "1.3 columns · c50 removed; columns · new <b> added",
        "0.3 columns · c7 · dataType changed: INT → BIGINT ; columns · c7 · description added",
        "0.2 description changed: One row per order → One row per line",
        "0.1 created",
    ]


def test_timeline_names_the_request_of_each_version(changed: Client) -> None:
    logged = changed.get("/v1/audit/events", limit=20)["data"]
    audited = [each for each in logged if each["fullyQualifiedName"] == FQN]

    shown = re.findall(r'<td class="request"><code>([^<]*)</code>', page(changed, HISTORY))

    assert shown == list(dict.fromkeys(each["requestId"] for each in reversed(audited)))
    assert len(shown) == 5


def test_timeline_is_walked_to_the_first_version(client: Client) -> None:
    client.schema()
    table = client.table()
    for number in range(STEPS_SHOWN + 4):
        patch(client, table, {"op": "add", "path": "/description", "value": str(number)})

    versions = [re.findall(r'<th scope="row">([^<]*)</th>', text) for text in walk(client, HISTORY)]

    assert [len(each) for each in versions] == [STEPS_SHOWN, 5]
    assert [*chain(*versions)] == [f"{tenths / 10}" for tenths in range(STEPS_SHOWN + 5, 0, -1)]


def test_versions_stand_side_by_side(changed: Client) -> None:
    text = page(changed, f"{COMPARE}?from=0.1&to=1.3")

    assert "One row per <del>order</del>" in text
    assert "One row per <ins>line</ins>" in text
    assert lines(text)[1:] == [
        "Description",
        "changed One row per order One row per line",
        "Columns",
        f"3 alike {', '.join(f'c{n}' for n in range(3))}",
        "new <b> added DATE",
        f"4 alike {', '.join(f'c{n}' for n in range(3, 7))}",
        "c7 · dataType changed INT BIGINT",
        "c7 · description added Secret of c7",
        f"42 alike {', '.join(f'c{n}' for n in range(8, 48))} …",
        "c50 removed INT",
        f"9 alike {', '.join(f'c{n}' for n in range(51, 60))}",
    ]


def test_comparison_of_a_wide_change_is_paged(client: Client) -> None:
    client.schema()
    columns = [{"name": f"c{number}", "dataType": "INT"} for number in range(2 * MOST_ROWS + 1)]
    table = client.table(columns=columns)
    wider = [{**column, "dataType": "BIGINT"} for column in columns]
    patch(client, table, {"op": "replace", "path": "/columns", "value": wider})

    pages = [
        [line for line in lines(text)[1:] if line != "Columns"]
        for text in walk(client, f"{COMPARE}?from=0.1&to=0.2")
    ]

    assert [len(each) for each in pages] == [MOST_ROWS, MOST_ROWS, 1]
    whole = [f"c{number} · dataType changed INT BIGINT" for number in range(len(columns))]
    assert [*chain(*pages)] == whole


def test_version_with_itself_is_alike(changed: Client) -> None:
    assert "The two versions are alike" in page(changed, COMPARE)


def test_values_that_would_fill_memory_are_not_compared_with_each_other(client: Client) -> None:
    client.schema()
    table = client.table(description="," * (MOST_VALUES // 2), displayName="One row per order")
    longer = {"op": "replace", "path": "/description", "value": "," * (MOST_VALUES // 2 + 1)}
    patch(client, table, longer, {"op": "remove", "path": "/displayName"})
    told = lines(page(client, f"{COMPARE}?from=0.1&to=0.2"))

    size = r"[\d, ]+ bytes, too many values to be compared"
    [description] = [line for line in told if "too many" in line]
    assert re.fullmatch(f"changed {size} {size}", description)
    assert any("One row per order" in line for line in told)


def test_version_that_never_was_is_not_found(changed: Client) -> None:
    assert Browser(changed, "reader").get(f"{COMPARE}?from=0.9&to=1.3").status_code == 404
    assert Browser(changed, "reader").get("/history/table/no.such.one").status_code == 404
    assert Browser(changed, "reader").get(f"{HISTORY}?before=x").status_code == 400


def test_history_shows_no_withheld_field_of_any_version(changed: Client) -> None:
    told = [
        re.sub(r" the-admin .*", "", line) for line in lines(page(changed, HISTORY, "clerk"))[1:]
    ]

    assert told[2:4] == [
        "0.3 columns · c7 · dataType changed: INT → BIGINT",
        "0.2 nothing that you may see",
    ]
    whole = page(changed, f"{COMPARE}?from=0.1&to=1.3", "clerk")
    compared, _, after = whole.partition("Withheld from your roles: ")
    names, _, rest = after.partition(".</p>")
    assert "<code>columns.description</code>" in names
    compared += rest
    for secret in ("One row", "Secret of", "escription"):
        assert secret not in compared
    assert "c7 · dataType changed INT BIGINT" in lines(compared)


def page(client: Client, address: str, role: str = "reader") -> str:
    answer = Browser(client, role).get(address)
    assert answer.status_code == 200, answer.text
    text: str = answer.text
    return text


def test_history_as_of_a_date_ends_there(changed: Client) -> None:
    log = changed.services.stores.log
    table = changed.get(f"/v1/tables/name/{FQN}", include="all")
    versions = [
        (recorded.position, format_version(recorded.event.version))
        for recorded in log.stream(table["id"])
    ]
    position, version = versions[2]
    whole, then = page(changed, HISTORY), page(changed, f"{HISTORY}?at={position}")

    def numbers(text: str) -> list[str]:
        return re.findall(r'<th scope="row">([\d.]+)</th>', text)

    assert numbers(then) == [each for each in numbers(whole) if float(each) <= float(version)]
    assert numbers(page(changed, f"{HISTORY}?at={position}&before=2")) == ["0.1"]
    assert f"Version {version}" in page(changed, f"{COMPARE}?at={position}&from=0.1")
    later = Browser(changed, "reader").get(f"{COMPARE}?at={position}&from=0.1&to=1.3")
    assert later.status_code == 404
