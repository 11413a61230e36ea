"""An import of any file leaves the log as a PUT of each line does, and refuses the same lines."""

import itertools
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.direct_catalog import DirectCatalog
from domain.errors import CatalogError, InvalidInput
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from domain.event_store.stored import StoredRow
from domain.importing.bulk_import import BulkImport, LineReport
from domain.importing.lines import Chunk, batches
from domain.importing.readers import LineReaders
from domain.kinds.registry import KINDS
from domain.patches import json_input
from domain.write_context import WriteContext
from tests.depth import examples
from tests.domain.imported_lines import load_all

CONTEXT = WriteContext(actor="ann", request_id="r")
names = st.sampled_from(["a", "b", "c.d", "", "x\n"])
texts = st.sampled_from(["", "one", "two"])


def ids() -> Callable[[], str]:
    numbers = itertools.count()
    return lambda: f"01890a5d-ac96-774b-bcce-{next(numbers):012}"


def reference(kind: str, *fqns: str) -> st.SearchStrategy[Any]:
    """A reference as callers write it, now and then to what is not there, or of a wrong type."""
    fqn = st.sampled_from(fqns)
    # The first ids that the log gives out, and one that it does not.
    made = st.sampled_from([f"01890a5d-ac96-774b-bcce-{number:012}" for number in (0, 1, 2, 9_999)])
    return (
        fqn
        | st.builds(lambda each: {"type": kind, "fullyQualifiedName": each}, fqn)
        | st.builds(lambda each: {"type": kind, "id": each}, made)
        | st.sampled_from([{"type": "planet", "fullyQualifiedName": "a"}, {"type": kind}, None, 1])
    )


owners = st.lists(reference("user", "a", "b"), max_size=2)
tags = st.lists(
    st.sampled_from([{"tagFQN": "a.a"}, {"tagFQN": "a.b"}, {"tagFQN": "a", "source": "Glossary"}]),
    max_size=3,
)
columns = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["i", "j", "k.l"]), "dataType": st.sampled_from(["INT", "X"])},
        optional={"tags": tags},
    ),
    max_size=3,
)
styles = st.sampled_from([None, {}, {"color": None}, {"color": "red"}])
common = {"description": texts, "displayName": st.none() | texts, "owners": owners, "bogus": texts}


def line(kind: str, **values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A line of a kind; what is None in the type of a value may be left out."""
    needed = {key: values.pop(key) for key in list(values) if not key.endswith("_")}
    optional = {key[:-1]: value for key, value in values.items()}
    usual = {key: value for key, value in common.items() if key != "bogus"}
    fixed = {"entityType": st.just(kind), "name": names} | needed
    return st.fixed_dictionaries(fixed, optional=usual | optional) | st.fixed_dictionaries(
        fixed, optional=common | optional
    )


services = reference("databaseService", "a", "b")
lines = st.one_of(
    st.fixed_dictionaries({"entityType": st.just("user"), "name": names}),
    line("databaseService", serviceType=st.sampled_from(["Mysql", "Hive"]), tags_=tags),
    line("database", service=services, serviceType_=st.just("Mysql"), tags_=tags),
    line("databaseSchema", database=reference("database", "a.a", "a.b"), service_=services),
    line(
        "table",
        databaseSchema=reference("databaseSchema", "a.a.a"),
        columns_=columns,
        service_=services,
        lifeCycle_=st.builds(
            lambda by: {"created": {"timestamp": 1, "accessedBy": by}}, reference("user", "a")
        ),
    ),
    line("classification"),
    line("tag", classification=reference("classification", "a"), style_=styles),
    line("glossary", tags_=tags),
    line(
        "glossaryTerm",
        glossary=reference("glossary", "a"),
        relatedTerms_=st.lists(reference("glossaryTerm", "a.a", "a.b"), max_size=2),
        style_=styles,
    ),
    line(
        "dataContract",
        entity=reference("databaseService", "a", "b"),
        entityStatus_=st.sampled_from(["Draft", "Active", "Odd"]),
        schema_=columns,
    ),
)
broken = st.sampled_from([b"{", b"[]", b'{"entityType":"planet"}', b'{"name":1,"name":2}'])
encoded = broken | lines.map(lambda values: json.dumps(values).encode())
PARENTS: list[dict[str, Any]] = [
    {"entityType": "databaseService", "name": "a", "serviceType": "Mysql"},
    {"entityType": "database", "name": "a", "service": "a"},
    {"entityType": "databaseSchema", "name": "a", "database": "a.a"},
    {"entityType": "user", "name": "a"},
    {"entityType": "classification", "name": "a", "description": "x"},
    {"entityType": "tag", "name": "a", "classification": "a", "description": "x"},
    {"entityType": "glossary", "name": "a", "description": "x"},
    {"entityType": "glossaryTerm", "name": "a", "glossary": "a", "description": "x"},
]
parents = st.sampled_from([[], [json.dumps(each).encode() for each in PARENTS]])
files = st.builds(lambda first, rest: first + rest, parents, st.lists(encoded, max_size=25))


@contextmanager
def empty_log() -> Iterator[EventStore]:
    with (
        tempfile.TemporaryDirectory() as directory,
        closing(open_event_log(Path(directory) / "events.db")) as log,
    ):
        yield log


def contents(log: EventStore) -> list[StoredRow]:
    with log.snapshot() as snapshot:
        return list(snapshot.events())


def put_each(log: EventStore, file: list[bytes], make_id: Callable[[], str]) -> list[LineReport]:
    """PUT each line in turn; gives the refused ones."""
    catalog = DirectCatalog(log, now=lambda: 1, make_id=make_id)
    refused = []
    for number, text in enumerate(file, start=1):
        try:
            values = json_input.decode(text, dict[str, Any], "the line")
            kind = values.pop("entityType", None)
            if kind not in KINDS:
                raise InvalidInput(f"entityType must be one of {', '.join(KINDS)}, got {kind!r}")
            catalog.put(KINDS[kind], values, CONTEXT)
        except CatalogError as error:
            refused.append(LineReport(number, error.message))
    return refused


def imported(
    log: EventStore, chunks: Iterable[Chunk], make_id: Callable[[], str]
) -> list[LineReport]:
    running = BulkImport(log, CONTEXT, now=lambda: 1, make_id=make_id)
    return [bad for _, batch in load_all(running, chunks) for bad in batch.bad]


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(file=files, size=st.integers(1, 8))
def test_import_of_any_file_is_a_put_of_each_line(
    readers: LineReaders, file: list[bytes], size: int
) -> None:
    with empty_log() as log, empty_log() as expected:
        make_id, expected_id = ids(), ids()
        # Once read by other processes, and once by the one that appends.
        for readers_used in (readers, LineReaders([])):
            chunks = (Chunk(numbered) for numbered in batches(file, size))
            bad = imported(log, readers_used.read(chunks), make_id)
            assert bad == put_each(expected, file, expected_id)
            assert contents(log) == contents(expected)
