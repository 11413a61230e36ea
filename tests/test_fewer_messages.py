"""Processes say what tests come to, and what fails or is skipped before and after them."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.fewer_messages import leave_out, shows_all


def test_no_message_is_left_out_that_shows_something() -> None:
    sent: list[tuple[str, dict[str, Any]]] = []
    speaker: Any = SimpleNamespace(sendevent=lambda name, **content: sent.append((name, content)))
    leave_out(speaker)
    reports = [
        {"data": {"when": when, "outcome": outcome}}
        for when in ("setup", "call", "teardown")
        for outcome in ("passed", "failed", "skipped")
    ]
    speaker.sendevent("logstart", nodeid="a")
    for report in reports:
        speaker.sendevent("testreport", **report)
    speaker.sendevent("logfinish", nodeid="a")
    speaker.sendevent("runtest_protocol_complete", item_index=1)

    left_out = [reports[0], reports[6]]
    assert sent == [
        *(("testreport", report) for report in reports if report not in left_out),
        ("logfinish", {"nodeid": "a"}),
        ("runtest_protocol_complete", {"item_index": 1}),
    ]


@pytest.mark.parametrize(
    ("options", "shown"),
    [({}, False), ({"verbose": 1}, True), ({"durations": 0}, True), ({"xmlpath": "a.xml"}, True)],
)
def test_run_that_shows_all_is_told_all(options: dict[str, Any], shown: bool) -> None:
    given = {"verbose": 0, "durations": None, "xmlpath": None, **options}
    config: Any = SimpleNamespace(option=SimpleNamespace(**given))
    assert shows_all(config) is shown
