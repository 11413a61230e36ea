"""The datasets that statements wait for: counted as plain Python does, in either backend."""

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domain.measurements.port import Measurements
from domain.openlineage.keeping import Keeping, Work
from domain.openlineage.kept_rows import Row, Sort, key_of
from domain.openlineage.missing_datasets import (
    MISSING,
    MissingDataset,
    MissingIn,
    MissingPage,
    missing_id,
    missing_page,
    missing_row,
)
from domain.openlineage.statements import DatasetName
from tests.contracts.measurement_backends import Backend
from tests.depth import examples

LONG = "n" * 90
NAMESPACES = ("a", "a!", "ab", "a\x01b", "ü", LONG * 2, LONG * 3)
NAMES = ("b", "b.c", "€", "x" * 2_048, "x" * 2_047 + "y")

Names = st.builds(DatasetName, st.sampled_from(NAMESPACES), st.sampled_from(NAMES))
Statements = st.sampled_from([key_of(str(number)) for number in range(4)])
Changes = st.lists(
    st.tuples(st.sets(st.tuples(Statements, Names)), st.sets(st.tuples(Statements, Names))),
    min_size=1,
    max_size=6,
)


@pytest.fixture
def store(backend: Backend) -> Measurements:
    return backend.open()


def change(keeping: Keeping, at: int, put: Any = (), deleted: Any = ()) -> None:
    work = Work()
    for statement, name in deleted:
        work.delete(MISSING, missing_id(statement, name))
    for statement, name in put:
        work.add(MISSING, missing_row(statement, name, at, ""))
    keeping.change(work)


def page(store: Measurements, limit: int = 100, **asked: Any) -> MissingPage:
    return missing_page(store, limit=limit, namespaces=100, **asked)


def walked(store: Measurements, namespace: str | None = None) -> list[MissingDataset]:
    """All datasets, by pages of two."""
    shown: list[MissingDataset] = []
    after = None
    while True:
        got = page(store, 2, namespace=namespace, after=after)
        shown += got.datasets
        if not got.more:
            assert len(shown) == got.total
            return shown
        after = got.datasets[-1].namespace, got.datasets[-1].name


@settings(
    max_examples=examples(20),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
@given(Changes)
def test_datasets_are_counted_as_plain_python_does(store: Measurements, changes: Any) -> None:
    keeping = Keeping(store)
    everything = [(s, n) for s in map(key_of, "0123") for n in names()]
    change(keeping, 0, deleted=everything)
    held: dict[tuple[str, DatasetName], int] = {}
    seen: dict[DatasetName, int] = {}
    for at, (put, deleted) in enumerate(changes, 1):
        change(keeping, at, put, deleted)
        for each in deleted:
            held.pop(each, None)
        held.update(dict.fromkeys(put, at))
        seen.update((name, at) for _, name in put)
        seen = {name: seen[name] for _, name in held}
    statements: defaultdict[DatasetName, int] = defaultdict(int)
    for _, name in held:
        statements[name] += 1
    expected = {
        MissingDataset(name.namespace, name.name, number, seen[name])
        for name, number in statements.items()
    }
    shown = walked(store)
    assert (len(shown), {*shown}) == (len(expected), expected)
    plain = [(each.namespace, each.name) for each in shown]
    plain = [(one, two) for one, two in plain if one.isprintable() and len(one + two) < 90]
    assert plain == sorted(plain)
    counts = [MissingIn(n, sum(each.namespace == n for each in expected)) for n in NAMESPACES]
    assert {*page(store).namespaces} == {each for each in counts if each.datasets}
    numbers = [each.datasets for each in page(store).namespaces]
    assert numbers == sorted(numbers, reverse=True)
    for each in counts:
        of_namespace = walked(store, each.namespace)
        assert {*of_namespace} == {one for one in expected if one.namespace == each.namespace}


def names() -> list[DatasetName]:
    return [DatasetName(namespace, name) for namespace in NAMESPACES for name in NAMES]


def test_datasets_go_with_the_oldest_statements(store: Measurements) -> None:
    keeping = Keeping(store)
    whole = Sort("whole", 1_000, 10**9, MISSING.name)
    for start in range(0, 1_500, 500):
        work = Work()
        for number in range(start, start + 500):
            work.add(whole, Row(key_of(str(number)), number, b"{}"))
            name = DatasetName("n", f"{number:04}")
            work.add(MISSING, missing_row(key_of(str(number)), name, number, ""))
        keeping.change(work)
    shown = page(store, 2_000)
    kept = range(1_500 - len(shown.datasets), 1_500)
    assert shown.datasets == [MissingDataset("n", f"{number:04}", 1, number) for number in kept]
    assert shown.total == len(shown.datasets) == len(keeping.after(whole, "", 2_000)) < 1_000
    assert shown.namespaces == [MissingIn("n", shown.total)]


def test_page_reads_no_more_rows_than_it_shows(
    store: Measurements, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(
        Keeping(store), 1, [(key_of("s"), DatasetName("n", str(number))) for number in range(300)]
    )
    rows: list[Any] = []
    read = store.read_beside

    def counted(statement: str, *values: Any) -> list[Any]:
        rows.extend(read(statement, *values))
        return read(statement, *values)

    monkeypatch.setattr(store, "read_beside", counted)
    got = missing_page(store, limit=3, namespaces=2, after=("n", "1"))
    assert ([each.name for each in got.datasets], got.total) == (["10", "100", "101"], 300)
    # A row for each dataset, one for the next, the total and the namespace.
    assert len(rows) == 3 + 1 + 1 + 1
