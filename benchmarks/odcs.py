"""The import of a document of ODCS that is as large as the standard's largest example, 192 kB."""

import itertools
import statistics
from collections.abc import Callable
from functools import partial

import yaml

from benchmarks.direct_catalog import DirectCatalog
from benchmarks.figures import Figure, seconds
from benchmarks.waiting_loops import wait_figure
from benchmarks.workspace import Workspace
from domain.contracts.exporting import document_of
from domain.contracts.judging import check_shape, faults
from domain.contracts.yaml_input import read_yaml
from domain.contracts.yaml_output import write_yaml
from domain.event_store.opening import open_event_log
from domain.kinds.bodies.components import Reference
from domain.kinds.registry import KINDS
from domain.write_context import WriteContext
from domain.writing.documents import DocumentRequest, plan_document

BYTES = 192_000
_ROUNDS = 15
_TABLE = "orders"


def measure(workspace: Workspace, large: bool) -> list[Figure]:
    """Reading, judging, importing and writing; and how long the event loop waits beside it."""
    return figures_of(workspace, BYTES, _ROUNDS)


def figures_of(workspace: Workspace, size: int, rounds: int) -> list[Figure]:
    """All figures for a document of about so many bytes of YAML."""
    text = made_document(size)
    document = check_shape(read_yaml(text))
    log = open_event_log(workspace.fresh() / "events.db")
    try:
        catalog = DirectCatalog(log)
        entity = _table(catalog)
        revisions = itertools.count()

        def import_document() -> None:
            # Each is another document, so that it is stored.
            read = check_shape(read_yaml(text + b"revision: %d\n" % next(revisions)))
            request = DocumentRequest(document=read, entity=entity)
            catalog.write(_CONTEXT, partial(plan_document, catalog.planner, request, _CONTEXT))

        import_document()
        imported = _median(import_document, rounds)
        contract = next(iter(log.claims(parents=[entity.id or ""])))
        state = catalog.planner.live(KINDS["dataContract"], contract.id)
        kilobytes = f"{len(text) / 1_000:,.0f} kB"
        compared = [
            (f"read {kilobytes} of YAML", partial(read_yaml, text)),
            ("judge it by its schema", partial(faults, document)),
            ("make the document of the contract", partial(document_of, state)),
            ("write it as YAML", partial(write_yaml, document)),
        ]
        library = _median(lambda: yaml.load(text, yaml.CSafeLoader), rounds)
        return [
            *(_figure(what, _median(work, rounds), library) for what, work in compared),
            _figure("import it: read, plan and store", imported, library),
            wait_figure(import_document, imported, rounds, "an import"),
        ]
    finally:
        log.close()


_CONTEXT = WriteContext(actor="benchmark", request_id="benchmark")


def _figure(what: str, median: float, library: float) -> Figure:
    return Figure(
        what=what,
        measured=f"{median * 1_000:.1f} ms",
        yardstick=f"{library * 1_000:.1f} ms (PyYAML's C loader)",
        ratio=median / library,
    )


def _median(work: Callable[[], object], rounds: int) -> float:
    return statistics.median(seconds(work) for _ in range(rounds))


def _table(catalog: DirectCatalog) -> Reference:
    service = {"name": "s", "serviceType": "Mysql"}
    catalog.create(KINDS["databaseService"], service, _CONTEXT)
    catalog.create(KINDS["database"], {"name": "d", "service": "s"}, _CONTEXT)
    catalog.create(KINDS["databaseSchema"], {"name": "p", "database": "s.d"}, _CONTEXT)
    columns = [{"name": "id", "dataType": "INT"}]
    table = {"name": _TABLE, "databaseSchema": "s.d.p", "columns": columns}
    made = catalog.create(KINDS["table"], table, _CONTEXT).entity
    return Reference(type="table", id=made.id)


def made_document(size: int) -> bytes:
    """A document of about so many bytes of YAML: objects of seven properties, as of a database."""
    document = {
        "apiVersion": "v3.1.0",
        "kind": "DataContract",
        "id": "orders-of-a-shop",
        "version": "1.0.0",
        "status": "active",
        "description": {"purpose": "All tables of a shop."},
        "tenant": "shop",
    }
    one = len(write_yaml({"schema": [_object(0)]}))
    count = max(1, size // one)
    return write_yaml({**document, "schema": [_object(number) for number in range(count)]})


def _object(number: int) -> dict[str, object]:
    properties = [
        {
            "name": f"column_{n}",
            "physicalName": f"column_{n}",
            "description": f"What column {n} of table {number} holds.",
            "logicalType": "string",
            "physicalType": "varchar(50)",
            "logicalTypeOptions": {"maxLength": 50},
            "required": n % 2 == 0,
            "primaryKey": n == 0,
            "criticalDataElement": False,
            "tags": [],
        }
        for n in range(7)
    ]
    name = _TABLE if number == 0 else f"table_{number}"
    return {
        "name": name,
        "physicalName": name,
        "logicalType": "object",
        "physicalType": "table",
        "description": f"The table with number {number}.",
        "properties": properties,
    }
