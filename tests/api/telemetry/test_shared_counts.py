"""Counts of several processes: exact, kept when a process is killed, and bounded."""

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram, generate_latest

from api.telemetry.metrics import Metrics
from api.telemetry.shared_counts import (
    BUCKETS,
    MOST_LABEL_BYTES,
    MOST_SERIES,
    OTHERS,
    PROJECTING,
    SUPERVISOR,
    Counts,
    Labels,
    SharedCounts,
)
from projections.operation.inspection import Inspection
from tests.waiting import until

NOTHING = Inspection(
    host="here",
    shared_log=False,
    later_release=None,
    log_read_only=False,
    clock_fault=None,
    log_id=None,
    head=0,
    log_bytes=0,
    log_error=None,
    disk=None,
    projected=True,
    projections=[],
)


def another(counts: SharedCounts, place: int) -> SharedCounts:
    """The counts as another process has them."""
    return SharedCounts(os.dup(counts.descriptor), place)


def requests(counts: Counts) -> dict[Labels, int]:
    return {series.labels: sum(series.buckets) for series in counts.series}


def lines(text: bytes) -> set[str]:
    """The lines on requests; when a series began is told by Prometheus' own histograms only."""
    told = [line for line in text.decode().splitlines() if "catalog_request_seconds" in line]
    return {line for line in told if "_created" not in line}


LABELS = st.tuples(
    st.sampled_from(["GET", "PUT", "", "other"]),
    st.sampled_from(["/v1/tables", "/v1/tables/{entity_id}", ""]),
    st.sampled_from([200, 404, 499]),
)
# Sums of eighths are exact in any order.
SECONDS = st.one_of(st.integers(0, 80).map(lambda number: number / 8), st.sampled_from([0.25, 5.0]))


@given(st.lists(st.tuples(st.integers(0, 2), LABELS, SECONDS), max_size=40))
def test_requests_of_all_workers_are_shown_as_one_histogram_of_prometheus(
    observed: list[tuple[int, Labels, float]],
) -> None:
    counts = SharedCounts.made(3)
    workers = [Metrics(another(counts, place)) for place in range(3)]
    registry = CollectorRegistry()
    expected = Histogram(
        "catalog_request_seconds",
        "Time to answer, by route and status",
        ("method", "route", "status"),
        registry=registry,
        buckets=BUCKETS,
    )
    for place, labels, seconds in observed:
        workers[place].observe(*labels, seconds)
        expected.labels(*labels).observe(seconds)

    for each in (*workers, Metrics(counts)):
        assert lines(each.render(NOTHING, ready=True, proofs={})) == lines(
            generate_latest(registry)
        )


@pytest.mark.parametrize("bound", range(len(BUCKETS)))
def test_request_that_takes_as_long_as_a_bound_is_in_its_bucket(bound: int) -> None:
    counts = SharedCounts.made(1)
    counts.own.observe("GET", "/", 200, BUCKETS[bound])

    (series,) = counts.own.series
    assert list(series.buckets) == [int(number == bound) for number in range(len(BUCKETS) + 1)]


def test_process_goes_on_where_the_one_before_it_ended() -> None:
    counts = SharedCounts.made(2)
    for _ in range(3):
        replacement = another(counts, 0).own
        replacement.connections = 7
        replacement.observe("GET", "/", 200, 0.5)
        replacement.observe("GET", "/", 404, 0.5)
        replacement.count_dropped_line()
    again = another(counts, 0).own

    assert requests(again) == {("GET", "/", 200): 3, ("GET", "/", 404): 3}
    assert (again.dropped_lines, again.connections) == (3, 0)
    assert requests(counts.workers[1]) == {}


COUNT = """
import sys
from api.telemetry.shared_counts import SharedCounts
own = SharedCounts(int(sys.argv[1]), 0).own
for number in range(1_000_000_000):
    number %= 3_000
    own.observe("GET", "/" + "x" * (number * 7 % 90) + str(number), 200, 0.125)
"""


def test_counts_of_a_process_that_is_killed_stay(tmp_path: Path) -> None:
    counts = SharedCounts.made(2)
    before = 0
    for least in (1, 100, 2_000):
        process = subprocess.Popen(
            [sys.executable, "-c", COUNT, str(counts.descriptor)], pass_fds=[counts.descriptor]
        )
        worker = counts.workers[0]
        until(lambda: sum(requests(worker).values()) > before + least)  # noqa: B023 - called at once
        process.send_signal(signal.SIGKILL)
        process.wait(30)
        before = sum(requests(worker).values())

    for series in worker.series:
        # The sum is added to after the count, in between of which the process may be killed.
        assert 0 <= sum(series.buckets) - series.seconds * 8 <= 3
    number = len(requests(worker))
    assert number <= 3_000
    another(counts, 0).own.observe("PUT", "/", 200, 0.125)
    assert len(requests(worker)) == number + 1


def test_series_are_bounded_and_no_request_is_left_out() -> None:
    own = SharedCounts.made(1).own
    for number in range(MOST_SERIES + 100):
        own.observe("GET", f"/{number}", 200, 0.1)
        own.observe("GET", f"/{number}", 200, 0.1)

    counted = requests(own)
    assert len(counted) == MOST_SERIES
    assert Counter(counted.values()) == {2: MOST_SERIES - 1, counted[OTHERS]: 1}
    assert sum(counted.values()) == 2 * (MOST_SERIES + 100)


def test_request_with_long_labels_is_counted_among_others() -> None:
    own = SharedCounts.made(1).own
    longest = "/" + "x" * (MOST_LABEL_BYTES - len("GET / 200"))
    for route in (longest, longest + "x", longest + "xx"):
        own.observe("GET", route, 200, 0.1)

    assert requests(own) == {("GET", longest, 200): 1, OTHERS: 2}


def test_signs_of_life_go_on_where_the_process_before_ended() -> None:
    counts = SharedCounts.made(2)
    for _ in range(2):
        another(counts, 1).own.beat()

    assert [worker.beats for worker in counts.workers] == [0, 2]


def test_dropped_lines_of_all_processes_are_shown() -> None:
    counts = SharedCounts.made(2)
    for place in (0, 1, SUPERVISOR, PROJECTING):
        another(counts, place).own.count_dropped_line()

    text = Metrics(counts).render(NOTHING, ready=True, proofs={}).decode()

    assert "catalog_log_lines_dropped_total 4.0" in text.splitlines()


def test_connections_are_shown_by_worker() -> None:
    counts = SharedCounts.made(2)
    counts.workers[1].connections = 3

    text = Metrics(counts).render(NOTHING, ready=True, proofs={}).decode()

    shown = [line for line in text.splitlines() if line.startswith("catalog_connections")]
    assert shown == ['catalog_connections{worker="1"} 0.0', 'catalog_connections{worker="2"} 3.0']
