"""What is kept beside the measurements: rows in one transaction, bounded, in either backend."""

import threading

import pytest

from domain.errors import InvalidInput
from domain.openlineage.keeping import Keeping, Work
from domain.openlineage.kept_rows import Row, Sort, key_of
from tests.contracts.measurement_backends import Backend

SMALL = Sort("small", 1_000, 10**9)
LIGHT = Sort("light", 10**6, 100_000)


def row(number: int, body: bytes = b"{}", label: str = "") -> Row:
    return Row(key_of(str(number)), number, body, label)


def put(keeping: Keeping, sort: Sort, *rows: Row) -> None:
    work = Work()
    for each in rows:
        work.add(sort, each)
    keeping.change(work)


def test_rows_are_put_replaced_and_deleted(backend: Backend) -> None:
    keeping = Keeping(backend.open())
    put(keeping, SMALL, row(1, b"a"), row(2, b"b", "x"), row(3, b"c", "x"))
    put(keeping, SMALL, row(1, b"\0d"))
    again = Keeping(backend.open())
    ids = [row(number).id for number in (1, 2, 4)]
    assert again.read(SMALL, ids) == {ids[0]: b"\0d", ids[1]: b"b"}
    assert again.read(LIGHT, ids) == {}
    assert sorted(again.labelled(SMALL, "x", 10)) == sorted(row(n).id for n in (2, 3))
    work = Work()
    work.delete(SMALL, ids[0])
    again.change(work)
    assert again.read(SMALL, ids) == {ids[1]: b"b"}
    walked = again.after(SMALL, "", 1)
    walked += again.after(SMALL, walked[0][0], 10)
    assert sorted(body for _, body in walked) == [b"b", b"c"]


def test_nothing_is_kept_where_nothing_was(backend: Backend) -> None:
    keeping = Keeping(backend.open())
    assert (keeping.read(SMALL, ["a"]), keeping.after(SMALL, "", 1)) == ({}, [])


def test_merges_of_threads_come_one_after_the_other(backend: Backend) -> None:
    def count() -> None:
        keeping = Keeping(backend.open())
        for _ in range(25):
            keeping.merge(SMALL, ["n"], lambda held: [Row("n", 0, b"x" + held.get("n", b""))])

    threads = [threading.Thread(target=count) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert Keeping(backend.open()).read(SMALL, ["n"]) == {"n": b"x" * 75}


def test_merge_that_fails_changes_nothing(backend: Backend) -> None:
    keeping = Keeping(backend.open())
    put(keeping, SMALL, Row("n", 0, b"before"))

    def fail(_: object) -> list[Row]:
        raise InvalidInput("no")

    with pytest.raises(InvalidInput):
        keeping.merge(SMALL, ["n"], fail)
    assert keeping.read(SMALL, ["n"]) == {"n": b"before"}


@pytest.mark.parametrize("sort", [SMALL, LIGHT])
def test_oldest_rows_go_beyond_the_bounds(backend: Backend, sort: Sort) -> None:
    keeping = Keeping(backend.open())
    body = b"x" * 200
    for start in range(0, 2_500, 500):
        put(keeping, sort, *(row(number, body) for number in range(start, start + 500)))
    kept = [number for number in range(2_500) if keeping.read(sort, [row(number).id])]
    assert kept == [*range(kept[0], 2_500)]
    most = 1_000 if sort is SMALL else 100_000 // (200 + 32 + 64)
    assert most * 0.9 <= len(kept) <= most


def test_parts_go_with_the_oldest_rows(backend: Backend) -> None:
    keeping = Keeping(backend.open())
    parts = Sort("parts", 10**6, 10**9)
    whole = Sort("whole", 1_000, 10**9, parts.name)
    put(keeping, parts, *map(row, range(1_500)))
    for start in range(0, 1_500, 500):
        put(keeping, whole, *map(row, range(start, start + 500)))
    kept = [
        [number for number in range(1_500) if keeping.read(sort, [row(number).id])]
        for sort in (whole, parts)
    ]
    assert kept[0] == kept[1]
    assert kept[0][0] > 0
