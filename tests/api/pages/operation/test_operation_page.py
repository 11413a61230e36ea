"""The page of the read models: what it tells, and what admins start from it."""

import re
from html import unescape
from pathlib import Path

import msgspec
import pytest

from api.pages.operation import operation as operation_page
from projections.operation.proofs import Proof, keep_proof, read_proofs
from projections.operation.records import (
    OperationRecord,
    operating,
    read_operation,
    write_operation,
)
from projections.verification.report import Verdict
from tests.api.conftest import Client, running_under
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


def test_rebuild_started_from_the_page_becomes_the_live_generation(anywhere: Client) -> None:
    anywhere.schema()
    browser = Browser(anywhere, "admin")
    before = anywhere.get("/v1/system/projections")["projections"][0]["generation"]

    browser.submit("/operation", {"work": "rebuild", "what": "entities"}, on="/operation")

    done = "Rebuilt and verified entities"
    until(lambda: done in models(browser.get("/operation").text), seconds=30)
    assert anywhere.get("/v1/system/projections")["projections"][0]["generation"] == before + 1
    assert set(read_proofs(anywhere.directory)) == {"entities"}


def test_proof_of_another_generation_says_so(client: Client) -> None:
    proof = Proof(Verdict.DIFFERS, 3, 2, 1, None, 7, 0, 0.5, "ann")
    keep_proof(client.directory, "search", proof)
    browser = Browser(client, "admin")
    assert "differs 1 found of generation 7 at 3, 2 entities" in models(
        browser.get("/operation").text
    )

    keep_proof(client.directory, "search", msgspec.structs.replace(proof, generation=1))

    assert "differs 1 found at 3, 2 entities" in models(browser.get("/operation").text)


def test_one_operation_at_a_time(client: Client) -> None:
    browser = Browser(client, "admin")
    operation = OperationRecord("verify", "all", "ann", 1, "comparing", 3, 40)
    with operating(client.directory):
        write_operation(client.directory, operation)
        text = browser.get("/operation").text
        refused = browser.submit("/operation", {"work": "verify", "what": "all"}, on="/operation")

    assert "Verifying all : comparing, 3 of 40" in models(text)
    assert text.count("<button disabled>") == 3
    assert 'hx-trigger="every 2s"' in text
    assert refused.status_code == 409
    assert "one at a time" in refused.text
    assert read_operation(client.directory) == operation


def test_what_was_cut_off_says_so(client: Client) -> None:
    write_operation(client.directory, OperationRecord("rebuild", "search", "ann", 1, "building"))

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
    assert read_operation(shop.directory) is None


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
    with running_under(tmp_path, POLICIES) as client:
        text = Browser(client, "admin").get("/operation").text

    part = text.partition('aria-label="Withheld fields"')[2].partition("</table>")[0]
    cells = [
        unescape(re.sub("<[^>]*>", "", each)) for each in re.findall(r"<t[dh].*?</t[dh]>", part)
    ]
    assert cells[4:] == ["clerk", "description", "table, topic", "list, view"]


def test_what_cannot_be_read_is_as_if_it_were_not_there(tmp_path: Path) -> None:
    for name in ("operation.json", "proof-log.json"):
        (tmp_path / name).write_bytes(b'{"work":')

    assert (read_operation(tmp_path), read_proofs(tmp_path)) == (None, {})
