"""Plots of what happened by day, with the same numbers as a table."""

import re
from html import unescape
from typing import Any

import pytest

from domain.reading import activity
from tests.api.conftest import Client
from tests.api.pages.conftest import Browser, fill


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

    changes, contracts = tables(text)
    kinds = dict(zip(changes[1:7], changes[8:], strict=True))
    assert (kinds["table"], kinds["data contract"], kinds["others"]) == ("2", "2", "4")
    assert contracts[0::2] == ["Day", contracts[2]]
    assert contracts[1::2] == ["Active", "1"]
    assert text.count("<rect") == 7

    anywhere.request("DELETE", f"/v1/dataContracts/{contract['id']}")
    assert "<h2>Contracts" in Browser(anywhere, "admin").get("/activity").text
    assert len(tables(Browser(anywhere, "admin").get("/activity").text)) == 1


def test_counting_goes_on_where_it_ended(anywhere: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    read = anywhere.services.stores.log.read

    def in_twos(after: int, limit: int, *upto: int, **options: bool) -> Any:
        return read(after, min(limit, 2), *upto, **options)

    monkeypatch.setattr(anywhere.services.stores.log, "read", in_twos)
    monkeypatch.setattr("api.pages.history.activity.COUNT_SECONDS", 0.0)
    anywhere.schema()
    browser = Browser(anywhere, "admin")

    first, second, third = (browser.get("/activity").text for _ in range(3))

    assert "Counted up to event 2 of 3" in first
    assert "Counted up to" not in second
    assert tables(second) == tables(third)


def test_contracts_are_not_followed_beyond_a_number(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activity, "MOST_CONTRACTS", 0)
    fill(client)

    text = Browser(client, "admin").get("/activity").text

    assert "too many contracts" in text
    assert len(tables(text)) == 1
