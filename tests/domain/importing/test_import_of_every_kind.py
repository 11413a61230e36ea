"""An import decides on a line of any kind as a PUT of the line does: the same events and refusals.

The lines are those of a made-up catalog that has every kind. Each is drawn with all that it rests
on, now and then without some of it, and changed; between two imports some of it may be deleted.
"""

import json
import re
from functools import cache
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.direct_catalog import DirectCatalog
from benchmarks.generate import lines
from domain.errors import CatalogError
from domain.event_store.port import EventStore
from domain.importing.bulk_import import BulkImport
from domain.importing.lines import Chunk, batches
from domain.importing.readers import LineReaders
from domain.kinds.registry import KINDS
from tests.domain.imported_lines import load_all
from tests.domain.importing.test_import_laws import CONTEXT, contents, empty_log, ids

Line = dict[str, Any]
LINK = "<#E::table::(.*?)>"
CATALOG_LINES = 300
"""Lines of the made-up catalog, among which every kind is."""


def kind_of(line: Line) -> str:
    return str(line["kind" if "kind" in line else "entityType"])


def name_of(line: Line) -> str:
    return str(line.get("fullyQualifiedName", line["name"]))


@cache
def catalog() -> list[Line]:
    return [json.loads(line) for line in lines(CATALOG_LINES)]


@cache
def place_of(fqn: str) -> int | None:
    return next((n for n, each in enumerate(catalog()) if name_of(each) == fqn), None)


def named(value: Any) -> set[str]:
    """Every text inside a value, and what links to entities name."""
    if isinstance(value, dict):
        return set[str]().union(*map(named, value.values()))
    if isinstance(value, list):
        return set[str]().union(*map(named, value))
    return {value, *re.findall(LINK, value)} if isinstance(value, str) else set()


@cache
def rests_on(place: int) -> tuple[int, ...]:
    """The places in the catalog of all that a line names, and of what these name, in order."""
    line = catalog()[place]
    above = {
        found
        for fqn in named({key: line[key] for key in line if key != "fullyQualifiedName"})
        if (found := place_of(fqn)) is not None and found < place
    }
    return tuple(sorted({place}.union(*map(rests_on, above))))


def table_of(case: Line) -> str:
    """The qualified name of the table that a test case is of."""
    (found,) = re.findall(LINK, case["entityLink"])
    return str(found)


@cache
def places(kind: str) -> list[int]:
    return [n for n, line in enumerate(catalog()) if kind_of(line) == kind][:3]


def changed(line: Line, change: int) -> Line:
    """A line as it is, or with one key another, or missing, or one that no kind has.

    What its qualified name comes to is not said then: a PUT does not say it either.
    """
    keys = [key for key in line if key not in ("entityType", "kind", "fullyQualifiedName", "name")]
    key = keys[change // 8 % len(keys)] if keys else "description"
    plain = {each: line[each] for each in line if each != "fullyQualifiedName"}
    match change % 8:
        case 0:
            return plain | {"description": "another"}
        case 1:
            return {each: plain[each] for each in plain if each != key}
        case 2:
            return plain | {key: None}
        case 3:
            return plain | {"bogus": 1}
        case _:
            return line


@st.composite
def chains(draw: st.DrawFn) -> list[Line]:
    """A line with what it rests on, but for at most one of these, and the line changed."""
    kind = draw(st.sampled_from(sorted(KINDS)))
    chain = list(rests_on(draw(st.sampled_from(places(kind)))))
    missing = draw(st.none() | st.integers(0, len(chain) - 1))
    whole = [catalog()[place] for n, place in enumerate(chain) if n != missing]
    return [*whole, changed(catalog()[chain[-1]], draw(st.integers(0, 200)))]


files = st.lists(chains(), min_size=1, max_size=4).map(
    lambda drawn: [line for chain in drawn for line in chain]
)


def imported(
    log: EventStore, file: list[Line], size: int, used: LineReaders, make_id: Any
) -> list[tuple[int, str]]:
    """Import lines in chunks of a size; gives the refused ones."""
    encoded = [json.dumps(line).encode() for line in file]
    chunks = used.read(Chunk(numbered) for numbered in batches(encoded, size))
    running = BulkImport(log, CONTEXT, now=lambda: 1, make_id=make_id)
    loaded = [batch.bad for _, batch in load_all(running, chunks)]
    return [(bad.number, bad.reason) for refused in loaded for bad in refused]


def put_each(log: EventStore, file: list[Line], make_id: Any) -> list[tuple[int, str]]:
    putting = DirectCatalog(log, now=lambda: 1, make_id=make_id)
    refused = []
    for number, line in enumerate(file, start=1):
        outside = ("fullyQualifiedName", "kind" if "kind" in line else "entityType")
        values = {key: line[key] for key in line if key not in outside}
        try:
            putting.put(KINDS[kind_of(line)], values, CONTEXT)
        except CatalogError as error:
            refused.append((number, error.message))
    return refused


def delete(log: EventStore, file: list[Line], number: int) -> None:
    line = file[number % len(file)]
    claim = log.claim(kind_of(line), name_of(line))
    if claim is not None and not claim.deleted:
        deleting = DirectCatalog(log, now=lambda: 2)
        kind = KINDS[claim.kind]
        deleting.delete(kind, claim.id, CONTEXT, hard=number % 3 == 0, recursive=True)


def test_every_kind_is_drawn() -> None:
    assert [kind for kind in KINDS if not places(kind)] == []


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    file=files,
    again=files,
    size=st.sampled_from([1, 4, 1_000]),
    deleted=st.none() | st.integers(0, 100),
    read_elsewhere=st.booleans(),
)
def test_import_of_any_kind_is_a_put_of_each_line(
    readers: LineReaders,
    file: list[Line],
    again: list[Line],
    size: int,
    deleted: int | None,
    read_elsewhere: bool,
) -> None:
    used = readers if read_elsewhere else LineReaders([])
    with empty_log() as log, empty_log() as expected:
        make_id, expected_id = ids(), ids()
        for some in (file, [*again, *file]):
            bad = imported(log, some, size, used, make_id)
            assert bad == put_each(expected, some, expected_id)
            assert contents(log) == contents(expected)
            if deleted is not None:
                for one in (log, expected):
                    delete(one, file, deleted)


def test_import_of_a_test_case_makes_the_suite_of_its_table(readers: LineReaders) -> None:
    chain = [catalog()[place] for place in rests_on(places("testCase")[0])]
    file = [line for line in chain if kind_of(line) != "testSuite"]
    with empty_log() as log, empty_log() as expected:
        assert imported(log, file, 4, readers, ids()) == []
        assert put_each(expected, file, ids()) == []
        assert contents(log) == contents(expected)
        assert log.claim("testSuite", f"{table_of(file[-1])}.testSuite") is not None
