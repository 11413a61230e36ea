"""The port of measurements: what is kept, in which order, and how much of it, in either backend."""

import threading
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from domain.errors import EntityOverLimit, InvalidInput, StoreUnavailable
from domain.measurements.bounds import POINT_BYTES, Bounds
from domain.measurements.port import Measurements, Page, PageRequest
from domain.measurements.reports import COLUMN, DAY_MS, JOIN, SAMPLE, TABLE, Point
from domain.measurements.sweeping import sweep
from tests.contracts.measurement_backends import BOUNDS, Backend
from tests.depth import examples

NOW = 1_700_000_000_000
ONE, TWO = "0191ab00-0000-7000-8000-000000000001", "0191ab00-0000-7000-8000-000000000002"


@pytest.fixture
def store(backend: Backend) -> Measurements:
    return backend.open()


def point(at: int, part: str = "", series: str = TABLE, body: bytes = b"{}") -> Point:
    return Point(series, part, at, body)


def page(store: Measurements, part: str | None = "", **options: int | None) -> Page:
    bounds: dict[str, Any] = {"until": NOW * 2, "limit": 100, "most_bytes": 10**6, **options}
    series = COLUMN if part else TABLE
    return store.page(PageRequest(entity_id=ONE, series=series, part=part, **bounds))


def times(store: Measurements, part: str | None = "", **options: int | None) -> list[int]:
    return [at for at, _ in page(store, part, **options).points]


def assert_sizes_are_right(backend: Backend) -> None:
    kept, summed = backend.sizes()
    assert kept == summed


def test_points_come_newest_first_and_one_replaces_that_of_its_time(
    backend: Backend, store: Measurements
) -> None:
    store.write(ONE, [point(NOW - 2), point(NOW, body=b"1"), point(NOW - 1)], NOW)
    store.write(ONE, [point(NOW, body=b"0"), point(NOW, body=b"22")], NOW)
    assert page(store).points == [(NOW, b"22"), (NOW - 1, b"{}"), (NOW - 2, b"{}")]
    assert store.newest(ONE, TABLE) == {"": b"22"}
    assert store.newest(TWO, TABLE) == {}
    assert (store.latest(ONE, TABLE), store.latest(TWO, TABLE)) == (b"22", None)
    assert_sizes_are_right(backend)


def test_a_write_without_points_changes_nothing(store: Measurements) -> None:
    store.write_all({}, NOW)
    store.write(ONE, [], NOW)
    assert (store.entities(), store.newest_time(), page(store)) == ([], 0, Page(0, [], more=False))


def test_parts_of_any_length_and_character_are_apart_and_in_order(
    backend: Backend, store: Measurements
) -> None:
    # Beyond what an index of a database can hold, and what its text can.
    parts = ["", "a", "B", "ü", "\U0001f600", "a\nb", "x" * 3_072, "x" * 3_071 + "y", "€" * 3_072]
    store.write(ONE, [point(NOW, part, JOIN, part[-1:].encode()) for part in parts], NOW)
    assert store.newest(ONE, JOIN) == {part: part[-1:].encode() for part in parts}
    wanted = PageRequest(entity_id=ONE, series=JOIN, until=NOW, limit=1, most_bytes=1)
    shown = [body.decode() for _, body in store.page(wanted).points]
    assert shown == [part[-1:] for part in sorted(parts)]
    assert store.page(replace(wanted, part="€" * 3_072)).points == [(NOW, "€".encode())]
    assert_sizes_are_right(backend)
    store.write(ONE, [point(NOW, "a\0b", JOIN), point(NOW, "a\0c", JOIN)], NOW)
    assert store.newest(ONE, JOIN).keys() == {*parts, "a\0b", "a\0c"}


def test_pages_are_bounded_by_times_count_and_bytes(store: Measurements) -> None:
    store.write(ONE, [point(NOW - age, "c", COLUMN, b"x" * 10) for age in range(6)], NOW)
    store.write(ONE, [point(NOW, "d", COLUMN), point(NOW, "c", SAMPLE)], NOW)
    store.write(TWO, [point(NOW, "c", COLUMN)], NOW)
    assert times(store, "c", since=NOW - 3, until=NOW - 1) == [NOW - 1, NOW - 2, NOW - 3]
    first = page(store, "c", limit=2)
    assert (first.total, first.more, len(first.points)) == (6, True, 2)
    assert times(store, "c", limit=2, before=NOW - 4) == [NOW - 5]
    assert not page(store, "c", limit=2, before=NOW - 4).more
    assert page(store, "c", limit=2, before=NOW - 5) == Page(6, [], more=False)
    assert len(page(store, "c", most_bytes=25).points) == 3
    assert len(page(store, "c", most_bytes=20).points) == 2


def test_times_are_those_of_the_part_without_a_name(store: Measurements) -> None:
    assert store.times(ONE, TABLE) == []
    store.write(ONE, [point(NOW - age) for age in (3, 0, 2)], NOW)
    store.write(ONE, [point(NOW - 1, "c"), point(NOW - 1, series=SAMPLE)], NOW)
    store.write(TWO, [point(NOW - 1)], NOW)
    assert store.times(ONE, TABLE) == [NOW, NOW - 2, NOW - 3]


def test_points_of_one_time_are_on_one_page(store: Measurements) -> None:
    parts = [point(NOW - age, part, "system") for age in range(2) for part in "abc"]
    store.write(ONE, parts, NOW)
    wanted = PageRequest(entity_id=ONE, series="system", until=NOW, limit=1, most_bytes=1)
    got = store.page(wanted)
    assert ([at for at, _ in got.points], got.more) == ([NOW] * 3, True)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(40))
@given(
    points=st.dictionaries(
        st.tuples(st.sampled_from(["a", "b", "ü"]), st.integers(0, 6)), st.integers(0, 30)
    ),
    part=st.sampled_from([None, "a"]),
    before=st.none() | st.integers(0, 6),
    limit=st.integers(1, 8),
    most_bytes=st.integers(1, 60),
)
def test_pages_are_those_of_plain_python(
    store: Measurements,
    points: dict[tuple[str, int], int],
    part: str | None,
    before: int | None,
    limit: int,
    most_bytes: int,
) -> None:
    store.forget(ONE)
    bodies = {key: b"x" * size for key, size in points.items()}
    store.write(
        ONE, [point(NOW + at, name, COLUMN, body) for (name, at), body in bodies.items()], NOW
    )
    wanted = PageRequest(
        entity_id=ONE,
        series=COLUMN,
        part=part,
        since=NOW + 1,
        until=NOW + 5,
        before=None if before is None else NOW + before,
        limit=limit,
        most_bytes=most_bytes,
    )
    got = store.page(wanted)

    inside = [key for key in bodies if part in (None, key[0]) and 1 <= key[1] <= 5]
    left = sorted(
        (key for key in inside if before is None or key[1] < before),
        key=lambda key: (-key[1], key[0].encode()),
    )
    taken: list[tuple[str, int]] = []
    for key in left:
        full = len(taken) >= limit or sum(len(bodies[each]) for each in taken) >= most_bytes
        if full and taken[-1][1] != key[1]:
            break
        taken.append(key)
    shown = [(NOW + key[1], bodies[key]) for key in taken]
    assert got == Page(len(inside), shown, more=len(taken) < len(left))


def test_the_oldest_points_of_a_part_go_beyond_the_count(backend: Backend) -> None:
    store = backend.open(replace(BOUNDS, most_points=3))
    store.write(ONE, [point(NOW - age) for age in range(5)], NOW)
    store.write(ONE, [point(NOW, "c", COLUMN)], NOW)
    assert times(store) == [NOW, NOW - 1, NOW - 2]
    for number in (1, 2):
        store.write(ONE, [point(NOW - number, series=SAMPLE, body=b"%d" % number)], NOW)
    store.write(ONE, [point(NOW, series=SAMPLE, body=b"3")], NOW)
    assert store.newest(ONE, SAMPLE) == {"": b"3"}
    assert len(backend.points()[ONE]) == 5
    assert_sizes_are_right(backend)


def test_the_oldest_points_of_an_entity_go_beyond_its_bytes(backend: Backend) -> None:
    store = backend.open(replace(BOUNDS, entity_bytes=1_000))
    for age in (3, 2, 1):
        store.write(ONE, [point(NOW - age, body=b"x" * 300)], NOW)
    assert times(store) == [NOW - 1, NOW - 2]
    with pytest.raises(EntityOverLimit, match="may have 1000 bytes"):
        store.write_all(
            {
                TWO: [point(NOW)],
                ONE: [point(NOW - age, body=b"x" * 300) for age in range(4, 8)],
            },
            NOW,
        )
    assert times(store) == [NOW - 1, NOW - 2]
    assert store.entities() == [ONE]
    # What is written stays, however old it is.
    store.write(ONE, [point(NOW - 9, body=b"x" * 300)], NOW)
    assert times(store) == [NOW - 1, NOW - 9]
    assert_sizes_are_right(backend)


def test_a_store_that_is_full_takes_nothing_more_and_gives_what_it_has(backend: Backend) -> None:
    store = backend.open(Bounds(days=30, most_bytes=500))
    store.write(ONE, [point(NOW - 1, body=b"x" * 300)], NOW)
    with pytest.raises(
        StoreUnavailable, match=r"full \(500 bytes\): raise CATALOG_MEASUREMENT_BYTES"
    ):
        store.write(TWO, [point(NOW, body=b"x" * 300)], NOW)
    assert store.entities() == [ONE]
    store.write(ONE, [point(NOW - 1, body=b"x" * 200)], NOW)
    store.delete(ONE, TABLE)
    store.write(TWO, [point(NOW, body=b"x" * 300)], NOW)
    assert_sizes_are_right(backend)


@pytest.mark.parametrize("at", [NOW - 30 * DAY_MS - 1, NOW + DAY_MS + 1])
def test_times_beyond_retention_or_in_the_future_are_refused(store: Measurements, at: int) -> None:
    with pytest.raises(InvalidInput, match="of the last 30 days"):
        store.write(ONE, [point(NOW), point(at)], NOW)
    with pytest.raises(InvalidInput, match="the time of a ranking must be of the last 30 days"):
        store.rank_usage("table", at, NOW)
    assert times(store) == []


def test_a_point_that_is_too_large_is_refused(store: Measurements) -> None:
    with pytest.raises(EntityOverLimit, match="column measurement of 'c' may have 262144 bytes"):
        store.write(ONE, [point(NOW, "c", COLUMN, b"x" * (POINT_BYTES + 1))], NOW)


def test_points_are_deleted_by_time_or_all_of_them(backend: Backend, store: Measurements) -> None:
    store.write(ONE, [point(NOW), point(NOW - 1), point(NOW, "c", COLUMN)], NOW)
    assert store.delete(ONE, TABLE, NOW) == 1
    assert times(store) == [NOW - 1]
    assert store.delete(ONE, TABLE) == 1
    assert store.newest(ONE, COLUMN) == {"c": b"{}"}
    assert store.delete(ONE, TABLE) == 0
    assert store.delete(TWO, TABLE) == 0
    assert store.delete(ONE, COLUMN) == 1
    assert store.entities() == []
    assert_sizes_are_right(backend)


def test_a_sweep_forgets_what_was_purged_and_what_is_too_old(backend: Backend) -> None:
    store = backend.open(replace(BOUNDS, at_once=2))
    for entity_id in (ONE, TWO):
        store.write(entity_id, [point(NOW - age * DAY_MS) for age in range(5)], NOW)
    assert store.newest_time() == NOW
    sweep(store, lambda _: {ONE}, NOW + 28 * DAY_MS, known=NOW + 28 * DAY_MS)
    assert store.entities() == [ONE]
    assert times(store) == [NOW, NOW - DAY_MS, NOW - 2 * DAY_MS]
    assert_sizes_are_right(backend)
    sweep(store, lambda ids: ids, NOW + 60 * DAY_MS, known=NOW + 60 * DAY_MS)
    assert store.entities() == []
    assert_sizes_are_right(backend)


def test_what_was_stored_is_there_for_another_process(
    backend: Backend, store: Measurements
) -> None:
    store.write(ONE, [point(NOW)], NOW)
    # The first one is not closed: what another process finds after a kill.
    assert backend.open().newest(ONE, TABLE) == {"": b"{}"}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(40))
@given(
    st.lists(
        st.tuples(
            st.sampled_from([ONE, TWO]),
            st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["", "ü"]), st.integers(0, 40))),
        ),
        max_size=6,
    )
)
def test_sizes_are_those_of_the_points(
    backend: Backend, store: Measurements, writes: list[tuple[str, list[tuple[int, str, int]]]]
) -> None:
    for entity_id, given_points in writes:
        points = [point(NOW - age, part, body=b"x" * size) for age, part, size in given_points]
        store.write(entity_id, points, NOW)
        store.delete(entity_id, TABLE, NOW - 1)
    store.write(ONE, [point(NOW)], NOW)
    assert_sizes_are_right(backend)


def test_writers_of_the_same_entities_keep_the_bounds_and_wait_for_no_circle(
    backend: Backend,
) -> None:
    narrow = replace(BOUNDS, most_points=3, entity_bytes=700, at_once=2)
    entities = [f"0191ab00-0000-7000-8000-00000000001{number}" for number in range(6)]
    refused: list[Exception] = []
    barrier = threading.Barrier(4)

    def change(number: int, store: Measurements) -> None:
        # Each goes through the entities in an order of its own.
        mine = entities[number:] + entities[:number]
        barrier.wait()
        try:
            for turn in range(40):
                points = [point(NOW - turn * 4 - number, body=b"x" * 100)]
                store.write_all({each: points for each in mine[:: 1 - 2 * (turn % 2)]}, NOW)
                if turn % 10 == number:
                    store.forget(mine[0])
                    store.delete(mine[1], TABLE)
                    store.forget_older(NOW + 30 * DAY_MS - 80)
        except Exception as error:
            refused.append(error)

    threads = [
        threading.Thread(target=change, args=(each, backend.open(narrow))) for each in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert refused == []
    assert_sizes_are_right(backend)
    assert {len(points) for points in backend.points().values()} <= {1, 2, 3}
    assert max(backend.sizes()[0][each] for each in backend.points()) <= 700


def test_writers_do_not_go_beyond_the_bytes_of_all_together(backend: Backend) -> None:
    # Each takes 100 bytes, and there is room for five of eight.
    full: list[StoreUnavailable] = []
    barrier = threading.Barrier(8)

    def write(number: int, store: Measurements) -> None:
        barrier.wait()
        try:
            store.write(f"entity-{number}", [point(NOW, body=b"x" * 36)], NOW)
        except StoreUnavailable as error:
            full.append(error)

    opened = [backend.open(Bounds(days=30, most_bytes=500)) for _ in range(8)]
    threads = [threading.Thread(target=write, args=each) for each in enumerate(opened)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(full) == 3
    assert backend.sizes()[0][""] == 500
    assert_sizes_are_right(backend)
