"""Results of a contract on its page and in a list, its badge, and the button that validates it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.conftest import Client, running_under
from tests.api.pages.conftest import Browser
from tests.api.pages.contracts.conftest import FQN, NOW, POLICIES, fill, report
from tests.api.pages.contracts.test_impact_page import text_of

PAGE, LIST = f"/entity/dataContract/{FQN}", f"/results/dataContract/{FQN}"
VALIDATE = f"/validate/dataContract/{FQN}"


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Client]:
    """The same catalog without a result, for tests that write."""
    with running_under(tmp_path, POLICIES) as client:
        fill(client)
        yield client


def contract_id(client: Client) -> str:
    found: str = client.get(f"/v1/dataContracts/name/{FQN}")["id"]
    return found


def test_a_success_of_another_version_is_not_green(promised: Client) -> None:
    said = text_of(promised, "reader", PAGE)
    page = Browser(promised, "reader").get(PAGE).text

    assert "Latest result" in said
    assert "Success of version 0.1, not of 0.2" in said
    assert "all of <1> kept" in said
    assert "status success" not in page
    assert "of a version that is not said" not in said


def test_validate_now_keeps_a_result_that_says_what_failed(fresh: Client) -> None:
    assert "It has never been validated." in text_of(fresh, "admin", PAGE)
    answer = Browser(fresh, "admin").submit(VALIDATE, on=PAGE)

    assert (answer.status_code, answer.headers["location"]) == (303, f"{PAGE}#results")
    said = text_of(fresh, "admin", PAGE)
    assert "Active Failed" in said.partition(FQN)[0]
    assert "Failed of version 0.2" in said
    assert "Columns 1 of 2 passed <new> is missing" in said
    assert "version 0.2; failed: 1 column" in said
    latest = fresh.get(f"/v1/dataContracts/{contract_id(fresh)}/results/latest")
    assert latest["contractExecutionStatus"] == "Failed"
    assert "Failed 0.2 version 0.2; failed: 1 column" in text_of(fresh, "admin", LIST)


def test_all_parts_of_a_result_are_told(fresh: Client) -> None:
    report(
        fresh,
        contract_id(fresh),
        NOW,
        "Failed",
        schemaValidation={
            "passed": 1,
            "failed": 2,
            "total": 3,
            "duplicateFields": ["twice"],
            "typeMismatchFields": ["x: expected INT, got TEXT"],
        },
        semanticsValidation={
            "passed": 0,
            "failed": 1,
            "total": 1,
            "failedRules": [{"ruleName": "owned", "reason": "its value is not true"}, {}],
        },
        qualityValidation={"passed": 3, "failed": 1, "total": 5},
        slaValidation={
            "refreshFrequencyMet": True,
            "latencyMet": False,
            "actualLatency": 7_200_000,
        },
    )
    said = text_of(fresh, "reader", PAGE)

    version = fresh.get(f"/v1/dataContracts/{contract_id(fresh)}")["version"]
    assert f"Failed of version {version}" in said
    assert "Verdict: Unknown" in said
    assert "1 of 3 passed twice is promised twice x: expected INT, got TEXT" in said
    assert "0 of 1 passed owned: its value is not true" in said
    assert "Tests 3 of 5 passed 1 failed" in said
    assert "refresh frequency kept · the data was 120 minutes old latency not kept" in said


def test_who_may_not_see_all_reads_how_it_ended_and_no_more(fresh: Client) -> None:
    assert Browser(fresh, "admin").submit(VALIDATE, on=PAGE).status_code == 303

    for role in ("ownerless", "termless"):
        for address in (PAGE, LIST):
            said = text_of(fresh, role, address)
            assert "Failed" in said
            assert "What failed, and why, is withheld from your roles." in said
            assert "failed: 1 column" not in said
            assert "1 of 2 passed" not in said
    assert "withheld" not in text_of(fresh, "reader", LIST)


def test_only_who_may_validate_has_the_button(fresh: Client) -> None:
    for role, has in (("admin", True), ("termless", True), ("reader", False), ("ownerless", False)):
        assert ("Validate now" in text_of(fresh, role, PAGE)) is has
    reader = Browser(fresh, "reader").submit(VALIDATE)
    ownerless = Browser(fresh, "ownerless").submit(VALIDATE)

    assert (reader.status_code, ownerless.status_code) == (403, 403)
    assert "a validation tells of all of a table" in ownerless.text
    assert Browser(fresh, "admin").post(VALIDATE, {"form_token": "x"}).status_code == 403
    assert "It has never been validated." in text_of(fresh, "reader", LIST)


def test_results_are_listed_page_by_page_newest_first(fresh: Client) -> None:
    held = contract_id(fresh)
    for number in range(45):
        report(fresh, held, NOW - number * 1_000, "Aborted", result=f"run {number}.")
    browser, address, seen, pages = Browser(fresh, "reader"), LIST, list[str](), 0
    while address:
        page = browser.get(address).text
        seen += re.findall(r"run (\d+)\.", page)
        pages += 1
        following = re.findall('rel="next" href="([^"]*)"', page)
        address = following[0] if following else ""

    assert seen == [str(number) for number in range(45)]
    assert pages == 3
    assert "45 results in all" in page
    assert "All 45 results" in text_of(fresh, "reader", PAGE)


def test_large_results_make_no_large_page(fresh: Client) -> None:
    held, long = contract_id(fresh), "<" * 2_000
    rules = [{"ruleName": f"{long}{number}", "reason": long} for number in range(30)]
    for number in range(25):
        report(
            fresh,
            held,
            NOW - number,
            "Failed",
            result=long * 9,
            schemaValidation={"failedFields": [f"{long}{each}" for each in range(30)]},
            semanticsValidation={"failedRules": rules},
        )

    for address in (PAGE, LIST):
        assert len(Browser(fresh, "reader").get(address).content) < 1_000_000


def test_the_badge_is_on_the_page_with_its_address(promised: Client) -> None:
    badge = Browser(promised, "reader").get(f"/badge/dataContract/{FQN}")
    page = Browser(promised, "reader").get(PAGE).text

    assert badge.headers["content-type"] == "image/svg+xml"
    assert ">Active 2.0.0<" in badge.text
    assert f'<img src="/badge/dataContract/{FQN}" alt="contract: Active 2.0.0"' in page
    address = f"/v1/dataContracts/{contract_id(promised)}/badge.svg"
    (shown,) = re.findall(r'readonly value="https?://[^/]*([^"]*)"', page)
    assert shown == address
    assert promised.request("GET", address).content == badge.content
    assert Browser(promised, "undocumented").get(f"/badge/dataContract/{FQN}").status_code == 403
    assert "<img" not in Browser(promised, "undocumented").get(PAGE).text.partition("<main")[2]


def test_other_kinds_and_deleted_contracts_have_no_results(fresh: Client) -> None:
    browser = Browser(fresh, "admin")
    for view in ("results", "badge"):
        assert browser.get(f"/{view}/table/service.database.schema.orders").status_code == 404
    path = f"/v1/dataContracts/{contract_id(fresh)}"
    assert fresh.request("DELETE", path).status_code == 200

    for view in ("results", "badge", "impact"):
        assert browser.get(f"/{view}/dataContract/{FQN}").status_code == 404
    page = browser.get(PAGE)
    assert page.status_code == 200
    assert "Latest result" not in page.text
    assert browser.submit(VALIDATE).status_code == 404


def test_long_words_of_a_contract_make_no_large_page(fresh: Client) -> None:
    long = "<" * 9_000
    rules = [{"name": long, "query": long, "type": "sql", "engine": long} for _ in range(60)]
    semantics = [
        {"name": f"{long}{number}", "description": long, "rule": long, "enabled": True}
        for number in range(30)
    ]
    policies = [{"accessPolicy": long, "rowFilters": [{"values": [long]}]} for _ in range(30)]
    for key, value in (
        ("odcsQualityRules", rules),
        ("semantics", semantics),
        ("security", {"policies": policies}),
        ("termsOfUse", {"content": "<" * 500_000}),
    ):
        patch = [{"op": "add", "path": f"/{key}", "value": value}]
        path = f"/v1/dataContracts/{contract_id(fresh)}"
        answer = fresh.request("PATCH", path, json=patch)
        assert answer.status_code == 200, answer.text

    page = Browser(fresh, "admin").get(PAGE)
    assert page.status_code == 200
    assert len(page.content) < 1_500_000
