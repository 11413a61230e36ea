"""The page of the read models: what it tells, and what admins start from it."""

import re
from html import unescape
from pathlib import Path

import pytest

from api.pages import operation as operation_page
from projections.operation.records import Operation, Record, operating, read_record, write_record
from tests.api.conftest import Client, running
from tests.api.pages.conftest import Browser
from tests.waiting import until

POLICIES = """
[[rule]]
role = "admin"
allow = ["list", "view", "operate"]

[[rule]]
role = "clerk"
allow = ["list", "view"]

[[rule]]
role = "clerk"
kinds = ["table", "topic"]
withhold = ["description"]
"""


def models(text: str) -> str:
    """The text of the part about read models, without markup."""
    part = text.partition('id="models"')[2].partition('id="load"')[0]
    return " ".join(unescape(re.sub("<[^>]*>", " ", part)).split())


def test_verify_is_started_from_the_page_and_its_result_is_kept(client: Client) -> None:
    client.schema()
    browser = Browser(client, "admin")
    assert models(browser.get("/operation").text).count("never") == 3

    started = browser.submit("/operation", {"work": "verify", "what": "all"}, on="/operation")

    assert (started.status_code, started.headers["location"]) == (303, "/operation")
    until(lambda: "Verified all" in models(browser.get("/operation").text), seconds=30)
    shown = models(browser.get("/operation").text)
    assert shown.count("equal at 3, 3 e") == 3
    assert shown.count("by the-admin") == 4


def test_rebuild_started_from_the_page_becomes_the_live_generation(client: Client) -> None:
    client.schema()
    browser = Browser(client, "admin")
    before = client.get("/v1/system/projections")["projections"][0]["generation"]

    browser.submit("/operation", {"work": "rebuild", "what": "entities"}, on="/operation")

    done = "Rebuilt and verified entities"
    until(lambda: done in models(browser.get("/operation").text), seconds=30)
    assert client.get("/v1/system/projections")["projections"][0]["generation"] == before + 1
    assert set(read_record(client.directory).proofs) == {"entities"}


def test_one_operation_at_a_time(client: Client) -> None:
    browser = Browser(client, "admin")
    record = Record(Operation("verify", "all", "ann", 1, "comparing", 3, 40))
    with operating(client.directory):
        write_record(client.directory, record)
        text = browser.get("/operation").text
        refused = browser.submit("/operation", {"work": "verify", "what": "all"}, on="/operation")

    assert "Verifying all : comparing, 3 of 40" in models(text)
    assert text.count("<button disabled>") == 3
    assert 'hx-trigger="every 2s"' in text
    assert refused.status_code == 409
    assert "one at a time" in refused.text
    assert read_record(client.directory) == record


def test_what_was_cut_off_says_so(client: Client) -> None:
    write_record(client.directory, Record(Operation("rebuild", "search", "ann", 1, "building")))

    text = Browser(client, "admin").get("/operation").text

    assert "Rebuilding search was cut off while building" in models(text)
    assert "<button disabled>" not in text


@pytest.mark.parametrize("fields", [{}, {"work": "purge", "what": "all"}, {"work": "verify"}])
def test_nothing_else_is_started(shop: Client, fields: dict[str, str]) -> None:
    answer = Browser(shop, "admin").submit("/operation", fields, on="/operation")

    assert answer.status_code == 400


@pytest.mark.parametrize("role", ["reader", "editor"])
def test_who_may_not_operate_starts_nothing(shop: Client, role: str) -> None:
    answer = Browser(shop, role).submit("/operation", {"work": "verify", "what": "all"})

    assert answer.status_code == 403
    assert read_record(shop.directory).operation is None


def test_load_is_plotted_with_its_numbers(shop: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operation_page, "SAMPLE_SECONDS", 0.0)
    browser = Browser(shop, "admin")

    for _ in range(3):
        text = browser.get("/operation").text

    load = text.partition('id="load"')[2]
    assert load.count("<polyline") == 3
    assert "<caption>Requests a second and lag, the numbers</caption>" in load
    assert "GET /operation" in load


def test_what_is_withheld_is_told_by_role(tmp_path: Path) -> None:
    policies = tmp_path / "policies.toml"
    policies.write_text(POLICIES)
    with running(tmp_path, policies=str(policies)) as client:
        text = Browser(client, "admin").get("/operation").text

    part = text.partition('aria-label="Withheld fields"')[2].partition("</table>")[0]
    cells = [
        unescape(re.sub("<[^>]*>", "", each)) for each in re.findall(r"<t[dh].*?</t[dh]>", part)
    ]
    assert cells[4:] == ["clerk", "description", "table, topic", "list, view"]


def test_record_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    (tmp_path / "operation.json").write_bytes(b'{"operation":')

    assert read_record(tmp_path) == Record()
