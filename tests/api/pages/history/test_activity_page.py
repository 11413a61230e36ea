"""Plots of what happened by day, with the same numbers as a table."""

import re
from html import unescape
from pathlib import Path

from tests.api.conftest import Client, RunFilled, running, running_under
from tests.api.pages.conftest import Browser, fill

COVERED = (["5", "4"], ["1", "7"], ["1", "6"], ["1", "4"])
"""Entities with and without a description, owners, domains and tags; not all kinds have them."""
POLICIES = """
[[rule]]
role = "admin"
allow = ["list", "view", "search", "create", "edit", "delete", "audit"]

[[rule]]
role = "reader"
allow = ["list", "view"]

[[rule]]
role = "reader"
kinds = ["tag", "table"]
allow = ["audit"]

[[rule]]
role = "reader"
kinds = ["table"]
withhold = ["owners"]
"""


def tables(text: str) -> list[list[str]]:
    """The cells of each table of a page."""
    return [
        [unescape(re.sub("<[^>]*>", "", each)) for each in re.findall(r"<t[dh].*?</t[dh]>", table)]
        for table in re.findall(r"<table>.*?</table>", text, re.DOTALL)
    ]


def test_changes_and_contracts_are_counted_by_day(anywhere: Client) -> None:
    fill(anywhere)
    contract = anywhere.get("/v1/dataContracts")["data"][0]
    table = anywhere.get("/v1/tables")["data"][0]
    for path, patch in (
        (f"dataContracts/{contract['id']}", {"path": "/entityStatus", "value": "Active"}),
        (f"tables/{table['id']}", {"path": "/displayName", "value": "Orders"}),
    ):
        answer = anywhere.request(
            "PATCH",
            f"/v1/{path}",
            json=[{"op": "replace", **patch}],
            headers={"Content-Type": "application/json-patch+json"},
        )
        assert answer.status_code == 200

    text = Browser(anywhere, "admin").get("/activity?days=30").text

    changes, contracts, *coverage = tables(text)
    kinds = dict(zip(changes[1:7], changes[8:], strict=True))
    assert (kinds["table"], kinds["data contract"], kinds["others"]) == ("2", "2", "4")
    assert contracts[0::2] == ["Day", contracts[2]]
    assert contracts[1::2] == ["Active", "1"]
    assert coverage == [["Day", "with", "without", contracts[2], *each] for each in COVERED]
    assert text.count("<rect") == 7 + 2 * len(COVERED)

    anywhere.request("DELETE", f"/v1/dataContracts/{contract['id']}")
    assert "<h2>Contracts" in Browser(anywhere, "admin").get("/activity").text
    changes, *coverage = tables(Browser(anywhere, "admin").get("/activity").text)
    assert dict(zip(changes[1:7], changes[8:], strict=True))["data contract"] == "3"
    assert coverage[0][4:] == ["4", "4"]


def test_counts_are_whole_in_the_first_answer_after_a_start(
    tmp_path: Path, run_filled: RunFilled
) -> None:
    with run_filled(tmp_path, fill) as client:
        before = tables(Browser(client, "admin").get("/activity").text)
    with running(tmp_path) as client:
        assert tables(Browser(client, "admin").get("/activity").text) == before


def test_callers_see_the_counts_of_kinds_that_they_may_audit(tmp_path: Path) -> None:
    with running_under(tmp_path, POLICIES) as client:
        fill(client)
        text = Browser(client, "reader").get("/activity").text

    changes, descriptions, *others = tables(text)
    day = changes[2]
    assert changes == ["Day", "tag", day, "1"]
    assert descriptions == ["Day", "with", day, "1"]
    assert others == [["Day", "without", day, "1"]] * 2
    assert "Contracts by status" not in text
