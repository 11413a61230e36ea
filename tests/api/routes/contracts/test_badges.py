"""Badges of contracts."""

import xml.etree.ElementTree as ET
from collections.abc import Iterator

import pytest

from tests.api.conftest import Client, running_under
from tests.api.routes.contracts.giving import made, new_table
from tests.api.routes.contracts.test_comparisons import OLD

POLICIES = """
[[rule]]
role = "admin"
allow = ["list", "view", "create", "edit"]

[[rule]]
role = "half"
allow = ["view"]

[[rule]]
role = "half"
kinds = ["dataContract"]
withhold = ["odcs.version"]

[[rule]]
role = "none"
allow = ["view"]

[[rule]]
role = "none"
kinds = ["dataContract"]
withhold = ["odcs"]
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with running_under(tmp_path_factory.mktemp("badges"), POLICIES) as client:
        client.schema()
        yield client


def badge(client: Client, contract: dict[str, str], prefix: str = "") -> tuple[str, str]:
    """The text of a badge, and its colour."""
    answer = client.request("GET", f"{prefix}/v1/dataContracts/{contract['id']}/badge.svg")
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Type"] == "image/svg+xml"
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'"
    svg = ET.fromstring(answer.content)
    name = "{http://www.w3.org/2000/svg}"
    (_, text), (_, color) = svg.findall(f".//{name}text"), svg.findall(f"{name}rect")
    return text.text or "", color.attrib["fill"]


@pytest.mark.parametrize(
    ("status", "color"), [("active", "#0969da"), ("draft", "#6e7781"), ("deprecated", "#9a6700")]
)
def test_a_badge_says_status_and_version(client: Client, status: str, color: str) -> None:
    contract = made(client, OLD.replace("active", status))

    assert badge(client, contract) == (f"{status.title()} 1.0.0", color)


def test_below_api_a_badge_has_the_names_of_openmetadata(client: Client) -> None:
    assert badge(client, made(client, OLD), "/api")[0] == "Approved 1.0.0"


def test_a_contract_without_a_document_has_the_version_of_the_catalog(client: Client) -> None:
    about = {"type": "table", "id": new_table(client)["id"]}

    assert badge(client, client.create("dataContracts", name="bare", entity=about))[0] == (
        "Draft 0.1"
    )


def test_any_version_is_shown_as_a_text(client: Client) -> None:
    for version, shown in (
        ('<script a="b">&', '<script a="b">&'),
        ("x" * 100, "x" * 30 + "…"),
        ("a\\u0001b", "ab"),
    ):
        quoted = version.replace('"', '\\"')
        contract = made(client, OLD.replace("1.0.0", f'"{quoted}"'))
        assert badge(client, contract)[0] == f"Active {shown}"


def test_a_badge_needs_the_fields_that_it_shows(client: Client) -> None:
    path = f"/v1/dataContracts/{made(client, OLD)['id']}/badge.svg"

    assert client.request("GET", path, role="none").status_code == 403
    half = client.request("GET", path, role="half")
    assert half.status_code == 200
    assert ">Active<" in half.text
    tag = client.request("GET", path).headers["ETag"]
    again = client.request("GET", path, headers={"If-None-Match": tag})
    assert again.status_code == 304
