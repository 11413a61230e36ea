"""The runs of a pipeline on its page."""

import re
import time
from html import unescape
from pathlib import Path
from typing import Any

from domain.measurements.reports import FOREVER
from tests.api.conftest import Client
from tests.api.pages.conftest import Browser
from tests.api.pages.frame.test_html import complaints, needs_checker

NOW = int(time.time() * 1_000) // 1_000 * 1_000
PATH = "/v1/pipelines/dagster.nightly/status"
PAGE = "/entity/pipeline/dagster.nightly"


def make(client: Client) -> None:
    client.create("services/pipelineServices", name="dagster", serviceType="Dagster")
    client.create("pipelines", name="nightly", service="dagster")


def report(client: Client, at: int, state: str, **more: Any) -> None:
    """Report a run."""
    run = {"timestamp": at, "executionStatus": state, **more}
    response = client.request("PUT", PATH, json=run, role="bot")
    assert response.status_code == 200, response.text


def runs(client: Client) -> list[str]:
    """The texts of the rows of runs on the page of the pipeline."""
    answer = Browser(client, "reader").get(PAGE)
    assert answer.status_code == 200, answer.text
    section = answer.text.partition('<section id="runs">')[2].partition("</section>")[0]
    rows = re.findall("<tr>.*?</tr>", section.partition("<tbody>")[2], re.DOTALL)
    return [" ".join(unescape(re.sub("<[^>]*>", " ", row)).split()) for row in rows]


def test_runs_are_shown_newest_first_with_time_rows_tasks_and_error(client: Client) -> None:
    make(client)
    assert "No run is known." in Browser(client, "reader").get(PAGE).text
    tasks = [
        {"name": "extract", "executionStatus": "Successful", "endTime": NOW - 58_000},
        {
            "name": "load <b>",
            "executionStatus": "Failed",
            "error": {"errorMessage": "disk is <full>"},
        },
    ]
    report(client, NOW - 60_000, "Failed", taskStatus=tasks)
    made = [{"datasetFQN": "a.b.c.d", "rowCount": 1_200}, {"datasetFQN": "a.b.c.e"}]
    report(client, NOW, "Successful", startTime=NOW, endTime=NOW + 1_500, outputs=made)

    newest, failed = runs(client)
    assert "Successful 1.5 s 1,200 rows" in newest
    assert "Failed 2.0 s 1 of 2 load <b> Failed extract Successful disk is <full>" in failed


def test_twenty_runs_are_shown_whatever_times_they_name(client: Client) -> None:
    make(client)
    for number in range(25):
        report(client, NOW - number, "Successful", startTime=FOREVER, endTime=FOREVER)

    shown = runs(client)

    assert len(shown) == 20
    assert shown[0].endswith("UTC Successful")
    assert "Older runs are in the API." in Browser(client, "reader").get(PAGE).text


def test_page_of_the_past_has_no_runs(client: Client) -> None:
    make(client)
    report(client, NOW, "Successful")

    assert len(runs(client)) == 1
    page = Browser(client, "reader").get(f"{PAGE}?at=now").text
    assert 'id="runs"' not in page


@needs_checker
def test_page_is_html_by_the_standard(client: Client, tmp_path: Path) -> None:
    make(client)
    report(client, NOW, "Failed", taskStatus=[{"name": "a", "executionStatus": "Failed"}])

    pages = {PAGE: Browser(client, "reader").get(PAGE).text}

    assert complaints(pages, tmp_path) == []
