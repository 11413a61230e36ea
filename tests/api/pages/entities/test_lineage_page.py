"""The picture of the lineage, on its own page and beside an entity: drawn without a script."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from api.pages.lineage.boxes import MOST_OF_LAYER
from tests.api.conftest import Client, running_under
from tests.api.pages.conftest import Browser
from tests.api.pages.frame.test_html import complaints, needs_checker

COLUMNS = [{"name": name, "dataType": "INT"} for name in ("id", "total")]
SCHEMA = "service.database.schema"
MANY = 60
HOSTILE = '<script>alert("x")</script>'
POLICIES = """
[[rule]]
role = "admin"
allow = ["list", "view", "search", "create", "edit", "delete"]

[[rule]]
role = "reader"
allow = ["list", "view"]

[[rule]]
role = "unlinked"
allow = ["list", "view"]
kinds = ["table"]

[[rule]]
role = "boardless"
allow = ["list", "view"]
kinds = ["table", "lineageEdge", "databaseSchema"]

[[rule]]
role = "columnless"
allow = ["list", "view"]

[[rule]]
role = "columnless"
kinds = ["table"]
withhold = ["columns"]
"""


def draw(client: Client, beginning: Any, end: Any, *mapped: str) -> str:
    """Draw an edge between two entities, over which columns of the same name flow.

    Returns the position in the log.
    """
    ends = [
        {"id": each["id"], "type": "dashboard" if "charts" in each else "table"}
        for each in (beginning, end)
    ]
    names = [each["fullyQualifiedName"] for each in (beginning, end)]
    columns = [
        {"fromColumns": [f"{names[0]}.{name}"], "toColumn": f"{names[1]}.{name}"} for name in mapped
    ]
    edge = {
        "fromEntity": ends[0],
        "toEntity": ends[1],
        "lineageDetails": {"columnsLineage": columns},
    }
    answer = client.request("PUT", "/v1/lineage", json={"edge": edge})
    assert answer.status_code == 200, answer.text
    return answer.headers["X-Catalog-Position"]


def fill(client: Client) -> None:
    """A chain of tables raw -> orders -> sums -> board, another beside it, and a large hub."""
    client.schema()
    raw, orders, sums, copy, odd = (
        client.table(name, columns=COLUMNS) for name in ("raw", "orders", "sums", "copy", HOSTILE)
    )
    client.create("services/dashboardServices", name="looker", serviceType="Looker")
    board = client.create("dashboards", name="board", service="looker") | {"charts": []}
    behind = client.table("behind", columns=COLUMNS)
    draw(client, raw, orders, "id", "total")
    draw(client, orders, sums, "total")
    draw(client, orders, copy, "id")
    draw(client, orders, odd)
    draw(client, sums, board)
    draw(client, board, behind)
    draw(client, copy, raw)
    hub = client.table("hub", columns=COLUMNS)
    for number in range(MANY):
        draw(client, hub, client.table(f"part_{number:02}", columns=COLUMNS))
    client.table("alone", columns=COLUMNS)


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Such a catalog, for tests that write nothing."""
    with running_under(tmp_path_factory.mktemp("linked"), POLICIES) as client:
        fill(client)
        yield client


def section(client: Client, address: str, role: str = "reader") -> str:
    """The part of a page with the picture; empty where there is none."""
    answer = Browser(client, role).get(address)
    assert answer.status_code == 200, answer.text
    found = re.search('<section id="lineage">.*?</section>', answer.text, re.DOTALL)
    return found[0] if found else ""


def svg(part: str) -> ElementTree.Element:
    return ElementTree.fromstring(re.search("<svg .*</svg>", part, re.DOTALL)[0])  # type: ignore[index]


def boxes(part: str) -> list[str]:
    """The titles of the boxes of a picture, in the order of the page."""
    return [head(each).findtext("text", "") for each in svg(part).iterfind("svg")]


def head(box: ElementTree.Element) -> ElementTree.Element:
    """The link at the head of a box."""
    return box.findall("a")[0]


def lit(part: str) -> list[str]:
    """The titles of the boxes that are lit."""
    marked = [each for each in svg(part).iterfind("svg") if " on" in each.get("class", "")]
    return [head(each).findtext("text", "") for each in marked]


def link(part: str, id_: str) -> str:
    return unescape(re.findall(f'<a id="{id_}" href="([^"#]*)', part)[0])


def test_page_of_an_entity_shows_one_step_each_way(linked: Client) -> None:
    part = section(linked, f"/entity/table/{SCHEMA}.orders")

    assert boxes(part)[:2] == ["raw", "orders"]
    assert sorted(boxes(part)[2:]) == [f"{HOSTILE[:24]}…", "copy", "sums"]
    arrows = [each.findtext("title") for each in svg(part).iterfind("path")]
    assert "raw → orders, 2 columns" in arrows
    assert "orders → sums, 1 column" in arrows
    assert len(arrows) == 4
    assert "<script" not in part


def test_list_has_the_same_as_the_picture(linked: Client) -> None:
    part = section(linked, f"/lineage/table/{SCHEMA}.orders?down=3")
    listed = part.partition("As a list")[2]

    names = re.findall(r'<li><a href="([^"]*)" title', listed)
    drawn = [head(each).get("href") for each in svg(part).iterfind("svg")]
    assert sorted(map(unescape, names)) == sorted(map(str, drawn))
    text = " ".join(re.sub("<[^>]*>", " ", listed).split())
    assert "board dashboard · looker from sums" in text
    assert "sums table · service.database.schema from orders" in text
    assert "Itself orders table · service.database.schema from raw" in text


def test_steps_unfold_one_by_one_and_all_at_once_and_fold(linked: Client) -> None:
    address = f"/entity/table/{SCHEMA}.orders"
    part = section(linked, address)
    assert "board" not in boxes(part)
    assert "1 further downstream" in part

    part = section(linked, link(part, "more-down"))
    assert "board" in boxes(part)
    assert "behind" not in boxes(part)
    assert "behind" in boxes(section(linked, link(part, "more-down")))
    assert boxes(section(linked, link(part, "less-down"))) == boxes(section(linked, address))
    whole = section(linked, link(part, "whole"))
    assert {"raw", "behind"} <= {*boxes(whole)}
    assert "further" not in whole


def test_picture_is_unfolded_in_place_where_it_is_a_part_of_a_page(linked: Client) -> None:
    beside = section(linked, f"/entity/table/{SCHEMA}.orders")
    (address,) = re.findall('id="more-down"[^>]* hx-get="([^"]*)"', beside)
    alone = Browser(linked, "reader").get(unescape(address)).text
    part = Browser(linked, "reader").get(unescape(address), headers={"HX-Request": "true"}).text

    assert "hx-get" not in alone.partition('<section id="lineage"')[2]
    assert 'hx-target="#lineage"' in part
    # What is unfolded in place leads to places that are unfolded in it.
    assert 'id="less-down"' in part


def test_circle_is_drawn_once_with_an_arrow_that_leads_back(linked: Client) -> None:
    part = section(linked, f"/lineage/table/{SCHEMA}.raw?up=3&down=3")

    assert len(boxes(part)) == len({*boxes(part)})
    back = [each for each in svg(part).iterfind("path") if " back" in each.get("class", "")]
    assert [each.findtext("title") for each in back] == ["copy → raw"]


def test_column_lights_its_path_by_a_request(linked: Client) -> None:
    part = section(linked, f"/lineage/table/{SCHEMA}.orders?down=2&column={SCHEMA}.orders.total")

    assert sorted(lit(part)) == ["orders", "raw", "sums"]
    arrows = [each for each in svg(part).iterfind("path") if " on" in each.get("class", "")]
    assert sorted(str(each.findtext("title")) for each in arrows) == [
        "orders → sums, 1 column",
        "raw → orders, 2 columns",
    ]
    assert f"The path of <code><bdi>{SCHEMA}.orders.total" in part
    assert lit(section(linked, link(part, "unlit"))) == []


def test_columns_of_the_entity_are_links_in_the_picture_and_in_the_list(linked: Client) -> None:
    part = section(linked, f"/entity/table/{SCHEMA}.orders")
    own = next(each for each in svg(part).iterfind("svg") if "root" in each.get("class", ""))

    in_picture = {str(each.get("href")) for each in own.findall("a")[1:]}
    assert [each.findtext("text") for each in own.findall("a")[1:]] == ["id", "total"]
    assert {f"{link(part, f'path-{number}')}#lineage" for number in (1, 2)} == in_picture


def test_column_that_nothing_names_is_told(linked: Client) -> None:
    part = section(linked, f"/lineage/table/{SCHEMA}.orders?column={HOSTILE}")

    assert "No edge that is shown names the column" in part
    assert "<script" not in part


def test_many_are_grouped_and_unfold(linked: Client) -> None:
    part = section(linked, f"/entity/table/{SCHEMA}.hub")
    assert boxes(part) == ["hub", SCHEMA]
    assert f"{MANY} tables" in part

    group = head(svg(part).findall("svg")[1]).get("href", "")
    part = section(linked, group)
    assert len(boxes(part)) == 1 + MOST_OF_LAYER + 1
    assert f"{MANY - MOST_OF_LAYER} more" in boxes(part)
    later = head(svg(part).findall("svg")[-1]).get("href", "")
    turned = boxes(section(linked, later))
    assert f"{MOST_OF_LAYER} before" in turned
    names = {each for each in (*boxes(part), *turned) if each.startswith("part_")}
    assert len(names) == MANY
    assert boxes(section(linked, link(part, "fold"))) == ["hub", SCHEMA]


def test_who_may_not_view_edges_is_shown_none(linked: Client) -> None:
    assert section(linked, f"/entity/table/{SCHEMA}.orders", "unlinked") == ""
    answer = Browser(linked, "unlinked").get(f"/lineage/table/{SCHEMA}.orders")
    assert answer.status_code == 403
    assert "sums" not in answer.text


def test_kinds_that_the_caller_may_not_view_are_left_out_with_what_lies_behind(
    linked: Client,
) -> None:
    address = f"/lineage/table/{SCHEMA}.orders?down=50"
    assert {"board", "behind"} <= {*boxes(section(linked, address))}

    part = section(linked, address, "boardless")

    assert "sums" in boxes(part)
    assert "board" not in part
    assert "behind" not in part
    assert "further downstream" not in section(
        linked, f"/lineage/table/{SCHEMA}.sums?up=2", "boardless"
    )


def test_columns_that_are_withheld_light_nothing(linked: Client) -> None:
    address = f"/lineage/table/{SCHEMA}.orders"
    part = section(linked, f"{address}?column={SCHEMA}.orders.total", "columnless")

    assert lit(part) == []
    assert "No edge that is shown names the column" in part
    assert "1 column" not in part
    assert "Paths of columns" not in part
    assert "raw → orders" in part


def test_entity_without_lineage_shows_none_and_its_page_says_so(linked: Client) -> None:
    assert section(linked, f"/entity/table/{SCHEMA}.alone") == ""
    said = Browser(linked, "reader").get(f"/lineage/table/{SCHEMA}.alone").text
    assert "Nothing is known of what it is made of" in said


@pytest.mark.parametrize("query", ["up=51", "down=-1", "up=x"])
def test_wrong_parameters_are_refused(linked: Client, query: str) -> None:
    answer = Browser(linked, "reader").get(f"/lineage/table/{SCHEMA}.orders?{query}")

    assert answer.status_code == 400
    assert query.partition("=")[0] in answer.text


def test_page_of_what_is_not_there_is_not_found(linked: Client) -> None:
    assert Browser(linked, "reader").get(f"/lineage/table/{SCHEMA}.none").status_code == 404


def test_picture_of_the_past_has_the_edges_of_then(tmp_path: Any) -> None:
    with running_under(tmp_path, POLICIES) as client:
        client.schema()
        ends = [client.table(name, columns=COLUMNS) for name in ("one", "two")]
        then = draw(client, *ends, "id")
        path = f"/v1/lineage/table/{ends[0]['id']}/table/{ends[1]['id']}"
        assert client.request("DELETE", path).status_code == 200

        for view in ("entity", "lineage"):
            address = f"/{view}/table/{SCHEMA}.one"
            assert section(client, address) == ""
            part = section(client, f"{address}?at={then}")
            assert boxes(part) == ["one", "two"]
            other = head(svg(part).findall("svg")[1]).get("href", "")
            assert other == f"/entity/table/{SCHEMA}.two?at={then}"
            column = svg(part).findall("svg")[0].findall("a")[1].get("href", "")
            assert f"at={then}" in column
            assert lit(section(client, column.partition("#")[0])) == ["one", "two"]


@needs_checker
def test_pages_are_html_by_the_standard(linked: Client, tmp_path: Path) -> None:
    tables = f"/lineage/table/{SCHEMA}"
    addresses = (
        f"/entity/table/{SCHEMA}.orders",
        f"{tables}.orders?up=2&down=3&column={SCHEMA}.orders.total",
        f"{tables}.raw?up=3&down=3",
        f"{tables}.hub?open={SCHEMA}",
        f"{tables}.alone?column=x",
    )
    pages = {address: Browser(linked, "reader").get(address).text for address in addresses}

    assert complaints(pages, tmp_path) == []
