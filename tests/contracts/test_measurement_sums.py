"""Sums over measurements of many entities, in either backend, beside those of plain Python."""

from fractions import Fraction
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from domain.measurements.bounds import MOST_QUERIES, Bounds
from domain.measurements.costs import MAX_COST, MAX_DURATION, MAX_RUNS, CostSums
from domain.measurements.port import Measurements
from domain.measurements.reports import COST, DAY_MS, RANK, USAGE, Point, UsageRanks
from tests.contracts.measurement_backends import BOUNDS, Backend
from tests.depth import examples

NOW = 1_700_000_000_000
DAY = NOW - NOW % DAY_MS
ENTITIES = [f"entity-{number}" for number in range(5)]
UNHURRIED = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(40)
)


@pytest.fixture
def store(backend: Backend) -> Measurements:
    return backend.open(Bounds(days=60, most_bytes=1_000_000))


def clear(store: Measurements) -> None:
    for entity_id in store.entities():
        store.forget(entity_id)


def ranks_of(store: Measurements) -> dict[str, UsageRanks]:
    found = {each: store.latest(each, RANK) for each in store.entities()}
    return {
        each: msgspec.json.decode(body, type=UsageRanks) for each, body in found.items() if body
    }


def share(sums: dict[str, int], entity_id: str) -> float:
    """The percentage of entities that have less, to two places, halves rounded up."""
    less = sum(other < sums[entity_id] for other in sums.values())
    return int(Fraction(10_000 * less, len(sums)) + Fraction(1, 2)) / 100


def ranks(sums: list[dict[str, int]], entity_id: str) -> UsageRanks:
    daily, weekly, monthly = (share(of, entity_id) for of in sums)
    return UsageRanks(daily=daily, weekly=weekly, monthly=monthly)


@UNHURRIED
@given(
    st.dictionaries(
        st.tuples(st.sampled_from(ENTITIES), st.sampled_from([0, 1, 6, 7, 8, 29, 30, -1])),
        st.sampled_from([0, 1, 2, 3, 2**53 - 2, 2**53 - 1]),
    )
)
def test_ranks_of_use_are_those_of_plain_python(
    store: Measurements, counts: dict[tuple[str, int], int]
) -> None:
    clear(store)
    for (entity_id, back), count in counts.items():
        # Another kind has the same use, and is ranked by itself.
        body = msgspec.json.encode({"date": "2023-11-14", "count": count})
        for owner, kind in ((entity_id, "table"), (f"other {entity_id}", "topic")):
            store.write(owner, [Point(USAGE, kind, DAY - back * DAY_MS, body)], NOW)
    store.rank_usage("table", DAY, NOW)

    used = {entity_id for entity_id, back in counts if back == 0}
    sums = [
        {
            each: sum(
                count for (of, back), count in counts.items() if of == each and 0 <= back < days
            )
            for each in used
        }
        for days in (1, 7, 30)
    ]
    assert ranks_of(store) == {each: ranks(sums, each) for each in used}


def test_ranks_of_many_are_stored_in_parts_and_ties_are_equal(backend: Backend) -> None:
    store = backend.open(replace(BOUNDS, at_once=2))
    for number, entity_id in enumerate(ENTITIES):
        body = b'{"date":"2023-11-14","count":%d}' % (number // 2)
        store.write(entity_id, [Point(USAGE, "table", DAY, body)], NOW)
    for _ in range(2):
        store.rank_usage("table", DAY, NOW)
        assert [ranks_of(store)[each].daily for each in ENTITIES] == [0, 0, 40, 40, 80]
    # A third of a percent more or less: 2 / 3 of hundred.
    for entity_id in ENTITIES[3:]:
        store.delete(entity_id, USAGE)
    store.write(ENTITIES[0], [Point(USAGE, "table", DAY, b'{"count":9}')], NOW)
    store.write(ENTITIES[2], [Point(USAGE, "table", DAY, b'{"count":8}')], NOW)
    store.rank_usage("table", DAY, NOW)
    assert [ranks_of(store)[each].daily for each in ENTITIES[:3]] == [66.67, 0, 33.33]


def bounded(record: dict[str, Any], key: str, most: float) -> Fraction:
    return Fraction(min(max(record.get(key) or 0, 0), most))


def cost_sums(entity_id: str, records: list[dict[str, Any]]) -> CostSums:
    """Return the sums of records, computed without rounding."""
    costs = [bounded(each, "cost", MAX_COST) for each in records]
    runs = [bounded(each, "count", MAX_RUNS) for each in records]
    duration = sum(bounded(each, "totalDuration", MAX_DURATION) for each in records)
    total = sum(cost * run for cost, run in zip(costs, runs, strict=True))
    numbers = (total, sum(runs), duration, min(costs), max(costs))
    return CostSums(entity_id, *map(float, numbers))


QUARTERS = st.integers(0, 4_000).map(lambda number: number / 4)
"""Numbers whose sums no backend has to round."""
RECORDS = st.fixed_dictionaries(
    {"cost": QUARTERS | st.just(1e308), "count": QUARTERS},
    optional={"totalDuration": st.none() | QUARTERS | st.just(-1.5), "text": st.just("\0")},
)


@UNHURRIED
@given(st.dictionaries(st.tuples(st.sampled_from(ENTITIES), st.integers(0, 3)), RECORDS))
def test_costs_are_those_of_plain_python(
    store: Measurements, records: dict[tuple[str, int], dict[str, Any]]
) -> None:
    clear(store)
    for (entity_id, back), record in records.items():
        body = msgspec.json.encode(record)
        for service in ("service", "other service"):
            store.write(entity_id, [Point(COST, service, NOW - back, body)], NOW)

    by_query: dict[str, list[dict[str, Any]]] = {}
    for (entity_id, _), record in records.items():
        by_query.setdefault(entity_id, []).append(record)
    queries = [cost_sums(each, of) for each, of in by_query.items()]
    queries.sort(key=lambda each: (-each.total, each.entity_id))
    whole = [cost_sums("", [*records.values()])] if records else []
    assert store.query_costs("service") == whole + queries
    assert store.query_costs("nobody") == []


def test_costs_that_are_next_to_nothing_or_no_round_numbers_are_summed(
    store: Measurements,
) -> None:
    body = b'{"cost":1e-200,"count":1e-200,"totalDuration":1e-200}'
    store.write("tiny", [Point(COST, "tiny", NOW, body)], NOW)
    whole, one = store.query_costs("tiny")
    assert (whole.total, whole.runs, whole.least, one.most) == (0.0, 1e-200, 1e-200, 1e-200)
    for number in range(10):
        body = b'{"cost":0.1,"count":3,"totalDuration":0.7}'
        store.write("tenths", [Point(COST, "tenths", NOW - number, body)], NOW)
    whole, _ = store.query_costs("tenths")
    assert (whole.total, whole.duration) == pytest.approx((3.0, 7.0), rel=1e-15)
    assert (whole.least, whole.most, whole.runs) == (0.1, 0.1, 30.0)


def test_the_dearest_queries_alone_are_shown(store: Measurements) -> None:
    for number in range(MOST_QUERIES + 5):
        body = b'{"cost":%d,"count":1}' % (number // 2)
        store.write(f"query-{number:03}", [Point(COST, "service", NOW, body)], NOW)
    whole, *queries = store.query_costs("service")
    assert whole.total == sum(number // 2 for number in range(105))
    assert [each.entity_id for each in queries[:3]] == ["query-104", "query-102", "query-103"]
    assert len(queries) == MOST_QUERIES
